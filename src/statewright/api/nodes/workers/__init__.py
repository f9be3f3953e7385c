"""Calls of the home at the workers of all nodes: its answers hold everywhere, and handlers are spread."""
