"""Calls of operations that do not come from clients: by tasks and targets in this process; and forwarded calls."""
