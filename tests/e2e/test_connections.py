"""Connections that do nothing, or do it slowly, or talk nonsense: answered or cut, and nobody else notices."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import resource
import select
import socket
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.deadlines import PATIENCE_SECONDS, completed, until
from tests.e2e.conftest import Server, machine

HEAD = b"Host: x\r\nX-Amz-Target: AWSStepFunctions.ListActivities\r\nContent-Type: application/x-amz-json-1.0\r\n"
CALL = b"POST / HTTP/1.1\r\n" + HEAD + b"Content-Length: 2\r\n\r\n{}"
IDLE = 10_000
"""Connections held open at once."""


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that gives slow callers a second."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HEAD", "BODY", "ANSWER", "DRAIN"):
            patch.setenv(f"STATEWRIGHT_{name}_SECONDS", "1")
        running = Server(tmp_path_factory.mktemp("impatient") / "data", "--store", "memory")
    yield running
    assert running.stop() == 0, running.log.read_text()
    log = running.log.read_text()
    assert "Traceback" not in log
    assert " error " not in log


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS)


def read_answer(connection: socket.socket) -> tuple[int, bytes]:
    """Status and body of the next answer on a connection."""
    answer = http.client.HTTPResponse(connection)
    answer.begin()
    return answer.status, answer.read()


def rest_of(connection: socket.socket) -> bytes:
    """What comes until the connection ends."""
    parts = []
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(65_536):
            parts.append(part)
    return b"".join(parts)


def figures(server: Server) -> dict[str, float]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_SECONDS)
    try:
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
    finally:
        connection.close()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}


# ------------------------------------------------------------------ many


@pytest.mark.slow
def test_ten_thousand_idle_connections_stop_nobody(tmp_path):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    count = IDLE if hard == resource.RLIM_INFINITY else min(IDLE, hard - 1_000)
    if count < IDLE:
        print(f"this machine allows {hard} open files: {count} connections instead of {IDLE}")
    # With a soft limit as low as they come, which the server has to raise by itself.
    server = Server(tmp_path / "data", "--store", "memory", most_files=256)
    held: list[socket.socket] = []
    try:
        sfn = server.client()
        before = figures(server)["process_resident_memory_bytes"]
        for _ in range(count):
            held.append(connect(server.port))
        seen = figures(server)
        assert seen["statewright_connections"] >= count
        arn = machine(sfn, {"Type": "Pass", "Result": 1}, express=True)
        for _ in range(20):
            assert sfn.start_sync_execution(stateMachineArn=arn)["output"] == "1"
        assert (seen["process_resident_memory_bytes"] - before) / count < 16_384, "bytes for an idle connection"
    finally:
        for one in held:
            one.close()
    until(lambda: figures(server)["statewright_connections"] < 10, "the connections' end")
    assert server.stop() == 0
    assert "Traceback" not in server.log.read_text()


def test_when_no_more_files_are_allowed_idle_connections_make_room(tmp_path):
    server = Server(tmp_path / "data", most_files=256, hard=True)
    held = []
    try:
        room = int(figures(server)["statewright_connections_most"])
        assert 0 < room < 256
        for _ in range(600):
            held.append(connect(server.port))
            # The newest is served, whoever was there before.
        held[-1].sendall(CALL)
        assert read_answer(held[-1])[0] == 200
        sfn = server.client()
        arn = machine(sfn, {"Type": "Pass", "Result": 1})
        sfn.start_execution(stateMachineArn=arn)
        assert len(sfn.list_executions(stateMachineArn=arn)["executions"]) == 1
        assert figures(server)["statewright_connections"] <= room
        assert rest_of(held[0]) == b""
    finally:
        for one in held:
            one.close()
    assert server.stop() == 0
    log = server.log.read_text()
    assert log.count("idle ones are closed to make room") == 1
    assert "Traceback" not in log


# ------------------------------------------------------------------ slow


def trickle(connection: socket.socket, text: bytes) -> bytes:
    """Send a byte now and then, until the other side has had enough; what it said."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    with contextlib.suppress(ConnectionResetError, BrokenPipeError):
        for number in range(len(text)):
            connection.sendall(text[number : number + 1])
            if select.select([connection], [], [], 0.05)[0] or time.monotonic() > deadline:
                break
    assert time.monotonic() < deadline, "it was not cut"
    return rest_of(connection)


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(b"", marks=pytest.mark.slow),
        b"POST / HTTP/1.1\r\n" + HEAD,
        pytest.param(b"POST / HTTP/1.1\r\n" + HEAD + b"Content-Length: 1000\r\n\r\n", marks=pytest.mark.slow),
        b"POST / HTTP/1.1\r\n" + HEAD + b"Transfer-Encoding: chunked\r\n\r\n1000\r\n",
        pytest.param(CALL, marks=pytest.mark.slow),
    ],
    ids=["from the first byte", "in the head", "in the body", "in a chunk", "in the second request"],
)
def test_slow_callers_are_cut(impatient, start):
    rest = b"POST /" if not start or start is CALL else b"X" * 10 + b": y"
    with connect(impatient.port) as connection:
        connection.sendall(start)
        if start is CALL:
            assert read_answer(connection)[0] == 200
        assert trickle(connection, rest + b"z" * 10_000) == b""


