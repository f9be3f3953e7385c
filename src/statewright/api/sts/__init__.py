"""The STS API: one function an operation."""
