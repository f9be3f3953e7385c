"""Virtual time inside a Python worker: what a handler asks the time of, and sleeps by, follows the server's clock.

Loaded by the fork server and installed after the fork, before the handler's module is imported, so that an unedited
handler with `time.sleep(120)` takes 120 virtual seconds and hardly any real ones. Uses the standard library alone,
from Python 3.9 on.

Time stands still while a handler works. Every look at a clock lets a microsecond pass, so that a rate is never divided
by nothing, and a loop that waits for a clock gets there. Not covered: waits with a timeout on locks, queues, events
and processes, which are real.
"""

from __future__ import annotations

import datetime
import heapq
import http.client
import math
import os
import random
import selectors
import threading
import time
from collections.abc import Callable
from typing import Any

LOOKS_PER_MS = 1000
SETTLE_SECONDS = 0.004
"""Real time for which a handler's other threads are watched before one that sleeps lets time go on."""
REAL_IO_SECONDS = 0.05
"""Real time that an event loop of the handler waits for input and output before it lets time go on."""

real_sleep = time.sleep
real_monotonic = time.monotonic


class WorkerTime:
    """The time as the handler knows it. `ask` sends the server a request, `answer` waits for its next word."""

    def __init__(self, now_ms: int, ask: Callable[[int], None], answer: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._looks = 0
        self._ask = ask
        self._answer = answer
        self._changed = threading.Condition()
        self._sleepers: list[float] = []
        self._asked: list[int] = []
        self._registrations = 0
        self._has_leader = False

    def install(self, worker: int) -> None:
        """Let everything in this process that asks for the time ask this; name the worker in calls to the server."""
        _install_time(self)
        _install_datetime(self)
        _install_loops(self)
        _install_calls(self, worker)

    def begin(self, now_ms: int, request_id: str) -> None:
        """An invocation starts at this instant. What it draws depends on its id alone: a run can be repeated."""
        self.reach(now_ms)
        random.seed(request_id)
        os.urandom = random.Random("bytes " + request_id).randbytes

    def microseconds(self) -> int:
        """The time since the epoch; a look takes a microsecond."""
        self._looks += 1
        if self._looks >= LOOKS_PER_MS:
            self._looks = 0
            self.sleep_until(self._now_ms + 1)
        return self._now_ms * 1000 + self._looks

    def sleep(self, seconds: float) -> None:
        """As `time.sleep`."""
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        # A thousandth more is the mistake of a float.
        self.sleep_until(self._now_ms + math.ceil(seconds * 1000 - 1e-3))

    def sleep_until(self, due_ms: int) -> None:
        """Return when the server's clock is there."""
        if due_ms <= self._now_ms:
            return
        if threading.active_count() == 1:
            self._ask(due_ms)
            self.reach(self._answer())
        else:
            self._sleep_among_threads(due_ms)

    def reach(self, now_ms: int) -> None:
        """The server says that it is so late now."""
        # What was looked at before a sleep still counts after it: no sleep seems too short.
        self._now_ms = max(now_ms, self._now_ms)

    def _sleep_among_threads(self, due_ms: int) -> None:
        """One of the threads that sleep speaks for all: it asks for the earliest instant of any."""
        with self._changed:
            heapq.heappush(self._sleepers, due_ms)
            self._registrations += 1
            if self._asked and due_ms < min(self._asked):
                self._ask(due_ms)
                self._asked.append(due_ms)
        while True:
            with self._changed:
                while self._has_leader and self._now_ms < due_ms:
                    self._changed.wait()
                if self._now_ms >= due_ms:
                    return
                self._has_leader = True
            try:
                self._lead()
            finally:
                with self._changed:
                    self._has_leader = False
                    self._changed.notify_all()

    def _lead(self) -> None:
        seen = -1
        while seen != self._registrations:
            # Other threads may be about to sleep as well, or not so long.
            seen = self._registrations
            real_sleep(SETTLE_SECONDS)
        with self._changed:
            while self._sleepers and self._sleepers[0] <= self._now_ms:
                heapq.heappop(self._sleepers)
            earliest = int(self._sleepers[0])
            if not self._asked or min(self._asked) > earliest:
                self._ask(earliest)
                self._asked.append(earliest)
        now_ms = self._answer()
        with self._changed:
            self._asked.remove(min(self._asked))
            self.reach(now_ms)


def _install_time(clock: WorkerTime) -> None:
    module: Any = time
    micros = clock.microseconds
    module.time = lambda: micros() / 1e6
    module.time_ns = lambda: micros() * 1000
    for name in ("monotonic", "perf_counter"):
        setattr(module, name, lambda: micros() / 1e6)
        setattr(module, name + "_ns", lambda: micros() * 1000)
    module.sleep = clock.sleep
    for name in ("gmtime", "localtime", "ctime"):
        setattr(module, name, _with_default(getattr(time, name), lambda: micros() / 1e6))
    gmtime, localtime = time.gmtime, time.localtime
    module.strftime = _with_last_default(time.strftime, lambda: localtime())
    module.asctime = _with_default(time.asctime, lambda: gmtime())


def _with_default(function: Callable[[Any], Any], default: Callable[[], Any]) -> Callable[..., Any]:
    return lambda value=None: function(default() if value is None else value)


def _with_last_default(function: Callable[[Any, Any], Any], default: Callable[[], Any]) -> Callable[..., Any]:
    return lambda shape, value=None: function(shape, default() if value is None else value)


def _install_datetime(clock: WorkerTime) -> None:

    real_datetime, real_date = datetime.datetime, datetime.date

    class OfDatetime(type):
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, real_datetime)

        def __subclasscheck__(cls, other: type) -> bool:
            return issubclass(other, real_datetime)

    class OfDate(type):
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, real_date)

        def __subclasscheck__(cls, other: type) -> bool:
            return issubclass(other, real_date)

    class VirtualDatetime(datetime.datetime, metaclass=OfDatetime):
        def __repr__(self) -> str:
            # The type's own would leave the module out.
            return "datetime." + super().__repr__()

        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return cls.fromtimestamp(clock.microseconds() / 1e6, tz)

        @classmethod
        def utcnow(cls) -> Any:
            return cls.fromtimestamp(clock.microseconds() / 1e6, datetime.UTC).replace(tzinfo=None)

        @classmethod
        def today(cls) -> Any:
            return cls.now()

    class VirtualDate(datetime.date, metaclass=OfDate):
        def __repr__(self) -> str:
            return "datetime." + super().__repr__()

        @classmethod
        def today(cls) -> Any:
            return cls.fromtimestamp(clock.microseconds() / 1e6)

    for made, real in ((VirtualDatetime, real_datetime), (VirtualDate, real_date)):
        made.__name__ = made.__qualname__ = real.__name__
        made.__module__ = "datetime"
        setattr(datetime, real.__name__, made)


