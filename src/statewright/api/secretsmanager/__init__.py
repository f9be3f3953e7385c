"""The Secrets Manager API: one function per operation."""
