"""Map Runs: distributed Maps of executions."""
