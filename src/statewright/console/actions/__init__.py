"""Reads of the start form, of the fork dialog, and of tasks that wait for an answer."""
