"""The Parameter Store API: one function per operation."""
