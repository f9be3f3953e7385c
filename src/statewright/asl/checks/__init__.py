"""Checks of a definition: fields and their values, transitions, variables, resources; lints."""
