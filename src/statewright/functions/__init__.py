"""Functions: their definitions, their invocations, and the worker processes that run them."""
