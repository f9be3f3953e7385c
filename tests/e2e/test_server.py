from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from tests.deadlines import PATIENCE_SECONDS, completed, until
from tests.e2e.conftest import Server, ended, machine
from tests.e2e.test_executions import types

SERVE = [sys.executable, "-m", "statewright.cli.main"]
TARGET = {"X-Amz-Target": "AWSStepFunctions.ListActivities", "Content-Type": "application/x-amz-json-1.0"}


def send(server: Server, method: str, path: str, headers: dict[str, str], body: bytes = b"{}") -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_SECONDS)
    try:
        connection.request(method, path, body if method == "POST" else None, headers)
        reply = connection.getresponse()
        return reply.status, reply.read()
    finally:
        connection.close()


def test_the_ready_line(server):
    assert server.ready_line.startswith(f"Statewright is ready on http://127.0.0.1:{server.port} (data: ")
    assert server.ready_line.endswith(f", pid {server.process.pid})")


def test_health_and_metrics(server, sfn):
    sfn.list_activities()
    status, body = send(server, "GET", "/health", {})
    assert (status, json.loads(body)["status"]) == (200, "ok")
    until(lambda: json.loads(send(server, "GET", "/health", {})[1])["store"] == "sound", "the check of the store")
    status, body = send(server, "GET", "/metrics", {})
    assert status == 200
    assert b'statewright_api_calls_total{service="states",operation="ListActivities",code="OK"}' in body
    assert b'statewright_executions{status="RUNNING"}' in body
    assert send(server, "GET", "/robots.txt", {})[0] == 404


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Host": "rebound.evil.example", "Origin": "http://rebound.evil.example"},
        {"Host": "rebound.evil.example", "Sec-Fetch-Site": "same-origin"},
    ],
)
def test_web_pages_are_refused(server, headers):
    assert send(server, "POST", "/", {**TARGET, **headers})[0] == 403
    assert send(server, "GET", "/health", headers)[0] == 403


def test_what_programs_send_is_answered_whatever_the_host(server):
    own = {"Origin": f"http://127.0.0.1:{server.port}"}
    for headers in ({}, {"Host": "sync-states.us-east-1.amazonaws.com"}, own):
        assert send(server, "POST", "/", {**TARGET, **headers})[0] == 200
    assert send(server, "POST", "/", {**TARGET, "Content-Type": "text/plain"})[0] == 415


def test_what_is_too_long_is_refused(server):
    status, body = send(server, "POST", "/", TARGET, b" " * (2 * 1024 * 1024 + 1))
    assert (status, json.loads(body)["__type"]) == (413, "RequestEntityTooLarge")


