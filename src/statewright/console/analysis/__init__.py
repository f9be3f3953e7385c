"""Recorded runs examined: replayed on other definitions, compared, and explained state by state."""
