"""The example systems on a real server: functions, buckets, queues, tables and machines, made with boto3.

What shows what, in real time (`test_reference_*`; hours and thousands are in `tests/unit/virtual`):

    a semaphore that is polled, with functions for Python and Node semaphore: never_two, written_for_node, times_out
    a person inside, by token and by activity                      semaphore: a_person_inside
    starts limited by a FIFO queue and a schedule                  semaphore: starts_are_limited, a_group_with
    pages of 250, names that start once                            semaphore: two_hundred_and_fifty, a_name_starts_once
    semaphores and polls of our own                                ours
    a loop in a loop, its counts in a table; mistakes refused      nested_loop
    files over a queue, statuses in a table, dead letters, curves  queue_pipeline; test_table_pipeline_kill
    poison, concurrency, counters, what is refused                 queue_pipeline
    a function only starts a container; containers start more      containers
    jobs as processes, `.sync`                                     test_ecs, test_batch
    Maps over items of buckets; the wall of an inline Map          distributed_map
    a job that is started and looked after, with a deadline        job_poller
    an export of a table, watched; who exports asks who he is      export_poller
"""

from __future__ import annotations

import io
import json
import sys
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.deadlines import until
from tests.e2e.conftest import ROLE, Server, ended

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
RUNTIME = "python{}.{}".format(*sys.version_info)
FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:"


def zipped(**files: str) -> bytes:
    """A package of files, their names without `.py`."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in files.items():
            archive.writestr(f"{name}.py", text)
    return made.getvalue()


@dataclass(frozen=True)
class System:
    """One system of its own on the server that tests share: `mark` is in all of its names."""

    server: Server
    folder: str = ""
    mark: str = ""
    _clients: dict[str, Any] = field(default_factory=dict)

    def client(self, service: str) -> Any:
        if service not in self._clients:
            self._clients[service] = self.server.client(service)
        return self._clients[service]

    def named(self, name: str) -> str:
        return f"{name}-{self.mark}"

    def bucket(self, name: str) -> str:
        self.client("s3").create_bucket(Bucket=self.named(name))
        return self.named(name)

    def function(self, name: str, source: str | None = None, **settings: Any) -> str:
        """Make a function of a source text, or of the example's own file; returns its ARN."""
        if source is None:
            source = (EXAMPLES / self.folder / "functions" / f"{name}.py").read_text()
        variables = settings.pop("variables", {})
        self.client("lambda").create_function(
            FunctionName=self.named(name), Runtime=RUNTIME, Role=ROLE, Handler=f"{name}.handler",
            Code={"ZipFile": zipped(**{name: self.rename(source)})}, Environment={"Variables": variables},
            **{"Timeout": 60, **settings},
        )  # fmt: skip
        return FUNCTION + self.named(name)

    def rename(self, text: str) -> str:
        """A text with the names of the example's functions as they are here."""
        for path in sorted((EXAMPLES / self.folder / "functions").glob("*.py")) if self.folder else ():
            for before, after in (('"', '"'), (":", '"')):
                text = text.replace(f"{before}{path.stem}{after}", f"{before}{self.named(path.stem)}{after}")
        return text

    def queue(self, name: str, **attributes: Any) -> tuple[str, str]:
        """Make a queue; returns its address and ARN."""
        given = {key: value if isinstance(value, str) else json.dumps(value) for key, value in attributes.items()}
        full = f"{self.named(name)}.fifo" if given.get("FifoQueue") else self.named(name)
        url = self.client("sqs").create_queue(QueueName=full, Attributes=given)["QueueUrl"]
        return url, f"arn:aws:sqs:us-east-1:000000000000:{full}"

    def table(self, name: str, *keys: str) -> str:
        """Make a table of text keys: the partition's, and perhaps one that sorts; returns its name."""
        self.client("dynamodb").create_table(
            TableName=self.named(name), BillingMode="PAY_PER_REQUEST",
            KeySchema=[
                {"AttributeName": key, "KeyType": kind} for key, kind in zip(keys, ("HASH", "RANGE"), strict=False)
            ],
            AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in keys],
        )  # fmt: skip
        return self.named(name)

    def items(self, table: str, partition: str, value: str) -> list[dict[str, Any]]:
        """The items of one partition, in order."""
        pages = self.client("dynamodb").get_paginator("query").paginate(
            TableName=table, KeyConditionExpression="#p = :p", ExpressionAttributeNames={"#p": partition},
            ExpressionAttributeValues={":p": {"S": value}},
        )  # fmt: skip
        return [item for page in pages for item in page["Items"]]

    def machine(self, definition: dict[str, Any] | str | None = None, *, seconds: int | None = None) -> str:
        """Make a machine, of the example's definition if no other is given; `seconds` shortens its waits."""
        if definition is None:
            definition = (EXAMPLES / self.folder / f"{self.folder}.asl.json").read_text()
        if isinstance(definition, str):
            definition = json.loads(self.rename(definition))
        assert isinstance(definition, dict)
        for state in definition["States"].values():
            if seconds is not None and state["Type"] == "Wait":
                state["Seconds"] = seconds
        made = self.client("stepfunctions").create_state_machine(
            name=self.named("machine"), definition=json.dumps(definition), roleArn=ROLE
        )
        return str(made["stateMachineArn"])

    def start(self, machine: str, given: Any, **more: Any) -> str:
        made = self.client("stepfunctions").start_execution(stateMachineArn=machine, input=json.dumps(given), **more)
        return str(made["executionArn"])

    def counts(self, url: str) -> dict[str, int]:
        """The three counters of a queue: visible, in flight, delayed."""
        names = {
            "visible": "ApproximateNumberOfMessages",
            "in_flight": "ApproximateNumberOfMessagesNotVisible",
            "delayed": "ApproximateNumberOfMessagesDelayed",
        }
        found = self.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=list(names.values()))["Attributes"]
        return {name: int(found[attribute]) for name, attribute in names.items()}

    def keys(self, bucket: str, prefix: str = "") -> list[str]:
        """The keys in a bucket below a prefix, without it."""
        pages = self.client("s3").get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
        return [found["Key"].removeprefix(prefix) for page in pages for found in page.get("Contents", ())]


def system(server: Server, folder: str = "") -> System:
    """A new system; `folder` is the example whose files it takes."""
    return System(server, folder, uuid4().hex[:12])


def history(sfn: Any, execution: str) -> list[dict[str, Any]]:
    """Every history event of an execution."""
    pages = sfn.get_paginator("get_execution_history").paginate(executionArn=execution)
    return [event for page in pages for event in page["events"]]


def entered(events: list[dict[str, Any]]) -> list[str]:
    """The states that were entered, in order."""
    return [event["stateEnteredEventDetails"]["name"] for event in events if event["type"].endswith("StateEntered")]


__all__ = ["EXAMPLES", "FUNCTION", "System", "ended", "entered", "history", "system", "until", "zipped"]
