"""The S3 API: one function per operation."""
