"""Access to functions from outside: their resource policies and their URLs."""
