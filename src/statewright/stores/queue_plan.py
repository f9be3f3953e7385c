"""Messages in an SQL store: the statements for a group of queue tasks, for any database. No SQL, no I/O.

Each kind of task is merged into one statement per table. Tasks of a group are executed by kind: sends, then
deletions and hidings, then moves, deletions by proof, and claims. That order is as good as theirs, because no caller
deletes or hides a message that a claim of the same group has yet to return.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Final, Protocol

from statewright.stores.completion import Completion, completed
from statewright.stores.queue_protocol import Claim, Claimed, Gone, GroupChange, MessageRow, Move, Once
from statewright.stores.statements import SqlRow

_HEAD: Final = 200
"""Messages from the front that are searched first for those of quiet tenants."""
_LAST: Final = "\U0010ffff"
"""Behind every tenant."""


@dataclass(frozen=True, slots=True)
class SendTask:
    """Insert messages; answered with their ids."""

    rows: Sequence[MessageRow]
    onces: Sequence[Once] = ()
    completion: Completion[list[int]] | None = None


@dataclass(frozen=True, slots=True)
class DropTask:
    """Delete messages by id."""

    ids: Sequence[int]
    groups: Sequence[GroupChange]


@dataclass(frozen=True, slots=True)
class HideTask:
    """Set until when messages are hidden."""

    changes: Sequence[tuple[int, int]]
    groups: Sequence[GroupChange]
    completion: Completion[None] | None = None


@dataclass(frozen=True, slots=True)
class MoveTask:
    """Move messages to other queues."""

    moves: Sequence[Move]
    groups: Sequence[GroupChange]


@dataclass(frozen=True, slots=True)
class ProofTask:
    """Delete messages by id and receipt; answered with those that were there."""

    proofs: Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class ClaimTask:
    """Receive."""

    claim: Claim


class QueueSql(Protocol):
    """The named statements of `sql/queues.sql` and its kin, inside the transaction of a group."""

    def write(self, name: str, rows: Sequence[SqlRow]) -> None:
        """Run a statement over rows; none is nothing."""

    def write_ids(self, name: str, ids: Iterable[int], *before: object) -> None:
        """Run a statement over ids, given after its other values."""

    def match(self, name: str, rows: Sequence[SqlRow]) -> list[SqlRow]:
        """The result of a statement over rows."""

    def fetch(self, name: str, *given: object) -> list[SqlRow]:
        """The result of a statement."""

    def fetch_ids(self, name: str, ids: Iterable[int]) -> list[SqlRow]:
        """The result of a statement over ids."""

    def claim(self, queue: int, until_ms: int, limit: int, now_ms: int) -> list[Claimed]:
        """The messages of a queue visible by an instant, oldest first, as they will be once received now."""

    def read(self, ids: Sequence[int], now_ms: int) -> list[Claimed]:
        """Messages by id, in that order, as they will be once received."""

    def run(self, name: str, *given: object) -> int:
        """Run a statement; how many rows it changed."""

    def complete(self, rows: Sequence[tuple[int, bytes]]) -> None:
        """Complete outbox rows, by id, with bodies; none is nothing."""

    def take_time(self) -> None:
        """Allow the rest of the transaction to take long."""


@dataclass(frozen=True, slots=True)
class QueueWork:
    """Anything else, after the others; answered with what it returns."""

    work: Callable[[QueueSql], object]


QueueTask = SendTask | DropTask | HideTask | MoveTask | ProofTask | ClaimTask | QueueWork


def write_queue_tasks(sql: QueueSql, tasks: Sequence[QueueTask]) -> list[object]:
    """Execute the queue tasks of a group; their answers."""
    answers: list[object] = [None] * len(tasks)
    sends: list[tuple[int, SendTask]] = []
    claims: list[tuple[int, ClaimTask]] = []
    proofs: list[tuple[int, ProofTask]] = []
    works: list[tuple[int, QueueWork]] = []
    dropped: list[int] = []
    hidden: dict[int, int] = {}
    moves: list[Move] = []
    groups: list[GroupChange] = []
    for place, task in enumerate(tasks):
        if isinstance(task, SendTask):
            sends.append((place, task))
        elif isinstance(task, ClaimTask):
            claims.append((place, task))
        elif isinstance(task, DropTask):
            dropped += task.ids
            groups += task.groups
        elif isinstance(task, HideTask):
            hidden.update(task.changes)
            groups += task.groups
        elif isinstance(task, MoveTask):
            moves += task.moves
            groups += task.groups
        elif isinstance(task, ProofTask):
            proofs.append((place, task))
        else:
            works.append((place, task))
    if sends:
        _send(sql, sends, answers)
    if dropped:
        _delete(sql, dropped)
    sql.write("hide", list(hidden.items()))
    for move in moves:
        _move(sql, move)
    if groups:
        _change_groups(sql, groups)
    for place, proof in proofs:
        answers[place] = _drop_proven(sql, proof.proofs)
    for place, receive in claims:
        answers[place] = _claim(sql, receive.claim)
    for place, other in works:
        answers[place] = other.work(sql)
    completions = [
        (task.completion, answer)
        for task, answer in zip(tasks, answers, strict=True)
        if isinstance(task, SendTask | HideTask)
    ]
    sql.complete(completed(completions))
    return answers


# Sending


def _send(sql: QueueSql, sends: Sequence[tuple[int, SendTask]], answers: list[object]) -> None:
    rows = [row for _, task in sends for row in task.rows]
    onces = [once for _, task in sends for once in task.onces]
    repeated = _repeats(sql, onces) if onces else {}
    if repeated:
        rows = [row for row in rows if row.once not in repeated]
    asked = [
        Once(row.id, row.dedup_queue, row.dedup, row.sent_ms, row.dedup_until_ms)
        for row in rows
        if row.dedup is not None
    ]
    firsts = _repeats(sql, asked) if asked else {}
    new = [row for row in rows if row.id not in firsts] if firsts else rows
    sql.write("insert_messages", [row[:6] for row in new])
    sql.write("insert_bodies", [(row.id, row.body, row.extra) for row in new])
    fill_groups(sql, [(row.queue, row.group, row.visible_ms) for row in new if row.group is not None])
    kept = {
        (once.queue, once.key): (once.until_ms, once.id)
        for once in (*onces, *asked)
        if once.id not in firsts and once.id not in repeated
    }
    sql.write("put_dedups", [(*key, *value) for key, value in kept.items()])
    for place, task in sends:
        sent = [0 if row.once in repeated else firsts.get(row.id, row.id) for row in task.rows]
        answers[place] = [*sent, *(repeated.get(once.id, once.id) for once in task.onces)]


def _repeats(sql: QueueSql, asked: Sequence[Once]) -> dict[int, int]:
    """Those that repeat another one, with the id of that."""
    firsts: dict[int, int] = {}
    firsts.update(sql.match("known_dedups", [once[:4] for once in asked]))
    of_group: dict[tuple[int, str], tuple[int, int]] = {}
    for once in asked:
        if once.id in firsts:
            continue
        first, until_ms = of_group.get((once.queue, once.key), (0, 0))
        if until_ms > once.now_ms:
            firsts[once.id] = first
        else:
            of_group[once.queue, once.key] = once.id, once.until_ms
    return firsts


def fill_groups(sql: QueueSql, rows: Sequence[tuple[int, str, int]]) -> None:
    """Messages come into groups: queue, group and when the message is visible, in the order of the messages."""
    found: dict[tuple[int, str], tuple[int, int]] = {}
    for queue, group, visible_ms in rows:
        first_ms, many = found.get((queue, group), (visible_ms, 0))
        found[queue, group] = first_ms, many + 1
    sql.write("fill_groups", [(*key, *value) for key, value in found.items()])


# Deleting, hiding, moving


def _delete(sql: QueueSql, ids: Sequence[int]) -> None:
    sql.write_ids("drop_messages", ids)
    sql.write_ids("drop_bodies", ids)


def _change_groups(sql: QueueSql, changes: Sequence[GroupChange]) -> None:
    gone: Counter[tuple[int, str]] = Counter()
    free: dict[tuple[int, str], int | None] = {}
    for change in changes:
        key = change.queue, change.group
        gone[key] += change.gone
        free[key] = free.get(key) if change.free_ms is None else change.free_ms
    sql.write("shrink_groups", [(*key, many, free[key]) for key, many in gone.items()])
    sql.write("drop_empty_groups", [key for key, many in gone.items() if many])


def _drop_proven(sql: QueueSql, proofs: Sequence[tuple[int, int]]) -> list[Gone]:
    found: dict[int, tuple[Gone, int]] = {}
    for number, receives, visible_ms, group, queue in sql.match("proven", proofs):
        found[number] = Gone(number, receives, visible_ms, group), queue
    drop_gone(sql, list(found.values()))
    return [gone for gone, _ in found.values()]


def drop_gone(sql: QueueSql, found: Sequence[tuple[Gone, int]]) -> None:
    """Delete messages, each given with its queue, and bring their groups up to date."""
    if found:
        _delete(sql, [gone.id for gone, _ in found])
        changes = [GroupChange(queue, gone.group, 1, None) for gone, queue in found if gone.group is not None]
        if changes:
            _change_groups(sql, changes)


def _move(sql: QueueSql, move: Move) -> None:
    given = (
        move.id,
        move.new_id,
        move.from_queue,
        move.queue,
        move.group,
        move.visible_ms,
        move.sent_ms,
        move.source,
    )
    if sql.run("renew_message" if move.is_fresh else "move_message", *given):
        sql.run("move_body", move.id, move.new_id, move.extra)
        if move.group is not None:
            fill_groups(sql, [(move.queue, move.group, move.visible_ms)])


# Receiving


def _claim(sql: QueueSql, claim: Claim) -> list[list[Claimed]]:
    if claim.is_fifo:
        return [_claim_groups(sql, claim, want.most, want.visible_ms) for want in claim.wants]
    total = sum(want.most for want in claim.wants)
    for at_ms, overdue in groupby(claim.overdue, key=itemgetter(1)):
        sql.write_ids("give_places", [number for number, _ in overdue], at_ms, claim.now_ms)
    if claim.noisy:
        rows = sql.read(_choose(sql, claim, total), claim.now_ms)
    else:
        rows = sql.claim(claim.queue, claim.now_ms, total, claim.now_ms)
    dealt: list[list[Claimed]] = []
    start = 0
    for want in claim.wants:
        dealt.append(rows[start : start + want.most])
        start += want.most
    for until_ms, served in groupby(zip(claim.wants, dealt, strict=True), lambda pair: pair[0].visible_ms):
        _receive(sql, claim, until_ms, [row.id for _, of_one in served for row in of_one])
    return dealt


def _receive(sql: QueueSql, claim: Claim, until_ms: int, ids: Sequence[int]) -> None:
    if ids:
        sql.write_ids("receive", ids, until_ms, claim.receipt, claim.now_ms)


def _choose(sql: QueueSql, claim: Claim, most: int) -> list[int]:
    """Ids of visible messages, those of noisy tenants last."""
    head = sql.fetch("head", claim.queue, claim.now_ms, most + _HEAD)
    noisy = set(claim.noisy)
    chosen = dict.fromkeys([number for number, tenant in head if tenant not in noisy][:most])
    # Tenants are searched in turn, from the end of the last claim; the gaps between noisy ones hold the others.
    bounds = ["", *sorted(noisy), _LAST]
    gaps = [(max(low, claim.after_tenant), high) for low, high in pairwise(bounds)]
    gaps += [(low, high) for low, high in pairwise(bounds) if low < claim.after_tenant]
    for low, high in gaps:
        if len(chosen) >= most:
            break
        if low < high:
            found = sql.fetch("of_tenants", claim.queue, low, high, claim.now_ms, most)
            chosen.update(dict.fromkeys([number for (number,) in found]))
    for tenant in claim.noisy:
        if len(chosen) >= most:
            break
        found = sql.fetch("of_tenant", claim.queue, tenant, claim.now_ms, most)
        chosen.update(dict.fromkeys([number for (number,) in found]))
    return list(chosen)[:most]


def _claim_groups(sql: QueueSql, claim: Claim, most: int, until_ms: int) -> list[Claimed]:
    """One receive of a FIFO queue: the first messages of groups that are free, all that each of them has."""
    ids: list[int] = []
    changes: list[GroupChange] = []
    groups = sql.fetch("free_groups", claim.queue, claim.now_ms, most)
    for (group,) in groups:
        if len(ids) >= most:
            break
        found = sql.fetch("first_of_group", claim.queue, group, most - len(ids))
        taken: list[int] = []
        for number, visible_ms in found:
            if visible_ms > claim.now_ms:
                break
            taken.append(number)
        # A group whose first message is delayed waits for that.
        free_ms = until_ms if taken or not found else found[0][1]
        changes.append(GroupChange(claim.queue, group, 0, free_ms))
        ids += taken
    if changes:
        _change_groups(sql, changes)
    if not ids:
        return []
    rows = sql.read(ids, claim.now_ms)
    _receive(sql, claim, until_ms, ids)
    return rows
