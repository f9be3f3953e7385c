"""Arrivals: what comes to a system from outside, at which instants, and how it is sent.

Owns instants (a burst, a rate, a Poisson process, a file replayed) and the requests that are made. All draws are of the
scenario's seed. When an instant has come is `run.py`'s to see.
"""

from __future__ import annotations

import asyncio
import csv
import heapq
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

from statewright import chance
from statewright.errors import ApiError, DefinitionError, Diagnostic
from statewright.payload import Json, JsonObject, dump_json
from statewright.simulation.reader import INVALID_VALUE
from statewright.simulation.scenario import ArrivalSpec, Scenario
from statewright.virtual import VirtualSystem

TICK_MS: Final = 50
"""Arrivals closer together than this are sent together."""
POISON: Final = "poison"
"""The member of a message's body that says that it cannot be treated."""


class Arriving(NamedTuple):
    """One thing that comes: when, by which arrival of the scenario, its number there, and what a file says of it."""

    at_ms: int
    arrival: int
    number: int
    body: Json
    name: str


@dataclass(slots=True)
class Sent:
    """Counts of what was sent so far, by arrival of the scenario; `refused` by error code."""

    sent: dict[int, int]
    refused: dict[str, int]


def instants(spec: ArrivalSpec, number: int, seed: int) -> Iterator[Arriving]:
    """When things come, in order; milliseconds since the start. Raises: DefinitionError for a file that is none."""
    if spec.replay is not None:
        for place, (at_ms, body, name) in enumerate(sorted(_replayed(spec.replay), key=lambda one: one[0])):
            yield Arriving(spec.at_ms + at_ms, number, place, body, name)
        return
    draws = chance.draws_of(f"{seed} arrivals {number}")
    end_ms = None if spec.for_ms is None else spec.at_ms + spec.for_ms
    place, at = 0, float(spec.at_ms)
    while spec.count is None or place < spec.count:
        if spec.form == "burst":
            at = spec.at_ms + (place * spec.over_ms / spec.count if spec.count else 0)
        elif spec.form == "rate":
            at = spec.at_ms + place * 1000 / spec.rate
        else:
            at += draws.expovariate(spec.rate) * 1000
        if end_ms is not None and at >= end_ms:
            return
        tick = int(at) // TICK_MS * TICK_MS
        yield Arriving(max(tick, spec.at_ms), number, place, None, "")
        place += 1


def groups(scenario: Scenario) -> Iterator[tuple[int, list[Arriving]]]:
    """All arrivals of a scenario by instant."""
    every = [instants(spec, number, scenario.seed) for number, spec in enumerate(scenario.arrivals)]
    for at_ms, found in groupby(heapq.merge(*every, key=lambda one: one[:3]), key=lambda one: one.at_ms):
        yield at_ms, list(found)


def _replayed(path: Path) -> Iterator[tuple[int, Json, str]]:
    """The rows of a CSV file with a column `at`, or of JSON lines with a member `at`: seconds, or instants."""
    text = path.read_text("utf-8")
    lines = text.lstrip().startswith("{")
    rows: Any = (
        (json.loads(line) for line in text.splitlines() if line.strip()) if lines else csv.DictReader(text.splitlines())
    )
    first: float | None = None
    try:
        for row in rows:
            at = row.pop("at")
            if isinstance(at, str) and not at.replace(".", "", 1).isdigit():
                seconds = datetime.fromisoformat(at).timestamp()
                first = seconds if first is None else first
                seconds -= first
            else:
                seconds = float(at)
            body = row.get("body", row.get("input"))
            yield round(seconds * 1000), body if body is not None else row or None, str(row.get("name") or "")
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        text = f"{path.name} cannot be replayed: each row needs 'at', in seconds or as an instant ({problem!r})"
        raise DefinitionError([Diagnostic(INVALID_VALUE, text)]) from None


class Sender:
    """Sends what comes."""

    def __init__(self, system: VirtualSystem, scenario: Scenario) -> None:
        self._system = system
        self._specs = scenario.arrivals
        self._draws = [chance.draws_of(f"{scenario.seed} poison {number}") for number in range(len(self._specs))]
        config = system.config
        self._queue = f"http://localhost:4566/{config.account}/"
        self._machine = config.arn("states", "stateMachine:")
        self._tables = scenario.tables
        self.sent = Sent(dict.fromkeys(range(len(self._specs)), 0), {})
        self.poisoned = dict.fromkeys(range(len(self._specs)), 0)

    def send(self, coming: list[Arriving]) -> None:
        """Send what comes at the present instant."""
        requests = []
        for number, found in groupby(coming, key=lambda one: one.arrival):
            spec, some = self._specs[number], list(found)
            self.sent.sent[number] += len(some)
            bodies = [self._body(spec, one) for one in some]
            if spec.kind != "queue":
                requests += [self._one(spec, one, body) for one, body in zip(some, bodies, strict=True)]
            elif spec.batch == 1:
                requests += [("sqs", "SendMessage", self._message(spec, body, None)) for body in bodies]
            else:
                for begin in range(0, len(bodies), spec.batch):
                    entries = [
                        self._message(spec, body, place)
                        for place, body in enumerate(bodies[begin : begin + spec.batch])
                    ]
                    url = self._queue + spec.target
                    requests.append(("sqs", "SendMessageBatch", {"QueueUrl": url, "Entries": entries}))
        self._system.run(self._all(requests))

    async def _all(self, requests: list[tuple[str, str, JsonObject]]) -> None:
        answers = await asyncio.gather(*(self._system.ask(*one) for one in requests), return_exceptions=True)
        for answer in answers:
            if isinstance(answer, ApiError):
                self.sent.refused[answer.code] = self.sent.refused.get(answer.code, 0) + 1
            elif isinstance(answer, BaseException):
                raise answer

    def _one(self, spec: ArrivalSpec, one: Arriving, body: str) -> tuple[str, str, JsonObject]:
        if spec.kind == "machine":
            name = one.name or spec.name.replace("{n}", str(one.number))
            return (
                "states",
                "StartExecution",
                {"stateMachineArn": self._machine + spec.target, "name": name, "input": body},
            )
        if spec.kind == "table":
            key = self._tables.get(spec.target, "id")
            name = one.name or spec.name.replace("{n}", str(one.number))
            attributes = json.loads(body) if spec.body is not None else {}
            return "dynamodb", "PutItem", {"TableName": spec.target, "Item": {**attributes, key: {"S": name}}}
        return "lambda", "Invoke", {"FunctionName": spec.target, "InvocationType": "Event", "Payload": body.encode()}

    def _message(self, spec: ArrivalSpec, body: str, place: int | None) -> JsonObject:
        made: JsonObject = {"MessageBody": body}
        if spec.target.endswith(".fifo"):
            made["MessageGroupId"] = "all"
        return {**made, "Id": str(place)} if place is not None else {**made, "QueueUrl": self._queue + spec.target}

    def _body(self, spec: ArrivalSpec, one: Arriving) -> str:
        given = one.body if one.body is not None else spec.body
        if spec.poison and self._draws[one.arrival].random() < spec.poison:
            self.poisoned[one.arrival] += 1
            given = {**(given if isinstance(given, dict) else {"body": given}), POISON: True}
        if given is None:
            return f'{{"n":{one.number}}}'
        text = given if isinstance(given, str) else dump_json(given)
        return text.replace("{n}", str(one.number)) if "{n}" in text else text
