"""Parts that the stores of executions share."""
