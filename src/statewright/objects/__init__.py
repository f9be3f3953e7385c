"""Objects in buckets: the durable store behind the S3 API."""
