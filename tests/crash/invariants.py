"""What must hold after any number of crashes, for every suite that kills something.

`check_history` looks at one execution's events as the API shows them, `same_course` compares two of them, and
`check_rest` looks into the data folder of a server that has ended with nothing left to do.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from statewright.stores.protocol import STATUSES
from statewright.stores.sqlite.file import FILE_NAME

ENDS = {
    "ExecutionSucceeded": "SUCCEEDED",
    "ExecutionFailed": "FAILED",
    "ExecutionTimedOut": "TIMED_OUT",
    "ExecutionAborted": "ABORTED",
}
REDRIVEN = "ExecutionRedriven"


def whole_history(call: Any, arn: str) -> list[dict[str, Any]]:
    """Every event of an execution; `call` is a `Caller`."""
    found: list[dict[str, Any]] = []
    token: dict[str, str] = {}
    while True:
        page = call("GetExecutionHistory", executionArn=arn, maxResults=1000, **token)
        found += page["events"]
        if "nextToken" not in page:
            return found
        token = {"nextToken": page["nextToken"]}


def every_execution(call: Any, machine: str) -> list[dict[str, Any]]:
    """Every execution of a machine."""
    found: list[dict[str, Any]] = []
    token: dict[str, str] = {}
    while True:
        page = call("ListExecutions", stateMachineArn=machine, maxResults=1000, **token)
        found += page["executions"]
        if "nextToken" not in page:
            return found
        token = {"nextToken": page["nextToken"]}


def check_history(events: Sequence[dict[str, Any]], status: str, name: str = "") -> None:
    """Ids 1 to n, one beginning, one end for each time that it was driven, and time that never runs backwards."""
    assert [event["id"] for event in events] == list(range(1, len(events) + 1)), f"{name}: a hole or a repeat"
    types = [event["type"] for event in events]
    assert types[0] == "ExecutionStarted", name
    assert types.count("ExecutionStarted") == 1, name
    for place, kind in enumerate(types[:-1]):
        assert kind not in ENDS or types[place + 1] == REDRIVEN, f"{name}: something happened after {kind}"
    if status == "RUNNING":
        assert types[-1] not in ENDS, name
    else:
        assert ENDS.get(types[-1]) == status, f"{name}: {status} after {types[-1]}"
    times = [event["timestamp"] for event in events]
    assert times == sorted(times), f"{name}: time runs backwards"
    for event in events:
        assert 0 <= event.get("previousEventId", 0) < event["id"], f"{name}: event {event['id']} follows a later one"


def same_course(events: Sequence[dict[str, Any]], undisturbed: Sequence[dict[str, Any]], name: str = "") -> None:
    """Both histories tell of the same events; what ran side by side may have been written in another order.

    Two differences are none. A task that a worker took and never answered, because the server died with the answer
    that gave it to him, is tried again after its timeout, as it would be with a worker that died. And whoever answers
    a token may be faster than the answer to the request that gave it to him, which then finds nobody waiting.
    """
    here, there = Counter(_types(events)), Counter(_types(undisturbed))
    if here["TaskSucceeded"] + here["TaskFailed"] > here["TaskSubmitted"]:
        del here["TaskSubmitted"], there["TaskSubmitted"]
    assert here == there, f"{name}: more {here - there}, fewer {there - here}"


def _types(events: Sequence[dict[str, Any]]) -> Iterator[str]:
    skipped: set[int] = set()
    for event in events:
        if event["type"] == "ActivityTimedOut":
            skipped.add(event["id"])
            skipped.update(_attempt_of(events, event))
    return (event["type"] for event in events if event["id"] not in skipped)


def _attempt_of(events: Sequence[dict[str, Any]], end: dict[str, Any]) -> Iterator[int]:
    before = events[end["previousEventId"] - 1]
    yield before["id"]
    if before["type"] == "ActivityStarted":
        yield before["previousEventId"]


def check_rest(data: Path) -> dict[str, int]:
    """Nothing is left that would wake anybody, and every counter says what is there; executions by status."""
    file = sqlite3.connect(data / FILE_NAME)
    try:
        assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        for table in ("timer", "outbox", "inbox"):
            rows = file.execute(f"SELECT * FROM {table} LIMIT 5").fetchall()
            assert rows == [], f"{table} still has {rows}"
        # Map Runs, which have machines below 0, are counted apart.
        by_status = file.execute("SELECT status, count(*) FROM execution WHERE machine >= 0 GROUP BY status")
        counted = dict(by_status.fetchall())
        kept = file.execute("SELECT status, sum(n) FROM execution_count WHERE machine = -1 GROUP BY status").fetchall()
        assert {status: number for status, number in kept if number} == counted
        clashes = file.execute(
            "SELECT a.execution FROM history a JOIN history b ON a.execution = b.execution AND a.first < b.first "
            "AND b.first < a.first + a.n LIMIT 5"
        ).fetchall()
        assert clashes == [], f"history pages of {clashes} overlap"
        orphans = file.execute(
            "SELECT execution FROM frame WHERE execution NOT IN (SELECT id FROM execution) LIMIT 5"
        ).fetchall()
        assert orphans == []
        return {STATUSES[status]: number for status, number in counted.items()}
    finally:
        file.close()
