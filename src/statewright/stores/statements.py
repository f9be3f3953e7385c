"""SQL by name: reads `sql/*.sql`, and gives statements over many rows a few lengths, so that they stay prepared.

A statement `... VALUES {rows:3} ...` is asked for by its number of rows. Preparing one costs as much as running it, so
there are eighteen lengths up to 512 rows, and rows of nulls fill the rest; the statements pass these over.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import Any, Final

SqlRow = tuple[Any, ...]
"""The columns of a row, or the values for a statement, as the driver has them."""
LENGTHS: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
MOST_ROWS: Final = LENGTHS[-1]

_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_ROWS = re.compile(r"\{rows:(\d+)\}")


@cache
def read_sql(name: str) -> str:
    """The text of a file in `sql/`, without its ending in the name."""
    return files("statewright.stores").joinpath("sql", f"{name}.sql").read_text("utf-8")


@cache
def statements(name: str) -> dict[str, str]:
    """The named statements of a file, without its comments."""
    parts = _NAME.split(read_sql(name))
    found = {}
    for number in range(1, len(parts), 2):
        lines = [line for line in parts[number + 1].splitlines() if line and not line.startswith("--")]
        found[parts[number]] = "\n".join(lines)
    return found


class RowStatement:
    """One statement over many rows."""

    __slots__ = ("_before", "_behind", "_blank", "_row", "_sized", "columns")

    def __init__(self, text: str) -> None:
        marker = _ROWS.search(text)
        if marker is None:
            raise ValueError(f"no {{rows:N}} in: {text}")
        self.columns = int(marker[1])
        self._before, self._behind = text[: marker.start()], text[marker.end() :]
        self._row = "(" + ", ".join("?" * self.columns) + ")"
        self._blank = (None,) * self.columns
        self._sized: dict[int, str] = {}

    def runs(self, rows: Sequence[SqlRow]) -> Iterator[tuple[str, list[object]]]:
        """The statements and parameters that carry all rows: one for each 512."""
        for start in range(0, len(rows), MOST_ROWS):
            part = rows[start : start + MOST_ROWS] if len(rows) > MOST_ROWS else rows
            length = LENGTHS[bisect_left(LENGTHS, len(part))]
            values = list(chain.from_iterable(part))
            if length > len(part):
                values.extend(self._blank * (length - len(part)))
            yield self._text(length), values

    def _text(self, length: int) -> str:
        # The same string object each time: SQLite's cache of prepared statements is looked up by text.
        text = self._sized.get(length)
        if text is None:
            text = self._sized[length] = self._before + ", ".join([self._row] * length) + self._behind
        return text


@cache
def row_statements(name: str) -> dict[str, RowStatement]:
    """The statements of a file that carry rows."""
    return {key: RowStatement(text) for key, text in statements(name).items() if _ROWS.search(text)}
