"""Copies of runs outside the store: as one file, and from one."""
