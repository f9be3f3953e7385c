"""The EventBridge Scheduler API: one function an operation."""
