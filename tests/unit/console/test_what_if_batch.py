"""A batch of What if: an execution whose replay fails because of a bug is one line, and the others are judged."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

from statewright.console.analysis import replays
from statewright.console.analysis.what_if import _judged
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.console.live_pages import console_of
from tests.unit.engine.running import Rig, machine, passing


def test_a_bug_in_a_replay_is_said_logged_and_no_end_of_the_batch(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    lines: list[Any] = []

    async def run_bounded(work: Callable[[Any], Any], question: replays.Question) -> Any:
        if question.identity.name == "second":
            raise ZeroDivisionError("a bug")
        return work(question)

    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        definition = machine(P=passing())
        target = await rig.machine(definition)
        for name in ("first", "second", "third"):
            await rig.end((await rig.engine.start_execution(target, name, "{}")).arn)
        monkeypatch.setattr(rig.engine.heavy, "run_bounded", run_bounded)
        rows = await rig.engine.listing.newest(target.machine_id, 10)
        lines.extend([line async for line in _judged(console_of(rig).app, rows, json.dumps(definition), False)])
        await rig.down()

    with caplog.at_level(logging.ERROR, "statewright.console"):
        run_virtual(main)
    total, *judged, end = lines
    assert (total, end) == ({"total": 3}, {"done": True, "same": 2, "changed": 0, "unjudged": 1})
    verdicts = {line["name"]: (line["verdict"], line["reason"], line["changes"]) for line in judged}
    assert verdicts["second"] == ("unjudged", "A bug in Statewright ended the replay; the server's log has it.", [])
    assert {verdicts[name][0] for name in ("first", "third")} == {"same"}
    assert "second failed because of a bug in Statewright" in caplog.text
    assert "ZeroDivisionError: a bug" in caplog.text
