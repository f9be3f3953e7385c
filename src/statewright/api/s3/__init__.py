"""The S3 API: one function an operation."""
