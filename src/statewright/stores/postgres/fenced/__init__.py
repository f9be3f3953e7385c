"""Blobs and minutes of metrics in PostgreSQL: statements that hold the fence themselves, run from any thread."""
