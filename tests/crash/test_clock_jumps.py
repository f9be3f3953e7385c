"""A wall clock that is set back or forward under a running server, or between two runs of it."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.deadlines import until
from tests.e2e.conftest import Server, ended, machine
from tests.e2e.test_executions import types

HOUR_SECONDS = 3600
WALL = """
    import os, time
    _real, _file = time.time_ns, os.environ["TEST_WALL_OFFSET"]

    def _shifted():
        with open(_file) as file:
            return _real() + int(float(file.read() or 0) * 1e9)

    time.time_ns = _shifted
    time.time = lambda: _shifted() / 1e9
"""
"""Python imports a module of this name at its start: every clock of the server is ours to set."""


class Wall:
    """By how much the wall clock of servers that start from now on is wrong, in seconds."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.file = folder / "offset"
        self.set(0)
        (folder / "sitecustomize.py").write_text(textwrap.dedent(WALL))
        monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
        monkeypatch.setenv("TEST_WALL_OFFSET", str(self.file))

    def set(self, seconds: float) -> None:
        new = self.file.with_suffix(".new")
        new.write_text(str(seconds))
        new.replace(self.file)


@pytest.fixture
def wall(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Wall:
    return Wall(tmp_path, monkeypatch)


def wait_of(sfn: Any, seconds: int) -> str:
    arn = machine(sfn, {"Type": "Wait", "Seconds": seconds}, {"Type": "Pass", "Result": "done"})
    execution: str = sfn.start_execution(stateMachineArn=arn)["executionArn"]
    return execution


def check(sfn: Any, execution: str) -> None:
    """It has ended, its timer has fired once, and its history never goes back in time."""
    shown = ended(sfn, execution)
    assert (shown["status"], shown["output"]) == ("SUCCEEDED", '"done"')
    assert shown["startDate"] <= shown["stopDate"]
    events = sfn.get_execution_history(executionArn=execution)["events"]
    assert [event["id"] for event in events] == list(range(1, len(events) + 1))
    assert types(sfn, execution).count("WaitStateExited") == 1
    instants = [event["timestamp"] for event in events]
    assert instants == sorted(instants)


@pytest.mark.slow
def test_timers_fire_once_when_the_clock_is_set_back_and_forward(tmp_path, wall):
    server = Server(tmp_path / "data")
    sfn = server.client()
    first = wait_of(sfn, 1)
    wall.set(-HOUR_SECONDS)
    check(sfn, first)
    check(sfn, wait_of(sfn, 1))
    # Now what was an hour away is due.
    far = wait_of(sfn, HOUR_SECONDS - 10)
    wall.set(HOUR_SECONDS)
    check(sfn, wait_of(sfn, 1))
    check(sfn, far)
    wall.set(0)
    check(sfn, wait_of(sfn, 1))
    assert server.stop() == 0
    assert "Traceback" not in server.log.read_text()


@pytest.mark.slow
def test_a_server_goes_on_after_a_start_in_the_past(tmp_path, wall):
    """The clock was an hour ahead and was put right while the server was down: what is stored lies in the future."""
    wall.set(HOUR_SECONDS)
    first = Server(tmp_path / "data")
    sfn = first.client()
    activity = sfn.create_activity(name="a")["activityArn"]
    arn = machine(sfn, {"Type": "Task", "Resource": activity}, {"Type": "Pass", "Result": "done"})
    held = sfn.start_execution(stateMachineArn=arn)["executionArn"]
    token = sfn.get_activity_task(activityArn=activity)["taskToken"]
    soon = wait_of(sfn, 1)
    first.kill()
    wall.set(0)
    second = Server(tmp_path / "data")
    sfn = second.client()
    sfn.send_task_success(taskToken=token, output="1")
    shown = ended(sfn, held)
    assert (shown["status"], shown["output"]) == ("SUCCEEDED", '"done"')
    assert "the system clock is 60 minutes behind the newest execution" in second.log.read_text()
    fresh = sfn.start_execution(stateMachineArn=arn)["executionArn"]
    assert fresh != held
    listed = {one["executionArn"] for one in sfn.list_executions(stateMachineArn=arn)["executions"]}
    assert listed == {held, fresh}
    assert sfn.describe_execution(executionArn=soon)["status"] == "RUNNING"
    # Its hour has come.
    wall.set(HOUR_SECONDS + 2)
    until(lambda: wait_of(sfn, 0) and sfn.describe_execution(executionArn=soon)["status"] == "SUCCEEDED", "the timer")
    assert second.stop() == 0
    assert "Traceback" not in second.log.read_text()
