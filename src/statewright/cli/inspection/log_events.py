"""Log events of a server: the options of `function logs` and `machine logs`, the latest events of a group, and those
that follow.

Owns what is read and when, by FilterLogEvents. What a line of a group means is the commands' business: they give a
function that turns an event into lines.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from statewright.cli.client import Answer, ApiProblem, Server, Unreachable, server_options
from statewright.cli.output import INTERRUPTED, OK, USAGE, Line, Stop, stderr, stdout
from statewright.cli.table import instant, local_time

if TYPE_CHECKING:
    from statewright.clock import RealClock

Function = TypeVar("Function", bound=Callable[..., Any])
Shape = Callable[[str], Sequence[Line]]
"""The lines of a message; the second and those after it are indented below the first."""

SHOWN_AT_ONCE: Final = 100
POLL_MS: Final = 500
OVERLAP_MS: Final = 10_000
"""How far behind the latest event a poll begins: streams may be out of order, and clocks differ."""
PATIENCE_MS: Final = 15_000
_MOST_SEEN: Final = 20_000
_WINDOWS_MS: Final = (60_000, 600_000, 7_200_000, 86_400_000)
"""The latest events are looked for in ever longer windows, so that a long log is not read from its beginning."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of a command that prints logs. `since_ms` is an instant."""

    follows: bool
    since_ms: int | None
    lines: int | None
    pattern: str
    form: str


def log_options(command: Function) -> Function:
    """`-f`, `--since`, `-n`, `--filter`, `-o` and `--endpoint`."""
    command = server_options(command)
    for option in (
        click.option("--filter", "pattern", metavar="PATTERN", default="", help="Only events that match this pattern."),
        click.option(
            "-n", "--lines", type=click.IntRange(1), metavar="N",
            help=f"Maximum number of events, the latest ones; default: {SHOWN_AT_ONCE}, or all with --since.",
        ),
        click.option("--since", metavar="TIME", help="Only events since then: 10m, 2h, or 2026-01-01T12:00:00Z."),
        click.option("-f", "--follow", "follows", is_flag=True, help="Print new events as they come, until Ctrl+C."),
    ):  # fmt: skip
        command = option(command)
    return command


def asked_of(follows: bool, since: str | None, lines: int | None, pattern: str, form: str) -> Asked:
    """The options, checked. Raises: Stop."""
    if follows and form == "json":
        raise Stop(USAGE, "-o json is one document, which --follow never ends.", "print line by line: -o jsonl")
    since_ms = _instant_ms(since) if since is not None else None
    return Asked(follows, since_ms, lines or (SHOWN_AT_ONCE if since_ms is None else None), pattern, form)


def _instant_ms(text: str) -> int:
    from statewright.clock import RealClock
    from statewright.instants import parse_duration_ms
    from statewright.simulator.cases import read_instant_ms

    if text[4:5] == "-":
        try:
            return read_instant_ms(text)
        except ValueError as problem:
            raise Stop(USAGE, f"--since: {problem}") from None
    try:
        return RealClock().now_ms() - parse_duration_ms(text)
    except ValueError as problem:
        raise Stop(USAGE, f"--since: {problem}, or as an instant: 2026-01-01T12:00:00Z") from None


