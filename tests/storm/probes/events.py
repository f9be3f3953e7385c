"""Events, decided at the home and carried out at all nodes: each starts an execution, and invokes a function.

An acknowledged event has one execution, which ends, and calls the function to its end, under one request id. An event
that was put again, because the first time was not answered, may have two of each.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from tests.deadlines import happens
from tests.storm.client import Client
from tests.storm.machines import ROLE, chained
from tests.storm.probes.asking import create, every_execution, machine_arn
from tests.storm.probes.spread import Listener, Told, create_function, function_arn
from tests.storm.recording import Recorder

BY_EVENT, HEARD = "by-event", "heard"
SOURCE: Final = "shop"
PUT: Final = "put event"
PAUSE_SECONDS: Final = 0.5
TARGETS: Final = (machine_arn(BY_EVENT), function_arn(HEARD))


class Events:
    """Puts events, and hears of the handlers that they call."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._listener = Listener()
        self._numbers = itertools.count(1)
        self._puts: Counter[str] = Counter()
        """How often each event of this round was put, until that was acknowledged."""
        self._known: set[str] = set()
        """Names of the executions of earlier rounds."""

    def prepare(self, client: Client) -> None:
        create_function(client, HEARD, self._listener.port)
        create(client, BY_EVENT, chained(Wait={"Type": "Wait", "Seconds": 1}))
        client.json("events", "PutRule", Name=SOURCE, EventPattern=json.dumps({"source": [SOURCE]}))
        targets = [
            {"Id": str(number), "Arn": arn, "RoleArn": ROLE, "InputPath": "$.detail"}
            for number, arn in enumerate(TARGETS)
        ]
        client.json("events", "PutTargets", Rule=SOURCE, Targets=targets)

    @property
    def jobs(self) -> Sequence[Callable[[threading.Event, Client], None]]:
        return [self._put]

    def _put(self, over: threading.Event, client: Client) -> None:
        while not over.is_set():
            name = f"event {next(self._numbers)}"
            while not self._put_once(client, name) and not over.is_set():
                pass
            over.wait(PAUSE_SECONDS)

    def _put_once(self, client: Client, name: str) -> bool:
        entry = {"Source": SOURCE, "DetailType": "t", "Detail": json.dumps({"for": name})}
        self._puts[name] += 1
        call = self._recorder.make(PUT, {"name": name}, [], client.json, "events", "PutEvents", Entries=[entry])
        return call.is_answered

    def check(self, client: Client) -> Iterator[str]:
        acknowledged = {call.about["name"] for call in self._recorder.take(PUT) if call.is_answered}
        yield from self._executions(client, acknowledged)
        happens(lambda: acknowledged <= ended(self._listener.told))
        yield from heard(acknowledged, self._puts, self._listener.told)
        self._puts.clear()
        self._listener.told.clear()

    def _executions(self, client: Client, acknowledged: set[str]) -> Iterator[str]:
        shown: list[Any] = []

        def all_are_there() -> bool:
            shown[:] = [one for one in every_execution(client, BY_EVENT) if one["name"] not in self._known]
            return len(shown) >= len(acknowledged) and all(one["status"] == "SUCCEEDED" for one in shown)

        happens(all_are_there)
        for one in shown:
            if one["status"] != "SUCCEEDED":
                yield f"{BY_EVENT}: {one['name']} is {one['status']}"
        self._known.update(one["name"] for one in shown)
        started: Counter[str] = Counter()
        for one in shown:
            described = client.json("states", "DescribeExecution", executionArn=one["executionArn"])
            started[json.loads(described["input"])["for"]] += 1
        yield from once_each(acknowledged, self._puts, started)


def once_each(acknowledged: set[str], puts: Counter[str], started: Counter[str]) -> Iterator[str]:
    """A sentence for each acknowledged event without an execution, or with more than it was put."""
    for name in sorted(acknowledged):
        if not 1 <= started[name] <= puts[name]:
            yield f"{BY_EVENT}: {name} was put {puts[name]} times, and has started {started[name]} executions"


def ended(told: Sequence[Told]) -> set[str]:
    """The events for which a handler has been called to its end."""
    return {one.called for one in told if one.at == "end"}


def heard(acknowledged: set[str], puts: Counter[str], told: Sequence[Told]) -> Iterator[str]:
    """A sentence for each acknowledged event whose handler was not called to its end, or under too many ids."""
    ids: defaultdict[str, set[str]] = defaultdict(set)
    for one in told:
        ids[one.called].add(one.id)
    for name in sorted(acknowledged - ended(told)):
        yield f"{HEARD}: no handler was called to its end for {name}"
    for name in sorted(acknowledged):
        if len(ids[name]) > puts[name]:
            yield f"{HEARD}: {name} was put {puts[name]} times, and has called handlers under {len(ids[name])} ids"
