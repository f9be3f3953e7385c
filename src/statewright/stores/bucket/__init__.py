"""Blobs in an S3-compatible bucket, for stores in PostgreSQL that are served with `--bucket`."""
