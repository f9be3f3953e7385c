"""The reference systems with their own times: hours in seconds, unedited functions, the numbers that were published."""

from __future__ import annotations

import hashlib
import json
import time
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest

from statewright.functions.models import Model
from statewright.virtual import NeverHappened, VirtualSystem
from tests.unit.virtual.building import (
    EXAMPLES,
    QUEUE,
    counts,
    entered,
    example_function,
    function,
    history,
    machine,
    queue,
    start,
)

# ---------------------------------------------------------------------- one at a time, by asking every minute

LOCK = {"OnlyOneShallRunAtOneTime", "Shall Pass?", "Wait A Minute"}


async def oldest(system: VirtualSystem, arn: str, event: Any) -> Any:
    """What the function does, in this process."""
    asked = {"stateMachineArn": arn, "statusFilter": "RUNNING"}
    running = (await system.ask("states", "ListExecutions", asked))["executions"]
    return {"proceed": min(running, key=lambda one: one["startDate"])["name"] == event["name"]}


def told(system: VirtualSystem, execution: str) -> list[Any]:
    """The history of an execution, without a client, which is what takes long."""
    events: list[Any] = []
    more: dict[str, Any] = {}
    while not events or more:
        page = system.call("states", "GetExecutionHistory", {"executionArn": execution, "maxResults": 1000, **more})
        events += page["events"]
        more = {"nextToken": page["nextToken"]} if page.get("nextToken") else {}
    return events


def semaphore(system: VirtualSystem, **more: Any) -> str:
    text = (EXAMPLES / "semaphore" / "semaphore.asl.json").read_text()
    arn = machine(system, json.dumps({**json.loads(text), **more}), "semaphore")
    example_function(system, "semaphore", "only-one-shall-run", STATE_MACHINE_ARN=arn)
    return arn


@pytest.mark.parametrize(("count", "is_real"), [(40, False), (10, True)], ids=["by a model", "by the function itself"])
def test_executions_of_five_minutes_each_one_after_the_other(count, is_real):
    """The function lists all that run and lets the oldest pass; the critical section takes 300 s."""
    began = time.monotonic()
    with VirtualSystem() as system:
        arn = semaphore(system)
        if not is_real:
            system.model("only-one-shall-run", Model(duration=0.2, answer=lambda event: oldest(system, arn, event)))
        system.model("critical-work", Model(duration=300))
        executions = []
        for number in range(count):
            executions.append(start(system, arn, f"n{number}", {"name": f"n{number}"}))
            system.advance(0.25)
        began_ms = system.now_ms
        system.run_until_idle()
        hours = (system.now_ms - began_ms) / 3_600_000
        stays, locked = [], 0
        for execution in executions:
            events = told(system, execution)
            assert events[-1]["type"] == "ExecutionSucceeded"
            states = entered(events)
            assert states[-1] == "Critical Path"
            locked += sum(name in LOCK for name in states)
            stays.append((events[-6]["timestamp"], events[-1]["timestamp"]))
        # One after the other, in the order of their starts, and up to a minute between.
        assert all(one[1] <= after[0] for one, after in pairwise(stays))
        assert all(after - before == 300_000 for before, after in stays)
        assert count * 299 / 3600 < hours < count * 330 / 3600
        assert locked > 7 * count * (count - 1)
    assert time.monotonic() - began < 60


def test_who_waits_too_long_times_out():
    with VirtualSystem() as system:
        arn = semaphore(system, TimeoutSeconds=600)
        system.model("critical-work", Model(duration=300))
        executions = []
        for number in range(5):
            executions.append(start(system, arn, f"n{number}", {"name": f"n{number}"}))
            system.advance(1)
        system.run_until_idle()
        sfn = system.client("stepfunctions")
        ends = [sfn.describe_execution(executionArn=one)["status"] for one in executions]
        # The second is let in on the stroke of its fifth minute, and leaves on that of its tenth.
        assert ends == ["SUCCEEDED", "TIMED_OUT", "TIMED_OUT", "TIMED_OUT", "TIMED_OUT"]


