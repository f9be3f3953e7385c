"""The SNS API: one function per operation."""
