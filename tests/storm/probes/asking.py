"""What several probes ask of Step Functions: machines, starts that are repeated until they are acknowledged, ends."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from tests.deadlines import happens
from tests.storm.client import Client, Refused
from tests.storm.machines import ROLE, STATES
from tests.storm.recording import Call, Recorder

EXISTS: Final = "ExecutionAlreadyExists"
MISSING: Final = "ExecutionDoesNotExist"

START, STOP, DESCRIBE, HISTORY, LIST = "start", "stop", "describe", "history", "list"


def machine_arn(machine: str) -> str:
    return f"{STATES}:stateMachine:{machine}"


def execution_arn(machine: str, name: str) -> str:
    return f"{STATES}:execution:{machine}:{name}"


def create(client: Client, machine: str, definition: Mapping[str, Any], **more: Any) -> None:
    """Make a machine."""
    given = {"definition": json.dumps(definition), "roleArn": ROLE, **more}
    client.json("states", "CreateStateMachine", name=machine, **given)


def start(recorder: Recorder, client: Client, machine: str, name: str, given: Mapping[str, Any]) -> Call:
    """Start an execution, again and again until that is acknowledged; the call that was, or one that is refused
    because an earlier one without an answer had arrived."""
    while True:
        call = start_once(recorder, client, machine, name, given)
        if call.outcome != "unanswered":
            return call


def start_once(
    recorder: Recorder, client: Client, machine: str, name: str, given: Mapping[str, Any], **about: Any
) -> Call:
    """Try to start an execution."""
    return recorder.make(
        START, {"name": name, **about}, [EXISTS], client.json, "states", "StartExecution",
        stateMachineArn=machine_arn(machine), name=name, input=json.dumps(given),
    )  # fmt: skip


def look(recorder: Recorder, client: Client, machine: str, name: str) -> Call:
    """Describe an execution."""
    return recorder.make(
        DESCRIBE, {"name": name}, [MISSING], client.json, "states", "DescribeExecution",
        executionArn=execution_arn(machine, name),
    )  # fmt: skip


def history(client: Client, service: str, machine: str, name: str) -> list[Any]:
    """All events of an execution's history. Raises: NoAnswer, Refused."""
    events: list[Any] = []
    token: dict[str, str] = {}
    while True:
        page = client.json(
            service, "GetExecutionHistory", executionArn=execution_arn(machine, name), maxResults=1000, **token
        )
        events += page["events"]
        if "nextToken" not in page:
            return events
        token = {"nextToken": page["nextToken"]}


def every_execution(client: Client, machine: str) -> list[Any]:
    """All executions of a machine, as ListExecutions shows them."""
    found: list[Any] = []
    token: dict[str, str] = {}
    while True:
        page = client.json("states", "ListExecutions", stateMachineArn=machine_arn(machine), maxResults=1000, **token)
        found += page["executions"]
        if "nextToken" not in page:
            return found
        token = {"nextToken": page["nextToken"]}


def ends(client: Client, machine: str, names: Iterable[str]) -> dict[str, Any]:
    """The descriptions of executions, once they have ended; without those that have not, or are not there."""
    found: dict[str, Any] = {}
    waiting = list(names)

    def all_have_ended() -> bool:
        for name in list(waiting):
            try:
                shown = client.json("states", "DescribeExecution", executionArn=execution_arn(machine, name))
            except Refused:
                waiting.remove(name)
                continue
            if shown["status"] != "RUNNING":
                found[name] = shown
                waiting.remove(name)
        return not waiting

    happens(all_have_ended)
    return found


def not_as_wanted(machine: str, names: Sequence[str], shown: Mapping[str, Any], wanted: str = "SUCCEEDED") -> list[str]:
    """A sentence for each execution that has not ended as it should."""
    found = []
    for name in names:
        if name not in shown:
            found.append(f"{machine}: {name} was acknowledged, and has not ended or is not there")
        elif shown[name]["status"] != wanted:
            one = shown[name]
            found.append(f"{machine}: {name} is {one['status']}: {one.get('error', '')} {one.get('cause', '')[:200]}")
    return found
