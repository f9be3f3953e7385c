"""The EventBridge API: buses, rules, targets and events, one function per operation."""
