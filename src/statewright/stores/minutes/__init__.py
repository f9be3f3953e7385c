"""Minutes of metrics: blocks of points beside the rows of a store, for stores whose data is not on this machine."""
