"""A server whose handlers run on a real Ray cluster of three nodes, of which one is killed, and then the head."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.deadlines import started, until
from tests.e2e.conftest import ROLE, Server
from tests.unit.functions.running import RUNTIME, zipped

RAY = Path(sys.prefix) / "ray"
"""The environment that `make test-slow` makes of tests/e2e/ray/requirements.lock."""
ITEMS = 300
PLACES = 2
"""CPUs of each node: handlers that run on it at the same time."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (RAY / ".ready").is_file(), reason=f"`make test-slow` installs Ray into {RAY}, which is not there"
    ),
]

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


class Nodes:
    """The nodes of a cluster on this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.living: list[Any] = []

    def start(self) -> int:
        """Start a node, the first one as the head; return its number."""
        number = len(self.living)
        command = [
            RAY / "bin" / "ray", "start", "--block", "--disable-usage-stats", f"--num-cpus={PLACES}",
            "--object-store-memory=80000000",
        ]  # fmt: skip
        if number == 0:
            command += ["--head", f"--port={self.port}", "--include-dashboard=false", f"--temp-dir={self.folder}"]
        else:
            command += [f"--address=127.0.0.1:{self.port}"]
        log = self.folder / f"node{number}.log"
        with log.open("wb") as file:
            self.living.append(started(command, stdout=file, stderr=file))
        until(lambda: b"Ray runtime started" in log.read_bytes(), f"the start of node {number}, see {log}")
        return number

    def kill(self, number: int) -> None:
        """Kill every process of a node."""
        found = [self.living[number].pid]
        for pid in found:
            with suppress(OSError):
                for thread in os.listdir(f"/proc/{pid}/task"):
                    found += map(int, Path(f"/proc/{pid}/task/{thread}/children").read_text().split())
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.living[number].wait()


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Nodes]:
    for name, value in (("AUTH_MODE", "token"), ("AUTH_TOKEN", secrets.token_hex(16)), ("USAGE_STATS_ENABLED", "0")):
        monkeypatch.setenv(f"RAY_{name}", value)
    # Ray's sockets lie below it, whose paths must be short.
    folder = Path(tempfile.mkdtemp(prefix="r", dir="/tmp"))
    cluster = Nodes(folder)
    for _ in range(3):
        cluster.start()
    yield cluster
    for number in range(len(cluster.living)):
        cluster.kill(number)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def server(nodes: Nodes, tmp_path: Path) -> Iterator[Server]:
    settings = tmp_path / "statewright.toml"
    settings.write_text(
        f"""
        [functions]
        backend = "ray"
        [ray]
        address = "127.0.0.1:{nodes.port}"
        folder = "{tmp_path / "ray"}"
        python = "{RAY / "bin" / "python"}"
        [ray.functions.large]
        num_gpus = 1
        """
    )
    running = Server(tmp_path / "data", "--config", str(settings))
    yield running
    running.kill()
    for folder, _, _ in os.walk(tmp_path / "ray"):
        Path(folder).chmod(0o700)


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
    each = {"StartAt": "Each", "States": {"Each": task}}
    return json.dumps({"StartAt": "All", "States": {"All": {"Type": "Map", "Iterator": each, "End": True}}})


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
    items = [{"item": number, "file": str(file), "go": str(go)} for number in range(ITEMS)]
    execution = states.start_execution(stateMachineArn=made["stateMachineArn"], input=json.dumps(items))["executionArn"]
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
        functions.invoke(FunctionName="f", Payload=json.dumps(items[0]).encode())
    assert states.describe_execution(executionArn=execution)["status"] == "SUCCEEDED"
