"""What work would cost at the cloud service: usage, dated price tables, bills."""
