"""The command line where something is wrong: no server, another server, names that are not there, a full disk."""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.deadlines import completed
from tests.e2e.conftest import ROLE

COMMAND = [sys.executable, "-m", "statewright.cli.main"]
NOBODY = "arn:aws:states:us-east-1:000000000000:execution:nobody:x"
CLIENTS = [
    "execution list", "execution show m:x", "execution history m:x", "execution tail m:x", "execution start m",
    "execution stop m:x", "execution redrive m:x", "machine list", "machine show m", "machine versions m",
    "machine diff m 1", "machine delete m --yes", "map-run show m:x", "map-run redrive m:x", "run m",
]  # fmt: skip
"""Every command that talks to a server."""


def run(*arguments: str, endpoint: str = "http://127.0.0.1:1", **more: object) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    environment["STATEWRIGHT_ENDPOINT"] = endpoint
    return completed([*COMMAND, *arguments], env=environment, **more)


@pytest.fixture(scope="module")
def stranger() -> Iterator[str]:
    """A server of somebody else's."""

    class Pages(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200 if "list" in self.headers["X-Amz-Target"].lower() else 501)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!DOCTYPE html><title>Welcome</title>")

        def log_message(self, *_: object) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("command", CLIENTS)
def test_no_server(command, statewright):
    done = statewright(*command.split(), "--endpoint", "http://127.0.0.1:1")
    assert (done.code, done.out) == (4, "")
    assert "No Statewright server at http://127.0.0.1:1: connection failed" in " ".join(done.err.split())
    assert "statewright serve" in done.err


@pytest.mark.parametrize("command", ["execution list", f"execution show {NOBODY}", "machine list"])
def test_another_server(command, stranger, statewright):
    done = statewright(*command.split(), "--endpoint", stranger)
    assert (done.code, done.out) == (4, "")
    assert "another program answers there" in " ".join(done.err.split())
    assert "DOCTYPE" not in done.err


@pytest.mark.parametrize("endpoint", ["nonsense", "ftp://127.0.0.1", "http://"])
def test_an_endpoint_that_is_none(endpoint, statewright):
    done = statewright("machine", "list", "--endpoint", endpoint)
    assert (done.code, "cannot be used" in done.err) == (2, True)


@pytest.fixture(scope="module")
def machine_name(server) -> str:
    client = server.client()
    name = f"cli-{uuid4()}"
    definition = json.dumps({"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}})
    client.create_state_machine(name=name, definition=definition, roleArn=ROLE)
    return name


@pytest.mark.parametrize("command", [one for one in CLIENTS if not one.endswith(" list")])
def test_names_that_are_not_there(command, statewright):
    """With and without JSON, the same code; nothing on the standard output."""
    form = [] if command.startswith(("map-run redrive", "execution tail")) else ["-o", "json"]
    done = statewright(*command.replace(" m", " no-such-machine", 1).split(), *form)
    assert (done.code, done.out) == (3, ""), done.err
    assert "no-such-machine" in done.err


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("execution show {name}:x", 3),
        ("execution history {name}:x", 3),
        ("execution stop {name}:x", 3),
        ("execution redrive {name}:x", 3),
        ("execution show arn:aws:nonsense", 2),
        ("execution start {name} -i {{", 2),
        ("execution start {name} -i @no-such-file", 3),
        ("execution list --status nonsense", 2),
        ("execution list --limit none", 2),
        ("machine diff {name} 9", 3),
        ("machine show {name}:9", 3),
        ("machine delete {name}", 2),
        ("map-run show arn:aws:states:us-east-1:000000000000:mapRun:a/b:c", 3),
        ("run {name} --mock mocks.yaml", 2),
        ("run {name} --type EXPRESS", 2),
        ("execution nonsense", 2),
    ],
)
def test_what_is_used_wrongly(command, code, machine_name, statewright):
    done = statewright(*command.format(name=machine_name).split())
    assert (done.code, done.out) == (code, ""), done.err
    assert "Error: " in done.err
    assert "Traceback" not in done.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("command", ["machine list", "execution list -o json", "--help", "--version"])
def test_output_that_cannot_be_written(command, server):
    with open("/dev/full", "w") as full:
        done = run(*command.split(), endpoint=server.url, stdout=full)
    assert done.returncode == 1
    assert "The output cannot be written: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_a_file_as_an_express_machine(tmp_path):
    """Five minutes at the most, and none of the patterns that wait."""
    file = tmp_path / "slow.asl.json"
    file.write_text(json.dumps({"StartAt": "A", "States": {"A": {"Type": "Wait", "Seconds": 400, "End": True}}}))
    assert run("run", str(file)).returncode == 0
    done = run("run", str(file), "--type", "EXPRESS", "-o", "json")
    assert (done.returncode, json.loads(done.stdout)["status"]) == (5, "TIMED_OUT")
    assert json.loads(done.stdout)["durationMs"] == 300_000
    task = {"Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken", "End": True}
    parameters = {"QueueUrl": "q", "MessageBody": {"t.$": "$$.Task.Token"}}
    file.write_text(json.dumps({"StartAt": "A", "States": {"A": {**task, "Parameters": parameters}}}))
    done = run("run", str(file), "--type", "EXPRESS")
    assert (done.returncode, "Express state machine does not support" in " ".join(done.stderr.split())) == (1, True)
