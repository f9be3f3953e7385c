"""Tests of schedules, rules and what they deliver."""