# ---------------------------------------------------------------------- a job and who looks after it


@pytest.fixture
def poller():
    with VirtualSystem() as system:
        system.client("s3").create_bucket(Bucket="jobs")
        for name in ("run-job", "job-runner", "get-job-status"):
            example_function(system, "job-poller", name, timeout=300)
        machine(system, (EXAMPLES / "job-poller" / "job-poller.asl.json").read_text(), "job-poller")
        yield system


def polled(system: VirtualSystem, given: Any) -> tuple[Any, list[Any]]:
    arn = "arn:aws:states:us-east-1:000000000000:stateMachine:job-poller"
    execution = start(system, arn, "one", given)
    sfn = system.client("stepfunctions")
    system.run_until(lambda: sfn.describe_execution(executionArn=execution)["status"] != "RUNNING")
    return sfn.describe_execution(executionArn=execution), history(system, execution)


def test_a_job_of_thirteen_seconds_is_seen_within_a_second_of_its_end(poller):
    shown, events = polled(poller, {})
    assert shown["status"] == "SUCCEEDED"
    assert 13 <= (shown["stopDate"] - shown["startDate"]).total_seconds() <= 16
    turns = entered(events).count("Get Job Status")
    assert 13 <= turns <= 15
    assert len(events) == 2 + 5 + 9 * turns + 2
    job = hashlib.md5(shown["executionArn"].encode()).hexdigest()
    found = poller.client("s3").list_objects_v2(Bucket="jobs")["Contents"]
    assert [one["Key"] for one in found] == [f"{job}/started", f"{job}/status"]


def test_a_job_that_takes_too_long_is_given_up_at_thirty_seconds(poller):
    shown, _ = polled(poller, {"seconds": 120})
    assert (shown["status"], shown["error"]) == ("FAILED", "TimeoutError")
    assert json.loads(shown["cause"])["errorMessage"] == "job run timed out in 30 seconds!"
    assert 30 <= (shown["stopDate"] - shown["startDate"]).total_seconds() <= 31.1


def test_a_job_that_fails_is_repeated_after_one_and_two_minutes(poller):
    began_ms = poller.now_ms
    shown, events = polled(poller, {"fails": True})
    assert (shown["status"], entered(events)[-1]) == ("FAILED", "Fail")
    poller.run_until_idle()
    assert (poller.now_ms - began_ms) // 1000 == 3 * 13 + 60 + 120


# ---------------------------------------------------------------------- files over a queue


def pipeline(system: VirtualSystem, receives: int = 1, **mapping: Any) -> tuple[str, str, str]:
    """A queue with dead letters and a mapping as of April 2022: addresses of both, and the mapping's id."""
    dead = queue(system, "dead")
    redrive = json.dumps({"deadLetterTargetArn": QUEUE + "dead", "maxReceiveCount": receives})
    url = queue(system, "jobs", VisibilityTimeout="600", RedrivePolicy=redrive)
    made = system.client("lambda").create_event_source_mapping(
        EventSourceArn=QUEUE + "jobs", FunctionName="work", BatchSize=1,
        Tags={"statewright:scalingProfile": "lambda-2022"}, **mapping,
    )  # fmt: skip
    return url, dead, str(made["UUID"])


