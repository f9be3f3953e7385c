"""Express executions recorded in memory while pages watch them."""
