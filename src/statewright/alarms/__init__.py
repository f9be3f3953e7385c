"""CloudWatch alarms: their states over metrics, and the actions of a change of state."""
