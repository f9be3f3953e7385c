"""The IAM API: one function an operation."""
