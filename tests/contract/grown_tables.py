"""A PostgreSQL database whose planner believes that its tables have ten million rows.

Each table gets a few thousand rows, spread as a busy server's are, and is analysed; then the number of rows in its
statistics is raised. The planner takes the number of rows of a page from there, and everything else from the sample.
"""

from __future__ import annotations

from typing import Final

import psycopg

ROWS: Final = 10_000_000
SAMPLE: Final = 5_000
SMALL: Final = frozenset(
    {
        "bucket",
        "cluster",
        "execution_count",
        "node",
        "number",
        "shard",
        "statewright_schema",
        "store_identity",
        "table_count",
    }
)
"""Tables with a row for each bucket, space, counter or server, not for each piece of work: they are not made large."""

_NOW_MS: Final = 1_767_225_600_000
_ID: Final = f"(({_NOW_MS - 1_420_070_400_000} + n * 100) << 12) | (n % 4096)"
"""Ids as they are minted, of one shard."""
_FILLS: Final = {
    "execution": f"{_ID}, 0, n % 7 * (n % 11) % 50, 'name-' || n, (ARRAY[1, 1, 1, 1, 1, 1, 1, 1, 2, 0])[n % 10 + 1], "
    f"{_NOW_MS} + n * 100, CASE WHEN n % 10 < 9 THEN {_NOW_MS} + n * 100 + n % 997 END, 3, '\\x00', '\\x00'",
    "execution_head": f"{_ID}, '\\x00'",
    "execution_count": "n / 25, n % 5, n / 5 % 5, n",
    "frame": f"({_ID}) / 3 * 3, n, '\\x00'",
    "payload": f"({_ID}) / 8192, decode(md5(n::text), 'hex'), '\\x00'",
    "history": f"((n / 3) * 4096), n, 2, {_NOW_MS} + n, '\\x00'",
    "timer": f"0, {_NOW_MS} + n * 100, {_ID}, n",
    "outbox": f"{_ID}, {_ID}, (ARRAY['task', 'activity'])[n % 2 + 1], '\\x00'",
    "inbox": f"{_ID}, {_ID}, (ARRAY['continue', 'stop', 'express'])[n % 3 + 1], '\\x00'",
    "entry": "'kind-' || n % 40, 'key-' || n, 'parent-' || n % 400, n, 1, '\\x00'",
    "object": f"n % 10, decode(md5(n::text), 'hex'), {_ID}, 100, {_NOW_MS} + n, 'etag', 0, '\\x00'",
    "object_version": f"n % 10, decode(md5((n / 3)::text), 'hex'), -n, {_ID}, 100, {_NOW_MS} + n, 'etag', 0, '\\x00', "
    "1",
    "object_body": f"{_ID}, '\\x00'",
    "upload": f"{_ID}, n % 10, decode(md5(n::text), 'hex'), {_NOW_MS} + n, '\\x00'",
    "segment": f"n / 5, n % 5, {_ID}, 100, 0, '\\x00'",
    "doomed_file": _ID,
    "message": f"{_ID}, n % 10, {_NOW_MS} + n * 100, CASE WHEN n % 50 = 0 THEN 1 ELSE 0 END, {_NOW_MS} + n * 100, n, "
    "0, 0, CASE WHEN n % 10 = 1 THEN 'group-' || n % 997 END, CASE WHEN n % 10 = 2 THEN 'tenant-' || n % 97 END, NULL",
    "message_body": f"{_ID}, 'body', NULL",
    "message_group": f"n % 10, 'group-' || n, {_NOW_MS} + n * 100, 3",
    "message_dedup": f"n % 10, 'dedup-' || n, {_NOW_MS} + n * 100, {_ID}",
    "message_note": f"{_ID}, {_NOW_MS}, 'kind', 'detail'",
    "blob": f"'object/' || to_hex(n / 3), n % 3, {_NOW_MS} + n, '\\x00'",
    "minute": f"'eu-west-' || n % 4, '0', {_NOW_MS} / 1000 + n / 4 * 60, n / 100, n, '\\x00'",
    "metric": f"'eu-west-' || n % 4, '0', n / 4, {_NOW_MS} / 1000 + n, '\\x00'",
    "table_item": "n % 20, decode(md5((n / 5)::text), 'hex'), decode(md5(n::text), 'hex'), 100, '{}'",
}
"""The columns of row `n` of each table, in the order of its schema."""


def grow(address: str) -> set[str]:
    """Make a database look grown; returns the names of its large tables and of their indexes."""
    with psycopg.connect(address, autocommit=True) as connection:
        tables = {row[0] for row in connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")}
        assert tables - SMALL == _FILLS.keys() - SMALL, "say here what a new table looks like, or that it is small"
        for name, columns in _FILLS.items():
            named = connection.execute(
                "SELECT string_agg(column_name, ', ' ORDER BY ordinal_position) FROM information_schema.columns "
                "WHERE table_name = %s AND column_default IS NULL",
                (name,),
            ).fetchone()
            assert named is not None
            rows = f"SELECT {columns} FROM generate_series(1, {SAMPLE}) AS n"
            connection.execute(f"INSERT INTO {name} ({named[0]}) {rows}".encode())
        connection.execute("ANALYZE")
        # Some indexes have a part of the rows, so each has a number of its own.
        scaled = connection.execute(
            f"UPDATE pg_class SET reltuples = reltuples * {ROWS // SAMPLE} "
            "WHERE oid = ANY (%(large)s::regclass[]) "
            "OR oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = ANY (%(large)s::regclass[])) "
            "RETURNING relname",
            {"large": sorted(tables - SMALL)},
        )
        return {row[0] for row in scaled}
