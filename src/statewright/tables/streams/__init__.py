"""Streams of tables: a record of each change of an item, written in the transaction of the change."""
