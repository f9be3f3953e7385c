"""One execution at a time, by asking every minute whose turn it is: hours, transitions, and the service's quotas."""

from __future__ import annotations

import json
import os
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

from statewright.config import parse_config
from statewright.cost.bill import bill
from statewright.cost.prices import load
from statewright.cost.usage import Usage
from statewright.errors import ApiError
from statewright.functions.workers.models import Duration, Model, lognormal
from statewright.virtual import VirtualSystem
from tests.unit.virtual.building import EXAMPLES, entered, example_function, machine, start, summed, told

EXECUTIONS = int(os.environ.get("EXECUTIONS", "40"))
"""A hundred, as published, take half a minute."""


class ClientError(Exception):
    """What a handler's SDK raises when all its tries were refused."""


async def oldest(system: VirtualSystem, arn: str, event: Any) -> Any:
    """What the function does, in this process: every page of those that run, each tried five times."""
    running: list[Any] = []
    more: dict[str, Any] = {}
    while not running or more:
        page = await listed(system, {"stateMachineArn": arn, "statusFilter": "RUNNING", **more})
        running += page["executions"]
        more = {"nextToken": page["nextToken"]} if page.get("nextToken") else {}
    return {"proceed": min(running, key=lambda one: one["startDate"])["name"] == event["name"]}


async def listed(system: VirtualSystem, asked: Any) -> Any:
    """A call with the back-off of an SDK: half a second, then twice as long each time."""
    clock = system.parts.app.clock
    for pause_ms in (500, 1000, 2000, 4000, None):
        try:
            return await system.ask("states", "ListExecutions", asked)
        except ApiError as refused:
            if pause_ms is None:
                raise ClientError(f"An error occurred ({refused.code}): {refused.message}") from None
            await clock.sleep_until(clock.now_ms() + pause_ms)
    raise AssertionError


def semaphore(system: VirtualSystem, duration: Duration | None = None, **more: Any) -> str:
    """The example's machine. With a duration, a model stands in for its function."""
    text = (EXAMPLES / "semaphore" / "semaphore.asl.json").read_text()
    arn = machine(system, json.dumps({**json.loads(text), **more}), "semaphore")
    example_function(system, "semaphore", "only-one-shall-run", STATE_MACHINE_ARN=arn)
    system.model("critical-work", Model(duration=300))
    if duration is not None:
        answer = lambda event: oldest(system, arn, event)  # noqa: E731
        system.model("only-one-shall-run", Model(duration=duration, answer=answer))
    return arn


def started(system: VirtualSystem, arn: str, count: int) -> list[str]:
    """So many executions, one after the other."""
    executions = []
    for number in range(count):
        executions.append(start(system, arn, f"n{number}", {"name": f"n{number}"}))
        system.advance(0.25)
    return executions


def passed(system: VirtualSystem, executions: list[str]) -> int:
    """Check that they came in one after the other, in the order of their starts; returns the lock's transitions."""
    stays, locked = [], 0
    for execution in executions:
        events = told(system, execution)
        assert events[-1]["type"] == "ExecutionSucceeded"
        states = entered(events)
        turns = states.count("Wait A Minute")
        asked = ["OnlyOneShallRunAtOneTime", "Shall Pass?"]
        assert states == [*[*asked, "Wait A Minute"] * turns, *asked, "Critical Path"]
        locked += len(states) - 1
        stays.append((events[-6]["timestamp"], events[-1]["timestamp"]))
    assert all(one[1] <= after[0] for one, after in pairwise(stays))
    assert all(after - before == 300_000 for before, after in stays)
    return locked


