"""A server's answers as a table for people or JSON for programs.

Owns columns and instants. In JSON, names are those of the API and instants are ISO 8601 in UTC.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from statewright.cli.output import Line, Printer, Span, Tone, duration_words, said, stderr, stdout
from statewright.graph.lettering import cell_width, fit_cells, printable

if TYPE_CHECKING:
    from statewright.payload import Json, JsonObject


STATUS_TONES: Final[dict[str, Tone]] = {
    "SUCCEEDED": "ok", "ACTIVE": "ok", "RUNNING": "run", "FAILED": "fail", "TIMED_OUT": "fail", "ABORTED": "idle",
    "PENDING_REDRIVE": "wait", "DELETING": "wait",
}  # fmt: skip

WIDEST_CELL: Final = 60


GAP: Final = 2
RIGID_CELLS: Final = 20
"""Columns up to this width are not narrowed, nor are those of numbers and instants, which say nothing when cut."""
NARROWEST: Final = 9
"""The width that a long column keeps: the first eight characters of a generated id and an ellipsis."""
_NUMBER: Final = re.compile(r"[\d.,:+\-TZ% ]*")
_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def print_table(
    printer: Printer, titles: Sequence[str], rows: Sequence[Sequence[Span]], widest: int = WIDEST_CELL
) -> None:
    """Print rows below their titles, columns aligned; no cell has more than `widest` columns of text.

    On a terminal that is too narrow, long cells such as ids are cut first, and then lines at its right edge.
    """
    whole: list[list[Span]] = [[(title, "idle") for title in titles], *([*row] for row in rows)]
    cells = [[_fitted(span, widest) for span in row] for row in whole]
    natural = [max(cell_width(said(row[column])) for row in cells) for column in range(len(titles))]
    least = [_least([said(row[column]) for row in cells]) for column in range(len(titles))]
    ids = [all(_ID.fullmatch(said(row[column])) for row in cells[1:]) for column in range(len(titles))]
    widths = narrowed(natural, least, ids, printer.width - GAP * (len(titles) - 1))
    if widths != natural:
        cells = [[_fitted(span, width) for span, width in zip(row, widths, strict=True)] for row in cells]
    lines: list[Line] = []
    for row in cells:
        line: list[Span] = []
        for span, width in zip(row, widths, strict=True):
            line += [span, " " * (width - cell_width(said(span)) + GAP)]
        lines.append(line[:-1])
    printer.cropped(lines)


def narrowed(natural: Sequence[int], least: Sequence[int], ids: Sequence[bool], room: int) -> list[int]:
    """The widths of columns that fit into the room: those of ids give way first, then the widest ones."""
    widths = list(natural)
    while sum(widths) > room:
        spare = [column for column, width in enumerate(widths) if width > least[column]]
        if not spare:
            break
        widths[max(spare, key=lambda column: (ids[column], widths[column]))] -= 1
    return widths


def _least(column: Sequence[str]) -> int:
    """The width below which a column says nothing; its title comes first."""
    width = max(map(cell_width, column))
    is_rigid = width <= RIGID_CELLS or all(_NUMBER.fullmatch(text) for text in column[1:])
    return width if is_rigid else max(cell_width(column[0]), NARROWEST)


def print_facts(printer: Printer, facts: Sequence[tuple[str, Span | None]]) -> None:
    """Print names and values, one to a line; those without a value are left out."""
    shown = [(name, value) for name, value in facts if value is not None and said(value) != ""]
    width = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        printer.line((f"{name:<{width}}  ", "idle"), value)


def print_rows(
    form: str,
    member: str,
    rows: Sequence[JsonObject],
    titles: Sequence[str],
    cells: Callable[[JsonObject], Sequence[Span]],
    *,
    if_none: str = "",
    widest: int = WIDEST_CELL,
) -> None:
    """Print a list: as a table of `cells(row)`, as `{member: [...]}`, or row by row.

    `if_none` is a sentence for people when the list is empty; `widest` is that of `print_table`.
    """
    printer = stdout()
    if form == "table":
        print_table(printer, titles, [cells(row) for row in rows], widest)
        if not rows and if_none:
            stderr().line((if_none, "idle"))
    elif form == "json":
        printer.json({member: [dated(row) for row in rows]})
    else:
        for row in rows:
            printer.json(dated(row), compact=True)


def print_answer(form: str, answer: Json, *words: Span) -> None:
    """Print the answer of one call: to programs as JSON, to people in `words`, if there are any."""
    if form != "table":
        stdout().json(dated(answer), compact=form == "jsonl")
    elif words:
        stdout().line(*words)


def dated(value: Json) -> Json:
    """An answer of the API with its instants written out: members whose names end in `Date`."""
    if isinstance(value, dict):
        return {
            name: instant(item) if name.endswith("Date") and isinstance(item, int) else dated(item)
            for name, item in value.items()
        }
    return [dated(item) for item in value] if isinstance(value, list) else value


def instant(at_ms: int) -> str:
    """An instant as JSON shows it."""
    from statewright.asl.timestamps import format_timestamp

    return format_timestamp(at_ms)


def local_time(at_ms: int | None) -> str:
    """An instant for people: the second, in UTC."""
    return "" if at_ms is None else instant(at_ms // 1000 * 1000).replace("T", " ").replace("Z", "")


def status_span(status: str) -> Span:
    """A status in its colour."""
    return status, STATUS_TONES.get(status, "")


def length_words(started_ms: int, stopped_ms: int | None, now_ms: int) -> str:
    """How long an execution took, or has been running."""
    ended_ms = stopped_ms if stopped_ms is not None else now_ms
    took_ms = max(ended_ms - started_ms, 0)
    # Beyond some seconds, and while it is running, milliseconds say nothing.
    if stopped_ms is None or took_ms >= 10_000:
        took_ms -= took_ms % 1000
    return duration_words(took_ms)


def _fitted(span: Span, width: int) -> Span:
    text, tone = (span, "") if isinstance(span, str) else span
    return fit_cells(printable(text), width), tone  # type: ignore[return-value]
