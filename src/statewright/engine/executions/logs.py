"""Execution logs: history events on their way to the log group that a state machine names in its loggingConfiguration.

Owns which events a level takes, the shape of a line, and the files: `DATA/logs/<group>/states-<day>.jsonl`. One thread
writes them, so that a slow disk holds up nothing else; as with the service, logging is best effort, and a queue that
is full drops lines and says so. The files are bounded. The same events go to Python's logging as `statewright.history`.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, Full, Queue
from typing import Final, TextIO
from urllib.parse import quote

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


OnWriting = Callable[[str], Callable[[], None] | None]
"""Called with a group that will be written to; the result, if any, is called from a thread once it was."""
_Entry = tuple[LogSettings, Sequence[HistoryEvent], str, int, Sequence[Callable[[], None]]]


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
        if not taken:
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="statewright-logs", daemon=True)
            self._thread.start()
        written = [done for follow in self._followers if (done := follow(settings.group)) is not None]
        try:
            self._queue.put_nowait((settings, taken, execution_arn, redrives, written))
        except Full:
            for done in written:
                done()
            if not self.dropped:
                logger.warning("execution logs cannot be written as fast as they come: some lines are dropped")
            self.dropped += len(taken)

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
                    self._write(*entry[:4])
            for file in self._files.values():
                file.flush()
            for entry in batch:
                for done in entry[4] if entry is not None else ():
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
            file = self._files.get(settings.group)
            if file is None:
                file = self._files[settings.group] = _GroupFile(self._folder / folder_of(settings.group))
            file.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")), event.at_ms)


class _GroupFile:
    """The file of a group that is written to now."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._day = ""
        self._number = 0
        self._size = 0
        self._file: TextIO | None = None
        self._complained = False

    def write(self, line: str, at_ms: int) -> None:
        try:
            day = datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d")
            if self._file is None or day > self._day or self._size >= FILE_BYTES:
                self._next(max(day, self._day))
            assert self._file is not None
            self._size += self._file.write(line + "\n")
        except (OSError, UnicodeError) as problem:
            self._complain(problem)

    def _next(self, day: str) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
        self._folder.mkdir(parents=True, exist_ok=True)
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
        # By name, which is by age: "states-<day>.jsonl" comes before its numbered followers.
        every = sorted(self._folder.glob("states-*.jsonl"), key=lambda one: one.stem)
        for old in every[:-MOST_FILES]:
            old.unlink(missing_ok=True)

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
