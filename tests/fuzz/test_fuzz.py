"""A minute of fuzzing, and the seeds through every target. `make fuzz` fuzzes for an hour."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, target
from hypothesis import strategies as st

from tests.fuzz.run import SEEDS, fuzz
from tests.fuzz.targets import LONGEST, TARGETS

SECONDS = 55
"""For all targets together."""
EXAMPLES = 600
"""For each target where atheris is not installed."""
PACKAGE = "/statewright/"


def seeds_of(name: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted((SEEDS / name).iterdir())]


def test_every_target_has_seeds_and_every_seed_a_target() -> None:
    assert sorted(TARGETS) == sorted(folder.name for folder in SEEDS.iterdir())
    assert all(seeds_of(name) for name in TARGETS)


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_seeds_break_nothing(name: str) -> None:
    for other in TARGETS:
        for seed in seeds_of(other):
            TARGETS[name](seed)
            TARGETS[name](seed[: len(seed) // 2])


if find_spec("atheris") is not None:

    @pytest.mark.slow
    def test_nothing_breaks_in_a_minute_of_atheris(tmp_path: Path) -> None:
        assert fuzz(sorted(TARGETS), SECONDS, tmp_path) == []

else:

    @pytest.mark.slow
    @pytest.mark.parametrize("name", sorted(TARGETS))
    def test_nothing_breaks_in_examples_that_reach_more_and_more_code(name: str) -> None:
        run = TARGETS[name]

        @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(mutated(seeds_of(name)))
        def broken_by(data: bytes) -> None:
            target(float(lines_reached(run, data)), label="lines")

        broken_by()


def mutated(seeds: list[bytes]) -> st.SearchStrategy[bytes]:
    """A seed with up to four pieces of it replaced, doubled or removed, some by pieces of other seeds."""
    pieces = st.one_of(
        st.binary(max_size=4),
        st.sampled_from(seeds).flatmap(lambda seed: st.integers(0, len(seed)).map(lambda at: seed[at : at + 12])),
        st.text(max_size=4).map(lambda text: text.encode("utf-8", "surrogatepass")),
    )
    edits = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 12), pieces), max_size=4)

    def edited(drawn: tuple[bytes, list[tuple[int, int, bytes]]]) -> bytes:
        data, changes = drawn
        for at, length, piece in changes:
            data = data[:at] + piece + data[at + length :]
        return data[:LONGEST]

    return st.tuples(st.sampled_from(seeds), edits).map(edited)


def lines_reached(run: Callable[[bytes], None], data: bytes) -> int:
    """How many lines of the package an input reaches."""
    lines: set[tuple[str, int]] = set()

    def on_line(frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "line":
            lines.add((frame.f_code.co_filename, frame.f_lineno))
        return on_line

    def on_call(frame: FrameType, _event: str, _argument: Any) -> Any:
        return on_line if PACKAGE in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(on_call)
    try:
        run(data)
    finally:
        sys.settrace(before)
    return len(lines)
