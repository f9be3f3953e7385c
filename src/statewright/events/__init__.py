"""Schedules, event buses and rules: what happens at an instant or upon an event."""
