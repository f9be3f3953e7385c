"""The EventBridge Scheduler API: one function per operation."""