def test_whoever_opens_a_connection_and_says_nothing_is_cut(impatient):
    with connect(impatient.port) as connection:
        assert rest_of(connection) == b""


def test_whoever_takes_no_answer_is_cut(impatient):
    with connect(impatient.port) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.setblocking(False)
        asks = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 100
        before = figures(impatient)["statewright_connections_cut_total"]

        def cut() -> bool:
            with contextlib.suppress(BlockingIOError, ConnectionResetError, BrokenPipeError):
                connection.send(asks)
            return figures(impatient)["statewright_connections_cut_total"] > before

        until(cut, "the cut")


def test_a_quiet_caller_keeps_the_connection(impatient):
    """The time between two requests is not the second request's."""
    with connect(impatient.port) as quiet:
        quiet.sendall(CALL)
        assert read_answer(quiet)[0] == 200
        with connect(impatient.port) as silent:
            assert rest_of(silent) == b"", "it never had a first request, and is cut"
        quiet.sendall(CALL)
        assert read_answer(quiet)[0] == 200


def test_a_setting_that_is_no_time_is_refused(tmp_path):
    environment = {**os.environ, "STATEWRIGHT_HEAD_SECONDS": "soon"}
    command = [sys.executable, "-m", "statewright.cli.main", "serve", "--port", "0", "--data", str(tmp_path)]
    done = completed(command, env=environment)
    assert done.returncode == 2
    assert "STATEWRIGHT_HEAD_SECONDS is 'soon'" in " ".join(done.stderr.split())


# ------------------------------------------------------------------ odd


CHUNKED = b"POST / HTTP/1.1\r\n" + HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (CALL.replace(b"1.1", b"1.0"), 200),
        (CHUNKED + b"1\r\n{\r\n1;ext=y\r\n}\r\n0\r\nTrailer: x\r\n\r\n", 200),
        (CALL.replace(b"Host: x\r\n", b""), 200),
        (CALL.replace(b"POST /", b"POST http://elsewhere.example/"), 200),
        (CALL.replace(b"Content-L", b"Connection: Upgrade\r\nUpgrade: h2c\r\nContent-L"), 200),
        (CALL.replace(b"Host: x", b"Host: x\r\n" + b"\r\n".join(b"X-%d: y" % n for n in range(3_000))), 200),
        (CALL.replace(b"POST", b"PUT"), 405),
        (CALL.replace(b"POST", b"DELETE"), 405),
        (b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", 405),
        (b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", 404),
        (b"POST / HTTP/1.1\r\n" + HEAD + b"Expect: 100-continue\r\nContent-Length: 99999999\r\n\r\n", 413),
        (b"POST / HTTP/1.1\r\n" + HEAD + b"Content-Length: 99999999999\r\n\r\n{", 413),
        (CHUNKED + b"300000\r\n" + b" " * 0x300000 + b"\r\n0\r\n\r\n", 413),
        (CALL.replace(b"POST", b"BREW"), 400),
        (CALL.replace(b"POST", b"post"), 400),
        (b"CONNECT elsewhere.example:80 HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (CALL.replace(b"POST /", b"POST http://["), 400),
        (CALL.replace(b"POST /", b"POST /\xc3\xa9"), 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(50), 400),
        (CHUNKED + b"zz\r\n{\r\n", 400),
        (CHUNKED + b"FFFFFFFFFFFFFFFFFF\r\n{", 400),
        (CHUNKED.replace(b"Transfer", b"Content-Length: 2\r\nTransfer") + b"0\r\n\r\n", 400),
        (CALL.replace(b"Content-Length: 2", b"Content-Length: 2\r\nContent-Length: 3"), 400),
        (CALL.replace(b"Content-Length: 2", b"Content-Length: -2"), 400),
        (CALL.replace(b"Content-Length: 2", b"Content-Length: 99999999999999999999999"), 400),
        (CALL.replace(b"Host: x", b"Host: x\0y"), 400),
        (CALL.replace(b"Host: x", b"Host x"), 400),
        (CALL.replace(b"Host: x", b"Host : x"), 400),
        (CALL.replace(b"\r\n", b"\n"), 400),
    ],
)
def test_odd_requests(impatient, text, status):
    with connect(impatient.port) as connection:
        connection.sendall(text)
        assert read_answer(connection)[0] == status
    assert figures(impatient)


def test_a_request_after_an_offer_to_change_the_protocol(impatient):
    with connect(impatient.port) as connection:
        for text in (CALL.replace(b"Content-L", b"Connection: Upgrade\r\nUpgrade: h2c\r\nContent-L"), CALL, CALL):
            connection.sendall(text)
            assert read_answer(connection)[0] == 200


def test_many_requests_at_once_are_answered_in_order(impatient):
    """Pipelined: whichever is answered first, answers go out in the order of the requests."""
    unknown = CALL.replace(b"ListActivities", b"NoSuchThing123")
    with connect(impatient.port) as connection:
        connection.sendall(b"".join((CALL, unknown) * 50))
        stream = connection.makefile("rb")
        for number in range(100):
            status = int(stream.readline().split()[1])
            length = 0
            while line := stream.readline().strip():
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split()[1])
            stream.read(length)
            assert status == (400 if number % 2 else 200)
        stream.close()


