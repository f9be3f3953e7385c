"""Stored definitions of tables: those of older formats are read."""

from __future__ import annotations

import orjson

from statewright.tables.definitions import TABLE, Definition, Index


def test_a_table_of_format_1_is_read() -> None:
    index = {"name": "by-a", "space": 2, "hash": "a", "range": "b", "is_global": True, "projection": "ALL"}
    other = {**index, "name": "by-b", "space": 3, "hash": "b", "range": None}
    body = {
        "name": "t", "id": "1", "space": 1, "created_ms": 5, "hash": "p", "range": None, "types": {"p": "S"},
        "indexes": [index, other],
    }  # fmt: skip
    indexes = (Index("by-a", 2, ("a",), ("b",), True, "ALL"), Index("by-b", 3, ("b",), (), True, "ALL"))
    expected = Definition("t", "1", 1, 5, "p", None, {"p": "S"}, indexes, stored=4)
    assert TABLE.format.read(orjson.dumps(body), "table t", stored=4) == expected
    assert TABLE.format.read(TABLE.format.write(expected), "table t", stored=4) == expected