def flood(port: int) -> None:
    """Send a head without an end."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n")
        for _ in range(10_000):
            connection.sendall(b"X-Long: " + b"x" * 1000 + b"\r\n")
        if connection.recv(1) == b"":
            raise ConnectionResetError


def test_endless_heads_are_cut(server):
    with pytest.raises((ConnectionResetError, BrokenPipeError)):
        flood(server.port)


def test_the_log_names_executions_and_no_payloads(server, sfn):
    execution = sfn.start_execution(stateMachineArn=machine(sfn, {"Type": "Pass"}), input='{"secret": "swordfish"}')[
        "executionArn"
    ]
    ended(sfn, execution)
    assert execution in until(lambda: (text := server.log.read_text()) and execution in text and text)
    assert "swordfish" not in server.log.read_text()


@pytest.mark.slow
def test_a_killed_server_goes_on_where_it_was(tmp_path):
    data = tmp_path / "data"
    first = Server(data)
    sfn = first.client()
    activity = sfn.create_activity(name=f"a-{uuid4()}")["activityArn"]
    arn = machine(sfn, {"Type": "Wait", "Seconds": 1}, {"Type": "Task", "Resource": activity})
    waiting = sfn.start_execution(stateMachineArn=arn, input='{"kept": true}')["executionArn"]
    working = sfn.start_execution(stateMachineArn=machine(sfn, {"Type": "Task", "Resource": activity}))["executionArn"]
    taken = sfn.get_activity_task(activityArn=activity)["taskToken"]
    first.kill()
    second = Server(data)
    sfn = second.client()
    assert sfn.describe_execution(executionArn=waiting)["status"] == "RUNNING"
    sfn.send_task_success(taskToken=taken, output='"from before"')
    assert ended(sfn, working)["output"] == '"from before"'
    task = sfn.get_activity_task(activityArn=activity)
    assert json.loads(task["input"]) == {"kept": True}
    sfn.send_task_success(taskToken=task["taskToken"], output='"after"')
    shown = ended(sfn, waiting)
    assert (shown["status"], shown["output"]) == ("SUCCEEDED", '"after"')
    ids = [event["id"] for event in sfn.get_execution_history(executionArn=waiting)["events"]]
    assert ids == list(range(1, len(ids) + 1))
    assert types(sfn, waiting).count("WaitStateExited") == 1
    assert second.stop() == 0


def test_whatever_was_acknowledged_survives_a_kill(tmp_path):
    data = tmp_path / "data"
    first = Server(data)
    sfn = first.client()
    arn = machine(sfn, {"Type": "Pass"}, {"Type": "Wait", "Seconds": 3600})
    acknowledged: list[str] = []

    def start(client: Any) -> None:
        with suppress(BotoCoreError):
            for _ in range(1000):
                acknowledged.append(client.start_execution(stateMachineArn=arn)["executionArn"])

    with ThreadPoolExecutor(4) as pool:
        starts = [pool.submit(start, first.client()) for _ in range(4)]
        until(lambda: len(acknowledged) > 100, "a hundred starts")
        first.process.kill()
        for one in starts:
            one.result(PATIENCE_SECONDS)
    first.kill()
    second = Server(data)
    sfn = second.client()
    pages = sfn.get_paginator("list_executions").paginate(stateMachineArn=arn, statusFilter="RUNNING")
    kept = {one["executionArn"] for page in pages for one in page["executions"]}
    assert set(acknowledged) <= kept
    assert len(kept) <= len(acknowledged) + 4, "at most one start a caller was not acknowledged"
    assert types(sfn, acknowledged[-1])[-1] == "WaitStateEntered"
    assert second.stop() == 0


def test_a_server_that_is_told_to_end_ends_polls_and_exits(tmp_path):
    server = Server(tmp_path / "data", "--store", "memory")
    sfn = server.client()
    activity = sfn.create_activity(name="a")["activityArn"]
    with ThreadPoolExecutor(1) as pool:
        poll = pool.submit(sfn.get_activity_task, activityArn=activity)
        until(lambda: b"statewright_api_polls 1" in send(server, "GET", "/metrics", {})[1], "the poll")
        assert server.stop() == 0
        with pytest.raises(ClientError) as caught:
            poll.result(PATIENCE_SECONDS)
    assert caught.value.response["Error"]["Code"] == "ServiceUnavailable"


def test_two_servers_do_not_share_a_folder(tmp_path):
    first = Server(tmp_path / "data")
    second = serve("--port", "0", "--data", str(tmp_path / "data"))
    assert second.returncode == 1
    assert "Error:" in second.stderr
    assert first.stop() == 0


def test_a_port_in_use(server, tmp_path):
    done = serve("--port", str(server.port), "--data", str(tmp_path))
    assert done.returncode == 1
    assert f"port {server.port} on 127.0.0.1 is in use" in " ".join(done.stderr.split())


def test_nobody_listens_beyond_loopback_without_credentials(tmp_path):
    done = serve("--host", "0.0.0.0", "--port", "0", "--data", str(tmp_path))
    assert done.returncode == 1
    assert "without credentials" in " ".join(done.stderr.split())


def serve(*options: str) -> subprocess.CompletedProcess[str]:
    return completed([*SERVE, "serve", *options])


def test_signatures_are_verified_once_there_are_credentials(tmp_path: Path):
    settings = tmp_path / "statewright.toml"
    settings.write_text('[credentials]\nAKID = "secret"\n')
    server = Server(tmp_path / "data", "--config", str(settings), "--host", "0.0.0.0", "--store", "memory")
    server.url = f"http://127.0.0.1:{server.port}"
    assert server.client(key="AKID", secret="secret").list_activities()["activities"] == []
    for keys, code in (
        ({"key": "AKID", "secret": "wrong"}, "InvalidSignatureException"),
        ({"key": "test", "secret": "test"}, "UnrecognizedClientException"),
    ):
        with pytest.raises(ClientError) as caught:
            server.client(**keys).list_activities()
        assert caught.value.response["Error"]["Code"] == code
    assert send(server, "POST", "/", TARGET)[0] == 400
    assert server.stop() == 0


def test_the_aws_cli_reaches_sync_operations(server, sfn):
    arn = machine(sfn, {"Type": "Pass", "Result": 1}, express=True)
    done = completed(
        [*SERVE, "aws", "stepfunctions", "start-sync-execution", "--state-machine-arn", arn, "--output", "json"],
        env={"PATH": str(Path(sys.executable).parent), "STATEWRIGHT_ENDPOINT": server.url, "HOME": "/nonexistent"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["status"] == "SUCCEEDED"
