"""A real server on a free port, its data in a temporary folder, and boto3 clients for it."""

from __future__ import annotations

import io
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import boto3  # type: ignore[import-untyped]
import botocore.loaders
import botocore.session
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from statewright.cli.commands import run_command
from tests.crash.clusters import Cluster
from tests.deadlines import LOGS, OPEN, PATIENCE_SECONDS, end, started, until
from tests.postgres_server import server_or_skip
from tests.random_front import RandomFront
from tests.unit.cli.conftest import Result

Command = Callable[..., Result]

LOADER = botocore.loaders.create_loader()
"""Reads each service model once, for the clients of all tests."""
ROLE = "arn:aws:iam::000000000000:role/e2e"


def session_of(
    key: str = "test", secret: str = "test", token: str | None = None, region: str = "us-east-1"
) -> boto3.session.Session:
    """A session of boto3 that reads no service model twice."""
    quiet = botocore.session.Session()
    quiet.register_component("data_loader", LOADER)
    return boto3.session.Session(key, secret, token, region, botocore_session=quiet)


class Endpoint:
    """What answers at an address, `url`, and clients for it."""

    def __init__(self, url: str = "") -> None:
        self.url = url
        self._clients: dict[Any, Any] = {}

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def client(self, service: str = "stepfunctions", **keys: str) -> Any:
        """A client of boto3; the same one for the same service and keys, for making one takes longer than a call."""
        wanted = (self.url, service, *sorted(keys.items()))
        if wanted not in self._clients:
            self._clients[wanted] = self._new_client(service, **keys)
        return self._clients[wanted]

    def _new_client(self, service: str, **keys: str) -> Any:
        session = session_of(**keys)
        settings = Config(
            inject_host_prefix=False,
            retries={"total_max_attempts": 1},
            parameter_validation=False,
            read_timeout=PATIENCE_SECONDS,
            max_pool_connections=50,
        )
        return session.client(service, endpoint_url=self.url, config=settings)

    def close_clients(self) -> None:
        """Close the connections of all clients."""
        for client in self._clients.values():
            client.close()


class Server(Endpoint):
    """A server process."""

    def __init__(self, data: Path, *options: str, most_files: int = 0, hard: bool = False) -> None:
        """Start it. `most_files` limits its open files: the soft limit, and with `hard` the other, too."""
        super().__init__()
        command = [sys.executable, "-m", "statewright.cli.main", "serve", "--port", "0", "--data", str(data), *options]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}

        def limit() -> None:
            most = most_files if hard else resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most))

        settings = {"preexec_fn": limit} if most_files else {}
        self.log = data.with_suffix(".log")
        with self.log.open("ab") as log:
            self.process = started(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment, **settings)
        OPEN[id(self.process)] = self.kill
        LOGS[id(self.process)] = self.log
        assert self.process.stdout is not None
        self.ready_line = self.process.stdout.readline().strip()
        if not self.ready_line.startswith("Statewright is ready on http://"):
            self.kill()
            raise AssertionError(f"the server did not start: {self.log.read_text()}")
        self.url = self.ready_line.split()[4]

    def kill(self) -> None:
        """End it as a crash does."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """End it as an operator does; returns the exit code."""
        return self._end(signal.SIGTERM)

    def _end(self, number: int) -> int:
        self.process.send_signal(number)
        try:
            return self.process.wait(PATIENCE_SECONDS)
        finally:
            self.close_clients()
            end(self.process)


class Nodes(Endpoint):
    """Two nodes on one PostgreSQL, behind a front that sends each request to either of them."""

    def __init__(self, folder: Path) -> None:
        self.cluster = Cluster(folder, server_or_skip().kept_database())
        self.front = RandomFront([node.port for node in self.cluster.begin("a", "b")])
        super().__init__(self.front.url)

    def stop(self) -> list[int]:
        """End it as an operator does; returns the exit codes."""
        self.close_clients()
        self.front.close()
        return self.cluster.stop()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the reference systems on two nodes, too."""
    if "server" in metafunc.fixturenames and ".test_reference_" in metafunc.module.__name__:
        nodes = pytest.param("nodes", id="nodes", marks=pytest.mark.slow)
        metafunc.parametrize("server", [pytest.param(None, id="server"), nodes], indirect=True, scope="session")


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server | Nodes]:
    """A server that tests share; for `nodes`, a cluster that they share."""
    folder = tmp_path_factory.mktemp("server")
    if getattr(request, "param", None) == "nodes":
        nodes = Nodes(folder)
        yield nodes
        assert nodes.stop() == [0, 0]
        return
    running = Server(folder / "data", "--log-level", "debug")
    yield running
    assert running.stop() == 0, running.log.read_text()


