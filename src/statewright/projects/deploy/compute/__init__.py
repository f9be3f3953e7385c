"""Functions and jobs: how their resources are made."""
