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


def test_a_system_is_idle_although_the_stream_of_a_mapping_is_gone(system: VirtualSystem) -> None:
    stream = table(system)
    seen_by(system, "1s")
    map_stream(system, stream)
    put(system, "a")
    system.call("dynamodb", "DeleteTable", {"TableName": "pets"})
    system.advance("27h")
    system.restart()
    system.run_until_idle(within="1h")


def counting(system: VirtualSystem, events: list[Any], failures: list[str] | None = None) -> None:
    """Model `f` as a function that counts records in its state, and fails on the events that `failures` say."""

    def answer(event: Any) -> Any:
        events.append(event)
        if failures and failures.pop(0):
            raise RuntimeError("down")
        return {"state": {"count": event["state"].get("count", 0) + len(event["Records"])}}

    system.model("f", Model(duration="1s", answer=answer))


def shown(events: list[Any]) -> list[tuple[int, int, bool]]:
    """Of each event: its records, the count in its state, and whether it ends the window."""
    return [(len(one["Records"]), one["state"].get("count", 0), one["isFinalInvokeForWindow"]) for one in events]


def test_tumbling_windows_pass_a_state_on_and_end_with_it(system: VirtualSystem) -> None:
    stream, events = table(system), list[Any]()
    counting(system, events)
    put(system, "a", "b", "c")
    uuid = map_stream(system, stream, TumblingWindowInSeconds=60, BatchSize=2)
    system.advance("10s")
    assert shown(events) == [(2, 0, False), (1, 2, False)]
    put(system, "d")
    system.advance("30s")
    system.restart()
    counting(system, events)
    system.advance("30s")
    assert shown(events[2:]) == [(1, 3, False), (0, 4, True)]
    assert {name: value for name, value in events[-1].items() if name != "shardId"} == {
        "Records": [],
        "window": {"start": "2026-01-01T00:00:00Z", "end": "2026-01-01T00:01:00Z"},
        "state": {"count": 4},
        "eventSourceARN": stream,
        "isFinalInvokeForWindow": True,
        "isWindowTerminatedEarly": False,
    }
    system.advance("1h")
    assert len(events) == 4
    put(system, "e")
    system.advance("55s")
    put(system, "f")
    system.run_until_idle()
    assert shown(events[4:]) == [(1, 0, False), (0, 1, True), (1, 0, False), (0, 1, True)]
    assert system.call("lambda", "GetEventSourceMapping", {"UUID": uuid})["TumblingWindowInSeconds"] == 60


def test_a_record_of_the_next_window_waits_for_the_end_of_the_one_before(system: VirtualSystem) -> None:
    stream, events = table(system), list[Any]()
    counting(system, events)
    put(system, "a")
    system.advance("65s")
    put(system, "b", "c")
    system.advance("300s")
    map_stream(system, stream, TumblingWindowInSeconds=60)
    system.run_until_idle()
    assert shown(events) == [(1, 0, False), (0, 1, True), (2, 0, False), (0, 2, True)]
    assert [one["window"]["start"][14:19] for one in events] == ["00:00", "00:00", "01:00", "01:00"]


def test_a_final_invocation_is_repeated_until_it_succeeds_and_a_retry_has_the_state_before_it(
    system: VirtualSystem,
) -> None:
    stream, events = table(system), list[Any]()
    counting(system, events, ["", "bad", "", "bad", "bad", ""])
    map_stream(system, stream, TumblingWindowInSeconds=60, MaximumRetryAttempts=1)
    put(system, "a")
    system.advance("5s")
    put(system, "b")
    system.run_until_idle()
    assert shown(events) == [
        (1, 0, False), (1, 1, False), (1, 1, False), (0, 2, True), (0, 2, True), (0, 2, True),
    ]  # fmt: skip


def test_windows_of_another_length_begin_after_the_one_that_is_open(system: VirtualSystem) -> None:
    stream, events = table(system), list[Any]()
    counting(system, events, ["", *["bad"] * 3])
    uuid = map_stream(system, stream, TumblingWindowInSeconds=60)
    system.advance("65s")
    put(system, "a")
    system.advance("2s")
    put(system, "b")
    system.advance("1500ms")
    system.call("lambda", "UpdateEventSourceMapping", {"UUID": uuid, "TumblingWindowInSeconds": 120})
    system.run_until_idle()
    tried = [one for one in events if not one["isFinalInvokeForWindow"]]
    assert [one["window"]["start"][14:19] for one in (tried[0], tried[-1])] == ["01:00", "00:00"]
    assert shown(tried)[-1] == (1, 0, False)
    assert [one["state"] for one in events if one["isFinalInvokeForWindow"]][-2:] == [{"count": 1}, {"count": 1}]


def test_a_state_that_is_too_large_ends_its_window_early(system: VirtualSystem) -> None:
    stream, events = table(system), list[Any]()

    def answer(event: Any) -> Any:
        events.append(event)
        return {"state": {"text": "x" * 1024 * 1024} if len(events) == 1 else {}}

    system.model("f", Model(duration="1s", answer=answer))
    map_stream(system, stream, TumblingWindowInSeconds=60)
    put(system, "a")
    system.advance("5s")
    put(system, "b")
    system.run_until_idle()
    assert [(len(one["Records"]), one["isFinalInvokeForWindow"], one["isWindowTerminatedEarly"]) for one in events] == [
        (1, False, False), (0, True, True), (1, False, False), (0, True, False),
    ]  # fmt: skip
    assert events[2]["state"] == {}


def test_without_a_state_in_the_answer_the_invocation_has_failed(
    system: VirtualSystem, caplog: pytest.LogCaptureFixture
) -> None:
    stream, seen = table(system), seen_by(system, "1s")
    uuid = map_stream(system, stream, TumblingWindowInSeconds=60, MaximumRetryAttempts=1)
    put(system, "a")
    system.advance("10s")
    assert seen == ["a", "a"]
    assert "its answer must have a state" in caplog.text
    shown = system.call("lambda", "GetEventSourceMapping", {"UUID": uuid})
    assert shown["LastProcessingResult"] == "PROBLEM: Function call failed"
