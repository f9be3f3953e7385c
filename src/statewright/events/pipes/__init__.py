"""EventBridge Pipes: messages of queues to state machines."""
