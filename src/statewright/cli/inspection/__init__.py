"""Commands that look at what a server holds and change it: executions, machines, queues, tables, functions."""
