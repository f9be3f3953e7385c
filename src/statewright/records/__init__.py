"""Small services: what other programs look up by name, kept as rows of the catalogue."""
