"""Work that calls services one after the other, as plain code: it runs in a thread, and its calls run on the loop.

1. The work is in its thread only while it computes: each call is handed to the event loop, and the thread waits.
2. Virtual time stands still while the work computes, and passes while it waits for a call.
3. If the task that runs the work is cancelled, the next call of the work ends it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar

from statewright.clock import Clock
from statewright.errors import ApiError
from statewright.payload import Json, JsonObject
from statewright.projects.deploy.calls import Answer, Call, CallRefused

T = TypeVar("T")
MOST_BODY: Final = 256 * 1024 * 1024
"""Bytes of an object that an applier reads, at most. Ours: the code of a function may have 250 MB."""


class Invoke(Protocol):
    """Runs operations of this process."""

    def __call__(self, service: str, operation: str, request: JsonObject, /, *, host: str = "") -> Awaitable[Json]:
        """Run an operation of a service, by botocore's name of it; `host` is that of addresses in the answer.

        Raises: ApiError.
        """


class Ended(Exception):
    """The work's task was cancelled."""


@dataclass(frozen=True, slots=True)
class _Asked:
    service: str
    operation: str
    request: JsonObject
    answer: Future[Answer]


@dataclass(frozen=True, slots=True)
class _Done(Generic[T]):
    result: T | None = None
    problem: BaseException | None = None


async def with_calls(clock: Clock, invoke: Invoke, work: Callable[[Call], T], host: str = "") -> T:
    """Run work in a thread. `host` is that of addresses in answers. Raises: what the work raises."""
    loop = asyncio.get_running_loop()
    inbox: asyncio.Queue[_Asked | _Done[T]] = asyncio.Queue()
    is_open = True

    def arrived(message: _Asked | _Done[T]) -> None:
        if is_open:
            inbox.put_nowait(message)
        elif isinstance(message, _Asked):
            message.answer.set_exception(Ended())

    def call(service: str, operation: str, request: Mapping[str, Any]) -> Answer:
        asked = _Asked(service, operation, {k: v for k, v in request.items() if v is not None}, Future())
        loop.call_soon_threadsafe(arrived, asked)
        return asked.answer.result()

    def run() -> None:
        try:
            done = _Done(work(call))
        except BaseException as problem:
            done = _Done(problem=problem)
        if not loop.is_closed():
            loop.call_soon_threadsafe(arrived, done)

    computing = clock.busy()
    asked: _Asked | None = None
    threading.Thread(target=copy_context().run, args=(run,), name="stack", daemon=True).start()
    try:
        while True:
            message = await inbox.get()
            computing.release()
            if isinstance(message, _Done):
                if message.problem is not None:
                    raise message.problem
                return message.result  # type: ignore[return-value]
            asked = message
            try:
                answer: Answer | None = await _answered(invoke, asked, host)
            except CallRefused as refused:
                computing = clock.busy()
                asked.answer.set_exception(refused)
            else:
                computing = clock.busy()
                asked.answer.set_result(answer or {})
            asked = None
    finally:
        is_open = False
        computing.release()
        if asked is not None:
            asked.answer.set_exception(Ended())


async def _answered(invoke: Invoke, asked: _Asked, host: str) -> Answer:
    """The answer of a call. Raises: CallRefused."""
    try:
        answer: Answer = await invoke(asked.service, asked.operation, asked.request, host=host)
    except ApiError as error:
        raise CallRefused(error.code, error.message) from None
    body = answer.get("Body") if isinstance(answer, dict) else None
    if body is not None and hasattr(body, "__aiter__"):
        pieces, size = [], 0
        async for piece in body:
            size += len(piece)
            if size > MOST_BODY:
                raise CallRefused("EntityTooLarge", f"The object is longer than {MOST_BODY:,} bytes")
            pieces.append(piece)
        answer["Body"] = b"".join(pieces)
    return answer
