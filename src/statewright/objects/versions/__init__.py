"""Versions of objects: their ids, their listings, and which of them a lifecycle deletes."""
