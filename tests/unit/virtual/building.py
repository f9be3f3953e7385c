"""What the tests of this folder build in a virtual system: functions from text, machines, queues, pipelines.

What shows what of the reference systems, in virtual time (`test_reference_*`; a real server's tests are listed in
`tests/e2e/systems.py`):

    a semaphore that is polled: order, hours, transitions, quotas  semaphore
    starts limited by a FIFO queue and a schedule; pages of 250    limited_starts
    as many as may, by a tag and by permits of our own             limited_starts
    a loop in a loop: one that ends, one that never does           nested_loop
    15,000 messages and a limit; poison; 100,000 short ones        queue
    files, a table of statuses, dead letters, from end to end      pipeline
    the wall of an inline Map                                      pipeline
    a job that is started and looked after, with a deadline        job_poller
    an export that is watched; polls and loops with a deadline     polls
    what a loop of a second costs                                  polls
"""

from __future__ import annotations

import io
import json
import sys
import textwrap
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import Any

from statewright.virtual import VirtualSystem

ROLE = "arn:aws:iam::000000000000:role/tests"
RUNTIME = "python{}.{}".format(*sys.version_info)
FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:"
QUEUE = "arn:aws:sqs:us-east-1:000000000000:"
EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def function(system: VirtualSystem, name: str, source: str, *, timeout: int = 60, **variables: str) -> None:
    """Create a function from the text of its only module."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(zipfile.ZipInfo("app.py", (1980, 1, 1, 0, 0, 0)), textwrap.dedent(source))
    system.client("lambda").create_function(
        FunctionName=name, Runtime=RUNTIME, Role=ROLE, Handler="app.handler", Timeout=timeout, MemorySize=512,
        Code={"ZipFile": made.getvalue()}, Environment={"Variables": variables},
    )  # fmt: skip


def example_function(system: VirtualSystem, folder: str, name: str, *, timeout: int = 60, **variables: str) -> None:
    """Create a function of an example, unedited."""
    function(system, name, (EXAMPLES / folder / "functions" / f"{name}.py").read_text(), timeout=timeout, **variables)


def invoked(system: VirtualSystem, name: str, event: Any = None) -> Any:
    """What an invocation answers."""
    answer = system.client("lambda").invoke(FunctionName=name, Payload=json.dumps(event))
    return json.loads(answer["Payload"].read())


def machine(system: VirtualSystem, definition: dict[str, Any] | str, name: str = "machine") -> str:
    """Create a state machine; returns its ARN."""
    text = definition if isinstance(definition, str) else json.dumps(definition)
    made = system.client("stepfunctions").create_state_machine(name=name, definition=text, roleArn=ROLE)
    return str(made["stateMachineArn"])


def start(system: VirtualSystem, arn: str, name: str, given: Any = None) -> str:
    """Start an execution; returns its ARN."""
    made = system.client("stepfunctions").start_execution(stateMachineArn=arn, name=name, input=json.dumps(given or {}))
    return str(made["executionArn"])


def history(system: VirtualSystem, execution: str) -> list[Any]:
    """The whole history of an execution."""
    pages = system.client("stepfunctions").get_paginator("get_execution_history").paginate(executionArn=execution)
    return [event for page in pages for event in page["events"]]


def entered(events: list[Any]) -> list[str]:
    """Names of the states that were entered."""
    return [event["stateEnteredEventDetails"]["name"] for event in events if event["type"].endswith("StateEntered")]


def queue(system: VirtualSystem, name: str, **attributes: str) -> str:
    """Create a queue; returns its address."""
    return str(system.client("sqs").create_queue(QueueName=name, Attributes=attributes)["QueueUrl"])


def counts(system: VirtualSystem, url: str) -> tuple[int, int, int]:
    """Messages that are visible, in flight, delayed."""
    names = ("", "NotVisible", "Delayed")
    wanted = [f"ApproximateNumberOfMessages{name}" for name in names]
    found = system.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=wanted)["Attributes"]
    visible, in_flight, delayed = (int(found[name]) for name in wanted)
    return visible, in_flight, delayed


def told(system: VirtualSystem, execution: str) -> list[Any]:
    """The history of an execution, without a client, which is what takes long; instants are epoch milliseconds."""
    events: list[Any] = []
    more: dict[str, Any] = {}
    while not events or more:
        page = system.call("states", "GetExecutionHistory", {"executionArn": execution, "maxResults": 1000, **more})
        events += page["events"]
        more = {"nextToken": page["nextToken"]} if page.get("nextToken") else {}
    return events


def summed(system: VirtualSystem, namespace: str, name: str, **dimensions: str) -> float:
    """The sum of a metric since the system began."""
    points = system.client("cloudwatch").get_metric_statistics(
        Namespace=namespace, MetricName=name, Statistics=["Sum"], Period=86_400, EndTime=system.now + timedelta(days=1),
        StartTime=system.now - timedelta(days=14),
        Dimensions=[{"Name": key, "Value": value} for key, value in dimensions.items()],
    )["Datapoints"]  # fmt: skip
    return float(sum(point["Sum"] for point in points))
