"""Metrics: what happened per second, kept for an hour, and per minute, kept for fifteen days."""
