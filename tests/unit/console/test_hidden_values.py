"""What histories hide is known for their executions, and histories of those that have ended are read once."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from statewright.console import hidden_values
from statewright.console.hidden_values import HiddenValues
from statewright.console.redaction import MASK, Redactor
from statewright.engine.executions.history_pages import encode_page
from statewright.interpreter.history import HistoryEvent
from statewright.settings.server import ConsoleSettings
from statewright.stores.protocol import HistoryPage
from statewright.virtual_clock import VirtualClock, run_virtual

SECRET = "granite-1138"


def page(number: int, text: str) -> HistoryPage:
    return encode_page([HistoryEvent(number, number - 1, 5, "PassStateEntered", {"name": "A", "input": text})], 5)


def values_over(clock: VirtualClock, histories: dict[int, list[HistoryPage]], payloads: str = "shown") -> HiddenValues:
    async def history_pages(execution: int) -> list[HistoryPage]:
        await asyncio.sleep(0)
        return histories[execution]

    engine: Any = SimpleNamespace(listing=SimpleNamespace(history_pages=history_pages), clock=clock)
    return HiddenValues(engine, Redactor(ConsoleSettings(redact=("**.password",), payloads=payloads)))


def test_a_value_of_any_page_is_hidden_and_ended_histories_are_read_once():
    histories = {
        1: [page(1, "{}"), page(2, f'{{"password":"{SECRET}"}}'), page(3, "{}")],
        2: [page(1, f'{{"other":"{SECRET}"}}')],
    }

    async def story(clock: VirtualClock) -> None:
        hidden = values_over(clock, histories)
        for _ in range(3):
            values = await hidden.of(1, 9)
            assert values is not None
            assert values.text(f"refused {SECRET}") == f"refused {MASK}"
            assert await hidden.of(2, 9) is None
        assert hidden.read == 2
        # One that was redriven has another end.
        await hidden.of(2, 12)
        assert hidden.read == 3

    run_virtual(story)


def test_what_goes_on_is_read_each_time():
    histories = {1: [page(1, "{}")]}

    async def story(clock: VirtualClock) -> None:
        hidden = values_over(clock, histories)
        assert await hidden.of(1, None) is None
        histories[1].append(page(2, f'{{"password":"{SECRET}"}}'))
        assert await hidden.of(1, None) is not None

    run_virtual(story)


def test_long_histories_are_looked_at_in_a_thread(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(hidden_values, "_FEW_BYTES", 0)

    async def story(clock: VirtualClock) -> None:
        hidden = values_over(clock, {1: [page(1, f'{{"password":"{SECRET}"}}')]})
        assert await hidden.of(1, 9) is not None

    run_virtual(story)


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(hidden_values, "KEPT", 2)
    long = page(1, f'{{"password":"{"x" * 2_000}"}}')

    async def story(clock: VirtualClock) -> None:
        hidden = values_over(clock, {0: [long], **{number: [page(1, "{}")] for number in range(1, 4)}})
        for number in (0, 0, 1, 2, 3, 3, 1):
            await hidden.of(number, 9)
        # The long one twice, and the first of the others anew.
        assert hidden.read == 6

    run_virtual(story)


def test_hidden_payloads_need_no_history():
    async def story(clock: VirtualClock) -> None:
        assert await values_over(clock, {}, "hidden").of(1, 9) is None

    run_virtual(story)
