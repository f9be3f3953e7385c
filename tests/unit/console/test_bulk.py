"""Work on many executions: who may, at what rate, and that it ends when its page goes away."""

from __future__ import annotations

import asyncio
import logging
from types import SimpleNamespace
from typing import Any

import pytest

from statewright.console.asked import Asked, Caller, Lines
from statewright.console.context import Console
from statewright.console.lists import bulk
from statewright.errors import ApiError
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.api.apps import app_of

ARN = "arn:aws:states:us-east-1:000000000000:execution:m:e{}"


def console_with(clock: Any, stopped: list[str]) -> Console:
    """A console whose engine notes what it is asked to stop, and refuses every third."""

    async def stop_execution(arn: str, error: str | None, cause: str | None) -> int:
        stopped.append(arn)
        if len(stopped) % 3 == 0:
            raise ApiError("ExecutionDoesNotExist", "gone")
        return 0

    return Console(app_of(clock=clock, engine=SimpleNamespace(stop_execution=stop_execution)))


def asked(count: int, *, may_write: bool = True) -> Asked:
    body = {"verb": "stop", "arns": [ARN.format(number) for number in range(count)]}
    return Asked({}, Caller(may_write=may_write), "request-1", body)


def test_a_caller_that_may_only_read_changes_nothing():
    async def body() -> None:
        with pytest.raises(ApiError, match="may only read"):
            await bulk.run(console_with(None, []), asked(1, may_write=False))

    asyncio.run(body())


def test_it_goes_at_a_rate_and_counts_refusals(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, "statewright.console")
    stopped: list[str] = []

    async def story(clock: VirtualClock) -> list[Any]:
        lines = await bulk.run(console_with(clock, stopped), asked(100))
        assert isinstance(lines, Lines)
        began_ms = clock.now_ms()
        found = [line async for line in lines.documents]
        assert clock.now_ms() - began_ms == 100 * 1000 // bulk.PER_SECOND
        return found

    found = run_virtual(story)
    assert found[-1] == {"done": 100, "of": 100, "succeeded": 67, "refused": 33, "isOver": True}
    assert len([one for line in found for one in line.get("refusals", ())]) == 33
    assert len(stopped) == 100
    first, last = (record.getMessage() for record in caplog.records)
    assert first == "bulk stop of 100 executions by a user of this machine in the console, request request-1"
    assert last == "bulk stop, request request-1: 100 of 100 done, 33 of them refused"


def test_it_ends_when_the_page_goes_away():
    stopped: list[str] = []

    async def story(clock: VirtualClock) -> None:
        lines = await bulk.run(console_with(clock, stopped), asked(100))
        assert isinstance(lines, Lines)
        documents: Any = lines.documents
        for _ in range(3):
            await anext(documents)
        await documents.aclose()

    run_virtual(story)
    assert len(stopped) == 3


def test_a_stop_that_has_begun_is_finished_when_the_page_goes_away():
    begun, may_end = asyncio.Event(), asyncio.Event()
    ended: list[str] = []

    async def stop_execution(arn: str, error: str | None, cause: str | None) -> int:
        begun.set()
        await may_end.wait()
        ended.append(arn)
        return 0

    async def story(clock: VirtualClock) -> None:
        console = Console(app_of(clock=clock, engine=SimpleNamespace(stop_execution=stop_execution)))
        lines = await bulk.run(console, asked(2))
        assert isinstance(lines, Lines)
        documents: Any = lines.documents
        reading = asyncio.ensure_future(anext(documents))
        await begun.wait()
        reading.cancel()
        await asyncio.sleep(0)
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await reading

    run_virtual(story)
    assert ended == [ARN.format(0)]


def test_the_log_names_the_user_whom_a_proxy_has_signed_in(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, "statewright.console")

    async def story(clock: VirtualClock) -> None:
        body = {"verb": "stop", "arns": [ARN.format(0)]}
        lines = await bulk.run(console_with(clock, []), Asked({}, Caller(user="ada"), "request-1", body))
        assert isinstance(lines, Lines)
        assert [line async for line in lines.documents]

    run_virtual(story)
    assert "by ada in the console" in caplog.text
