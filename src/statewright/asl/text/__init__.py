"""Definition text to JSON values that know their place: JSON and YAML, and what is said of text that is neither."""
