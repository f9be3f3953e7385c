"""Metrics: points per second, kept for an hour, and per minute, kept for fifteen days."""
