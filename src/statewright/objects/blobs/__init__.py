"""Bodies of objects as blobs of the store, and their move out of a folder."""
