"""Which histories stay in memory: those read last, and those that pages follow while they are not too long together."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from statewright.console import runs
from statewright.console.redaction import Redactor, RunRedaction
from statewright.console.runs import Runs
from statewright.interpreter.history import HistoryEvent
from statewright.settings.server import ConsoleSettings
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.engine.running import Rig, machine, passing, wait

engine: Any = None


def kept(lengths: list[int], followed: set[int], newest: int) -> list[int]:
    """The executions whose histories are kept, of those with so many characters of payloads."""
    made = Runs(engine)
    for number, length in enumerate(lengths):
        one: Any = SimpleNamespace(recorded=SimpleNamespace(characters=length))
        made._kept[number] = one
    made._followed.update(followed)
    made._make_room(newest)
    return list(made._kept)


@pytest.mark.parametrize(
    ("lengths", "followed", "expected"),
    [
        ([1] * 10, set(), list(range(2, 10))),
        ([1] * 10, {0, 1}, [0, 1, *range(4, 10)]),
        ([60, 60, 60], set(), [2]),
        ([60, 60, 60], {0, 1}, [0, 1, 2]),
        ([200, 60, 60, 200], {0, 1, 2}, [1, 2, 3]),
        ([900], set(), [0]),
    ],
)
def test_room_is_made(monkeypatch: pytest.MonkeyPatch, lengths, followed, expected):
    monkeypatch.setattr(runs, "KEPT_CHARACTERS", 100)
    monkeypatch.setattr(runs, "FOLLOWED_CHARACTERS", 400)
    assert kept(lengths, followed, len(lengths) - 1) == expected


def told(events: Sequence[HistoryEvent]) -> str:
    return str([event.details for event in events])


def test_a_long_history_is_hidden_again_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "_FEW_EVENTS", 4)
    threads: list[bool] = []

    def again(self: RunRedaction, shown: Sequence[HistoryEvent]) -> list[HistoryEvent]:
        threads.append(threading.current_thread() is threading.main_thread())
        return hide_again(self, shown)

    hide_again = RunRedaction.again
    monkeypatch.setattr(RunRedaction, "again", again)

    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        made = Runs(rig.engine, Redactor(ConsoleSettings(redact=("**.password",))))
        states = {"A": passing("B"), "B": passing("W"), "W": wait(5, "C"), "C": passing("V"), "V": wait(5, "D")}
        secret = passing("X", Result={"password": "hunter2-hunter2"})
        arn = await rig.begin(machine(**states, D=secret, X=wait(5)), {"said": "hunter2-hunter2"})
        await rig.settle()
        assert "hunter2" in told(await made.events(arn))
        await rig.until(6_000)
        assert (len(await made.events(arn)), threads) == (10, [])
        await rig.until(6_000)
        assert "hunter2" not in told(await made.events(arn))
        assert threads == [False]
        await rig.down()

    run_virtual(main)
