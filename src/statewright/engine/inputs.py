"""Inputs: what an execution has to do next, and what its caller is answered once that is durable."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from statewright.engine.dispatch import ScheduledCall
from statewright.engine.executions.live import LiveExecution
from statewright.errors import ApiError
from statewright.interpreter import events
from statewright.stores.protocol import Existing

Accept = Callable[[LiveExecution], bool]
"""Decides on the state in memory whether an event applies: false leaves it out, an ApiError is the answer."""


class Quarantined(ApiError):
    """A bug in Statewright holds the execution back; it continues where it is once the bug is fixed."""

    def __init__(self, execution_arn: str, reason: str) -> None:
        super().__init__(
            "InternalServerError", f"Execution {execution_arn} is held back by an internal error: {reason}"
        )


class AlreadyThere(Exception):
    """The answer to a start whose name is taken."""

    def __init__(self, existing: Existing) -> None:
        super().__init__()
        self.row = existing.row


class Input:
    """An event for an execution, and the future of its answer.

    `result` makes the answer from the state once the event is applied. The answer is given after the commit, also when
    it is a refusal. `settled` is called once then, with either answer.
    """

    __slots__ = ("accept", "answer", "call", "client_token", "completed", "event", "inbox_row", "result", "settled")

    def __init__(
        self,
        event: events.Event,
        *,
        accept: Accept | None = None,
        result: Callable[[LiveExecution], object] | None = None,
        answer: asyncio.Future[Any] | None = None,
        inbox_row: int = 0,
        client_token: str | None = None,
        call: ScheduledCall | None = None,
        settled: Callable[[], None] | None = None,
        completed: tuple[int, bytes] | None = None,
    ) -> None:
        self.settled = settled
        self.call = call
        """The call whose result the event is."""
        self.completed = completed
        """The outbox row of the task that gives the input, with its completed body."""
        self.client_token = client_token
        """The client token that identifies a redrive."""
        self.event = event
        self.accept = accept
        self.result = result
        self.answer = answer
        self.inbox_row = inbox_row

    def settle(self, value: object) -> None:
        """Answer with a value, or with an exception that the caller is to see."""
        if self.settled is not None:
            settled, self.settled = self.settled, None
            settled()
        answer = self.answer
        if answer is None or answer.done():
            return
        if isinstance(value, BaseException):
            answer.set_exception(value)
        else:
            answer.set_result(value)


def no_result(_live: LiveExecution) -> None:
    """The answer to a caller who only waits until an event is durable."""


def runs(live: LiveExecution) -> bool:
    """Accepts what only an open execution takes."""
    return live.is_running
