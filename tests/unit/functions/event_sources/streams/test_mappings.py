"""Mappings of streams in a whole system in virtual time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from statewright.virtual import Model, VirtualSystem
from tests.unit.tables.rig import new_table


@pytest.fixture
def system() -> Iterator[VirtualSystem]:
    with VirtualSystem() as made:
        yield made


def table(system: VirtualSystem) -> str:
    """The ARN of the stream of a new table."""
    request = new_table("pets", "NEW_IMAGE")
    arn: str = system.call("dynamodb", "CreateTable", request)["TableDescription"]["LatestStreamArn"]
    return arn


def put(system: VirtualSystem, *names: str) -> None:
    for name in names:
        system.call("dynamodb", "PutItem", {"TableName": "pets", "Item": {"id": {"S": name}}})


def seen_by(system: VirtualSystem, duration: str) -> list[str]:
    """The names in each batch that the function `f` has processed; each takes `duration`."""
    seen: list[str] = []

    def answer(event: Any) -> None:
        seen.append("".join(one["dynamodb"]["Keys"]["id"]["S"] for one in event["Records"]))

    system.model("f", Model(duration=duration, answer=answer))
    return seen


def map_stream(system: VirtualSystem, stream: str, **more: Any) -> str:
    request = {"EventSourceArn": stream, "FunctionName": "f", "StartingPosition": "TRIM_HORIZON", **more}
    uuid: str = system.call("lambda", "CreateEventSourceMapping", request)["UUID"]
    return uuid


def test_a_mapping_that_is_switched_off_and_on_waits_for_the_batch_under_way(system: VirtualSystem) -> None:
    stream, seen = table(system), seen_by(system, "10s")
    uuid = map_stream(system, stream)
    put(system, "a")
    system.advance("1s")
    for enabled in (False, True, True):
        system.call("lambda", "UpdateEventSourceMapping", {"UUID": uuid, "Enabled": enabled})
    put(system, "b")
    system.advance("30s")
    assert seen == ["a", "b"]


def test_a_batch_that_is_gathered_is_not_behind(system: VirtualSystem) -> None:
    stream, seen = table(system), seen_by(system, "1s")
    map_stream(system, stream, MaximumBatchingWindowInSeconds=60)
    put(system, "a")
    system.advance("62s")
    put(system, "b")
    system.advance("40s")
    assert seen == ["a"]
    assert system.parts.app.services.event_sources.lagging() == []
