"""The behaviour of each type of state, one module a subject."""