@pytest.fixture(scope="module")
def s3(server: Server) -> Any:
    return server.client("s3")


@pytest.fixture
def bucket(s3: Any) -> str:
    return new_bucket(s3)


def new_bucket(s3: Any) -> str:
    name = f"b-{uuid4()}"
    s3.create_bucket(Bucket=name)
    return name


def error_of(call: Any, **arguments: Any) -> dict[str, Any]:
    """The members of the error that a call of boto3 ends with, and its `status` and `headers`."""
    with pytest.raises(ClientError) as caught:
        call(**arguments)
    response = caught.value.response
    meta = response["ResponseMetadata"]
    return {**response["Error"], "status": meta["HTTPStatusCode"], "headers": meta["HTTPHeaders"]}


@pytest.fixture
def sfn(server: Server) -> Any:
    return server.client()


@pytest.fixture
def statewright(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """The command line against the server, in this process."""
    monkeypatch.setenv("STATEWRIGHT_ENDPOINT", server.url)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Result:
        streams = {name: io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for name in ("stdout", "stderr")}
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", io.StringIO())
            for name, stream in streams.items():
                patch.setattr(sys, name, stream)
            code = run_command(list(arguments))
        texts = []
        for stream in streams.values():
            stream.flush()
            buffer = stream.buffer
            assert isinstance(buffer, io.BytesIO)
            texts.append(buffer.getvalue().decode())
        return Result(code, *texts)

    return run


@contextmanager
def with_trace_header(server: Server, service: str, header: str) -> Iterator[Any]:
    """A client whose requests have that X-Amzn-Trace-Id, as those of functions do."""
    client = server.client(service)

    def add(request: Any, **_: Any) -> None:
        request.headers["X-Amzn-Trace-Id"] = header

    client.meta.events.register("before-sign", add, unique_id="trace")
    try:
        yield client
    finally:
        client.meta.events.unregister("before-sign", unique_id="trace")


def machine(sfn: Any, *states: dict[str, Any], express: bool = False, **rest: Any) -> str:
    """Create a machine of states that follow one another; returns its ARN."""
    names = [f"S{number}" for number in range(1, len(states) + 1)]
    following: list[dict[str, Any]] = [*({"Next": name} for name in names[1:]), {"End": True}]
    chained = {
        name: {**state, **({} if state["Type"] in ("Fail", "Succeed", "Choice") else after)}
        for name, state, after in zip(names, states, following, strict=True)
    }
    definition = {"StartAt": names[0], "States": chained, **rest}
    made = sfn.create_state_machine(
        name=f"m-{uuid4()}",
        definition=json.dumps(definition),
        roleArn=ROLE,
        type="EXPRESS" if express else "STANDARD",
    )
    arn: str = made["stateMachineArn"]
    return arn


def ended(sfn: Any, execution: str) -> dict[str, Any]:
    """An execution once it has closed."""

    def closed() -> dict[str, Any] | None:
        shown: dict[str, Any] = sfn.describe_execution(executionArn=execution)
        return shown if shown["status"] not in ("RUNNING", "PENDING_REDRIVE") else None

    found: dict[str, Any] = until(closed, f"the end of {execution}")
    return found
