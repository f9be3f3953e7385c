"""Pages that watch executions of an engine in virtual time, as the browser's page does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from statewright.console.asked import Asked, Caller
from statewright.console.context import Console
from statewright.console.live import live
from statewright.engine.dispatch import Failed, Succeeded
from tests.unit.api.apps import app_of
from tests.unit.engine.running import Rig, machine, passing, task, wait

RETRY = [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "MaxAttempts": 2, "BackoffRate": 1}]
BUSY = machine(
    A=passing("W"),
    W=wait(1, "Each"),
    Each={
        "Type": "Map", "ItemsPath": "$.items", "MaxConcurrency": 2, "Next": "Both",
        "ItemProcessor": {"StartAt": "Nap", "States": {"Nap": wait(1, "Slow"), "Slow": task(Retry=RETRY)}},
    },
    Both={
        "Type": "Parallel", "End": True,
        "Branches": [{"StartAt": "L", "States": {"L": wait(2)}}, {"StartAt": "R", "States": {"R": passing()}}],
    },
)  # fmt: skip
"""Commits at many instants: retries, items and branches."""
INPUT = {"items": [1, 2, 3, 4]}


async def begin_busy(rig: Rig) -> str:
    """An execution of BUSY whose task fails at first, and takes a while."""
    tried: dict[Any, int] = {}

    async def answer(call: Any) -> Any:
        await rig.clock.sleep_until(rig.clock.now_ms() + 130)
        tried[call.parameters] = tried.get(call.parameters, 0) + 1
        return Failed("Busy", "later", "failed") if tried[call.parameters] < 2 else Succeeded(call.parameters)

    rig.integrations.answers["Slow"] = answer
    return await rig.begin(BUSY, INPUT)


def console_of(rig: Rig) -> Console:
    return Console(app_of(clock=rig.clock, engine=rig.engine))


def asked(**given: str) -> Asked:
    return Asked(given, Caller(), "id")


def sums(steps: list[int]) -> Iterator[int]:
    total = 0
    for step in steps:
        total += step
        yield total


class Model:
    """A run of which a document was read, and to which deltas are added."""

    def __init__(self, document: Any) -> None:
        self.types: list[str] = []
        self.owners: list[int] = []
        self.at: list[int] = []
        self.visits: dict[int, tuple[Any, ...]] = {}
        self.attempts: dict[tuple[int, int], tuple[Any, ...]] = {}
        self.add({**document, "from": 0})

    @property
    def length(self) -> int:
        return len(self.types)

    def add(self, delta: Any) -> None:
        assert delta["from"] == self.length
        self.head = {name: value for name, value in delta["head"].items() if name != "usd"}
        self.types += [delta["eventTypes"][number] for number in delta["events"]["type"]]
        self.owners += sums(delta["events"]["visit"])
        self.at += sums(delta["events"]["atMs"])
        assert delta.get("to", self.length) == self.length
        visits = {
            **delta["visits"],
            "begin": sums(delta["visits"]["begin"]),
            "beginMs": sums(delta["visits"]["beginMs"]),
        }
        numbers = sums(visits.pop("index")) if "index" in visits else range(len(visits["state"]))
        for number, *members in zip(numbers, *visits.values(), strict=True):
            assert number <= len(self.visits), "visits come in their order"
            self.visits[number] = tuple(members)
        self._add_attempts(delta["attempts"])

    def _add_attempts(self, columns: Any) -> None:
        errors = columns["errors"]
        of = list(sums(columns["visit"]))
        numbers = columns.get("number") or [of[:place].count(visit) + 1 for place, visit in enumerate(of)]
        begin, begin_ms = list(sums(columns["begin"])), list(sums(columns["beginMs"]))
        for place, key in enumerate(zip(of, numbers, strict=True)):
            error = columns["error"][place]
            rest = (columns[name][place] for name in ("end", "endMs", "failed", "waitedMs", "length"))
            self.attempts[key] = (begin[place], begin_ms[place], None if error < 0 else errors[error], *rest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


class Page:
    """One page: reads a run, and watches it from there."""

    def __init__(self, console: Console, arn: str) -> None:
        self.console = console
        self.arn = arn
        self.lines: list[tuple[int, Any]] = []
        """Lines about the run, with the instant at which each came."""
        self.model: Model | None = None
        self._task: asyncio.Task[None] | None = None

    async def read(self) -> None:
        """Read the run, as a page that is opened does."""
        self.model = Model(await self.console.runs_of(self.arn).view(self.arn))

    def connect(self) -> None:
        """Watch from the event that the page has."""
        assert self.model is not None
        self._task = asyncio.create_task(self._listen(f"run:{self.arn}@{self.model.length}"))

    async def _listen(self, name: str) -> None:
        stream = await live(self.console, asked(watch=name))
        try:
            async for line in stream.documents:
                if line.get("subject") is None:
                    continue
                self.lines.append((self.console.app.clock.now_ms(), line))
                if "to" in line and self.model is not None:
                    self.model.add(line)
        finally:
            await stream.documents.aclose()  # type: ignore[attr-defined]

    async def leave(self) -> None:
        """Break the stream off, as a server that is killed or a page that goes away does."""
        task, self._task = self._task, None
        if task is None:
            return
        # A mistake of the stream is one of the test.
        if task.done():
            task.result()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
