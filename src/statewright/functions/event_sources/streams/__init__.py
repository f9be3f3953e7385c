"""Event source mappings of tables' streams: records in order, in batches for functions."""
