"""The Parameter Store API: one function an operation."""