@pytest.mark.slow
@pytest.mark.parametrize(("count", "is_real"), [(25, False), (8, True)], ids=["by a model", "by the function itself"])
def test_who_starts_in_one_burst_hands_over_within_seconds(count, is_real):
    """Everybody asks at the same second of each minute, and 300 s are five minutes: the next asks just afterwards."""
    with VirtualSystem() as system:
        arn = semaphore(system, None if is_real else 0.2)
        executions = started(system, arn, count)
        began_ms = system.now_ms
        system.run_until_idle()
        assert count * 299 / 3600 < (system.now_ms - began_ms) / 3_600_000 < count * 303 / 3600
        # A turn more for each 60.2 s that somebody before has taken, and two transitions to come in.
        turns = passed(system, executions)
        assert turns == pytest.approx(3 * 5 * count * (count - 1) / 2, rel=0.05)


@pytest.mark.slow
def test_as_many_whose_function_takes_its_time():
    """The published sum for a hundred: 81,000 transitions, 2.03 USD and 9.1 h, half a minute for each hand-over.

    It takes a function whose calls last now longer, now shorter for those who started together to drift apart, as they
    do here. What is free is then found up to a minute late: 79,190 transitions and 9.0 h with EXECUTIONS=100. With
    calls of one length nobody drifts: 74,450 and 8.4 h.
    """
    with VirtualSystem() as system:
        arn = semaphore(system, lognormal("0.8s", 0.6))
        executions = started(system, arn, EXECUTIONS)
        began_ms = system.now_ms
        system.run_until_idle()
        hours = (system.now_ms - began_ms) / 3_600_000
        assert 8.7 < hours * 100 / EXECUTIONS < 9.2
        pairs = EXECUTIONS * (EXECUTIONS - 1) / 2
        a_hundred = passed(system, executions) / pairs * 4950
        assert 76_000 < a_hundred < 82_000
        usage = Usage()
        usage.add("states.transitions", a_hundred)
        [line] = bill(usage, load()).lines
        assert line.usd == pytest.approx(2.03, abs=0.13)


@pytest.mark.slow
def test_three_hundred_at_the_quotas_of_the_service_lose_two_thirds():
    """Three pages for each of 300 every minute are three times what ListExecutions allows: tasks fail, and with them
    executions, until those that are left fit into one page."""
    with VirtualSystem(config=parse_config('limits.rates = "aws"')) as system:
        arn = semaphore(system, lognormal("0.8s", 0.6))
        executions = [start(system, arn, f"n{number}", {"name": f"n{number}"}) for number in range(300)]
        system.advance("20m")
        throttled = summed(system, "AWS/States", "ThrottledEvents", APIName="ListExecutions")
        asked = summed(system, "AWS/States", "ConsumedCapacity", APIName="ListExecutions")
        # A full bucket and five a second, at most, got through.
        assert 500 < asked - throttled <= 200 + 5 * 20 * 60
        assert throttled > 1000
        failed = summed(system, "AWS/States", "ExecutionsFailed", StateMachineArn=arn)
        assert 100 < failed < 290
        reasons: Counter[str] = Counter()
        for execution in executions:
            shown = system.call("states", "DescribeExecution", {"executionArn": execution})
            if shown["status"] == "FAILED":
                assert json.loads(shown["cause"])["errorMessage"].endswith("(ThrottlingException): Rate exceeded")
                reasons[shown["error"]] += 1
        assert reasons == {"ClientError": failed}
        # Who is left does no harm any more.
        system.advance("20m")
        assert summed(system, "AWS/States", "ExecutionsFailed", StateMachineArn=arn) - failed < failed / 10


def test_who_waits_too_long_times_out():
    with VirtualSystem() as system:
        arn = semaphore(system, 0, TimeoutSeconds=600)
        executions = []
        for number in range(6):
            executions.append(start(system, arn, f"n{number}", {"name": f"n{number}"}))
            system.advance(1)
        system.run_until_idle()
        shown = [system.call("states", "DescribeExecution", {"executionArn": one}) for one in executions]
        # The second is let in on the stroke of its fifth minute, and leaves on that of its tenth.
        assert [one["status"] for one in shown] == ["SUCCEEDED", *["TIMED_OUT"] * 5]
        assert all(one["stopDate"] - one["startDate"] == 600_000 for one in shown[1:])
