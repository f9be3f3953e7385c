"""Limits of concurrency: executions of a machine that run, and holders of permits. All others wait in order."""
