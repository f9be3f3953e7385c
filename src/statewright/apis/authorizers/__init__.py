"""Authorizers of APIs: who may call a route or a method."""
