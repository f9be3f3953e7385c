"""Definitions with what only Statewright has, rewritten so that any Step Functions service runs them.

Owns what semaphores, polls, loops with deadlines and machines with limits are in plain Amazon States Language. Files
and what is printed are the command's; whether a definition is sound is judged by `asl.validate`.
"""
