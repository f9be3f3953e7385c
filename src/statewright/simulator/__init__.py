"""Workflows in virtual time: scripted task results, one driver for the interpreter."""
