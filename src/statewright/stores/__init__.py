"""Stores of state: one protocol for each aggregate, and the stores that implement them."""
