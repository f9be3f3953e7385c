"""Reads and actions of the console about services: lists, details that no operation shows, and bounded previews."""
