"""The EventBridge Pipes API: one function per operation."""
