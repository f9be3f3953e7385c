"""Execution logs: history events on their way to the log group that a state machine names in its loggingConfiguration.

Owns which events a level takes, the shape of a line, and the files: `DATA/logs/<group>/states-<day>.jsonl`. One thread
writes them, so that a slow disk holds up nothing else; as with the service, logging is best effort, and a queue that
is full drops lines and says so. The files are bounded. The same events go to Python's logging as `statewright.history`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from queue import Empty, Full, Queue
from typing import Final, TextIO
from urllib.parse import quote, unquote

from statewright.files.whole import write_text
from statewright.interpreter.history import HistoryEvent
from statewright.payload import Json

logger = logging.getLogger(__name__)
history = logging.getLogger("statewright.history")

FATAL: Final = frozenset(("ExecutionAborted", "ExecutionFailed", "ExecutionTimedOut"))
"""Source: developer guide, log levels for execution events; so is `is_error`."""
MOST_TEXT_BYTES: Final = 248 * 1024
"""Longer inputs and outputs are cut. Source: developer guide, CloudWatch Logs payloads."""
MOST_WAITING: Final = 100_000
FILE_BYTES: Final = 64 * 1024 * 1024
MOST_FILES: Final = 16
"""Files kept of one group; the oldest goes first."""
LOGS: Final = "logs"
LATE: Final = ".late"
"""The suffix of an empty file beside a file of logs, of functions, too: that one has lines which came so late that it
cannot be searched by time.
"""
_NAME: Final = "=name"
"""The file with a group's name, where its folder does not show that. No part of a folder's path has this name."""

_DATA: Final = ("input", "output", "parameters", "assignedVariables")
_CUT: Final = ("input", "output", "assignedVariables")


@dataclass(frozen=True, slots=True)
class LogSettings:
    """The settings of a loggingConfiguration; `group` is the name of the log group."""

    level: str
    with_data: bool
    group: str

    @staticmethod
    def of(configuration: Json) -> LogSettings | None:
        """The settings of a complete configuration; `None` where nothing is logged."""
        destinations = configuration.get("destinations") or []
        if configuration.get("level", "OFF") == "OFF" or not destinations:
            return None
        arn: str = destinations[0]["cloudWatchLogsLogGroup"]["logGroupArn"]
        group = arn.split(":log-group:", 1)[1].removesuffix(":*")
        return LogSettings(configuration["level"], bool(configuration["includeExecutionData"]), group)

    def takes(self, event_type: str) -> bool:
        """True if the level includes history events of a type."""
        if self.level == "ALL":
            return True
        return event_type in FATAL or (self.level == "ERROR" and is_error(event_type))


def is_error(event_type: str) -> bool:
    """True for a type of history event that the level ERROR takes."""
    return event_type == "FailStateEntered" or event_type.endswith(("Failed", "TimedOut", "Aborted"))


def record_of(event: HistoryEvent, execution_arn: str, redrive_count: int, *, with_data: bool) -> dict[str, Json]:
    """An event as the service logs it: numbers as texts, details without their wrapper. Source: developer guide."""
    details: dict[str, Json] = {}
    for name, value in (event.details or {}).items():
        if name in _DATA and not with_data:
            continue
        if name in _CUT:
            text, truncated = _cut(value) if isinstance(value, str) else (value, False)
            details[name], details[f"{name}Details"] = text, {"truncated": truncated}
        else:
            details[name] = value
    return {
        "id": str(event.id),
        "type": event.type,
        "details": details,
        "previous_event_id": str(event.previous_id),
        "event_timestamp": str(event.at_ms),
        "execution_arn": execution_arn,
        "redrive_count": str(redrive_count),
    }


def _cut(text: str) -> tuple[str, bool]:
    if len(text) * 6 <= MOST_TEXT_BYTES or len(json.dumps(text)) <= MOST_TEXT_BYTES:
        return text, False
    escaped = 0
    for place, character in enumerate(text):
        escaped += len(json.dumps(character)) - 2
        if escaped > MOST_TEXT_BYTES:
            return text[:place], True
    return text, False


def folder_of(group: str) -> Path:
    """The folder of a group's files, below the folder of all logs; a group's name cannot lead out of it."""
    parts = [quote(part, safe="#@ ") for part in group.split("/") if part]
    return Path(*[part if part.strip(".") else part.replace(".", "%2E") for part in parts])


def group_of(logs: Path, folder: Path) -> str:
    """The name of the group whose files are in a folder below that of all logs."""
    try:
        return (logs / folder / _NAME).read_text("utf-8")
    except OSError:
        return _shown(folder)


def _shown(folder: Path) -> str:
    """The name that most groups of a folder have."""
    return "/" + "/".join(unquote(part) for part in folder.parts)


OnWriting = Callable[[str], Callable[[], None] | None]
"""Called with a group that will be written to; the result, if any, is called from a thread once it was."""
_Entry = tuple[Callable[[], None], Sequence[Callable[[], None]]]
"""A write, and functions to call once it was done."""


class ExecutionLogs:
    """Writes history events to groups. Without a folder they go to Python's logging alone."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder / LOGS if folder is not None else None
        self._queue: Queue[_Entry | None] = Queue(MOST_WAITING)
        self._followers: list[OnWriting] = []
        self._thread: threading.Thread | None = None
        self._files: dict[str, _GroupFile] = {}
        self.dropped = 0

    def subscribe(self, on_writing: OnWriting) -> None:
        """Announce what is written to groups."""
        self._followers.append(on_writing)

    def log(self, settings: LogSettings, events: Iterable[HistoryEvent], execution_arn: str, redrives: int) -> None:
        """Queue the events that the level takes; never waits."""
        taken = [event for event in events if settings.takes(event.type)]
        if taken:
            self._put(settings.group, len(taken), partial(self._write, settings, taken, execution_arn, redrives))

    def add(self, group: str, lines: Sequence[tuple[int, str]], *, is_late: bool) -> None:
        """Queue lines that another process has logged, with their instants; never waits. `is_late` is true for lines
        that come so late that files are not searched by time any more once they have them.
        """
        self._put(group, len(lines), partial(self._write_lines, group, lines, is_late=is_late))

    def has_room(self, count: int) -> bool:
        """True if that many additions are not dropped now."""
        return self._queue.qsize() + count <= MOST_WAITING

    def _put(self, group: str, count: int, write: Callable[[], None]) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="statewright-logs", daemon=True)
            self._thread.start()
        written = [done for follow in self._followers if (done := follow(group)) is not None]
        try:
            self._queue.put_nowait((write, written))
        except Full:
            for done in written:
                done()
            if not self.dropped:
                logger.warning("execution logs cannot be written as fast as they come: some lines are dropped")
            self.dropped += count

    async def written(self) -> None:
        """Return once all that was logged until now is in its files; at once if too much waits for that."""
        if self._thread is None:
            return
        loop, over = asyncio.get_running_loop(), asyncio.Event()

        def announce() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(over.set)

        with contextlib.suppress(Full):
            self._queue.put_nowait((lambda: None, [announce]))
            await over.wait()

    @property
    def is_writing(self) -> bool:
        """True if there is anything to close."""
        return self._thread is not None

    def close(self) -> None:
        """Write what is queued. Blocks until it is."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    # ------------------------------------------------------------------ the writer's thread

    def _run(self) -> None:
        going = True
        while going:
            batch = [self._queue.get()]
            while len(batch) < 1_000:
                try:
                    batch.append(self._queue.get_nowait())
                except Empty:
                    break
            for entry in batch:
                if entry is None:
                    going = False
                else:
                    entry[0]()
            for file in self._files.values():
                file.flush()
            for entry in batch:
                for done in entry[1] if entry is not None else ():
                    done()
        for file in self._files.values():
            file.close()
        self._files.clear()

    def _write(self, settings: LogSettings, events: Sequence[HistoryEvent], arn: str, redrives: int) -> None:
        for event in events:
            record = record_of(event, arn, redrives, with_data=settings.with_data)
            level = logging.INFO if event.type in FATAL or is_error(event.type) else logging.DEBUG
            if history.isEnabledFor(level):
                history.log(level, "%s", event.type, extra={"execution_arn": arn, "event": record})
            if self._folder is None:
                continue
            line = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
            self._file(settings.group, self._folder).write(line, event.at_ms)

    def _write_lines(self, group: str, lines: Sequence[tuple[int, str]], *, is_late: bool) -> None:
        if self._folder is not None:
            file = self._file(group, self._folder)
            for at_ms, line in lines:
                file.write(line, at_ms, is_late=is_late)

    def _file(self, group: str, logs: Path) -> _GroupFile:
        file = self._files.get(group)
        if file is None:
            file = self._files[group] = _GroupFile(logs, group)
        return file


class _GroupFile:
    """The file of a group that is written to now."""

    def __init__(self, logs: Path, group: str) -> None:
        below = folder_of(group)
        self._folder = logs / below
        self._name = group if group != _shown(below) else None
        self._day = ""
        self._number = 0
        self._size = 0
        self._file: TextIO | None = None
        self._late_mark: Path | None = None
        self._complained = False

    def write(self, line: str, at_ms: int, *, is_late: bool = False) -> None:
        try:
            day = datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d")
            if self._file is None or day > self._day or self._size >= FILE_BYTES:
                self._next(max(day, self._day))
            assert self._file is not None
            if is_late and self._late_mark is not None:
                self._late_mark.touch()
                self._late_mark = None
            self._size += self._file.write(line + "\n")
        except (OSError, UnicodeError) as problem:
            self._complain(problem)

    def _next(self, day: str) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
        self._folder.mkdir(parents=True, exist_ok=True)
        if self._name is not None:
            write_text(self._folder / _NAME, self._name)
        if day != self._day:
            # Earlier files of the day may be gone already: continue after the newest.
            stems = [one.stem for one in self._folder.glob(f"states-{day}.*.jsonl")]
            self._day, self._number = day, max((int(stem.rpartition(".")[2]) for stem in stems), default=0)
        while True:
            path = self._folder / (f"states-{day}.{self._number:04}.jsonl" if self._number else f"states-{day}.jsonl")
            self._size = path.stat().st_size if path.exists() else 0
            if self._size < FILE_BYTES:
                break
            self._number += 1
        self._file = path.open("a", encoding="utf-8")
        self._late_mark = path.with_suffix(LATE)
        # By name, which is by age: "states-<day>.jsonl" comes before its numbered followers.
        every = sorted(self._folder.glob("states-*.jsonl"), key=lambda one: one.stem)
        for old in every[:-MOST_FILES]:
            old.unlink(missing_ok=True)
            old.with_suffix(LATE).unlink(missing_ok=True)

    def _complain(self, problem: Exception) -> None:
        if not self._complained:
            logger.warning("execution logs cannot be written to %s: %s", self._folder, problem)
        self._complained = True

    def flush(self) -> None:
        try:
            if self._file is not None:
                self._file.flush()
        except OSError as problem:
            self._complain(problem)

    def close(self) -> None:
        self.flush()
        if self._file is not None:
            self._file.close()
