"""The CloudWatch Logs API: one function an operation."""
