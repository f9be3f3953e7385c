"""Virtual time inside a Python worker: the handler's clocks and sleeps follow the server's clock.

Loaded by the fork server and installed after the fork, before the handler's module is imported, so that an unedited
handler with `time.sleep(120)` takes 120 virtual seconds and hardly any real ones. Uses the standard library alone,
from Python 3.9 on.

Time stands still while a handler works. Every reading of a clock lets a microsecond pass, so that no elapsed time is
zero, and a loop that waits for a clock ends. Not covered: waits with a timeout on locks, queues, events and processes,
which take real time.
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
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")
D = TypeVar("D", bound=datetime.datetime)
DateT = TypeVar("DateT", bound=datetime.date)

READINGS_PER_MS = 1000
SETTLE_SECONDS = 0.004
"""Real time for which a sleeping thread waits for the handler's other threads before it lets time continue."""
WORKING_SECONDS = 2.0
"""Real time for which time stands still because other threads of the handler compute; a thread that spins forever may
not stop it."""
REAL_IO_SECONDS = 0.05
"""Real time for which an event loop of the handler waits for input and output before it lets time continue."""

real_sleep = time.sleep
real_monotonic = time.monotonic


class WorkerTime:
    """The handler's time. `ask` sends the server a request to sleep, `answer` waits for its next message."""

    def __init__(self, now_ms: int, ask: Callable[[int], None], answer: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._readings = 0
        self._ask = ask
        self._answer = answer
        self._changed = threading.Condition()
        self._sleepers: list[float] = []
        self._asked: list[int] = []
        self._registrations = 0
        self._has_leader = False

    def install(self, worker: int) -> None:
        """Replace the clocks and sleeps of this process; name the worker in calls to the server."""
        _install_time(self)
        _install_datetime(self)
        _install_loops(self)
        _install_calls(self, worker)

    def begin(self, now_ms: int, request_id: str) -> None:
        """Start an invocation at an instant. Its random numbers depend on its id alone, so runs can be repeated."""
        self.reach(now_ms)
        random.seed(request_id)
        os.urandom = random.Random("bytes " + request_id).randbytes

    def microseconds(self) -> int:
        """Microseconds since the epoch; each reading takes one."""
        self._readings += 1
        if self._readings >= READINGS_PER_MS:
            self._readings = 0
            self.sleep_until(self._now_ms + 1)
        return self._now_ms * 1000 + self._readings

    def sleep(self, seconds: float) -> None:
        """Replace `time.sleep`."""
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        # A thousandth of a millisecond allows for the rounding of floats.
        self.sleep_until(self._now_ms + math.ceil(seconds * 1000 - 1e-3))

    def sleep_until(self, due_ms: int) -> None:
        """Wait until the server's clock has reached an instant."""
        if due_ms <= self._now_ms:
            return
        if threading.active_count() == 1:
            self._ask(due_ms)
            self.reach(self._answer())
        else:
            self._sleep_among_threads(due_ms)

    def reach(self, now_ms: int) -> None:
        """Set the time to the server's."""
        # Earlier readings still count after a sleep, so that no sleep seems too short.
        self._now_ms = max(now_ms, self._now_ms)

    def _sleep_among_threads(self, due_ms: int) -> None:
        """Sleep in one of several threads: one of them asks the server for the earliest instant of all."""
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
        ends = real_monotonic() + WORKING_SECONDS
        while seen != self._registrations or (_others_work() and real_monotonic() < ends):
            # Other threads may be about to sleep as well, or for a shorter time.
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


def _others_work() -> bool:
    """True if another thread of this process runs or is ready to run; False where there is no /proc to say so."""
    own = str(threading.get_native_id())
    try:
        threads = os.listdir("/proc/self/task")
    except OSError:
        return False
    return any(_runs(thread) for thread in threads if thread != own)


def _runs(thread: str) -> bool:
    try:
        with open(f"/proc/self/task/{thread}/stat", "rb") as file:
            # The state follows the name, which is in parentheses and may contain any character.
            return file.read().rpartition(b") ")[2][:1] in b"RD"
    except OSError:
        # It has ended since the list was read: another thread may wait for that.
        return True


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


def _with_default(function: Callable[[T], R], default: Callable[[], T]) -> Callable[..., R]:
    return lambda value=None: function(default() if value is None else value)


def _with_last_default(function: Callable[[str, T], R], default: Callable[[], T]) -> Callable[..., R]:
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
            # The inherited one would omit the module.
            return "datetime." + super().__repr__()

        @classmethod
        def now(cls: type[D], tz: datetime.tzinfo | None = None) -> D:
            return cls.fromtimestamp(clock.microseconds() / 1e6, tz)

        @classmethod
        def utcnow(cls: type[D]) -> D:
            return cls.fromtimestamp(clock.microseconds() / 1e6, datetime.timezone.utc).replace(tzinfo=None)  # noqa: UP017

        @classmethod
        def today(cls: type[D]) -> D:
            return cls.now()

    class VirtualDate(datetime.date, metaclass=OfDate):
        def __repr__(self) -> str:
            return "datetime." + super().__repr__()

        @classmethod
        def today(cls: type[DateT]) -> DateT:
            return cls.fromtimestamp(clock.microseconds() / 1e6)

    for made, real in ((VirtualDatetime, real_datetime), (VirtualDate, real_date)):
        made.__name__ = made.__qualname__ = real.__name__
        made.__module__ = "datetime"
        setattr(datetime, real.__name__, made)


def _install_loops(clock: WorkerTime) -> None:
    """Replace the selector's wait, in which the handler's event loops sleep."""
    kind: Any = selectors.DefaultSelector
    real_select = kind.select

    def select(self: selectors.BaseSelector, timeout: float | None = None) -> object:
        if timeout is None or timeout <= 0:
            return real_select(self, timeout)
        # A loop watches a pipe of its own; on any other file real data may be about to arrive.
        found = real_select(self, 0 if len(self.get_map()) <= 1 else min(timeout, REAL_IO_SECONDS))
        if found:
            return found
        clock.sleep(timeout)
        return real_select(self, 0)

    kind.select = select


def _install_calls(clock: WorkerTime, worker: int) -> None:
    """Name the worker in calls to the server, so that the server knows who waits; take the time from its answers."""
    server = os.environ.get("AWS_ENDPOINT_URL", "").partition("://")[2].rstrip("/")
    connection: Any = http.client.HTTPConnection
    putrequest = connection.putrequest

    def named(self: http.client.HTTPConnection, *given: object, **more: object) -> None:
        putrequest(self, *given, **more)
        if f"{self.host}:{self.port}" == server:
            self.putheader("x-statewright-worker", str(worker))

    getresponse = connection.getresponse

    def timed(self: http.client.HTTPConnection, *given: object, **more: object) -> object:
        answer = getresponse(self, *given, **more)
        now_ms = answer.headers.get("x-statewright-now")
        if now_ms is not None:
            clock.reach(int(now_ms))
        return answer

    connection.putrequest = named
    connection.getresponse = timed
