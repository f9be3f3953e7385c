"""The IAM API: one function per operation."""
