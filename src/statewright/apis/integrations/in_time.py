"""The time limit of an integration's call: the client is answered when it has passed, and the call runs to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from statewright.apis.calls import IntegrationFailed
from statewright.background import Background
from statewright.clock import Clock
from statewright.errors import ApiError, StoreError

T = TypeVar("T")


async def in_time(late: Background, clock: Clock, work: Coroutine[Any, Any, T], timeout_ms: int, what: str) -> T:
    """The result of a call that has a time limit; `late` has it afterwards.

    Raises: IntegrationFailed when the time has passed, and what the call raises.
    """
    running = late.spawn(_ended(work))
    ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def end(_: object = None) -> None:
        if not ended.done():
            ended.set_result(None)

    timer = clock.call_at(clock.now_ms() + timeout_ms, end)
    running.add_done_callback(end)
    try:
        await ended
    finally:
        timer.cancel()
    if not running.done():
        raise IntegrationFailed("INTEGRATION_TIMEOUT", f"{what} took longer than {timeout_ms} ms")
    outcome = running.result()
    if isinstance(outcome, _Refused):
        raise outcome.problem
    return outcome


@dataclass(frozen=True, slots=True)
class _Refused:
    problem: ApiError | StoreError | IntegrationFailed


async def _ended(work: Coroutine[Any, Any, T]) -> T | _Refused:
    """The result of a call, or its refusal, which is no failure of the task: the client's answer tells it."""
    try:
        return await work
    except (ApiError, StoreError, IntegrationFailed) as problem:
        return _Refused(problem)
