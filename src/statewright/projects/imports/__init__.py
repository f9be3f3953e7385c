"""Imports of handlers that cannot be found, before the first invocation fails."""
