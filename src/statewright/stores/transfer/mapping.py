"""Which rows of a store are moved, and how: the one list of its tables.

1. A table in `TABLES` has the same name, columns and values in both stores, and is copied row by row.
2. A table in `MADE_ANEW` is written by the target from what was copied, because its rows mean something else in each.
3. A table in `AS_FILES` is one of PostgreSQL's alone: the embedded store has files in its data folder for it.
4. A table in `LEFT` belongs to a database and not to what is in it.

A new table or column goes into one of these lists; `tests/contract/test_transfer.py` compares them with both schemas.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from statewright.stores.object_rows import IN_FILE


@dataclass(frozen=True, slots=True)
class Table:
    """A table that is copied. `order` is that of its rows while they are copied: the primary key, as SQL."""

    name: str
    columns: tuple[str, ...]
    order: str

    @property
    def listed(self) -> str:
        """The columns as SQL names them; none of them is a word that needs quotes."""
        return ", ".join(self.columns)


def _table(name: str, columns: str, order: str) -> Table:
    return Table(name, tuple(columns.split()), order)


TABLES: Final = (
    _table("execution", "id shard machine name status started_ms stopped_ms version state tail", "id"),
    _table("execution_head", "id body", "id"),
    _table("frame", "execution frame body", "execution, frame"),
    _table("payload", "execution hash body", "execution, hash"),
    _table("history", "execution first n at_ms body", "execution, first"),
    _table("timer", "shard due_ms execution timer", "shard, due_ms, execution, timer"),
    _table("outbox", "id execution kind body", "id"),
    _table("inbox", "id execution kind body", "id"),
    _table("entry", "kind key parent sort version body", "kind, key"),
    _table("number", "name last", "name"),
    _table("bucket", "id name created_ms body", "id"),
    _table("object", "bucket key id size modified_ms etag place head version named", "bucket, key"),
    _table("object_version", "bucket key rank id size modified_ms etag place head named", "bucket, key, rank"),
    _table("object_body", "id body", "id"),
    _table("upload", "id bucket key created_ms head", "id"),
    _table("segment", "owner number id size place head", "owner, number"),
    _table("doomed_file", "id", "id"),
    _table(
        "message",
        "id queue visible_ms receives sent_ms receipt first_received_ms base grp tenant source",
        "id",
    ),
    _table("message_body", "id body extra", "id"),
    _table("message_group", "queue grp free_ms backlog", "queue, grp"),
    _table("message_dedup", "queue dedup until_ms id", "queue, dedup"),
    # It has no key: this is the order in which PostgreSQL's store reads them.
    _table("message_note", "id at_ms kind detail", "id, at_ms, kind DESC"),
    _table("table_item", "space part sort size body", "space, part, sort"),
    _table("table_count", "space items bytes", "space"),
)

OBJECT_FILES: Final = tuple(
    f"SELECT id FROM {name} WHERE place = {IN_FILE}" for name in ("object", "object_version", "segment")
)
"""The ids of files that rows name: what must lie in the data folder."""

MADE_ANEW: Final = {
    "shard": "the owner and its lease are those of a process; only the epoch goes on",
    "execution_count": "counts executions by shard in the embedded store, by writer in PostgreSQL",
}

AS_FILES: Final = {
    "blob": "bodies of objects and packages of functions, which are files of an embedded store",
    "minute": "minutes of metrics, which are files of an embedded store",
    "metric": "the numbers of metrics in these minutes",
}

LEFT: Final = {
    "schema_version": "the version of the file",
    "statewright_schema": "the version of the database",
    "store_identity": "ties a database to its data folder, which another store does not have",
    "statewright_unfinished": "there only while a database is being filled",
    "cluster": "what the servers of one database have in common; those of another one agree anew",
    "node": "the servers that share a database, which are processes",
}
