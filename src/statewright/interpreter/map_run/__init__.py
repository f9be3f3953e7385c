"""The second aggregate of the interpreter: a distributed Map's items, children, counts and results. Pure."""