class Group:
    """A log group that is read. Each event is answered once, however often its window is searched."""

    def __init__(
        self,
        server: Server,
        name: str,
        pattern: str = "",
        streams: Sequence[str] = (),
        wanted: Callable[[Answer], bool] | None = None,
    ) -> None:
        """`wanted` chooses events beside the pattern, which the server applies."""
        from statewright.clock import RealClock

        self.server = server
        self.name = name
        self.clock: RealClock = RealClock()
        self.latest_ms = 0
        self._wanted = wanted
        self._read_from_ms: int | None = None
        self._members: dict[str, Any] = {"logGroupName": name}
        if pattern:
            self._members["filterPattern"] = pattern
        if streams:
            self._members["logStreamNames"] = list(streams)
        self._seen: dict[tuple[str, str], int] = {}

    def events(self, from_ms: int | None = None, to_ms: int | None = None) -> Iterator[Answer]:
        """Events from an instant to another, both inclusive, by time. Raises: Stop."""
        window = {"startTime": from_ms, "endTime": to_ms}
        given = {name: max(value, 0) for name, value in window.items() if value is not None}
        for one in self.server.pages("filter_log_events", "events", **self._members, **given):
            key, at_ms = (one["logStreamName"], one["eventId"]), one["timestamp"]
            self.latest_ms = max(self.latest_ms, at_ms)
            if key in self._seen or (self._wanted is not None and not self._wanted(one)):
                continue
            if at_ms >= self.latest_ms - OVERLAP_MS:
                self._seen[key] = at_ms
            if len(self._seen) > _MOST_SEEN:
                self._forget(self.latest_ms - OVERLAP_MS)
            yield one

    def _forget(self, before_ms: int) -> None:
        self._seen = {key: at_ms for key, at_ms in self._seen.items() if at_ms >= before_ms}

    def since(self, from_ms: int) -> Iterator[Answer]:
        """Events from an instant to now."""
        self._read_from_ms = from_ms
        return self.events(from_ms)

    def latest(self, count: int) -> list[Answer]:
        """The latest events, oldest first."""
        found: deque[Answer] = deque(maxlen=count)
        now_ms = self.clock.now_ms()
        to_ms: int | None = None
        for window_ms in (*_WINDOWS_MS, None):
            from_ms = now_ms - window_ms if window_ms is not None else None
            earlier = deque(self.events(from_ms, to_ms), maxlen=count)
            found = deque([*earlier, *found], maxlen=count)
            self._read_from_ms = from_ms
            if len(found) == count or from_ms is None:
                break
            to_ms = from_ms - 1
        return list(found)

    def coming(self) -> Iterator[Answer]:
        """Events as they come. Never ends."""
        import asyncio

        began_ms = self.clock.now_ms()
        away_ms = 0
        with asyncio.Runner() as runner:
            while True:
                from_ms = max(min(began_ms, self.latest_ms or began_ms) - OVERLAP_MS, self._read_from_ms or 0)
                began_ms = self.clock.now_ms()
                try:
                    yield from self.events(from_ms)
                    away_ms = 0
                except Unreachable:
                    if not away_ms:
                        away_ms = began_ms
                        stderr().line(("The server does not answer; waiting for it.", "wait"))
                    if began_ms - away_ms > PATIENCE_MS:
                        raise
                except ApiProblem as problem:
                    # A group is there once its first event is.
                    if problem.api_code != "ResourceNotFoundException":
                        raise
                self._forget(from_ms)
                runner.run(self.clock.sleep_until(self.clock.now_ms() + POLL_MS))


def print_log(group: Group, asked: Asked, shape: Shape, *, if_none: Callable[[], str], is_cut: bool = False) -> int:
    """Print the events that are asked for, and those that follow; returns the exit code.

    `if_none` says why there are no events, when the group does not exist; it may raise `Stop` instead. `is_cut` cuts
    lines to the width of a terminal.
    """
    try:
        try:
            _print(_asked_events(group, asked), asked, shape, is_cut=is_cut)
        except ApiProblem as problem:
            if problem.api_code != "ResourceNotFoundException":
                raise
            stderr().line((if_none(), "idle"))
            _print((), asked, shape, is_cut=is_cut)
        if asked.follows:
            stdout().flush()
            for one in group.coming():
                _print((one,), asked, shape, is_cut=is_cut)
                stdout().flush()
    except KeyboardInterrupt:
        # Following ends in no other way.
        return INTERRUPTED
    return OK


def _asked_events(group: Group, asked: Asked) -> Iterable[Answer]:
    if asked.since_ms is None:
        return group.latest(asked.lines or SHOWN_AT_ONCE)
    found = group.since(asked.since_ms)
    return found if asked.lines is None else deque(found, maxlen=asked.lines)


def print_events(found: Iterable[Answer], asked: Asked, shape: Shape) -> int:
    """Print events, at most as many as are asked for; returns the exit code."""
    _print(found if asked.lines is None else deque(found, maxlen=asked.lines), asked, shape)
    return OK


def _print(found: Iterable[Answer], asked: Asked, shape: Shape, *, is_cut: bool = False) -> None:
    printer = stdout()
    if asked.form == "json":
        printer.json({"events": [_document(one) for one in found]})
        return
    for one in found:
        if asked.form == "jsonl":
            printer.json(_document(one), compact=True)
            continue
        lead: str = local_time(one["timestamp"])
        for line in shape(one["message"]) or [("",)]:
            whole: Line = ((lead, "idle"), "  ", *line)
            printer.plain(printer.styled(whole, printer.width if is_cut else None) + "\n")
            lead = " " * len(lead)


def _document(one: Answer) -> Answer:
    shown = {name: one[name] for name in ("timestamp", "ingestionTime") if name in one}
    return {**one, **{name: instant(at_ms) for name, at_ms in shown.items()}}
