"""A server process around a system: before it serves, while it is a standby, its files and its figures."""
