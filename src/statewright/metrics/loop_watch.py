"""The watchdog of the event loop: logs what holds the loop when it is late, and counts how often.

The listener beats ten times a second on the loop; a thread looks four times a second if the last beat is overdue. It
logs the operation, execution or expression noted in `at_work`, and the place in the code, while the loop is still held.
Where the interpreter lock is held, too, the thread comes no sooner than the loop itself: the beat that follows reports
the lag then. Only servers in real time have one.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Final

from statewright.at_work import AT_WORK, AtWork

LATE_SECONDS: Final = 0.5
"""From this lag on the loop counts as held up."""
BEAT_SECONDS: Final = 0.1
LOOK_SECONDS: Final = 0.25
_FRAMES: Final = 6
_SHOWN: Final = 300

log = logging.getLogger("statewright.loop")


class LoopWatch:
    """Counts the lags of one loop. `beat` is called on the loop, `look` by the thread."""

    def __init__(self, at_work: AtWork = AT_WORK, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._at_work = at_work
        self._monotonic = monotonic
        self._beat_at: float | None = None
        self._reported = False
        self._loop_thread = threading.get_ident()
        self._over = threading.Event()
        self._lock = threading.Lock()
        self.lags = 0
        """How often the loop was held up."""
        self.longest_seconds = 0.0

    def start(self) -> None:
        """Begin to look, in a thread."""
        threading.Thread(target=self._watch, name="loop-watch", daemon=True).start()

    def stop(self) -> None:
        """Look no more."""
        self._over.set()

    def beat(self) -> None:
        """The loop runs."""
        now = self._monotonic()
        with self._lock:
            late = self._late(now)
            if late >= LATE_SECONDS:
                self.longest_seconds = max(self.longest_seconds, late)
                if not self._reported:
                    self._report("was held up for", late, "")
            self._beat_at = now
            self._loop_thread = threading.get_ident()
            self._reported = False

    def look(self) -> None:
        """Report a lag that goes on, once."""
        with self._lock:
            late = self._late(self._monotonic())
            if late >= LATE_SECONDS and not self._reported:
                self._report("has been held up for", late, self._place())

    def _watch(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            self.look()

    def _late(self, now: float) -> float:
        return now - self._beat_at - BEAT_SECONDS if self._beat_at is not None else 0.0

    def _report(self, words: str, late: float, place: str) -> None:
        self._reported = True
        self.lags += 1
        self.longest_seconds = max(self.longest_seconds, late)
        work = self._at_work
        expression = work.expression
        within = f", the expression {expression[:_SHOWN]}" if expression is not None else ""
        log.warning(
            "the event loop %s %.1f seconds; the last work that began is the %s %s%s%s",
            words, late, work.kind, work.name, within, place,
        )  # fmt: skip

    def _place(self) -> str:
        frame = sys._current_frames().get(self._loop_thread)
        if frame is None:
            return ""
        lines = [f"{one.filename}:{one.lineno} {one.name}" for one in traceback.extract_stack(frame)[-_FRAMES:]]
        return "; it is at " + " < ".join(reversed(lines))
