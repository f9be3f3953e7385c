"""The time limit of an integration's call."""

from __future__ import annotations

import logging

import pytest

from statewright.apis.calls import IntegrationFailed
from statewright.apis.integrations.in_time import in_time
from statewright.background import Background
from statewright.errors import ApiError
from statewright.virtual_clock import VirtualClock, run_virtual


async def refused() -> str:
    raise ApiError("ValidationException", "not so")


async def answered() -> str:
    return "answer"


def test_a_call_in_time_gives_its_answer_or_its_refusal_without_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    async def main(clock: VirtualClock) -> None:
        late = Background("a call")
        assert await in_time(late, clock, answered(), 1_000, "it") == "answer"
        with pytest.raises(ApiError, match="not so"):
            await in_time(late, clock, refused(), 1_000, "it")
        await late.stop()

    with caplog.at_level(logging.WARNING):
        run_virtual(main)
    assert caplog.records == []


def test_a_late_call_runs_to_its_end() -> None:
    ended: list[str] = []

    async def main(clock: VirtualClock) -> None:
        late = Background("a call")

        async def slow() -> None:
            await clock.sleep_until(clock.now_ms() + 5_000)
            ended.append("slow")

        with pytest.raises(IntegrationFailed, match="it took longer than 1000 ms"):
            await in_time(late, clock, slow(), 1_000, "it")
        assert ended == []
        await clock.sleep_until(clock.now_ms() + 10_000)
        assert ended == ["slow"]
        await late.stop()

    run_virtual(main)
