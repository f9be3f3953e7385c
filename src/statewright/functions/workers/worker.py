"""A worker: one process that runs the invocations of one function version, one after the other.

Owns the frames over its socket, its output pipe, its timeout and its end. Pools choose the worker of an invocation
(`pools.py`); `outcomes.py` turns its outcome into an answer.

Frames are those of `frames.py`; a worker that sends anything else is killed. Besides sending results a worker may ask
for the time: in virtual time it gets the clock's, and parks in `sleep_until`; in real time it is refused, because it
has a clock of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import signal
import socket
import time
from collections.abc import Callable, Iterator
from typing import Final

import orjson

from statewright.clock import BusyToken, Clock, Timer
from statewright.credentials import LEFT_MS, Credentials
from statewright.functions.outcomes import Outcome
from statewright.functions.workers import processes
from statewright.functions.workers.fork_servers import End
from statewright.functions.workers.frames import LONGEST_FRAME, READ_BYTES, BrokenFrame, FrameBuffer, frame, header_of
from statewright.functions.workers.isolation import NAMESPACES, NONE
from statewright.functions.workers.plans import WorkerPlan, in_virtual_time
from statewright.payload import JsonMapping

log = logging.getLogger("statewright.functions")

_LONG_SECONDS: Final = 10.0
"""Real time for which virtual time may stand still before the log has a warning."""
_LAST_WORDS_MS: Final = 200
"""How long to wait for the end of file of a dead worker's socket, whose other end a child may still hold."""
_PAUSE_MS: Final = 50
"""Lateness of a deadline from which the process, or its machine, had stood still."""
_MOST_READS: Final = LONGEST_FRAME // READ_BYTES
"""Reads of a socket after a deadline, whose other end may never stop writing."""
_REST_MS: Final = 1_000
"""Extension after such a pause for an answer that is being sent."""


