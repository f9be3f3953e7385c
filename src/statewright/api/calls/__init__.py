"""Calls of operations by other than clients: tasks and targets in this process; and calls passed on elsewhere."""
