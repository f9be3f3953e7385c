"""A server whose handlers run on a real Ray cluster of three nodes, of which one is killed, and then the head."""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.deadlines import until
from tests.e2e.conftest import ROLE, Server
from tests.e2e.ray_nodes import PLACES, Nodes, needs_ray, open_again, settings, three_nodes
from tests.unit.functions.running import RUNTIME, zipped

ITEMS = int(os.environ.get("STATEWRIGHT_TEST_RAY_ITEMS", "300"))

pytestmark = [pytest.mark.slow, needs_ray]

SOURCE = """
    import json, os, time

    def handler(event, context):
        with open(event["file"], "a") as file:
            file.write(json.dumps([event["item"], os.getpid()]) + "\\n")
        while not os.path.exists(event["go"]):
            time.sleep(0.02)
        time.sleep(0.2)
        return event["item"]
    """


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Nodes]:
    yield from three_nodes(monkeypatch)


@pytest.fixture
def server(nodes: Nodes, tmp_path: Path) -> Iterator[Server]:
    file = settings(nodes, tmp_path, '[functions]\nbackend = "ray"\n[ray.functions.large]\nnum_gpus = 1')
    running = Server(tmp_path / "data", "--config", str(file))
    yield running
    running.kill()
    open_again(tmp_path)


def health(server: Server) -> Any:
    with urllib.request.urlopen(f"{server.url}/health") as answer:
        return json.load(answer)["ray"]


def machine(function: str) -> str:
    task = {
        "Type": "Task",
        "Resource": "arn:aws:states:::lambda:invoke",
        "Parameters": {"FunctionName": function, "Payload.$": "$"},
        "OutputPath": "$.Payload",
        # The errors that infrastructure as code retries by default.
        "Retry": [{"ErrorEquals": ["Lambda.ServiceException"], "IntervalSeconds": 1, "MaxAttempts": 6}],
        "End": True,
    }
    each = {
        "Type": "Map",
        "ItemsPath": "$.items",
        "Parameters": {"item.$": "$$.Map.Item.Value", "file.$": "$.file", "go.$": "$.go"},
        "Iterator": {"StartAt": "Each", "States": {"Each": task}},
        "End": True,
    }
    return json.dumps({"StartAt": "All", "States": {"All": each}})


def test_a_map_outlives_a_node_and_calls_the_head(server: Server, nodes: Nodes, tmp_path: Path):
    functions, states = server.client("lambda"), server.client()
    for name in ("f", "large"):
        functions.create_function(
            FunctionName=name, Runtime=RUNTIME, Handler="app.handler", Role=ROLE, Timeout=900,
            Code={"ZipFile": zipped(app__py=SOURCE)},
        )  # fmt: skip
    until(lambda: health(server).get("nodes") == 3, "three nodes")
    file, go = tmp_path / "begun", tmp_path / "go"
    file.touch()

    def begun() -> list[tuple[int, int]]:
        return [tuple(json.loads(line)) for line in file.read_text().splitlines()]

    made = states.create_state_machine(name="m", definition=machine("f"), roleArn=ROLE)
    given = {"file": str(file), "go": str(go)}
    input_ = json.dumps({"items": list(range(ITEMS)), **given})
    execution = states.start_execution(stateMachineArn=made["stateMachineArn"], input=input_)["executionArn"]
    until(lambda: len({pid for _, pid in begun()}) == 3 * PLACES, "handlers on all nodes")
    nodes.kill(2)
    go.touch()
    until(lambda: states.describe_execution(executionArn=execution)["status"] != "RUNNING", "the Map")
    ended = states.describe_execution(executionArn=execution)
    assert ended["status"] == "SUCCEEDED", ended
    assert json.loads(ended["output"]) == list(range(ITEMS))
    pages = states.get_paginator("get_execution_history").paginate(executionArn=execution)
    failed = [event for page in pages for event in page["events"] if event["type"] == "TaskFailed"]
    assert {event["taskFailedEventDetails"]["error"] for event in failed} <= {"Lambda.ServiceException"}
    # Handlers that were lost ran once more, and nothing else did.
    repeated = len(begun()) - ITEMS
    assert {item for item, _ in begun()} == set(range(ITEMS))
    assert PLACES <= repeated <= len(failed)
    print(f"{ITEMS} handlers, {len(failed)} lost with their node, {repeated} of them had begun")

    with pytest.raises(ClientError, match="no node of the Ray cluster has CPU = 1, GPU = 1 together"):
        functions.invoke(FunctionName="large", Payload=b"{}")

    nodes.kill(0)
    until(lambda: health(server)["state"] == "lost", "the loss of the head")
    with pytest.raises(ClientError, match="ServiceException"):
        functions.invoke(FunctionName="f", Payload=json.dumps({"item": 0, **given}).encode())
    assert states.describe_execution(executionArn=execution)["status"] == "SUCCEEDED"
