"""Lists of executions and state machines: their filters, search, counts, and work on many executions."""