def test_half_closed_sockets(impatient):
    """Whoever has said all may close his half; whoever closes it within a request gets nothing, and is forgotten."""
    with connect(impatient.port) as connection:
        connection.sendall(CALL)
        connection.shutdown(socket.SHUT_WR)
        assert rest_of(connection).startswith(b"HTTP/1.1 200 OK")
    for part in (CALL[:-1], CALL[:40]):
        with connect(impatient.port) as connection:
            connection.sendall(part)
            connection.shutdown(socket.SHUT_WR)
            assert rest_of(connection) == b""


def test_callers_that_go_while_they_are_answered(impatient):
    for part in (CALL, CALL[:-1], CALL[:40], b""):
        for _ in range(20):
            connection = connect(impatient.port)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            connection.sendall(part)
            connection.close()
    until(lambda: figures(impatient)["statewright_connections"] < 10, "the connections' end")


# ------------------------------------------------------------------ the end


def test_a_server_that_is_told_to_end_lets_calls_finish(tmp_path, monkeypatch):
    """Calls under way are answered, long polls ended, callers who have not said all are not waited for."""
    monkeypatch.setenv("STATEWRIGHT_DRAIN_SECONDS", "100000")
    server = Server(tmp_path / "data")
    sfn = server.client()
    waits = machine(sfn, {"Type": "Wait", "Seconds": 1}, {"Type": "Pass", "Result": "done"}, express=True)
    activity = sfn.create_activity(name="a")["activityArn"]
    slow = connect(server.port)
    slow.sendall(CALL[:-1])
    idle = connect(server.port)
    running = connect(server.port)
    body = json.dumps({"stateMachineArn": waits}).encode()
    call = CALL.replace(b"ListActivities", b"StartSyncExecution").replace(b"Length: 2", b"Length: %d" % len(body))
    with ThreadPoolExecutor(1) as pool:
        poll = pool.submit(server.client().get_activity_task, activityArn=activity)
        until(lambda: figures(server).get("statewright_api_polls") == 1, "the poll")
        running.sendall(call[:-2] + body)
        assert figures(server), "the call has arrived before this one"
        log = server.log
        assert server.stop() == 0, log.read_text()
        status, answer = read_answer(running)
        assert (status, json.loads(answer)["output"]) == (200, '"done"')
        with pytest.raises(ClientError) as ended:
            poll.result(PATIENCE_SECONDS)
        assert ended.value.response["ResponseMetadata"]["HTTPStatusCode"] == 503
    assert rest_of(slow) + rest_of(idle) == b""
    for one in (slow, idle, running):
        one.close()
    assert "Traceback" not in log.read_text()


def test_a_second_server_is_told_who_was_first(tmp_path):
    first = Server(tmp_path / "data")

    def refused(*options: str) -> str:
        command = [sys.executable, "-m", "statewright.cli.main", "serve", *options]
        done = completed(command)
        assert (done.returncode, done.stdout) == (1, "")
        return " ".join(done.stderr.split())

    try:
        said = refused("--port", "0", "--data", str(tmp_path / "data"))
        assert f"data folder {tmp_path / 'data'} is in use by pid {first.process.pid}" in said
        said = refused("--port", str(first.port), "--data", str(tmp_path / "other"))
        by = f"(pid {first.process.pid})" if sys.platform == "linux" else "another process"
        assert f"port {first.port} on 127.0.0.1 is in use by" in said
        assert by in said
        assert not (tmp_path / "other" / "statewright.db").exists()
    finally:
        assert first.stop() == 0


def test_health_says_what_is_served(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_SECONDS)
    connection.request("GET", "/health")
    answer = connection.getresponse()
    found: dict[str, Any] = json.loads(answer.read())
    connection.close()
    assert (answer.status, found["status"], found["operations"]["states"]) == (200, "ok", 37)
    assert found["version"]
    assert Path(server.log).exists()


def test_every_figure_that_operators_need(server, sfn):
    sfn.start_execution(stateMachineArn=machine(sfn, {"Type": "Pass"}))
    found = figures(server)
    for status in ("RUNNING", "SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED", "PENDING_REDRIVE"):
        assert f'statewright_executions{{status="{status}"}}' in found
    for name in (
        "executions_open", "transitions", "commits", "inputs_per_commit", "commit_us_mean", "commit_us_most",
        "timers_fired", "timers_late_ms_mean", "timers_late_ms_most", "store_groups_total", "store_jobs_total",
        "store_seconds_total", "store_seconds_most", "loop_lag_seconds", "loop_lag_seconds_most", "connections",
        "connections_most", "connections_cut_total", "api_polls",
    ):  # fmt: skip
        assert found[f"statewright_{name}"] >= 0
    assert found["statewright_store_jobs_total"] >= found["statewright_store_groups_total"] > 0
    assert found["statewright_transitions"] > 0
    assert found["statewright_loop_lag_seconds"] < 5
