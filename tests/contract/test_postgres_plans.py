"""The plan of every statement of the PostgreSQL store, where its tables have ten million rows.

No statement may read a table from its beginning to its end, sort many rows, or pass over many rows that it does not
want; `READS_MUCH` names those that have to read much, and says when. Estimates are those of the planner: a row costs 1
in the store's settings, all else next to nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import Any, Final

import pytest

from statewright.stores.postgres.cells.groups import CellCommit, cell_group_statement
from statewright.stores.postgres.connection import Connection, connect
from statewright.stores.postgres.group import group_statement
from statewright.stores.postgres.objects import TEXTS
from statewright.stores.protocol import Commit, InboxRow, OutboxRow, TimerRow
from statewright.stores.statements import statements
from tests.contract.grown_tables import ROWS, grow
from tests.contract.stores import START_MS, end, page, start, step
from tests.postgres_server import server_or_skip

MOST_ROWS: Final = 2_000
"""To be read, sorted or passed over for one row of what a caller names, where no LIMIT ends it."""

AT_START: Final = "once, when a server takes the store: all that waits is recovered"
OF_QUEUE: Final = "once, when a queue is first used: it keeps its counts and what is in flight in memory"
OVERDUE: Final = "the bounds end before those that still wait; what is left there belongs to closed executions"
READS_MUCH: Final = {
    "postgres_executions.pending": AT_START,
    "postgres_executions.count_open": "once, when a server takes the store: what runs, in regions that have any",
    "postgres_executions.forget_timers": OVERDUE,
    "postgres_executions.forget_outbox": OVERDUE,
    "postgres_executions.forget_inbox": OVERDUE,
    "postgres_queues.count": OF_QUEUE,
    "postgres_queues.held": OF_QUEUE,
    "postgres_queues.delayed": OF_QUEUE,
    "postgres_blobs.sizes": "the packages of code, once at the start and when functions are deleted",
    "objects.upload_ids": "each of the uploads is deleted with its bucket",
}
"""Statements that may read many rows by an index, and why; the other rules hold for them, too."""
SORTS_MUCH: Final = {"postgres_queues.held": "narrow rows, of what is in flight"}

_SCANS: Final = ("Index Scan", "Index Only Scan", "Bitmap Index Scan")
_COLLECTS: Final = ("Sort", "Hash", "Materialize", "Memoize", "WindowAgg")
"""Nodes that hold all their rows."""
_READ_TO_THE_END: Final = (*_COLLECTS, "Aggregate", "ModifyTable")
"""Nodes that read all their rows although a LIMIT above them wants few."""


@pytest.fixture(scope="module")
def grown() -> Iterator[tuple[Connection, set[str]]]:
    """A connection as the store has them, and the names of the large tables and their indexes."""
    server = server_or_skip()
    address = server.new_database(server.template)
    large = grow(address)
    with connect(address, 0) as connection:
        # The sample's files are small, for which one process always does.
        connection.execute("SET min_parallel_index_scan_size = 0", prepare=False)
        connection.execute("SET min_parallel_table_scan_size = 0", prepare=False)
        yield connection, large


def every_statement() -> dict[str, str]:
    """All statements by file and name; those that write executions as groups of commits put them together."""
    found: dict[str, str] = {f"objects.{name}": text for name, text in TEXTS.items()}
    for name in ("blobs", "catalogue", "cells", "executions", "lease", "minutes", "queues", "surroundings", "tables"):
        file = f"postgres_{name}"
        found |= {f"{file}.{statement}": text for statement, text in statements(file).items()}
    for name, commits in groups().items():
        found[f"postgres_writes.{name}"] = group_statement(commits, "owner", 1, 0)[0]
        fenced = [CellCommit(commit, ((1023, 1),)) for commit in commits]
        found[f"postgres_cell_writes.{name}"] = cell_group_statement(fenced, "owner", 8)[0]
    return found


def groups() -> dict[str, list[Commit]]:
    """Groups of commits that use every part."""
    begun = start(
        1, frames={2: b"f"}, texts={b"h": b"t"}, timers=[TimerRow(1, 1, START_MS)],
        outbox=[OutboxRow(5, 1, "task", b"")], inbox=[InboxRow(6, 1, "continue", b"")],
    )  # fmt: skip
    stepped = step(
        start(2), 1, frames={2: b"f"}, dropped=[3], history=page(3, 1), timers_done=[TimerRow(2, 1, START_MS)],
        outbox_done=[7], inbox_done=[8],
    )  # fmt: skip
    return {
        "starts": [begun],
        "steps": [stepped],
        "ends": [end(start(3), 1)],
        "all": [begun, stepped, end(start(3), 1)],
    }


def plan_of(connection: Connection, text: str) -> dict[str, Any]:
    """The plan of a statement whatever its parameters, as the store's connections make it."""
    connection.execute(f"PREPARE looked_at AS {text}".encode(), prepare=False)
    try:
        types = connection.execute("SELECT parameter_types FROM pg_prepared_statements", prepare=False).fetchone()
        assert types is not None
        given = f"({', '.join(['NULL'] * len(types[0]))})" if types[0] else ""
        found = connection.execute(f"EXPLAIN (FORMAT JSON) EXECUTE looked_at{given}".encode(), prepare=False).fetchone()
    finally:
        connection.execute("DEALLOCATE looked_at", prepare=False)
    assert found is not None
    plan: dict[str, Any] = found[0][0]["Plan"]
    return plan