def _install_loops(clock: WorkerTime) -> None:
    """Event loops of the handler sleep in their selector."""
    kind: Any = selectors.DefaultSelector
    real_select = kind.select

    def select(self: Any, timeout: Any = None) -> Any:
        if timeout is None or timeout <= 0:
            return real_select(self, timeout)
        # A loop watches a pipe of its own; whatever else it watches may have something real on its way.
        found = real_select(self, 0 if len(self.get_map()) <= 1 else min(timeout, REAL_IO_SECONDS))
        if found:
            return found
        clock.sleep(timeout)
        return real_select(self, 0)

    kind.select = select


def _install_calls(clock: WorkerTime, worker: int) -> None:
    """Say in calls to the server whose they are, so that it knows who waits for it; its answers tell the time."""
    server = os.environ.get("AWS_ENDPOINT_URL", "").partition("://")[2].rstrip("/")
    connection: Any = http.client.HTTPConnection
    putrequest = connection.putrequest

    def named(self: Any, *given: Any, **more: Any) -> None:
        putrequest(self, *given, **more)
        if f"{self.host}:{self.port}" == server:
            self.putheader("x-statewright-worker", str(worker))

    getresponse = connection.getresponse

    def timed(self: Any, *given: Any, **more: Any) -> Any:
        answer = getresponse(self, *given, **more)
        now_ms = answer.headers.get("x-statewright-now")
        if now_ms is not None:
            clock.reach(int(now_ms))
        return answer

    connection.putrequest = named
    connection.getresponse = timed
