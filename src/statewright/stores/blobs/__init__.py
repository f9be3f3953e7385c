"""Blobs: large bytes beside the rows of a store, for stores whose data is not on this machine."""
