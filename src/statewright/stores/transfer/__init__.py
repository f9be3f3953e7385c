"""Moves all rows of one store into another, between the embedded store and PostgreSQL; see `mapping` and `rows`."""
