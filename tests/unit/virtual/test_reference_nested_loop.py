"""A loop in a loop, five minutes apart: one that ends when it should, and one that never does."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from statewright.asl.validate import validate_value
from statewright.config import Config
from statewright.functions.workers.models import Model
from statewright.limits import OPEN
from statewright.virtual import VirtualSystem
from tests.unit.virtual.building import EXAMPLES, entered, example_function, machine, start, summed, told

FULL = "The execution reached the maximum number of history events (25000)."


def text(name: str) -> str:
    return (EXAMPLES / "nested-loop" / f"{name}.asl.json").read_text()


@pytest.mark.parametrize(
    ("rounds", "users", "sleeps", "transitions", "events"),
    [(3, 3, 2, 35, 111), (2, 0, 1, None, None), (0, 3, 0, None, None)],
    ids=["three rounds for three users", "nobody to alert", "no rounds at all"],
)
def test_one_that_ends(rounds, users, sleeps, transitions, events):
    with VirtualSystem() as system:
        tables = system.client("dynamodb")
        tables.create_table(
            TableName="alert-settings", BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        )  # fmt: skip
        item = {"id": {"S": "one"}, "users": {"N": str(users)}, "rounds": {"N": str(rounds)}}
        tables.put_item(TableName="alert-settings", Item=item)
        for name in ("read-counts", "start-round", "notify"):
            example_function(system, "nested-loop", name)
        began_ms = system.now_ms
        execution = start(system, machine(system, text("nested-loop")), "one", {"id": "one"})
        system.run_until_idle()
        shown = system.call("states", "DescribeExecution", {"executionArn": execution})
        assert shown["status"] == "SUCCEEDED"
        # Not a second more than the waits: calls take no time of their own.
        assert shown["stopDate"] - began_ms == sleeps * 300_000
        told_of = told(system, execution)
        states = entered(told_of)
        assert (states.count("NotifyAlerts"), states.count("WaitFiveMinutes")) == (rounds * users, sleeps)
        found = tables.get_item(TableName="alert-settings", Key={"id": {"S": "one"}})["Item"]
        assert int(found.get("alerts", {"N": "0"})["N"]) == rounds * users
        if transitions is not None:
            assert (len(states), len(told_of)) == (transitions, events)


def never_ending(system: VirtualSystem, users: int) -> str:
    """The repaired loop whose rounds nobody counts; models stand in for its functions."""
    first = {"users": users, "notification_count": 3, "remaining": -1}
    system.model("read-counts", Model(answer=first))
    system.model("start-round", Model(answer=lambda event: event["users"]))
    system.model("notify", Model(answer=lambda event: event["remaining"] - 1))
    return start(system, machine(system, text("never-ends")), "one")


@pytest.mark.slow
@pytest.mark.parametrize(("users", "alerts", "hours"), [(3, 2205, 61.25), (0, 0, None)], ids=["three users", "nobody"])
def test_one_that_never_ends_fills_its_history(users, alerts, hours):
    with VirtualSystem() as system:
        began_ms = system.now_ms
        execution = never_ending(system, users)
        system.run_until_idle()
        shown = system.call("states", "DescribeExecution", {"executionArn": execution})
        assert (shown["status"], shown["error"], shown["cause"]) == ("FAILED", "States.Runtime", FULL)
        events = told(system, execution)
        assert (len(events), events[-1]["type"]) == (25_000, "ExecutionFailed")
        assert entered(events).count("NotifyAlerts") == alerts
        assert summed(system, "AWS/Lambda", "Invocations", FunctionName="notify") == alerts
        if hours is not None:
            assert shown["stopDate"] - began_ms == hours * 3_600_000


@pytest.mark.slow
def test_without_that_limit_it_runs_on():
    with VirtualSystem(config=replace(Config(), limits=OPEN)) as system:
        execution = never_ending(system, 3)
        system.advance("63h")
        shown = system.call("states", "DescribeExecution", {"executionArn": execution})
        assert shown["status"] == "RUNNING"
        asked = {"executionArn": execution, "reverseOrder": True, "maxResults": 1}
        [last] = system.call("states", "GetExecutionHistory", asked)["events"]
        assert last["id"] > 25_000
        assert json.loads(shown["input"]) == {}


def test_it_is_known_before_it_runs():
    def found(name: str) -> list[tuple[str | None, str]]:
        every = validate_value(json.loads(text(name)))
        return [(one.location, one.message) for one in every if one.code == "LOOP_NEVER_ENDS"]

    [(location, message)] = found("never-ends")
    assert location == "/States/RoundsLeft"
    assert "no state in the loop changes $.notification_count" in message
    assert found("nested-loop") == []
