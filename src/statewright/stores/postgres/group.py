"""A group of commits as one SQL statement: its parts, and the arrays that each of them takes.

PostgreSQL does the gating itself, so that a group costs one round trip: the fence, the starts and the compare-and-set
of the steps come first, and every other part writes only for executions that passed. `sql/postgres_writes.sql` has the
parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from operator import itemgetter
from typing import Final

from statewright.stores.ids import shard_of_id
from statewright.stores.plan import STATUS_NUMBERS
from statewright.stores.postgres.arrays import Packed, bigints, byteas, texts
from statewright.stores.protocol import Commit, TimerRow
from statewright.stores.statements import SqlRow, statements

_PACKERS: Final[dict[str, Callable[[SqlRow], Packed]]] = {"bigint": bigints, "bytea": byteas, "text": texts}
_ORDER: Final = (
    "put_heads",
    "clear_frames",
    "clear_payloads",
    "drop_frames",
    "put_frames",
    "put_payloads",
    "put_history",
    "drop_timers",
    "put_timers",
    "drop_outbox",
    "put_outbox",
    "drop_inbox",
    "put_inbox",
)
_MACHINE_AND_NAME: Final = slice(2, 4)

Rows = list[SqlRow]


class GroupParts:
    """Puts statements together from their parts; each combination of parts is one text, made once."""

    def __init__(self, parts: Mapping[str, str]) -> None:
        """`parts` are named as in `sql/postgres_writes.sql`."""
        self._parts = parts
        self._types = {name: re.findall(r"\?::(\w+)\[\]", text) for name, text in parts.items()}
        self._texts: dict[tuple[str, ...], str] = {}

    def statement(self, rows: Mapping[str, Rows], fence: Iterable[object], lane: int) -> tuple[str, SqlRow]:
        """The statement and its parameters. `fence` is what the part `held` takes; counters go to the lane.

        Raises: struct.error for a number that no column holds.
        """
        given = list(fence)
        names = []
        for name in ("started", "stepped"):
            if rows[name]:
                names.append(name)
                given += self._arrays(name, rows[name])
            else:
                names.append(f"no_{name}")
        names += ["passed", "counted"]
        given.append(lane)
        for name in _ORDER:
            if rows[name]:
                names.append(name)
                given += self._arrays(name, rows[name])
        return self._text(tuple(names)), tuple(given)

    def _arrays(self, name: str, rows: Rows) -> list[Packed]:
        columns: Iterable[SqlRow] = zip(*rows, strict=True)
        return [_PACKERS[kind](column) for kind, column in zip(self._types[name], columns, strict=True)]

    def _text(self, names: tuple[str, ...]) -> str:
        text = self._texts.get(names)
        if text is None:
            parts = [f"{name.removeprefix('no_')} AS (\n{self._parts[name]}\n)" for name in ("held", *names)]
            numbers = count(1)
            joined = "WITH " + ",\n".join(parts) + "\n" + self._parts["answer"]
            text = self._texts[names] = re.sub(r"\?", lambda _: f"${next(numbers)}", joined)
        return text


_WRITES: Final = GroupParts(statements("postgres_writes"))


def group_statement(commits: Sequence[Commit], owner: str, epoch: int, lane: int) -> tuple[str, SqlRow]:
    """The statement and its parameters for commits of different executions.

    It answers one row: 1 where the lease was held, and the ids of the executions that passed.

    Raises: struct.error for a number that no column holds.
    """
    rows = rows_of(commits)
    # As the nodes of a cluster insert them (`sql/postgres_cell_writes.sql`), for they may start the same names.
    rows["started"].sort(key=itemgetter(_MACHINE_AND_NAME))
    return _WRITES.statement(rows, (owner, epoch), lane)


def rows_of(commits: Sequence[Commit]) -> dict[str, Rows]:
    """The rows that each part takes of a group; `started` has the new executions in the order of their commits."""
    rows: dict[str, Rows] = {name: [] for name in ("started", "stepped", *_ORDER)}
    for commit in commits:
        row, status = commit.row, STATUS_NUMBERS[commit.row.status]
        if commit.expected == 0:
            columns = row.id, row.shard, row.machine, row.name, status, row.started_ms, row.stopped_ms
            rows["started"].append((*columns, commit.state, row.tail))
            rows["put_heads"].append((row.id, row.head))
        else:
            rows["stepped"].append((row.id, commit.expected, status, row.stopped_ms, commit.state, row.tail))
        if commit.state is not None:
            _add_frames(rows, commit)
        elif commit.expected != 0:
            rows["clear_frames"].append((row.id,))
            rows["clear_payloads"].append((row.id,))
        page = commit.history
        if page is not None:
            rows["put_history"].append((row.id, page.first, page.count, page.at_ms, page.body))
        _add_others(rows, commit)
    return rows


def _add_frames(rows: dict[str, Rows], commit: Commit) -> None:
    execution = commit.row.id
    dropped = set(commit.dropped)
    rows["drop_frames"] += [(execution, frame) for frame in dropped]
    rows["put_frames"] += [(execution, *frame) for frame in commit.frames.items() if frame[0] not in dropped]
    rows["put_payloads"] += [(execution, *text) for text in commit.texts.items()]


def _add_others(rows: dict[str, Rows], commit: Commit) -> None:
    # What one commit both adds and deletes is only deleted: no row may be touched twice in one statement.
    execution = commit.row.id
    if commit.timers_done:
        done = set(commit.timers_done)
        rows["drop_timers"] += [_timer_columns(execution, timer) for timer in done]
        rows["put_timers"] += [_timer_columns(execution, timer) for timer in commit.timers if timer not in done]
    elif commit.timers:
        rows["put_timers"] += [_timer_columns(execution, timer) for timer in commit.timers]
    for kind, added, deleted in (
        ("outbox", commit.outbox, commit.outbox_done),
        ("inbox", commit.inbox, commit.inbox_done),
    ):
        if added:
            rows[f"put_{kind}"] += [(execution, one.id, one.kind, one.body) for one in added if one.id not in deleted]
        if deleted:
            rows[f"drop_{kind}"] += [(execution, number) for number in deleted]


def _timer_columns(execution: int, timer: TimerRow) -> SqlRow:
    return execution, shard_of_id(timer.execution), timer.due_ms, timer.timer
