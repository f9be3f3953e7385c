"""The marks, rails and colours of the terminal drawing, in Unicode or ASCII, and the printing of its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from statewright.graph.lettering import ELLIPSIS, cell_width, cut_cells, printable
from statewright.graph.model import STATUS_WORDS, Status

Span = tuple[str, str]
"""A piece of text and its tone."""

TYPE_MARKS: Final = {
    "Task": ("■", "#"),
    "Pass": ("▷", ">"),
    "Choice": ("◆", "?"),
    "Wait": ("◷", "~"),
    "Succeed": ("✓", "+"),
    "Fail": ("✗", "x"),
    "Parallel": ("∥", "="),
    "Map": ("≡", "*"),
    "Unknown": ("?", "?"),
    "Missing": ("✗", "!"),
    "Folded": ("⋯", "."),
}
_MARKS: Final = {
    **TYPE_MARKS,
    "start": ("●", "o"),
    "end": ("◉", "@"),
    "retry": ("↻", "%"),
    "catch": ("↯", "!"),
    "loop": ("↺", "^"),
    "up": ("↑", "(above)"),
    "down": ("↓", "(below)"),
}
_STATUS_MARKS: Final[Mapping[Status, tuple[str, str]]] = {
    "ok": ("✓", "+"),
    "fail": ("✗", "x"),
    "run": ("◌", "~"),
    "wait": ("◷", "."),
    "caught": ("↯", "!"),
    "idle": ("○", "-"),
}
_ASCII: Final = str.maketrans({"≤": "<=", "≥": ">=", "≠": "!=", "…": "...", "×": "x", "·": "-"})
# The tones of statuses, of state types, and of everything else.
_COLOURS: Final = {
    "ok": "32",
    "fail": "31",
    "run": "34",
    "wait": "33",
    "caught": "33",
    "idle": "2",
    "Task": "36",
    "Pass": "2",
    "Choice": "34",
    "Wait": "33",
    "Succeed": "32",
    "Fail": "31",
    "Parallel": "36",
    "Map": "36",
    "Folded": "2",
    "strong": "1",
    "rule": "34",
    "dim": "2",
}
_STATUS_ROOM: Final = max(len(word) for word in STATUS_WORDS.values()) + 2
SHORTEST_DETAIL: Final = 12


@dataclass(frozen=True, slots=True)
class Row:
    """One line: the spans at the left, and those aligned in the column of details."""

    left: tuple[Span, ...]
    right: tuple[Span, ...]


class Pen:
    """Makes spans, and prints rows of them within a width."""

    def __init__(self, width: int, *, color: bool, ascii_only: bool) -> None:
        self.width = width
        self._color = color
        self._ascii = ascii_only
        self.dot = " - " if ascii_only else " · "

    def mark(self, name: str, tone: str) -> Span:
        """A sign that stands for a type, a start, a loop and so on."""
        return _MARKS[name][self._ascii], tone

    def words(self, text: str, tone: str) -> Span:
        """Text from a definition, made safe to print; blanks at its ends are kept."""
        clean = printable(text)
        before = " " if text.startswith(" ") else ""
        after = " " if text.endswith(" ") and clean else ""
        return self._say(f"{before}{clean}{after}"), tone

    def clip(self, text: str, cells: int) -> str:
        """As much of a text as fits, in its printed form."""
        return cut_cells(self._say(printable(text)), cells, self._say(ELLIPSIS))

    def status(self, status: Status, count: int) -> list[Span]:
        """The state of a run: sign, word, and how often."""
        times = f" {count}x" if self._ascii else f" {count}×"
        said = STATUS_WORDS[status] + (times if count > 1 else "")
        return [(f"{_STATUS_MARKS[status][self._ascii]} {said.ljust(_STATUS_ROOM)} ", status)]

    def rail(self, drawn: bool) -> Span:
        """The vertical line of a chain, or blank space of its width."""
        return ("|" if self._ascii else "│") if drawn else " ", "dim"

    def blank(self, cells: int) -> Span:
        """Blank space."""
        return " " * cells, "dim"

    def corner(self, *, last: bool, bare: bool) -> Span:
        """The glyph at which a branch leaves the rail; bare if an arrow follows directly."""
        corner = ("`" if last else "|") if self._ascii else ("└" if last else "├")
        return corner + ("" if bare else "- " if self._ascii else "─ "), "dim"

    def arrow(self, length: int) -> Span:
        """A horizontal line that ends in an arrowhead; without length just the head."""
        head = "> " if self._ascii else "▶ "
        return (("-" if self._ascii else "─") * length + head), "dim"

    def opening(self, *, first: bool) -> Span:
        """The beginning of a branch or iteration inside a state."""
        if self._ascii:
            return " +- ", "dim"
        return (" ╭─ " if first else " ├─ "), "dim"

    def inner_rail(self) -> Span:
        """The line beside a branch or iteration."""
        return (" |  " if self._ascii else " │  "), "dim"

    def closing(self) -> Span:
        """The end of the last branch inside a state."""
        return (" +-" if self._ascii else " ╰─"), "dim"

    def print(self, rows: Sequence[Row]) -> str:
        """The rows as text, with their details in one column."""
        widths = [sum(cell_width(text) for text, _ in row.left) for row in rows]
        column = max((width for row, width in zip(rows, widths, strict=True) if row.right), default=0) + 3
        column = min(column, self.width // 2)
        return "".join(self._line(row, width, column) for row, width in zip(rows, widths, strict=True))

    def _line(self, row: Row, width: int, column: int) -> str:
        gap = max(column - width, 2)
        spans = list(row.left)
        if row.right and width + gap + SHORTEST_DETAIL <= self.width:
            spans += [(" " * gap, "dim"), *row.right]
        room = self.width
        parts = []
        for text, tone in spans:
            shown = cut_cells(text, room, self._say(ELLIPSIS)) if cell_width(text) > room else text
            room -= cell_width(shown)
            code = _COLOURS.get(tone)
            parts.append(f"\x1b[{code}m{shown}\x1b[0m" if self._color and code and shown.strip() else shown)
            if shown != text:
                break
        return "".join(parts).rstrip() + "\n"

    def _say(self, text: str) -> str:
        if not self._ascii or text.isascii():
            return text
        return text.translate(_ASCII).encode("ascii", "backslashreplace").decode("ascii")
