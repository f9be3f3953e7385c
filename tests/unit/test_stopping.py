"""The deadline of a stop."""

from __future__ import annotations

import logging
import threading

import pytest

from statewright.stopping import StopDeadline
from tests.deadlines import PATIENCE_SECONDS


def test_a_stop_that_takes_too_long_ends_the_process_and_says_what_is_left(caplog: pytest.LogCaptureFixture) -> None:
    codes: list[int] = []
    ended = threading.Event()

    def end(code: int) -> None:
        codes.append(code)
        ended.set()

    deadline = StopDeadline(0.01, lambda: "two rows are unwritten", end)
    with caplog.at_level(logging.ERROR):
        deadline.begin()
        deadline.begin()
        assert ended.wait(PATIENCE_SECONDS)
        deadline.met()
    assert codes == [1]
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith("the stop took more than 0.01 s and was given up: two rows are unwritten. Nothing")


def test_a_stop_in_time_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    codes: list[int] = []
    deadline = StopDeadline(PATIENCE_SECONDS, lambda: "", codes.append)
    deadline.begin()
    deadline.met()
    assert (codes, caplog.records) == ([], [])


def test_a_server_that_never_stops_has_no_deadline() -> None:
    StopDeadline(0.0, lambda: "", lambda code: pytest.fail(f"ended with {code}")).met()
