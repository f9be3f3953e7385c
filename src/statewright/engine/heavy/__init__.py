"""Steps that are computed in another process."""
