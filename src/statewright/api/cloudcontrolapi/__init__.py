"""The Cloud Control API: one function per operation."""
