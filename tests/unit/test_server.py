from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from statewright import server
from statewright.api.http.listening import bind
from statewright.config import Config, FunctionSettings
from statewright.engine.executions.views import StatusChange
from statewright.errors import Unavailable
from statewright.hosting.figures import resident_bytes
from statewright.hosting.options import STORES, CannotServe, Ready, ServerOptions
from statewright.hosting.status_log import log_status

Talk = Callable[[int], Awaitable[None]]


async def ask(port: int, head: str, body: bytes = b"") -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"{head}\r\nHost: x\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


async def call(port: int, operation: str, members: Any) -> Any:
    head = f"POST / HTTP/1.1\r\nX-Amz-Target: AWSStepFunctions.{operation}\r\nContent-Type: application/x-amz-json-1.0"
    return orjson.loads((await ask(port, head, orjson.dumps(members))).partition(b"\r\n\r\n")[2])


def serve(options: ServerOptions, talk: Talk) -> str:
    """Run a whole server in this process, talk to it, end it as an operator does; returns the ready line."""
    said: list[Ready] = []

    async def scenario() -> None:
        ready = asyncio.Event()

        def on_ready(where: Ready) -> None:
            said.append(where)
            ready.set()

        running = asyncio.ensure_future(server._serve(options, on_ready))
        waiting = asyncio.ensure_future(ready.wait())
        await asyncio.wait({running, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if said:
            await talk(int(said[0].endpoint.rpartition(":")[2]))
            os.kill(os.getpid(), signal.SIGTERM)
        await running

    asyncio.run(scenario())
    return said[0].line if said else ""


MACHINE = {"StartAt": "A", "States": {"A": {"Type": "Pass", "Result": 7, "End": True}}}


@pytest.mark.parametrize("store", STORES)
def test_a_server_from_start_to_end(tmp_path: Path, store: str):
    async def talk(port: int) -> None:
        members = {
            "name": "m",
            "definition": orjson.dumps(MACHINE).decode(),
            "roleArn": "arn:aws:iam::000000000000:role/r",
        }
        made = await call(port, "CreateStateMachine", {**members, "type": "EXPRESS"})
        done = await call(port, "StartSyncExecution", {"stateMachineArn": made["stateMachineArn"]})
        assert (done["status"], done["output"]) == ("SUCCEEDED", "7")
        metrics = (await ask(port, "GET /metrics HTTP/1.1")).decode()
        assert 'statewright_executions{status="RUNNING"} 0' in metrics
        assert "process_resident_memory_bytes" in metrics

    config = Config(functions=FunctionSettings(isolation="none"))
    line = serve(ServerOptions(port=0, data=tmp_path / "data", store=store, config=config), talk)
    where = "in memory" if store == "memory" else str(tmp_path / "data")
    assert line.endswith(f"(data: {where}, handlers: none, pid {os.getpid()})")
    assert (tmp_path / "data").exists() is (store == "sqlite")


async def nothing(_port: int) -> None:
    """Say nothing to the server."""


def test_what_keeps_a_server_from_starting(tmp_path: Path):
    with bind("127.0.0.1", 0) as taken, pytest.raises(CannotServe, match="is in use by"):
        serve(ServerOptions(port=taken.getsockname()[1], store="memory"), nothing)
    exposed = ServerOptions(host="0.0.0.0", port=0, store="memory")
    with pytest.raises(CannotServe, match="without credentials"):
        serve(exposed, nothing)
    serve(replace(exposed, config=Config(credentials={"AKID": "secret"})), nothing)

    async def another(_port: int) -> None:
        with pytest.raises(Unavailable):
            await server._serve(ServerOptions(port=0, data=tmp_path), lambda _line: None)

    serve(ServerOptions(port=0, data=tmp_path), another)


def test_changes_of_status_are_logged_without_payloads(caplog: pytest.LogCaptureFixture):
    view: Any = SimpleNamespace(status="FAILED", execution_arn="arn:x", error="Oh", output="swordfish")
    change = StatusChange("arn:x", "FAILED", None, lambda: view)
    log_status(change)
    assert caplog.records == []
    with caplog.at_level(logging.DEBUG, "statewright.executions"):
        log_status(change)
    assert [(one.getMessage(), vars(one)["execution_arn"]) for one in caplog.records] == [("FAILED", "arn:x")]
    assert "swordfish" not in str(vars(caplog.records[0]))


def test_resident_memory_is_told(monkeypatch: pytest.MonkeyPatch):
    assert resident_bytes() > 1_000_000
    monkeypatch.setattr(Path, "read_text", lambda _path: "")
    assert resident_bytes() > 1_000_000


def test_a_process_that_lost_its_data_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[int] = []
    monkeypatch.setattr(signal, "raise_signal", raised.append)
    loss = server._Loss()
    loss("the folder was removed")
    assert (raised, loss.reason) == ([signal.SIGTERM], "the folder was removed")
