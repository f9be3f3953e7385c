"""The store in memory, for simulations and tests."""
