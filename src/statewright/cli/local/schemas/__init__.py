"""JSON Schemas of Statewright's own files, for editors: settings, cases and scenarios.

A schema describes what the reader of its file accepts; `tests/unit/cli/local/test_schemas.py` compares the two.
"""
