"""`kill -9` while executions wait for EXPRESS children: each child is started once, and each parent takes its end."""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from statewright.stores import fail_points
from statewright.stores.sqlite.file import FILE_NAME
from tests.crash.servers import NoAnswer, Servers
from tests.deadlines import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9 there"),
]

ROLE = "arn:aws:iam::000000000000:role/any"
MACHINE = "arn:aws:states:us-east-1:000000000000:stateMachine:"
EXECUTION = "arn:aws:states:us-east-1:000000000000:execution:parent:"
POINTS = (
    fail_points.BEFORE_COMMIT,
    fail_points.AFTER_COMMIT,
    fail_points.BEFORE_DISPATCH,
    fail_points.DISPATCHED,
    fail_points.RESULT,
)
PASSINGS = range(1, 8)


def called(servers: Servers, operation: str, **request: Any) -> Any:
    with closing(servers.client()) as client:
        return client(operation, **request)


def machines(servers: Servers) -> None:
    wait = {"Type": "Wait", "SecondsPath": "$.seconds", "Next": "Done"}
    child = {"StartAt": "Wait", "States": {"Wait": wait, "Done": {"Type": "Pass", "Result": "done", "End": True}}}
    call = {
        "Type": "Task",
        "Resource": "arn:aws:states:::states:startExecution.sync:2",
        "Parameters": {"StateMachineArn": f"{MACHINE}child", "Input.$": "$"},
        "OutputPath": "$.Output",
        "End": True,
    }
    for name, kind, definition in (
        ("child", "EXPRESS", child),
        ("parent", "STANDARD", {"StartAt": "Call", "States": {"Call": call}}),
    ):
        called(servers, "CreateStateMachine", name=name, type=kind, definition=json.dumps(definition), roleArn=ROLE)


def start(servers: Servers, name: str) -> None:
    """Start a parent whatever becomes of the server meanwhile; the repeat of a start is none."""
    given = json.dumps({"seconds": 1})
    try:
        called(servers, "StartExecution", stateMachineArn=f"{MACHINE}parent", name=name, input=given)
    except NoAnswer:
        servers.wait_dead()
        servers.up()
        called(servers, "StartExecution", stateMachineArn=f"{MACHINE}parent", name=name, input=given)


@pytest.mark.parametrize("point", POINTS)
def test_each_child_is_started_once_and_each_parent_takes_its_end(point: str, tmp_path: Path) -> None:
    with Servers(tmp_path) as servers:
        servers.up()
        machines(servers)
        names = []
        for passing in PASSINGS:
            assert servers.stop() in (0, -9)
            servers.start(f"{point}:{passing}")
            if not servers.wait_ready():
                servers.up()
            names.append(f"run-{passing}")
            start(servers, names[-1])
            # The server may die while the child waits, or at the child's end.
            servers.wait_dead(1.5)
            if servers.status is not None:
                servers.up()
        servers.kill()
        servers.up()
        for name in names:
            view = until(partial(ended, servers, name), f"the end of {name}")
            assert (view["status"], view["output"]) == ("SUCCEEDED", '"done"')
        assert servers.stop() == 0
        with sqlite3.connect(servers.data / FILE_NAME) as database:
            [(count,)] = database.execute("select count(*) from execution")
        assert count == 2 * len(names)


def ended(servers: Servers, name: str) -> Any:
    view = called(servers, "DescribeExecution", executionArn=f"{EXECUTION}{name}")
    return view if view["status"] != "RUNNING" else None
