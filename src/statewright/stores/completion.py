"""Completions: the transaction of an effect also notes, in the outbox row that asked for it, that it has happened.

1. A task's call of one of Statewright's own services is named by an outbox row until the execution has its answer.
2. The transaction that makes the call's effect replaces that row's body by one that carries the answer. So after a
   crash, or where a commit stays unanswered, the row says whether the effect has happened, and what its answer is.
3. A row that is gone stays gone: the execution does not wait for the answer any more.
4. The answer is known inside the transaction only, hence the function. A write that refuses or changes nothing
   completes nothing, because repeating it does no harm.

What the body is belongs to the engine (`engine.dispatch`); stores only write it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

S = TypeVar("S")
T = TypeVar("T")
Outcome = TypeVar("Outcome", contravariant=True)


@dataclass(frozen=True, slots=True)
class Completion(Generic[Outcome]):
    """Completes the outbox row with this id, with the body that `body_of` makes of the write's outcome.

    `body_of` returns `None` for an outcome that completes nothing. It runs inside the transaction, in the thread of
    the store, and again if the transaction is repeated; so it only reads.
    """

    outbox: int
    body_of: Callable[[Outcome], bytes | None]


Complete = Callable[[Completion[Any] | None, object], None]
"""Completes an outbox row immediately, given the outcome of its effect's write."""


def adapted(completion: Completion[T] | None, convert: Callable[[S], T | None]) -> Completion[S] | None:
    """The completion of a lower layer, whose outcome `convert` turns into that of the layer above.

    `convert` returns `None` for an outcome that completes nothing.
    """
    if completion is None:
        return None
    body_of = completion.body_of

    def from_below(outcome: S) -> bytes | None:
        converted = convert(outcome)
        return None if converted is None else body_of(converted)

    return Completion(completion.outbox, from_below)


def if_made(completion: Completion[T] | None, value: T) -> Completion[bool] | None:
    """The completion of a write that says whether it was made, for a caller that has this value if it was."""
    return adapted(completion, lambda is_made: value if is_made else None)


def known(completion: Completion[T] | None, outcome: T) -> tuple[int, bytes] | None:
    """The outbox row that a write with an outcome known in advance completes."""
    return next(iter(completed([(completion, outcome)])), None)


def completed(outcomes: Iterable[tuple[Completion[Any] | None, object]]) -> list[tuple[int, bytes]]:
    """The outbox rows that the writes of a transaction complete, by id; an exception completes nothing."""
    rows: list[tuple[int, bytes]] = []
    for completion, outcome in outcomes:
        if completion is None or isinstance(outcome, Exception):
            continue
        body = completion.body_of(outcome)
        if body is not None:
            rows.append((completion.outbox, body))
    return rows
