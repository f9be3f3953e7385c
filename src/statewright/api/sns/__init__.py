"""The SNS API: one function an operation."""
