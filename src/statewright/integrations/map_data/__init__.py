"""Items and results of distributed Maps: buckets, and the formats of items."""
