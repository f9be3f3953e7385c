"""Histories compared with files: `run.history.match_snapshot()` and `--sfn-update-snapshots`.

A file for each snapshot, so tests that run side by side never share one. Instants are seconds since the start, and
texts that are JSON stand as values, so that a change reads well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from pathlib import Path
from typing import Any, Final

from statewright.files.whole import write_text
from statewright.payload import Json, JsonObject, JsonTextError, parse_json
from statewright.testing.recordings import Recording

FOLDER: Final = "__snapshots__"
OPTION: Final = "--sfn-update-snapshots"
MOST_LINES: Final = 60
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(slots=True)
class Snapshots:
    """Those of one test. `written` are files that were made or changed."""

    folder: Path
    test: str
    update: bool
    count: int = 0
    written: list[Path] = field(default_factory=list)

    def next_file(self, name: str | None) -> Path:
        """The file of the next comparison."""
        self.count += 1
        suffix = f".{name}" if name is not None else f".{self.count}" if self.count > 1 else ""
        return self.folder / f"{_UNSAFE.sub('-', self.test + suffix)}.json"


class History:
    """The history events of a run, as GetExecutionHistory shows them."""

    def __init__(self, recording: Recording, snapshots: Snapshots | None, tokens: Sequence[str]) -> None:
        self._recording = recording
        self._snapshots = snapshots
        self._tokens = tokens
        """The task tokens of the system, in the order of their calls: each is shown by its number."""

    @property
    def events(self) -> list[JsonObject]:
        """Every event; timestamps in epoch milliseconds."""
        return [event.to_api() for event in self._recording.events]

    @property
    def types(self) -> list[str]:
        """The events' types, in order."""
        return [event.type for event in self._recording.events]

    def of(self, type: str) -> list[JsonObject]:
        """The events of a type."""
        return [event for event in self.events if event["type"] == type]

    def __len__(self) -> int:
        return len(self._recording.events)

    def __iter__(self) -> Iterator[JsonObject]:
        return iter(self.events)

    def match_snapshot(self, name: str | None = None) -> None:
        """Compare with the file of this test in `__snapshots__`; `--sfn-update-snapshots` writes it.

        Raises: AssertionError with the lines that differ.
        """
        __tracebackhide__ = True
        snapshots = self._snapshots
        if snapshots is None:
            raise RuntimeError("snapshots belong to a test of pytest: use the fixture `sfn`")
        file = snapshots.next_file(name)
        text = self.text()
        there = file.read_text("utf-8") if file.is_file() else None
        if there == text:
            return
        if snapshots.update:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_text(file, text)
            snapshots.written.append(file)
            return
        if there is None:
            raise AssertionError(f"there is no snapshot {file} yet: pytest {OPTION} writes it")
        lines = list(unified_diff(there.splitlines(), text.splitlines(), "snapshot", "this run", "", "", 2, ""))
        more = [f"... {len(lines) - MOST_LINES} more lines"] if len(lines) > MOST_LINES else []
        shown = "\n".join(lines[:MOST_LINES] + more)
        raise AssertionError(f"the history is not that of {file}; if it is meant, pytest {OPTION}\n{shown}")

    def text(self) -> str:
        """The history as a snapshot has it."""
        events = self._recording.events
        tokens = {token: f"<token {number}>" for number, token in enumerate(self._tokens, 1)}
        began_ms = events[0].at_ms
        shown = []
        for event in events:
            told = event.to_api()
            details: JsonObject = next((value for key, value in told.items() if key.endswith("EventDetails")), {})
            line = {
                "id": event.id,
                "previous": event.previous_id,
                "at": (event.at_ms - began_ms) / 1000,
                "type": event.type,
            }
            shown.append(
                {**line, **{key: _value(value, tokens) for key, value in details.items() if not _is_flag(value)}}
            )
        return json.dumps(shown, indent=1, ensure_ascii=False) + "\n"


def _is_flag(value: Json) -> bool:
    return isinstance(value, dict) and value.keys() == {"truncated"}


def _value(value: Any, tokens: dict[str, str]) -> Any:
    if not isinstance(value, str):
        return value
    for token, name in tokens.items():
        value = value.replace(token, name)
    if value[:1] in ("{", "["):
        try:
            return parse_json(value)
        except JsonTextError:
            return value
    return value
