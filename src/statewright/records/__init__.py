"""Small services of values that programs look up by name, kept as entries of the catalogue."""
