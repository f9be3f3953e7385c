"""Requests as the console's page makes them, and things for its pages to show."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

from tests.deadlines import PATIENCE_SECONDS, until
from tests.e2e.conftest import ROLE, Server

OWN = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}


def read(server: Server, name: str, /, **query: Any) -> Any:
    """A read of the page; its document, with `httpStatus`."""
    return _asked(server, "GET", f"{name}?{urlencode(query)}")


def post(server: Server, name: str, document: Any) -> Any:
    """An action of the page; its document, with `httpStatus`."""
    return _asked(server, "POST", name, json.dumps(document))


def call(server: Server, service: str, operation: str, /, **request: Any) -> Any:
    """A call of an operation by the page; its answer, with `httpStatus`."""
    return post(server, "call", {"service": service, "operation": operation, "request": request})


@contextmanager
def lines(server: Server, address: str) -> Iterator[Iterator[Any]]:
    """The documents of an answer that goes on."""
    with _connected(server) as connection:
        connection.request("GET", f"/console/api/{address}", headers=OWN)
        answer = connection.getresponse()
        assert answer.status == 200
        yield (json.loads(line) for line in iter(answer.readline, b""))


def _asked(server: Server, method: str, address: str, body: str | None = None) -> Any:
    with _connected(server) as connection:
        headers = {**OWN, "Content-Type": "application/json"}
        connection.request(method, f"/console/api/{address}", body, headers)
        answer = connection.getresponse()
        return {"httpStatus": answer.status, **json.loads(answer.read())}


@contextmanager
def _connected(server: Server) -> Iterator[http.client.HTTPConnection]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_SECONDS)
    try:
        yield connection
    finally:
        connection.close()


def machine(server: Server, name: str, states: Any, **more: Any) -> str:
    """A state machine that begins at the first of its states; its ARN."""
    definition = json.dumps({"StartAt": next(iter(states)), "States": states})
    made = server.client("stepfunctions").create_state_machine(
        name=name, definition=definition, roleArn=ROLE, **more
    )  # fmt: skip
    arn: str = made["stateMachineArn"]
    return arn


def start(server: Server, machine_arn: str, name: str, given: Any = None) -> str:
    """An execution that was started; its ARN."""
    sfn = server.client("stepfunctions")
    made = sfn.start_execution(stateMachineArn=machine_arn, name=name, input=json.dumps(given or {}))
    arn: str = made["executionArn"]
    return arn


def mapped(kind: str, states: Any, **more: Any) -> Any:
    """The states of a machine that is one distributed Map, whose children are of a kind."""
    processor = {
        "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": kind}, "StartAt": next(iter(states)),
        "States": states,
    }  # fmt: skip
    return {"Each": {"Type": "Map", "ItemProcessor": processor, "End": True, **more}}


def run_of(server: Server, execution: str) -> str:
    """The ARN of the Map Run of an execution."""
    sfn = server.client("stepfunctions")
    arn: str = until(lambda: sfn.list_map_runs(executionArn=execution)["mapRuns"], "a Map Run")[0]["mapRunArn"]
    return arn
