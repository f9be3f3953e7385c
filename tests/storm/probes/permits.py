"""Executions that hold a permit of a semaphore, and those of a machine with a limit: never more than the limit."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

from tests.storm.client import Client
from tests.storm.invariants import Held, permits
from tests.storm.machines import chained, task
from tests.storm.probes.asking import create, ends, history, not_as_wanted, start
from tests.storm.recording import Recorder

LIMIT: Final = 2
KEYS: Final = ("x", "y")
PAUSE_SECONDS: Final = 0.5
"""Between two starts: fewer come than the limit lets through."""
INSIDE: Final = {"Type": "Wait", "Seconds": 1}
HELD: Final = chained(
    Enter=task("statewright:acquire", Name="door", Limit=LIMIT, **{"Key.$": "$.key"}),
    Inside=INSIDE,
    Leave=task("statewright:release", Name="door", **{"Key.$": "$.key"}),
)
LIMITED: Final = chained(Inside=INSIDE)
TAG: Final = {"key": "statewright:maxConcurrentExecutions", "value": str(LIMIT)}


class Permits:
    """Starts of both machines, and intervals by their histories."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._numbers = itertools.count(1)
        self._started: dict[str, list[str]] = {"held": [], "limited": []}
        """Names of this round."""
        self._held: list[Held] = []

    def prepare(self, client: Client) -> None:
        create(client, "held", HELD)
        create(client, "limited", LIMITED, tags=[TAG])

    @property
    def jobs(self) -> Sequence[Callable[[threading.Event, Client], None]]:
        return [partial(self._start, machine) for machine in self._started]

    def _start(self, machine: str, over: threading.Event, client: Client) -> None:
        while not over.is_set():
            number = next(self._numbers)
            # Two callers share the numbers: not by their parity.
            key = KEYS[number // 2 % len(KEYS)]
            name = f"{machine}-{number}-{key}"
            start(self._recorder, client, machine, name, {"key": key})
            self._started[machine].append(name)
            over.wait(PAUSE_SECONDS)

    def check(self, client: Client) -> Iterator[str]:
        for machine, names in self._started.items():
            shown = ends(client, machine, names)
            yield from not_as_wanted(machine, names, shown)
            for name in shown:
                of = name.rpartition("-")[2] if machine == "held" else ""
                yield from self._note(machine, of, name, history(client, "states", machine, name))
            names.clear()
        yield from permits("permits of", self._held, LIMIT)

    def _note(self, machine: str, of: str, name: str, events: Sequence[Any]) -> Iterator[str]:
        times = interval(events)
        if times is None:
            yield f"{machine}: the history of {name} has no time inside"
        else:
            self._held.append(Held(f"{machine} {of}".strip(), name, *times))


def interval(events: Sequence[Any]) -> tuple[float, float] | None:
    """From the entry to the exit of the state `Inside`, in seconds: what holds a permit holds it for longer."""
    begin = end = None
    for event in events:
        if event.get("stateEnteredEventDetails", {}).get("name") == "Inside":
            begin = float(event["timestamp"])
        if event.get("stateExitedEventDetails", {}).get("name") == "Inside":
            end = float(event["timestamp"])
    return (begin, end) if begin is not None and end is not None else None
