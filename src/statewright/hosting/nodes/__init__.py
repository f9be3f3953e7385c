"""A server process that is a node: one of several on one PostgreSQL."""
