"""Simulations started from the console: scenarios, the child process that runs one, and the results that are kept."""
