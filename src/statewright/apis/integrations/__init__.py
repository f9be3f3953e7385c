"""Integrations: how a route's request becomes a call of a function, a service or another server, by type."""
