"""Callers that look at the same executions at different nodes, again and again, and one that stops some.

What one has seen stays true for all: an execution that was there, or had ended, or the events of a history.
"""

from __future__ import annotations

import itertools
import random
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from tests.storm.client import Client
from tests.storm.invariants import STALE_SECONDS, Look, Read, never_goes_back, prefixes
from tests.storm.machines import chained
from tests.storm.probes.asking import (
    DESCRIBE,
    HISTORY,
    LIST,
    START,
    STOP,
    create,
    ends,
    execution_arn,
    history,
    look,
    machine_arn,
    not_as_wanted,
    start,
)
from tests.storm.recording import Call, Recorder

WATCHED: Final = "watched"
ENDLESS: Final = "endless"
WATCHERS: Final = 2
RECENT: Final = 12
"""Executions that are looked at."""
NEWEST: Final = 40
"""Executions in a list."""
SAMPLE: Final = 20
"""Executions of earlier rounds that are looked at again."""
PAUSE_SECONDS: Final = 0.05
START_SECONDS: Final = 0.4
"""Between two starts."""
SECOND: Final = {"Type": "Wait", "Seconds": 1}
STATES: Final = chained(First=SECOND, Then={"Type": "Pass"}, Last=SECOND)


@dataclass(frozen=True, slots=True)
class Page:
    """The newest executions of a list, with their states: all that began after `since`."""

    since: float
    shown: Mapping[str, str]


class Watchers:
    """Starts, stops, descriptions, histories and lists of two machines."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._numbers = itertools.count(1)
        self._recent: deque[tuple[str, str]] = deque(maxlen=RECENT)
        """Machine and name."""
        self._started: dict[str, list[str]] = {WATCHED: [], ENDLESS: []}
        """Names of this round."""
        self._ended: dict[tuple[str, str], str] = {}
        """The states of those of earlier rounds."""
        self._chance = random.Random(0)

    def prepare(self, client: Client) -> None:
        create(client, WATCHED, STATES)
        create(client, ENDLESS, chained(Wait={"Type": "Wait", "Seconds": 86_400}))

    @property
    def jobs(self) -> Sequence[Callable[[threading.Event, Client], None]]:
        return [self._start, self._stop, *(partial(self._watch, number) for number in range(WATCHERS))]

    def _start(self, over: threading.Event, client: Client) -> None:
        while not over.is_set():
            self._begin(client, WATCHED)
            over.wait(START_SECONDS)

    def _begin(self, client: Client, machine: str) -> str:
        name = f"{machine}-{next(self._numbers)}"
        start(self._recorder, client, machine, name, {})
        self._recent.append((machine, name))
        self._started[machine].append(name)
        return name

    def _stop(self, over: threading.Event, client: Client) -> None:
        while not over.is_set():
            name = self._begin(client, ENDLESS)
            over.wait(START_SECONDS)
            for number in itertools.count(1):
                call = self._recorder.make(
                    STOP, {"name": name, "by": f"try {number}"}, [], client.json, "states", "StopExecution",
                    executionArn=execution_arn(ENDLESS, name), error=f"try {number}",
                )  # fmt: skip
                if call.is_answered:
                    break

    def _watch(self, number: int, over: threading.Event, client: Client) -> None:
        chance = random.Random(number)
        while not over.wait(PAUSE_SECONDS):
            recent = list(self._recent)
            if not recent:
                continue
            machine, name = chance.choice(recent)
            how = chance.random()
            if how < 0.5:
                look(self._recorder, client, machine, name)
            elif how < 0.8:
                self._read(client, machine, name)
            else:
                self._list(client, machine)

    def _list(self, client: Client, machine: str) -> None:
        def listed(service: str) -> Page:
            answer = client.json(service, "ListExecutions", stateMachineArn=machine_arn(machine), maxResults=NEWEST)
            found = answer["executions"]
            since = min((one["startDate"] for one in found), default=0.0) if "nextToken" in answer else 0.0
            return Page(since, {one["name"]: one["status"] for one in found})

        self._recorder.make(LIST, {"machine": machine}, [], listed, "states")

    def _read(self, client: Client, machine: str, name: str) -> None:
        def read(service: str) -> list[tuple[Any, ...]]:
            return [_event(one) for one in history(client, service, machine, name)]

        self._recorder.make(HISTORY, {"name": name}, [], read, "states")

    # ------------------------------------------------------------------ the check

    def check(self, client: Client) -> Iterator[str]:
        for (machine, name), status in self._chance.sample(sorted(self._ended.items()), min(SAMPLE, len(self._ended))):
            call = look(self._recorder, client, machine, name)
            if not call.is_answered or call.answer["status"] != status:
                yield f"{machine}: {name} was {status} in an earlier round, and is {call.answer}"
        for machine, wanted in ((WATCHED, "SUCCEEDED"), (ENDLESS, "ABORTED")):
            names = self._started[machine]
            shown = ends(client, machine, names)
            yield from not_as_wanted(machine, names, shown, wanted)
            for name, one in shown.items():
                # A last look, against which those of the watchers are held.
                look(self._recorder, client, machine, name)
                self._read(client, machine, name)
                self._ended[machine, name] = one["status"]
            if machine == ENDLESS:
                errors = {name: one.get("error", "") for name, one in shown.items()}
                yield from stops(self._recorder.calls(STOP), errors)
            names.clear()
        calls = (self._recorder.take(kind) for kind in (START, STOP, DESCRIBE, LIST))
        yield from never_goes_back(looks(*calls))
        reads = [call for call in self._recorder.take(HISTORY) if call.is_answered]
        yield from prefixes(Read(call.about["name"], call.answer, call.begin, call.end) for call in reads)


def _event(event: Any) -> tuple[Any, ...]:
    return (event["id"], event["type"], event["timestamp"])


def stops(calls: Sequence[Call], errors: dict[str, str]) -> Iterator[str]:
    """The error of a stopped execution is that of a try up to the first one that was acknowledged."""
    for name, error in sorted(errors.items()):
        tries = [call for call in calls if call.about["name"] == name]
        first = min((call.end for call in tries if call.is_answered), default=None)
        possible = {call.about["by"] for call in tries if first is None or call.begin < first}
        if error not in possible:
            tried = ", ".join(sorted(possible)) or "none"
            yield f"{ENDLESS}: {name} was stopped with {error or 'no error'}, of {tried}"


def looks(
    starts: Sequence[Call], stopped: Sequence[Call], described: Sequence[Call], lists: Sequence[Call]
) -> Iterator[Look]:
    """What the calls have shown of each execution."""
    there: dict[str, Call] = {}
    for call in starts:
        if call.is_answered:
            there[call.about["name"]] = call
            yield Look(call.about["name"], "RUNNING", call.begin, call.end, "by its start")
    for call in stopped:
        if call.is_answered:
            yield Look(call.about["name"], "ABORTED", call.begin, call.end, "by its stop")
    for call in described:
        if call.outcome != "unanswered":
            status = call.answer["status"] if call.is_answered else ""
            yield Look(call.about["name"], status, call.begin, call.end, "by its description")
    for call in lists:
        if call.is_answered:
            yield from _listed(call, there)


def _listed(call: Call, there: dict[str, Call]) -> Iterator[Look]:
    page: Page = call.answer
    for name, status in page.shown.items():
        yield Look(name, status, call.begin, call.end, "in a list")
    for name, made in there.items():
        is_of_it = name.startswith(f"{call.about['machine']}-") and made.answer["startDate"] > page.since
        if is_of_it and name not in page.shown and made.end + STALE_SECONDS < call.begin:
            yield Look(name, "", call.begin, call.end, "in a list")
