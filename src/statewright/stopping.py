"""The deadline of a server's stop: a process whose store cannot be written ends all the same, and says what it leaves.

Owns the one deadline over the whole stop, from the signal to the end of the process: running calls, what executions
have yet to write, and the closing of the store. It is watched from a thread, because a disk that hangs may block the
event loop, and the process then ends without another step: nothing that was acknowledged is lost by that, as by any
kill. Order and steps of a stop belong to `server.py`.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from typing import Final

FAILED: Final = 1
"""The exit code of a stop that left something unwritten."""

log = logging.getLogger("statewright.server")


class StopDeadline:
    """Ends the process if its stop takes more than `seconds`. `left` says what is not done: "the store is not closed".

    `left` is called in another thread than the event loop's. `end` ends the process with an exit code.
    """

    def __init__(self, seconds: float, left: Callable[[], str], end: Callable[[int], object] = os._exit) -> None:
        self._seconds = seconds
        self._left = left
        self._end = end
        self._thread: threading.Thread | None = None
        self._met = threading.Event()

    def begin(self) -> None:
        """The stop begins; harmless when repeated."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="statewright-stop", daemon=True)
            self._thread.start()

    def met(self) -> None:
        """The stop is over."""
        self._met.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self) -> None:
        if self._met.wait(self._seconds):
            return
        log.error(
            "the stop took more than %g s and was given up: %s. Nothing acknowledged is lost; executions continue from "
            "their last commits at the next start",
            self._seconds,
            self._left(),
        )
        for handler in logging.getLogger().handlers:
            handler.flush()
        self._end(FAILED)
