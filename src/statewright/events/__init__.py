"""Schedules, event buses and rules: calls of targets at an instant or upon a bus event."""
