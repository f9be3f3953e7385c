"""Readers of JSON and YAML: values with the position of every part, and messages for text that is neither."""
