"""Event source mappings: messages of queues in, batches for functions out."""
