"""Semaphores and machines with a queue on SQLite: the server is killed at each fail point, and nobody is lost.

By their histories never more than the limit were inside at once, everybody came in by the order of the starts, and in
the end no permit is held and no row is left.
"""

from __future__ import annotations

import json
import signal
import sqlite3
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from statewright.stores import fail_points
from statewright.stores.sqlite.file import FILE_NAME
from tests.crash.invariants import check_history, check_rest, whole_history
from tests.crash.servers import Caller, NoAnswer, Refused, Servers
from tests.deadlines import until
from tests.unit.engine.running import ROLE, machine, passing, task, wait

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9 there")

POINTS = (
    fail_points.BEFORE_COMMIT,
    fail_points.AFTER_COMMIT,
    fail_points.BEFORE_DISPATCH,
    fail_points.DISPATCHED,
    fail_points.RESULT,
)
PASSINGS = (3, 6, 10)
EACH = 6
STATES = "arn:aws:states:::statewright:"
GUARDED = machine(
    In=task(f"{STATES}acquire", Parameters={"Name": "door", "Limit": 2}, Next="At"),
    At=passing("Out"),
    Out=task(f"{STATES}release", Parameters={"Name": "door"}, Next="End"),
    End=passing(),
)
QUEUED = machine(At=wait(0, "Mid"), Mid=passing("End"), End=passing())


class Run:
    """What one server after another was asked for."""

    def __init__(self, servers: Servers) -> None:
        self.servers = servers
        self.arns: dict[str, list[str]] = {"guarded": [], "queued": []}
        self.machines: dict[str, str] = {}

    def prepare(self) -> None:
        ask = self.servers.client()
        tag = {"key": "statewright:maxConcurrentExecutions", "value": "1"}
        for name, definition, tags in (("guarded", GUARDED, []), ("queued", QUEUED, [tag])):
            made = ask("CreateStateMachine", name=name, definition=json.dumps(definition), roleArn=ROLE, tags=tags)
            self.machines[name] = made["stateMachineArn"]
        ask.close()

    def start(self, ask: Caller) -> None:
        """Some of each; a start without an answer is asked for again by whoever finds its number free."""
        for kind, arns in self.arns.items():
            for _ in range(EACH):
                name = f"{kind}-{len(arns):04}"
                try:
                    ask("StartExecution", stateMachineArn=self.machines[kind], name=name, input="{}")
                except Refused as taken:
                    # Its answer was lost, and it has ended.
                    taken.must_be("ExecutionAlreadyExists")
                arns.append(f"{self.machines[kind].replace(':stateMachine:', ':execution:')}:{name}")

    def rest(self) -> None:
        """Everybody ends."""
        ask = self.servers.client()
        for arns in self.arns.values():
            for arn in arns:
                shown = until(partial(ended, ask, arn), f"the end of {arn}")
                assert shown["status"] == "SUCCEEDED", shown
        ask.close()

    def check(self) -> None:
        ask = self.servers.client()
        self._check_inside(ask, "guarded", "In", 2)
        self._check_inside(ask, "queued", "At", 1)
        ask.close()

    def _check_inside(self, ask: Caller, kind: str, first: str, most: int) -> None:
        moments: list[tuple[float, int]] = []
        entered: list[tuple[float, str]] = []
        for arn in self.arns[kind]:
            events = whole_history(ask, arn)
            check_history(events, "SUCCEEDED", arn)
            inside = [event for event in events if _is_inside(event, first)]
            entered.append((inside[0]["timestamp"], arn))
            moments += [(inside[0]["timestamp"], 1), (events[-1]["timestamp"], -1)] if most == 1 else _holding(events)
        within = 0
        for _, change in sorted(moments):
            within += change
            assert within <= most, f"{within} were inside {kind}"
        if most == 1:
            assert [arn for _, arn in sorted(entered)] == sorted(arn for _, arn in entered), "somebody was overtaken"


def _is_inside(event: dict[str, Any], state: str) -> bool:
    found: bool = event.get("stateEnteredEventDetails", {}).get("name") == state
    return found


def _holding(events: list[dict[str, Any]]) -> list[tuple[float, int]]:
    """From when the task had its permit to when its release was asked for."""
    got = next(event["timestamp"] for event in events if event["type"] == "TaskSucceeded")
    left = next(event["timestamp"] for event in events if _is_inside(event, "Out"))
    return [(got, 1), (left, -1)]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with Servers(tmp_path_factory.mktemp("limits")) as servers:
        made = Run(servers)
        servers.up()
        made.prepare()
        assert servers.stop() == 0
        yield made


def ended(ask: Caller, arn: str) -> dict[str, Any] | None:
    shown: dict[str, Any] = ask("DescribeExecution", executionArn=arn)
    return shown if shown["status"] != "RUNNING" else None


def permits(data: Path) -> int:
    file = sqlite3.connect(data / FILE_NAME)
    try:
        (found,) = file.execute("SELECT count(*) FROM entry WHERE kind = 'permit'").fetchone()
        return int(found)
    finally:
        file.close()


def asked(job: Callable[[Caller], None], servers: Servers) -> None:
    ask = servers.client()
    try:
        job(ask)
    except NoAnswer:
        # The server died in the middle of it.
        pass
    finally:
        ask.close()


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.slow
def test_kills_lose_nobody_and_let_nobody_overtake(run: Run, point: str) -> None:
    servers = run.servers
    for passing_number in PASSINGS:
        servers.start(f"{point}:{passing_number}")
        if servers.wait_ready():
            # Their commits and calls are more than the passings.
            asked(run.start, servers)
        assert servers.wait_dead() == -signal.SIGKILL, f"{point} was not passed {passing_number} times"
    servers.up()
    run.rest()
    run.check()
    assert servers.stop() == 0
    check_rest(servers.data)
    assert not permits(servers.data)
    assert "bug in Statewright" not in servers.log.read_text()
