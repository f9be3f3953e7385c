"""Integrations: the calls of Tasks to services in this process, to services at an endpoint, to HTTP addresses."""
