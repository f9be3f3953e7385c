"""The cost of work at the cloud service: usage, dated price tables, bills."""
