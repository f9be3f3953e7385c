"""The STS API: one function per operation."""
