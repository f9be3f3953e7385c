"""The CloudWatch Logs API: one function per operation."""
