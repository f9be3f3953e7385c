"""Rewrites definitions that use Statewright's extensions so that any Step Functions service runs them.

Owns the plain Amazon States Language for semaphores, polls, loops with deadlines and machines with limits. Leaves files
and output to the command, and checks of definitions to `asl.validate`.
"""
