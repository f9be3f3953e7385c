"""The Secrets Manager API: one function an operation."""
