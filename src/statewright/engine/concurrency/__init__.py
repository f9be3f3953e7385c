"""How many executions run, or hold a permit, at once; all others wait in order."""