def faults_of(
    plan: dict[str, Any], large: set[str], *, is_limited: bool = False, may_read: bool = False, may_sort: bool = False
) -> list[str]:
    """What is wrong with a plan. `is_limited`: a LIMIT ends the node early, and nothing between gathers its rows."""
    kind, table = plan["Node Type"], plan.get("Relation Name")
    index = plan.get("Index Name", "")
    found = []
    if kind == "Seq Scan" and table in large:
        found.append(f"reads all of {table}")
    if kind.startswith("Gather"):
        found.append("asks for other processes")
    if kind in _SCANS and index in large and not is_limited:
        if "Index Cond" not in plan:
            found.append(f"reads all of {index}")
        elif plan["Total Cost"] > MOST_ROWS and not may_read:
            found.append(f"reads {plan['Total Cost']:,.0f} rows by {index} for {plan['Plan Rows']:,} of them")
    children = plan.get("Plans", ())
    if kind in _COLLECTS and not may_sort and max(map(held_rows, children)) > MOST_ROWS:
        found.append(f"holds {children[0]['Plan Rows']:,} rows for {kind}")
    for child in children:
        ends_early = kind == "Limit" or (is_limited and kind not in _READ_TO_THE_END)
        found += faults_of(child, large, is_limited=ends_early, may_read=may_read, may_sort=may_sort)
    return found


def held_rows(plan: dict[str, Any]) -> int:
    """The estimated rows of a node that a LIMIT, or the number of a caller's values, does not bound; else 0."""
    children = [child for child in plan.get("Plans", ()) if child["Parent Relationship"] not in ("InitPlan", "SubPlan")]
    if plan["Node Type"] in ("Limit", "Function Scan"):
        return 0
    counts = [held_rows(child) for child in children]
    if plan["Node Type"] == "Nested Loop" and 0 in counts:
        # So many for each of those that are bounded.
        return 0 if max(counts) <= MOST_ROWS else max(counts)
    return 0 if counts and not any(counts) else int(plan["Plan Rows"])


def test_no_statement_reads_or_sorts_a_large_table(grown):
    connection, large = grown
    every = every_statement()
    assert every.keys() >= READS_MUCH.keys() | SORTS_MUCH.keys()
    found = {}
    for name, text in every.items():
        plan = plan_of(connection, text)
        faults = faults_of(plan, large, may_read=name in READS_MUCH, may_sort=name in SORTS_MUCH)
        if faults:
            found[name] = faults
    assert found == {}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("SELECT body FROM frame WHERE frame = $1", "by frame_pkey"),
        ("SELECT id FROM execution WHERE version = $1", "reads all of execution"),
        ("SELECT id FROM execution WHERE machine = $1 AND status = $2", "by execution_by_status"),
        ("SELECT id, body FROM outbox WHERE id > $1 ORDER BY kind LIMIT $2", "for Sort"),
        ("SELECT count(*) FROM message WHERE id > $1 LIMIT $2", "by message_pkey"),
        (
            "SELECT h.body FROM execution AS e JOIN execution_head AS h ON h.id = e.id WHERE e.shard = $1",
            "reads all of",
        ),
    ],
)
def test_a_statement_that_would_read_much_is_noticed(grown, text, fault):
    connection, large = grown
    assert any(fault in one for one in faults_of(plan_of(connection, text), large)), plan_of(connection, text)


def test_the_planner_believes_in_the_rows(grown):
    connection, _ = grown
    assert plan_of(connection, "SELECT count(*) FROM execution")["Plans"][0]["Plan Rows"] == pytest.approx(
        ROWS, rel=0.1
    )


def test_every_file_of_statements_is_looked_at():
    names = {path.name.removesuffix(".sql") for path in files("statewright.stores").joinpath("sql").iterdir()}
    statements_of = {name for name in names if name.startswith("postgres_") and not name[-4:].isdigit()}
    looked_at = {name.split(".")[0] for name in every_statement()}
    assert looked_at == statements_of | {"objects"}
    parts = statements("postgres_writes")
    used = group_statement(groups()["all"], "owner", 1, 0)[0]
    assert [name for name in parts if f"{name} AS (" not in used and not name.startswith("no_")] == ["answer"]
