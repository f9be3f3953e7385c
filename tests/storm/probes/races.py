"""Callers that want the same thing at the same instant, at different nodes: one of them may have it."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

from tests.storm.client import Client
from tests.storm.invariants import sums, winners
from tests.storm.machines import TABLE, chained
from tests.storm.probes.asking import START, create, ends, every_execution, not_as_wanted, start_once
from tests.storm.recording import Call, Recorder

RACERS: Final = 3
TOGETHER_SECONDS: Final = 0.3
"""How long those who have done a turn wait for the others."""
PAUSE_SECONDS: Final = 0.05
RACED: Final = "raced"
PUT, ADD = "put", "add"
COUNTERS: Final = 2


class Races:
    """Conditional puts of one item, starts of one name, and additions to one number."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._turn = threading.Condition()
        self._place = 0
        self._last = [-1] * RACERS
        self._arrived = 0
        self._checked = 0

    def prepare(self, client: Client) -> None:
        create(client, RACED, chained(Leaf={"Type": "Pass"}))

    @property
    def jobs(self) -> Sequence[Callable[[threading.Event, Client], None]]:
        return [partial(self._race, number) for number in range(RACERS)]

    def _race(self, number: int, over: threading.Event, client: Client) -> None:
        while not over.is_set():
            place = self._next(number)
            self._put(client, f"race-{place}", str(number))
            start_once(self._recorder, client, RACED, f"r-{place}", {"by": number}, by=str(number))
            self._add(client, f"sum-{place % COUNTERS}")
            over.wait(PAUSE_SECONDS)

    def _next(self, number: int) -> int:
        """The turn that this racer takes part in, once the others are there or that takes too long."""
        with self._turn:
            place = self._place
            if self._last[number] == place:
                self._arrived += 1
                if self._arrived < RACERS:
                    self._turn.wait_for(lambda: self._place != place, TOGETHER_SECONDS)
                if self._place == place:
                    self._place, self._arrived = place + 1, 0
                    self._turn.notify_all()
            self._last[number] = self._place
            return self._place

    def _put(self, client: Client, name: str, by: str) -> None:
        self._recorder.make(
            PUT, {"name": name, "by": by}, ["ConditionalCheckFailedException"], client.json, "dynamodb", "PutItem",
            TableName=TABLE, Item={"id": {"S": name}, "by": {"S": by}},
            ConditionExpression="attribute_not_exists(id)",
        )  # fmt: skip

    def _add(self, client: Client, counter: str) -> None:
        def add(service: str) -> int:
            answer = client.json(
                service, "UpdateItem", TableName=TABLE, Key={"id": {"S": counter}}, ReturnValues="UPDATED_NEW",
                UpdateExpression="ADD n :one", ExpressionAttributeValues={":one": {"N": "1"}},
            )  # fmt: skip
            return int(answer["Attributes"]["n"]["N"])

        self._recorder.make(ADD, {"counter": counter}, [], add, "dynamodb")

    def check(self, client: Client) -> Iterator[str]:
        since, self._checked = self._checked, self._place + 1
        puts = [call for call in self._recorder.calls(PUT) if _place(call.about["name"]) >= since]
        there = {call.about["name"]: _member(client, call.about["name"], "by") for call in puts}
        yield from winners("the put of", puts, {name: [by] if by else [] for name, by in there.items()})
        starts = [call for call in self._recorder.calls(START) if _place(call.about["name"]) >= since]
        yield from self._check_starts(client, starts, since)
        counters = {f"sum-{number}" for number in range(COUNTERS)}
        yield from sums(self._recorder.calls(ADD), {one: int(_member(client, one, "n") or 0) for one in counters})

    def _check_starts(self, client: Client, starts: Sequence[Call], since: int) -> Iterator[str]:
        listed: defaultdict[str, list[str]] = defaultdict(list)
        for one in every_execution(client, RACED):
            if _place(one["name"]) >= since:
                shown = client.json("states", "DescribeExecution", executionArn=one["executionArn"])
                listed[one["name"]].append(str(json.loads(shown["input"])["by"]))
        yield from winners("the start of", starts, listed)
        yield from not_as_wanted(RACED, sorted(listed), ends(client, RACED, sorted(listed)))


def _place(name: str) -> int:
    return int(name.rpartition("-")[2])


def _member(client: Client, item: str, member: str) -> str:
    """A member of an item, as text; empty if it is not there."""
    found = client.json("dynamodb", "GetItem", TableName=TABLE, Key={"id": {"S": item}}, ConsistentRead=True)
    return str(next(iter(found["Item"][member].values()))) if "Item" in found else ""
