"""The durable engine: executions that outlive the process, driven by the pure interpreter and a store."""
