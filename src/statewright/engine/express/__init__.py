"""EXPRESS executions."""
