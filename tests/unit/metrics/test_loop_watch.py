from __future__ import annotations

import logging
import threading

import pytest

from statewright.at_work import AtWork
from statewright.metrics.loop_watch import BEAT_SECONDS, LATE_SECONDS, LoopWatch
from tests.deadlines import PATIENCE_SECONDS


class Watched:
    """A watchdog on a clock that the test moves."""

    def __init__(self) -> None:
        self.now = 100.0
        self.work = AtWork()
        self.watch = LoopWatch(self.work, lambda: self.now)

    def beat(self, after: float) -> None:
        self.now += after
        self.watch.beat()

    def look(self, after: float) -> None:
        self.now += after
        self.watch.look()


def test_a_loop_that_beats_in_time_is_not_late(caplog: pytest.LogCaptureFixture) -> None:
    watched = Watched()
    watched.look(1000)  # nothing beats before the server serves
    for _ in range(20):
        watched.beat(BEAT_SECONDS + LATE_SECONDS * 0.9)
        watched.look(0.01)
    assert (watched.watch.lags, caplog.text) == (0, "")


def test_a_lag_is_logged_once_while_it_lasts_with_what_is_at_work(caplog: pytest.LogCaptureFixture) -> None:
    watched = Watched()
    watched.beat(0)
    watched.work.begin("execution", "arn:x")
    watched.work.expression = "$slow()"
    for _ in range(8):
        watched.look(0.25)
    watched.beat(1)
    assert watched.watch.lags == 1
    assert watched.watch.longest_seconds == pytest.approx(2.9)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    said = record.getMessage()
    assert "the event loop has been held up for 0.7 seconds" in said
    assert "the last work that began is the execution arn:x, the expression $slow(); it is at " in said
    watched.look(0.25)
    watched.beat(0.1)
    watched.look(0.7)
    assert watched.watch.lags == 2


def test_a_lag_that_holds_the_interpreter_too_is_logged_by_the_next_beat(caplog: pytest.LogCaptureFixture) -> None:
    watched = Watched()
    watched.beat(0)
    watched.work.begin("operation", "TestState")
    watched.beat(3.1)
    assert watched.watch.lags == 1
    assert "the event loop was held up for 3.0 seconds; the last work that began is the operation TestState" in (
        caplog.text
    )


def test_the_thread_looks_while_the_loop_is_held(caplog: pytest.LogCaptureFixture) -> None:
    held = threading.Event()
    # The last handler of the root logger: by then, caplog has the record.
    logging.getLogger().addHandler(seen := Seen(held))
    watch = LoopWatch(AtWork())
    watch.start()
    try:
        watch.beat()
        assert held.wait(PATIENCE_SECONDS)
    finally:
        watch.stop()
        logging.getLogger().removeHandler(seen)
    assert watch.lags == 1
    assert "test_the_thread_looks_while_the_loop_is_held" in caplog.text


class Seen(logging.Handler):
    def __init__(self, event: threading.Event) -> None:
        super().__init__()
        self.event = event

    def emit(self, record: logging.LogRecord) -> None:
        if record.name == "statewright.loop":
            self.event.set()
