"""The SQS API: one function an operation."""
