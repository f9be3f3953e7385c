"""Alarms, filters of logs and archives of events, as templates name them."""
