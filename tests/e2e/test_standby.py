"""A second server as standby: waits for the store of the first, and continues its executions."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.crash.pairs import Node
from tests.deadlines import completed
from tests.e2e.conftest import ROLE, Server, ended

WAITS = {
    "StartAt": "Wait",
    "States": {"Wait": {"Type": "Wait", "Seconds": 1, "Next": "End"}, "End": {"Type": "Succeed"}},
}


def serving(data: Path, *options: str) -> list[Any]:
    return [sys.executable, "-m", "statewright.cli.main", "serve", "--port", "0", "--data", data, *options]


def check_standby(folder: Path, ending: Callable[[Server], object], address: str) -> None:
    """Start two servers on one data folder, end the first, and find its execution and object at the second."""
    first = Server(folder / "data", "--store", address)
    s3 = first.client("s3")
    s3.create_bucket(Bucket="kept")
    s3.put_object(Bucket="kept", Key="large", Body=b"x" * 100_000)
    client = first.client()
    machine = client.create_state_machine(name="m", definition=json.dumps(WAITS), roleArn=ROLE)["stateMachineArn"]
    second = Node(folder, "second", address)
    second.wait("standby")
    assert second.events[0]["owner"].startswith(f"pid {first.process.pid} on ")
    _check_refusals(first, second)
    started = client.start_execution(stateMachineArn=machine, name="one")["executionArn"]
    ending(first)
    second.wait("ready")
    assert second.health() == (200, "ready")
    first.url = second.events[-1]["endpoint"]
    assert ended(first.client(), started)["status"] == "SUCCEEDED"
    body = first.client("s3").get_object(Bucket="kept", Key="large")["Body"].read()
    assert len(body) == 100_000
    assert "took over from pid" in second.log.read_text()
    assert second.stop() == 0


def _check_refusals(first: Server, second: Node) -> None:
    """A standby refuses calls in every protocol with an error that SDKs repeat."""
    assert second.health() == (503, "standby")
    here, first.url = first.url, second.events[0]["endpoint"]
    try:
        for service, operation in (
            ("stepfunctions", "list_state_machines"), ("sqs", "list_queues"), ("sns", "list_topics"),
            ("s3", "list_buckets"), ("lambda", "list_functions"), ("cloudwatch", "list_metrics"),
        ):  # fmt: skip
            with pytest.raises(ClientError) as refused:
                getattr(first.client(service), operation)()
            answer = refused.value.response
            assert answer["ResponseMetadata"]["HTTPStatusCode"] == 503, service
            assert answer["Error"]["Code"].startswith("ServiceUnavailable"), service
            assert "is a standby" in answer["Error"]["Message"], service
    finally:
        first.url = here


def test_mistakes_of_a_standby_end_it_at_once(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = completed([*serving(tmp_path), "--port", port, "--store", "postgresql://127.0.0.1:1/x", "--standby"])
    assert done.returncode == 1
    assert "is in use by" in done.stderr
    done = completed([*serving(tmp_path), "--store", "postgresql://127.0.0.1:1/x", "--standby"])
    assert (done.returncode, done.stdout) == (1, "")
    assert "does not answer" in done.stderr
    done = completed([*serving(tmp_path), "--standby"])
    assert (done.returncode, done.stdout) == (1, "")
    assert "--standby needs a store that two servers can reach" in done.stderr
