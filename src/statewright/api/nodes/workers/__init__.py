"""Calls of the home at the workers of all nodes: an answer of the home then holds at every node."""
