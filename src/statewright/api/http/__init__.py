"""The HTTP server: its port, and its connections."""
