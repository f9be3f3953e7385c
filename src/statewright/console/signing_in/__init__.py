"""Signing in to the console: links, sessions, and who a request is from."""
