"""The behaviour of each type of state."""
