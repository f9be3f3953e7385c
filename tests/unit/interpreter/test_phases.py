"""The tables of phases: complete, reachable, drawn as they are. That they are true is checked wherever `advance` runs
under `tests.conformance.watch`."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from statewright.interpreter.phases import FRAME_PHASES, MAP_RUN_PHASES, PHASES, RUN_PHASES
from statewright.interpreter.state import Frame
from statewright.payload import Payload
from tests.conformance.watch import watched_phases
from tests.phases_drawing import COMMAND, DOCUMENT, written


@pytest.mark.parametrize(("table", "names"), [(FRAME_PHASES, PHASES), (MAP_RUN_PHASES, RUN_PHASES)])
def test_every_phase_can_be_reached_and_left(table: Mapping[int, Mapping[int, str]], names: tuple[str, ...]) -> None:
    assert list(table) == list(range(len(names)))
    reached, found = {0}, [0]
    while found:
        new = table[found.pop()].keys() - reached
        reached |= new
        found += new
    assert reached == table.keys()
    assert all(table.values())


def test_a_change_that_is_not_in_the_table_is_noticed() -> None:
    frame = Frame(0, -1, 0, 0, "S", Payload({}))
    ready, waiting, joined = (PHASES.index(name) for name in ("ready", "waiting", "joined"))
    seen: set[tuple[int, int]] = set()
    with watched_phases(Frame, FRAME_PHASES, seen):
        frame.phase = waiting
        with pytest.raises(AssertionError, match="not in the table"):
            frame.phase = joined
    assert seen == {(ready, waiting)}
    frame.phase = joined


def test_the_drawing_is_what_would_be_written() -> None:
    assert DOCUMENT.read_text() == written(), f"docs/phases.md is stale: run {COMMAND}"
