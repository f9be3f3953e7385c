"""Transcripts: commands after `$`, each with what it prints, run by one shell, and compared loosely.

Numbers, ids, instants, durations and widths differ from run to run and are not compared, nor is a singular with a
plural: 1 file is as good as 3 files. `...` stands for anything. A command must end with 0, or with another code where
the transcript shows a `✗`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_HEREDOC: Final = re.compile(r"<<-?\s*'?\"?(\w+)")
_ESCAPES: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
_LOOSE: Final = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "ID"),
    (re.compile(r"\b[0-9a-f]{8}:[0-9a-f]{8}\b"), "ID"),
    (re.compile(r"handlers: \w+"), "handlers: LEVEL"),
    (re.compile(r" \(from STATEWRIGHT_ENDPOINT\)"), ""),
    (re.compile(r"(?:/[\w.+@-]+){2,}"), "PATH"),
    (re.compile(r"\d[\d.,:TZ-]*\d|\d"), "#"),
    (re.compile(r"#(?: ?(?:ms|min|us|s|h|d)\b)+"), "#t"),
    (re.compile(r"#t(?: #t)+"), "#t"),
    (re.compile(r"\b([a-z]{3,})s\b"), r"\1"),
    (re.compile(r"\s+"), " "),
)
_ANYTHING: Final = re.compile(r"\.\.\.|…")


@dataclass(frozen=True, slots=True)
class Command:
    """One command, and the lines that the page shows below it."""

    line: int
    text: str
    shown: tuple[str, ...]

    @property
    def fails(self) -> bool:
        """True if the page shows a failure."""
        return any(line.lstrip().startswith(("✗", "FAILED")) for line in self.shown)


def commands_of(text: str) -> list[Command]:
    """The commands of a transcript."""
    found: list[Command] = []
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        if not lines[at].startswith("$ "):
            at += 1
            continue
        first, command = at, lines[at][2:]
        at += 1
        while at < len(lines) and not _is_whole(command):
            command += "\n" + lines[at]
            at += 1
        shown = []
        while at < len(lines) and not lines[at].startswith("$ "):
            shown.append(lines[at])
            at += 1
        found.append(Command(first, command, tuple(line for line in shown if line.strip())))
    return found


def _is_whole(command: str) -> bool:
    """True if a shell would not read a further line."""
    heredoc = _HEREDOC.search(command.partition("\n")[0])
    if heredoc is not None:
        return command.endswith("\n" + heredoc[1])
    if command.endswith("\\"):
        return False
    try:
        shlex.split(command)
    except ValueError:
        return False
    return True


def plain(text: str) -> str:
    """What a terminal shows, without colours and movements of the cursor, loosened for comparison."""
    text = _ESCAPES.sub("", text)
    for pattern, replacement in _LOOSE:
        text = pattern.sub(replacement, text)
    return text


def missing_line(shown: Iterable[str], printed: str) -> str | None:
    """The first shown line that was not printed, in order; None if all were. Words may be wrapped otherwise."""
    there = plain(printed)
    at = 0
    for line in shown:
        for part in _ANYTHING.split(line):
            wanted = plain(part).strip()
            place = there.find(wanted, at)
            if place < 0:
                return line
            at = place + len(wanted)
    return None
