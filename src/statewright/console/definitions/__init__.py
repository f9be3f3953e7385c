"""Definitions in the console: the Workbench, the page of a state machine, runs in virtual time and test cases."""