def send(system: VirtualSystem, url: str, count: int, seconds: int) -> None:
    """So many messages, evenly over so many seconds."""
    sent = 0
    for second in range(1, seconds + 1):
        while sent < count * second // seconds:
            some = min(10, count * second // seconds - sent)
            entries = [{"Id": str(one), "MessageBody": str(sent + one)} for one in range(some)]
            system.call("sqs", "SendMessageBatch", {"QueueUrl": url, "Entries": entries})
            sent += some
        system.advance(1)


def minutes(system: VirtualSystem, began_ms: int) -> float:
    return round((system.now_ms - began_ms) / 60_000, 1)


def test_fifteen_thousand_messages_of_two_minutes_each():
    """The published run: the limit at 16.6 minutes, and a hundred messages that died without ever having been run."""
    began = time.monotonic()
    with VirtualSystem() as system:
        system.model("work", Model(duration=120), timeout=600)
        began_ms = system.now_ms
        url, dead, mapping = pipeline(system)
        send(system, url, 15_000, 68)
        running = system.parts.app.functions.invoker.concurrency.running
        system.run_until(lambda: running.get("work", 0) >= 1000, within="1h")
        assert 16.5 <= minutes(system, began_ms) <= 16.7
        # The last start, after twenty minutes of saturation.
        system.run_until(began_ms + 35 * 60_000)
        assert counts(system, url)[0] > 0
        system.run_until(began_ms + 38 * 60_000)
        assert counts(system, url)[0] == 0
        system.run_until_idle()
        done = system.parts.app.part("event_sources").counts(mapping)
        assert counts(system, dead) == (105, 0, 0)
        assert (done.done, done.failed, done.never_run) == (14_895, 0, 105)
        assert counts(system, url) == (0, 0, 0)
    assert time.monotonic() - began < 60


@pytest.mark.parametrize(
    ("receives", "mapping", "throttles"),
    [(1, {"ScalingConfig": {"MaximumConcurrency": 1000}}, 0), (2, {}, 105)],
    ids=["no more than there is room for", "a second chance"],
)
def test_what_would_have_helped(receives, mapping, throttles):
    with VirtualSystem() as system:
        system.model("work", Model(duration=120), timeout=600)
        url, dead, uuid = pipeline(system, receives, **mapping)
        began_ms = system.now_ms
        send(system, url, 15_000, 68)
        system.run_until_idle()
        counted = system.parts.app.part("event_sources").counts(uuid)
        assert counts(system, dead) == (0, 0, 0)
        assert (counted.done, counted.throttles) == (15_000, throttles)
        assert 38 <= minutes(system, began_ms) <= 50


def test_the_handler_itself_has_the_same_curve_as_its_model():
    def curve(*, is_real: bool) -> list[tuple[int, int, int]]:
        with VirtualSystem() as system:
            if is_real:
                function(system, "work", "import time\ndef handler(event, context):\n    time.sleep(120)", timeout=600)
            else:
                system.model("work", Model(duration=120), timeout=600)
            url, _, _ = pipeline(system)
            send(system, url, 300, 10)
            seen = []
            for _ in range(30):
                system.advance(20)
                seen.append(counts(system, url))
            return seen

    real = curve(is_real=True)
    assert real == curve(is_real=False)
    assert real[-1] == (0, 0, 0)


def test_a_schedule_a_table_and_a_machine_share_the_clock():
    with VirtualSystem(start=datetime(2026, 1, 1, 0, 5, tzinfo=UTC)) as system:
        tables = system.client("dynamodb")
        tables.create_table(
            TableName="ticks", BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
        )  # fmt: skip
        put = {"Type": "Task", "Resource": "arn:aws:states:::dynamodb:putItem", "End": True,
               "Parameters": {"TableName": "ticks", "Item": {"k": {"S.$": "$$.State.EnteredTime"}}}}  # fmt: skip
        arn = machine(system, {"StartAt": "Put", "States": {"Put": put}})
        system.client("scheduler").create_schedule(
            Name="every-ten", ScheduleExpression="cron(0/10 * * * ? *)", FlexibleTimeWindow={"Mode": "OFF"},
            Target={"Arn": arn, "RoleArn": "arn:aws:iam::000000000000:role/r"},
        )  # fmt: skip
        system.advance("55m")
        found = sorted(item["k"]["S"] for item in tables.scan(TableName="ticks")["Items"])
        assert [one[:16] for one in found] == [f"2026-01-01T00:{minute}" for minute in (10, 20, 30, 40, 50)] + [
            "2026-01-01T01:00"
        ]
        with pytest.raises(NeverHappened):
            system.run_until(lambda: False, within="5m")
