"""Log streams of functions, in bounded files, as `function logs` shows them.

Each function has one file, and the previous one once it has grown: `NAME.log`, `NAME.log.1`. A line is
`epoch ms TAB stream TAB text`. Lines are buffered for a moment; a killed server loses these. A file `NAME.late` marks
files with lines that came late.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from statewright.clock import Clock, Timer
from statewright.engine.executions.logs import LATE

FILE_BYTES: Final = 10 * 1024 * 1024
"""Size in bytes above which a file is rotated."""
PART_BYTES: Final = 1024 * 1024
"""Bytes kept of the output of one invocation; the rest is only counted."""
WRITE_AFTER_MS: Final = 100
TAIL_BYTES: Final = 4_096
"""Source: API reference, `LogResult`: the last 4 KB."""

log = logging.getLogger("statewright.functions")


class StreamLog:
    """The output of one worker, and of its current invocation."""

    __slots__ = ("left_out", "logs", "name", "partial", "stream", "tail", "taken")

    def __init__(self, logs: Logs, name: str, stream: str) -> None:
        self.logs = logs
        self.name = name
        self.stream = stream
        self.tail = b""
        self.partial = b""
        self.taken = 0
        self.left_out = 0

    def begin(self, start: bytes) -> None:
        """Begin an invocation with an empty tail."""
        self.tail = b""
        self.taken = 0
        self.write(start)

    def write(self, data: bytes) -> None:
        """Add output of the worker; a line is logged once it is complete."""
        self.tail = (self.tail + data)[-TAIL_BYTES:]
        room = PART_BYTES - self.taken
        if len(data) > room:
            self.left_out += len(data) - max(room, 0)
            data = data[: max(room, 0)]
        self.taken += len(data)
        whole, newline, rest = (self.partial + data).rpartition(b"\n")
        self.partial = rest
        if newline:
            self.logs.append(self.name, self.stream, whole)

    def end(self, last_lines: bytes) -> None:
        """End an invocation: complete its last line, log how much was left out, and add `last_lines`."""
        if not self.tail.endswith(b"\n"):
            self.tail += b"\n"
        if self.partial:
            self.logs.append(self.name, self.stream, self.partial)
            self.partial = b""
        if self.left_out:
            self.logs.append(self.name, self.stream, b"(%d more bytes of output were left out)" % self.left_out)
        self.taken = self.left_out = 0
        self.tail = (self.tail + last_lines)[-TAIL_BYTES:]
        self.logs.append(self.name, self.stream, last_lines[:-1])


class Logs:
    """The log files of one server; without a folder only the tails are kept."""

    def __init__(self, folder: Path | None, clock: Clock) -> None:
        self.folder = folder
        self._clock = clock
        self._waiting: dict[str, list[bytes]] = {}
        self._late: set[str] = set()
        self._timer: Timer | None = None
        self._followers: list[Callable[[str], None]] = []

    def subscribe(self, on_written: Callable[[str], None]) -> None:
        """Announce the names of functions whose output was written."""
        self._followers.append(on_written)

    def stream(self, name: str, stream: str) -> StreamLog:
        """A stream to write to."""
        return StreamLog(self, name, stream)

    def append(self, name: str, stream: str, lines: bytes) -> None:
        """Add lines to a function's log."""
        if self.folder is None:
            return
        head = b"%d\t%s\t" % (self._clock.now_ms(), stream.encode())
        self._add(name, head + lines.replace(b"\n", b"\n" + head) + b"\n")

    def add(self, name: str, lines: Iterable[tuple[int, str, str]], *, is_late: bool) -> None:
        """Add lines that another process has logged: with their instants and streams. `is_late` is true for lines that
        come so late that files are not searched by time any more once they have them.
        """
        if self.folder is None:
            return
        if is_late:
            self._late.add(name)
        self._add(name, b"".join(b"%d\t%s\t%s\n" % (at, one.encode(), text.encode()) for at, one, text in lines))

    def _add(self, name: str, data: bytes) -> None:
        self._waiting.setdefault(name, []).append(data)
        if self._timer is None:
            self._timer = self._clock.call_at(self._clock.now_ms() + WRITE_AFTER_MS, self.flush)

    def flush(self) -> None:
        """Write the buffered lines."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting, self._waiting = self._waiting, {}
        late, self._late = self._late, set()
        for name, parts in waiting.items():
            try:
                self._write(name, b"".join(parts), is_late=name in late)
            except OSError as problem:
                log.warning("the log of function %s cannot be written: %s", name, problem)
            for on_written in self._followers:
                on_written(name)

    def _write(self, name: str, data: bytes, *, is_late: bool) -> None:
        assert self.folder is not None
        self.folder.mkdir(parents=True, exist_ok=True)
        if is_late:
            (self.folder / f"{name}{LATE}").touch()
        path = self.folder / f"{name}.log"
        with path.open("ab") as file:
            file.write(data)
            size = file.tell()
        if size > FILE_BYTES:
            path.replace(path.with_suffix(".log.1"))

    def delete(self, name: str) -> None:
        """Delete a function's log."""
        self._waiting.pop(name, None)
        self._late.discard(name)
        if self.folder is not None:
            (self.folder / f"{name}.log").unlink(missing_ok=True)
            (self.folder / f"{name}.log.1").unlink(missing_ok=True)
            (self.folder / f"{name}{LATE}").unlink(missing_ok=True)
