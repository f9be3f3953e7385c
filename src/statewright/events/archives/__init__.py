"""EventBridge archives, and replays of their events."""
