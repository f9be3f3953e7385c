"""Statewright: Amazon States Language workflows, durable, on your own machines and in virtual time."""

__version__ = "0.1.0"