class Worker(asyncio.BufferedProtocol):
    """One worker process and its current invocation, if any."""

    def __init__(
        self,
        number: int,
        plan: WorkerPlan,
        credentials: Credentials,
        clock: Clock,
        stream: str,
        turns: Iterator[int],
        on_free: Callable[[Worker], None],
        on_end: Callable[[Worker], None],
    ) -> None:
        self.number = number
        self.plan = plan
        self.credentials = credentials
        self.stream = stream
        self.on_free = on_free
        self.on_end = on_end
        self.pid = 0
        self.pid_counted = False
        """True once its pool no longer counts it as starting."""
        self.timed_out_starting = False
        self.ready = False
        self.died = False
        self.doomed = False
        self.killed_for_memory = False
        self.problem = ""
        """Why it could not be started, or was lost; empty if neither."""
        self.init_failure: bytes | None = None
        self.init_ms: float | None = None
        self.log = plan.open_log(stream)
        self.idle_since_ms = 0
        self.in_hand: asyncio.Future[Outcome] | None = None
        self.transport: asyncio.Transport | None = None
        self.output = -1
        self.started_ns = time.perf_counter_ns()
        self._clock = clock
        self._frames = FrameBuffer()
        self._socket: socket.socket | None = None
        self._deadline: Timer | None = None
        self._due_ms = 0
        self._is_extended = False
        self._request_id = ""
        self.turn = 0
        """Number of its invocation, which orders this worker among others in virtual time."""
        self._turns = turns
        self._sent_ms = 0
        self._is_parked = False
        """True while the handler sleeps in virtual time."""
        self._calls = 0
        self._is_stuck = False
        self._has_warned = False
        self._most_seconds = plan.start_ms / 1000
        self.name = str(plan.spawn_message["env"].get("AWS_LAMBDA_FUNCTION_NAME", ""))
        self._ending: BusyToken | None = None
        self._ended = False
        self._exit_code: int | None = None
        self._sent_ns = 0
        self._token: BusyToken | None = None
        self._stopped: list[int] = []
        """Processes that are stopped while the worker is idle."""

    # ------------------------------------------------------------------ life

    async def start(self) -> None:
        """Start the process, which reports when it is ready. Raises: OSError."""
        self.log.write(self.plan.remark)
        loop = asyncio.get_running_loop()
        self.fork_server = self.plan.fork_server()
        ours, theirs = socket.socketpair()
        output, their_output = os.pipe()
        os.set_blocking(output, False)
        null = os.open(os.devnull, os.O_RDONLY)
        self._token = self._clock.busy()
        self.turn = next(self._turns)
        self._sent_ns = time.perf_counter_ns()
        try:
            message = {
                **self.plan.spawn_message,
                "env": {
                    **self.plan.spawn_message["env"],
                    **self.credentials.variables(),
                    **self._scratch(),
                    "AWS_LAMBDA_LOG_STREAM_NAME": self.stream,
                },
            }
            if self.plan.virtual_time:
                message = in_virtual_time(message, self.number, self._clock.now_ms())
            self.fork_server.spawn(
                self.number, message, (theirs.fileno(), their_output, null), self._on_started, self._on_ended
            )
        finally:
            theirs.close()
            os.close(their_output)
            os.close(null)
        self.output = output
        loop.add_reader(output, self._read_output)
        ours.setblocking(False)
        self._socket = ours
        if not self.plan.is_remote:
            self._set_deadline(self.plan.start_ms, self._time_out_starting)
        await loop.create_unix_connection(lambda: self, sock=ours)

    def end(self, *, grace_seconds: float | None = None) -> None:
        """End the process with its children; harmless when repeated."""
        if not self.doomed and not self.died:
            self.doomed = True
            self.thaw()
            self._ending = self._clock.busy()
            if grace_seconds is None:
                self.fork_server.end(self.number)
            else:
                self.fork_server.end(self.number, grace_seconds=grace_seconds)

    @property
    def is_usable(self) -> bool:
        """True if it can be given an invocation: it lives, and so do its credentials until after the longest one."""
        return not (self.died or self.doomed) and self.credentials.expires_ms - self._clock.now_ms() > LEFT_MS

    @property
    def exit_code(self) -> int | None:
        """Exit code of the process, negative for a signal; `None` if unknown."""
        return self._exit_code

    def outcome_of_end(self) -> Outcome:
        """The outcome for an invocation that the end of the worker leaves without an answer."""
        if self.problem:
            return Outcome("lost" if self.ready else "unstartable", self.problem.encode())
        return Outcome("exit", exit_code=self._exit_code, killed_for_memory=self.killed_for_memory)

    def family(self) -> list[int]:
        """Its process and all descendants. The first process of a namespace is no handler's, and is left out."""
        return processes.family(self.pid)[self.plan.isolation == NAMESPACES :] if self.pid else []

    def freeze(self) -> None:
        """Stop its processes until the next invocation, as the service freezes an idle environment."""
        if not self._stopped and self.in_hand is None and self.plan.isolation != NONE and not self.plan.virtual_time:
            # A process may be born between the look and the signal; once none is new, none is left to bear any.
            while born := [pid for pid in self.family() if pid not in self._stopped]:
                processes.send(born, signal.SIGSTOP)
                self._stopped += born

    def thaw(self) -> None:
        """Let its processes continue."""
        if self._stopped:
            stopped, self._stopped = self._stopped, []
            processes.send(stopped[::-1], signal.SIGCONT)

    def _scratch(self) -> dict[str, str]:
        if self.plan.scratch is None:
            return {}
        folder = self.plan.scratch / str(self.number)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return {"TMPDIR": str(folder)}

    def _time_out_starting(self) -> None:
        if self._has_answered(self._time_out_starting):
            return
        self.timed_out_starting = True
        self.end(grace_seconds=0)

    def _set_deadline(self, after_ms: int, callback: Callable[[], None]) -> None:
        self._is_extended = False
        self._due_ms = self._clock.now_ms() + after_ms
        self._deadline = self._clock.call_at(self._due_ms, callback)

    def _has_answered(self, callback: Callable[[], None]) -> bool:
        """True if what the worker has sent in time makes its deadline void, or moves it.

        After a pause of this process the deadline fires before the loop has read the socket. An answer that has
        arrived by then counts; one that is only partly there, because it does not fit into the socket's buffer, gets
        one extension.
        """
        if self.plan.virtual_time or self._socket is None or self.transport is None:
            return False
        deadline = self._deadline
        with contextlib.suppress(OSError):
            for _ in range(_MOST_READS):
                if self._deadline is not deadline or self.transport.is_closing():
                    break
                count = self._socket.recv_into(self.get_buffer(READ_BYTES))
                if not count:
                    break
                self.buffer_updated(count)
        if self._deadline is not deadline:
            return True
        if self._is_extended or not self._frames.filled or self._clock.now_ms() - self._due_ms < _PAUSE_MS:
            return False
        self._set_deadline(_REST_MS, callback)
        self._is_extended = True
        return True

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _on_started(self, pid: int) -> None:
        self.pid = pid
        if self.plan.is_remote and not (self.died or self.doomed):
            # It may have waited for a place among other machines for any time.
            self.started_ns = time.perf_counter_ns()
            self._set_deadline(self.plan.start_ms, self._time_out_starting)

    def _on_ended(self, end: End) -> None:
        self._ended = True
        self._exit_code = end.exit_code
        self.problem = end.problem
        self.killed_for_memory |= end.for_memory
        if self.transport is None or self.transport.is_closing():
            self._close_at_rest()
        elif not self.plan.virtual_time:
            # The socket may still hold frames that it sent before it died, followed by the end of file.
            self._clock.call_at(self._clock.now_ms() + _LAST_WORDS_MS, self._close)

    def _close_at_rest(self) -> None:
        self._release()
        self._release_ending()
        self._clock.at_rest(self.turn, self._close)

    def _close(self) -> None:
        if self.died:
            return
        self.died = True
        self._stop_deadline()
        self._read_output()
        if self.output >= 0:
            asyncio.get_running_loop().remove_reader(self.output)
            os.close(self.output)
            self.output = -1
        if self.transport is not None:
            self.transport.abort()
        if self.plan.scratch is not None:
            folder = self.plan.scratch / str(self.number)
            asyncio.get_running_loop().run_in_executor(None, shutil.rmtree, folder, True)
        self._finish(self.outcome_of_end())
        self._release()
        self._release_ending()
        self.on_end(self)

    def _release_ending(self) -> None:
        token, self._ending = self._ending, None
        if token is not None:
            token.release()

    # ------------------------------------------------------------------ invocations

    def invoke(
        self, request_id: str, header: bytes, payload: bytes, timeout_ms: int, start: bytes
    ) -> asyncio.Future[Outcome]:
        """Send the worker an invocation; the header is JSON, `start` the first line of its log.

        The future gets an outcome, however the worker ends.
        """
        assert self.transport is not None
        assert self.in_hand is None
        if self._stopped:
            self.thaw()
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self.in_hand = future
        self._request_id = request_id
        self.log.begin(start)
        self._token = self._clock.busy()
        self.turn = next(self._turns)
        self._is_parked = False
        self._sent_ms = self._clock.now_ms()
        if self.plan.virtual_time:
            header = b'{"now_ms":%d,' % self._sent_ms + header[1:]
        self._sent_ns = time.perf_counter_ns()
        self._most_seconds = timeout_ms / 1000
        self._has_warned = False
        self._set_deadline(timeout_ms, self._time_out)
        self.transport.write(frame(header, payload))
        return future

    def _time_out(self) -> None:
        if self._has_answered(self._time_out):
            return
        self._read_output()
        self._finish(Outcome("timeout"))
        self.end()

    def _finish(self, outcome: Outcome) -> None:
        future, self.in_hand = self.in_hand, None
        if future is None:
            return
        self._stop_deadline()
        if self.plan.virtual_time:
            outcome.duration_ns = (self._clock.now_ms() - self._sent_ms) * 1_000_000
        else:
            outcome.duration_ns = time.perf_counter_ns() - self._sent_ns
        self._release()
        if not future.done():
            future.set_result(outcome)

    def _release(self) -> None:
        token, self._token = self._token, None
        if token is not None:
            token.release()

    # ------------------------------------------------------------------ the socket

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport. The worker may be silent for long, while it imports."""
        assert isinstance(transport, asyncio.Transport) or hasattr(transport, "write")
        self.transport = transport  # type: ignore[assignment]

    def connection_lost(self, _exc: Exception | None) -> None:
        """End the worker: its process has ended or closed its socket, and is of no more use."""
        if self._ended:
            self._close_at_rest()
        else:
            self.end()

    def get_buffer(self, _sizehint: int) -> memoryview:
        """Buffer for the loop to fill."""
        return self._frames.space()

    def buffer_updated(self, nbytes: int) -> None:
        """Handle the complete frames. A worker that sends anything else is killed."""
        try:
            for header, body in self._frames.added(nbytes):
                self._on_frame(header_of(header), body)
        except BrokenFrame as problem:
            self._break(str(problem))

    def _break(self, why: str) -> None:
        log.warning("worker %d of %s is killed: it wrote to the runtime's socket: %s", self.number, self.name, why)
        self.end(grace_seconds=0)
        if self.transport is not None:
            self.transport.abort()

    def _on_frame(self, message: JsonMapping, body: bytes) -> None:
        if message["t"] != "now":
            # In virtual time the server handles a message only once all other workers are at rest as well.
            self._clock.at_rest(self.turn, lambda: self._on_message(message, body))
            if self.plan.virtual_time:
                self._release()
        else:
            self._on_message(message, body)

    def _on_message(self, message: JsonMapping, body: bytes) -> None:
        kind = message["t"]
        if kind in ("result", "error", "too_long"):
            # An answer for another invocation is one that a handler has forged: late answers end with their worker.
            if self.in_hand is None or message["id"] != self._request_id:
                return
            self._read_output()
            self._finish(Outcome(kind, body, peak_kib=message["peak_kib"]))
            if not self.doomed:
                self.on_free(self)
        elif kind == "ready":
            if self.ready:
                return
            self.ready = True
            self.init_ms = 0.0 if self.plan.virtual_time else (time.perf_counter_ns() - self.started_ns) / 1e6
            self._stop_deadline()
            self._release()
            self.on_free(self)
        elif kind == "failed" and not self.ready:
            self._read_output()
            self.init_failure = body
            self._release()
            self.end()
        elif kind in ("now", "sleep_until"):
            self._answer_about_time(message)

    def _answer_about_time(self, message: JsonMapping) -> None:
        if not self.plan.virtual_time:
            self._send({"t": "refused", "why": "this server keeps real time: read the time and sleep by yourself"})
        elif message["t"] == "now":
            self._send({"t": "time", "now_ms": self._clock.now_ms()})
        else:
            # A handler in a virtual sleep is not busy: time may jump to the end of its sleep.
            due_ms = max(int(message["due_ms"]), self._clock.now_ms())
            self._is_parked = True
            self._clock.call_at(due_ms, self._wake)
            self._release()

    def _wake(self) -> None:
        if not self.died:
            self._is_parked = False
            self._hold()
            self._send({"t": "time", "now_ms": self._clock.now_ms()})

    def _hold(self) -> None:
        """Stop virtual time for a worker that works again."""
        if (
            self._token is None
            and not self.died
            and not self._is_stuck
            and (self.in_hand is not None or not self.ready)
        ):
            self._token = self._clock.busy()

    # ------------------------------------------------------------------ calls to the server itself

    def begin_call(self) -> None:
        """Note that the handler waits for an answer of this server: virtual time may pass until it arrives."""
        self._calls += 1
        self._release()

    def end_call(self) -> None:
        """Note that the handler's call is about to be answered."""
        if self._calls:
            self._calls -= 1
            if not self._is_parked:
                self._hold()

    def check_long_work(self, waited_seconds: float) -> None:
        """Warn if virtual time stands still because of this worker; release it after the invocation's own timeout.

        `waited_seconds` is the real time for which virtual time has stood still.
        """
        if self._token is None:
            return
        if self._ended and not self.died:
            # A child of the dead process holds its socket open.
            self._close()
            return
        if (time.perf_counter_ns() - self._sent_ns) / 1e9 > self._most_seconds:
            log.warning("worker %d of %s was busy for its whole timeout in real time", self.number, self.name)
            self._is_stuck = True
            self._release()
        elif not self._has_warned and waited_seconds >= _LONG_SECONDS:
            self._has_warned = True
            log.warning(
                "virtual time has stood still for %d s: worker %d of %s is busy, or waits for something outside of "
                "virtual time",
                waited_seconds, self.number, self.name,
            )  # fmt: skip

    def _send(self, header: JsonMapping) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(frame(orjson.dumps(header), b""))

    # ------------------------------------------------------------------ output

    def _read_output(self) -> None:
        """Log output of the process; at most one buffer at a time, so that a flood does not block the loop."""
        if self.output < 0:
            return
        try:
            data = os.read(self.output, READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self.log.write(data)
        else:
            asyncio.get_running_loop().remove_reader(self.output)
            os.close(self.output)
            self.output = -1
