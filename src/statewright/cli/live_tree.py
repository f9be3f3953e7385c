"""A run as a tree of lines, during the run and after it; and as one line a step where there is no terminal.

Owns what is drawn of a `Story` and what is folded: rounds of a loop, items like any other, attempts by the hundred.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from statewright.cli.output import Line, Printer, Span, Tone, count_words, duration_words, said
from statewright.graph.lettering import cell_width, fit_cells, printable
from statewright.graph.summary import detail_words

if TYPE_CHECKING:
    from statewright.simulator.story import Attempt, Story, Strand, Visit

LONGEST_CAUSE: Final = 160
_CAUSE_BEGINS: Final = re.compile(
    r"An error occurred while executing the state '.{1,80}?' \(entered at the event id #\d+\)\. ", re.DOTALL
)
LONGEST_DETAIL: Final = 48
MOST_ITEMS: Final = 6
MOST_ATTEMPTS: Final = 4
LONGEST_ROUND: Final = 12
MOST_LINES: Final = 400
MOST_PLAIN_LINES: Final = 1_000
LIVE_AFTER_MS: Final = 150
"""A run that ends sooner is shown once, when it is over. Ours: anything earlier only flickers."""
REFRESH_MS: Final = 100
_ERASE: Final = "\x1b[1A\x1b[2K"
"""Goes to the line above and empties it."""
_HIDE_CURSOR: Final = "\x1b[?25l"
_SHOW_CURSOR: Final = "\x1b[?25h"

_MARKS: Final[dict[str, tuple[str, Tone]]] = {
    "running": ("◌", "run"),
    "waiting": ("◷", "wait"),
    "succeeded": ("✓", "ok"),
    "caught": ("↯", "caught"),
    "failed": ("✗", "fail"),
    "stopped": ("○", "idle"),
}

Row = tuple[str, Line, Line]
"""Time, what stands at the left, and what is aligned in a column of its own."""


class TreeView:
    """Draws a story. `states` are the definition's states by name, for what each of them does."""

    def __init__(self, story: Story, states: Mapping[str, Any]) -> None:
        self.story = story
        self.states = states
        self._details: dict[str, str] = {}

    def lines(self, now_ms: int) -> list[Line]:
        """The whole tree at an instant, at most `MOST_LINES` long; the middle gives way."""
        rows = list(self._strand(self.story.root, "", now_ms))
        if len(rows) > MOST_LINES:
            left_out = len(rows) - MOST_LINES + 1
            note: Row = ("", (("… ", "idle"), (f"{left_out:,} more lines; --history has every event", "idle")), ())
            rows = [*rows[: MOST_LINES * 3 // 4], note, *rows[left_out + MOST_LINES * 3 // 4 :]]
        widths = [sum(cell_width(said(span)) for span in left) for _, left, _ in rows]
        column = min(max((width for width, row in zip(widths, rows, strict=True) if row[2]), default=0) + 2, 48)
        lines: list[Line] = []
        for (time, left, right), width in zip(rows, widths, strict=True):
            gap = " " * max(column - width, 2)
            lines.append([(f"{time:>12}  ", "idle"), *left, *((gap, *right) if right else ())])
        return lines

    # ------------------------------------------------------------------ strands

    def _strand(self, strand: Strand, prefix: str, now_ms: int) -> Iterator[Row]:
        visits = strand.visits
        index = 0
        while index < len(visits):
            length, rounds = _repetition(visits, index)
            if rounds < 4:
                yield from self._visit(visits[index], prefix, now_ms)
                index += 1
                continue
            # The first round and the last one stand for those between them.
            for visit in visits[index : index + length]:
                yield from self._visit(visit, prefix, now_ms)
            between = visits[index + length : index + length * (rounds - 1)]
            yield self._rounds(between, length, prefix)
            for visit in visits[index + length * (rounds - 1) : index + length * rounds]:
                yield from self._visit(visit, prefix, now_ms)
            index += length * rounds

    def _rounds(self, visits: Sequence[Visit], length: int, prefix: str) -> Row:
        names = " → ".join(printable(visit.name) for visit in visits[:length])
        took_ms = (visits[-1].ended_ms or visits[-1].entered_ms) - visits[0].entered_ms
        rounds = len(visits) // length
        spans: list[Span] = [(prefix, "idle"), ("↺ ", "idle"), (f"{rounds:,} more of {names}", "idle")]
        right: list[Span] = [(duration_words(took_ms), "idle")] if took_ms else []
        return self._since(visits[0].entered_ms), spans, right

    def _since(self, at_ms: int) -> str:
        return duration_words(at_ms - self.story.root.began_ms)

    # ------------------------------------------------------------------ visits

    def _visit(self, visit: Visit, prefix: str, now_ms: int, lead: str = "") -> Iterator[Row]:
        mark, tone = _MARKS["waiting" if _waits(visit) else visit.status]
        name: Span = (printable(visit.name) or "?", "strong" if visit.status != "stopped" else "idle")
        left: Line = [(prefix, "idle"), (lead, "idle"), (f"{mark} ", tone), name]
        right: list[Span] = []
        detail = self._detail(visit.name)
        if detail:
            right.append((detail, "idle"))
        for words in self._words(visit, now_ms):
            right += [(" · ", "idle"), words] if right else [words]
        yield self._since(visit.entered_ms), left, right
        below = prefix + " " * cell_width(lead)
        yield from self._attempts(visit, below + "  ")
        yield from self._strands(visit, below, now_ms)

    def _detail(self, name: str) -> str:
        detail = self._details.get(name)
        if detail is None:
            node = self.states.get(name)
            words = printable(detail_words(node)) if isinstance(node, Mapping) else ""
            detail = self._details[name] = fit_cells(words, LONGEST_DETAIL)
        return detail

    def _words(self, visit: Visit, now_ms: int) -> Iterator[Span]:
        ended_ms = visit.ended_ms
        if ended_ms is None:
            # Tenths of a second are enough for what still runs.
            ended_ms = now_ms - (now_ms - visit.entered_ms) % 100
        if visit.definition.type in ("Task", "Map", "Parallel") and len(visit.attempts) > 1:
            yield count_words(len(visit.attempts), "attempt"), ""
        if ended_ms > visit.entered_ms and not (visit.definition.type == "Wait" and visit.status == "succeeded"):
            yield duration_words(ended_ms - visit.entered_ms), ""
        status = visit.status
        if status == "running":
            if _waits(visit):
                yield "waiting" if visit.definition.type == "Wait" else "waiting for the next attempt", "wait"
            else:
                yield "running", "run"
        elif status == "caught":
            target = f" → {printable(visit.next)}" if visit.next else ""
            yield f"caught {_failure_words(visit.failure, with_cause=True)}".rstrip() + target, "caught"
        elif status == "failed":
            yield f"failed {_failure_words(visit.failure)}".rstrip(), "fail"
        elif status == "stopped":
            yield "stopped", "idle"

    def _attempts(self, visit: Visit, prefix: str) -> Iterator[Row]:
        """The attempts that were retried; the last one's end is the visit's own."""
        retried = [attempt for attempt in visit.attempts if attempt.failed and attempt is not visit.attempts[-1]]
        if visit.status == "running" and visit.failure is not None:
            retried.append(visit.failure)
        for attempt in _first_and_last(retried, MOST_ATTEMPTS):
            if isinstance(attempt, int):
                yield "", [(prefix, "idle"), (f"… {attempt:,} more failed attempts", "idle")], ()
                continue
            waited = attempt.retried_after_ms
            words = f"attempt {attempt.number}: {_failure_words(attempt, with_cause=True)}"
            then = (
                f" → again {duration_words(waited)} later" if waited else " → again immediately" if waited == 0 else ""
            )
            left: Line = [(prefix, "idle"), ("✗ ", "fail"), (words, "caught"), (then, "idle")]
            yield self._since(attempt.ended_ms or attempt.began_ms), left, ()

    # ------------------------------------------------------------------ branches and items

    def _strands(self, visit: Visit, prefix: str, now_ms: int) -> Iterator[Row]:
        strands = visit.strands
        if not strands:
            return
        shown, hidden = (strands, []) if len(strands) <= MOST_ITEMS else _worth_showing(strands)
        for strand in shown:
            last = strand is shown[-1] and not hidden
            corner, rail = ("└─ ", "   ") if last else ("├─ ", "│  ")
            title = f"item {strand.index}" if strand.kind == "item" else f"branch {strand.index + 1}"
            if len(strand.visits) == 1:
                # One row for the title and its only state; what is below that stands under the title.
                rows = self._visit(strand.visits[0], "", now_ms)
                time, left, right = next(rows)
                yield time, [(prefix + corner, "idle"), (f"{title}  ", ""), *left], right
                yield from ((time, [(prefix + rail, "idle"), *left], right) for time, left, right in rows)
                continue
            mark, tone = _MARKS[strand.status]
            took_ms = (strand.ended_ms if strand.ended_ms is not None else now_ms) - strand.began_ms
            words: list[Span] = [duration_words(took_ms)] if took_ms else []
            yield (
                self._since(strand.began_ms),
                [(prefix + corner, "idle"), (f"{title} ", ""), (mark, tone)],
                words,
            )
            yield from self._strand(strand, prefix + rail, now_ms)
        if hidden:
            counts = Counter(strand.status for strand in hidden)
            said = ", ".join(f"{count:,} {status}" for status, count in counts.items())
            more = f"{len(hidden):,} more {hidden[0].kind if len(hidden) == 1 else _PLURALS[hidden[0].kind]}"
            yield "", [(f"{prefix}└─ ", "idle"), (f"{more}: {said}", "idle")], ()


_PLURALS: Final = {"item": "items", "branch": "branches", "execution": "executions"}


def _waits(visit: Visit) -> bool:
    """True if a visit only waits: in a Wait state, or between a retrier's attempts."""
    return visit.status == "running" and (visit.definition.type == "Wait" or visit.failure is not None)


def _failure_words(attempt: Attempt | None, *, with_cause: bool = False) -> str:
    if attempt is None or attempt.error is None:
        return ""
    error = printable(attempt.error)
    if not with_cause or not attempt.cause:
        return error
    # The line names the state already, and what went wrong in it stands behind this beginning.
    said = _CAUSE_BEGINS.sub("", attempt.cause)
    return f"{error} ({fit_cells(printable(said), LONGEST_CAUSE)})"


def _signature(visit: Visit) -> tuple[Any, ...]:
    return visit.name, visit.status, len(visit.attempts), visit.next, visit.failure is None, len(visit.strands)


def _repetition(visits: Sequence[Visit], start: int) -> tuple[int, int]:
    """How long the round is that begins here and is gone through most often, and how often."""
    best = (1, 1)
    longest = min(LONGEST_ROUND, (len(visits) - start) // 4)
    first = visits[start].name
    for length in range(1, longest + 1):
        if visits[start + length].name != first:
            continue
        signature = [_signature(visit) for visit in visits[start : start + length]]
        rounds, index = 1, start + length
        while index + length <= len(visits) and signature == [_signature(v) for v in visits[index : index + length]]:
            rounds += 1
            index += length
        if rounds >= 4 and rounds * length > best[0] * best[1]:
            best = (length, rounds)
    return best


def _first_and_last(attempts: Sequence[Attempt], most: int) -> Iterator[Attempt | int]:
    """The attempts, or the first ones, the number of those left out, and the last one."""
    if len(attempts) <= most:
        yield from attempts
        return
    yield from attempts[: most - 1]
    yield len(attempts) - most
    yield attempts[-1]


def _worth_showing(strands: Sequence[Strand]) -> tuple[list[Strand], list[Strand]]:
    """A few strands: the first, those that failed, then those in which something was retried or caught."""

    def dullness(strand: Strand) -> int:
        if strand.status == "failed":
            return 0
        if any(visit.status != "succeeded" or len(visit.attempts) > 1 for visit in strand.visits):
            return 1 if strand.status == "succeeded" else 2
        return 3

    ranked = sorted(strands[1:], key=dullness)
    chosen = {id(strand) for strand in (strands[0], *ranked[: MOST_ITEMS - 2])}
    return [one for one in strands if id(one) in chosen], [one for one in strands if id(one) not in chosen]


class LiveTree:
    """The tree on a terminal during the run; redrawn at most every `REFRESH_MS` of real time."""

    def __init__(self, printer: Printer, view: TreeView, real_now_ms: Callable[[], int]) -> None:
        self.printer = printer
        self.view = view
        self.real_now_ms = real_now_ms
        self._next_ms = real_now_ms() + LIVE_AFTER_MS
        self._drawn = 0
        """Lines that stand on the terminal."""

    def tick(self, now_ms: int) -> None:
        """Draw, if it is time; `now_ms` is the instant that the run has reached."""
        began_ms = self.real_now_ms()
        if began_ms < self._next_ms:
            return
        self._draw(now_ms)
        drawn_ms = self.real_now_ms()
        # A large tree takes long to draw; most of the time belongs to the run.
        self._next_ms = drawn_ms + max(REFRESH_MS, 10 * (drawn_ms - began_ms))

    def stop(self) -> None:
        """Take the drawing away; what is final is printed afterwards."""
        if self._drawn:
            self._write(_ERASE * self._drawn + _SHOW_CURSOR)
            self._drawn = 0

    def _draw(self, now_ms: int) -> None:
        room = max(shutil.get_terminal_size().lines - 2, 3)
        lines = self.view.lines(now_ms)
        shown: list[Line] = lines if len(lines) <= room else [[("…", "idle")], *lines[-room + 1 :]]
        text = "".join(self.printer.styled(line, self.printer.width - 1) + "\n" for line in shown)
        self._write(_ERASE * self._drawn + _HIDE_CURSOR + text)
        self._drawn = len(shown)

    def _write(self, text: str) -> None:
        """In one piece, so that nothing flickers."""
        self.printer.stream.write(text)
        self.printer.stream.flush()


class PlainSteps:
    """One line for every attempt that failed and every state that ended; listens to a `Story`."""

    def __init__(self, printer: Printer) -> None:
        self.printer = printer
        self.began_ms: int | None = None
        self.printed = 0

    def told(self, visit: Visit, attempt: Attempt | None) -> None:
        """See `simulator.story.Listener`."""
        if self.began_ms is None:
            self.began_ms = visit.entered_ms
        self.printed += 1
        if self.printed > MOST_PLAIN_LINES:
            if self.printed == MOST_PLAIN_LINES + 1:
                self.printer.line(f"{'…':>12}  further states are not listed; --history has every event")
            return
        at_ms = (attempt or visit).ended_ms or visit.entered_ms
        if attempt is not None:
            words = f"attempt {attempt.number} failed: {_failure_words(attempt, with_cause=True)}".rstrip(": ")
        elif visit.status == "caught":
            words = f"caught {_failure_words(visit.failure)}".rstrip()
        else:
            words = visit.status
            if len(visit.attempts) > 1 and visit.status == "succeeded":
                words += f" after {len(visit.attempts)} attempts"
        since = duration_words(at_ms - self.began_ms)
        self.printer.line(f"{since:>12}  {_place(visit):<24}  {words}")


def _place(visit: Visit) -> str:
    """A state with the branches and items around it: `Each[3]/Notify`."""
    parts = [printable(visit.name)]
    strand = visit.strand
    while strand.owner is not None:
        number = strand.index + 1 if strand.kind == "branch" else strand.index
        parts.append(f"{printable(strand.owner.name)}[{number}]")
        strand = strand.owner.strand
    return "/".join(reversed(parts))
