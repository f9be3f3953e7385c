"""What the tests of this folder share: an export that must be sound without extensions, and systems to run it on."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from statewright.asl import extensions
from statewright.asl.reader import read_document
from statewright.asl.validate import validate
from statewright.export.portable import Exported, export
from statewright.virtual import VirtualSystem
from tests.unit.virtual.building import ROLE

TABLE = "statewright-semaphores"
ACQUIRE = "arn:aws:states:::statewright:acquire"
RELEASE = "arn:aws:states:::statewright:release"
POLL = "arn:aws:states:::statewright:poll"
INVOKE = "arn:aws:states:::lambda:invoke"

Json = dict[str, Any]


def exported(definition: Json, **settings: Any) -> Exported:
    """The export of a sound definition; it is sound itself, and holds nothing of ours."""
    document = read_document(json.dumps(definition))
    with extensions.accepted():
        assert errors(definition) == []
    made = export(document, **settings)
    if made.is_whole:
        assert errors(made.definition) == []
        assert warnings(made.definition) <= warnings(definition)
        assert ":statewright:" not in json.dumps(made.definition)
    return made


def warnings(definition: Json) -> set[str]:
    """The warnings of a definition: the export has none that the definition has not."""
    with extensions.accepted():
        found = validate(read_document(json.dumps(definition)))
    return {one.message for one in found if one.severity == "WARNING"}


def errors(definition: Json) -> list[str]:
    found = validate(read_document(json.dumps(definition)))
    return [f"{one.location}: {one.message}" for one in found if one.severity == "ERROR"]


def kinds(made: Exported) -> list[tuple[str, str | None]]:
    return [(note.kind, note.state) for note in made.notes]


# Through the system's own calls: a client of each service for each system would be most of what these tests cost.


def lock_table(system: VirtualSystem) -> None:
    """The table that permits are kept in."""
    key = {"AttributeName": "LockName"}
    request = {
        "TableName": TABLE, "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{**key, "KeyType": "HASH"}],
        "AttributeDefinitions": [{**key, "AttributeType": "S"}],
    }  # fmt: skip
    system.call("dynamodb", "CreateTable", request)


def machine(system: VirtualSystem, definition: Json, name: str = "machine") -> str:
    """Create a state machine; returns its ARN."""
    request = {"name": name, "definition": json.dumps(definition), "roleArn": ROLE}
    return str(system.call("states", "CreateStateMachine", request)["stateMachineArn"])


def start(system: VirtualSystem, arn: str, name: str, given: Any = None) -> str:
    """Start an execution; returns its ARN."""
    request = {"stateMachineArn": arn, "name": name, "input": json.dumps(given or {})}
    return str(system.call("states", "StartExecution", request)["executionArn"])


def history(system: VirtualSystem, execution: str) -> list[Any]:
    """The whole history of an execution; instants are epoch milliseconds."""
    events: list[Any] = []
    more: Json = {}
    while not events or more:
        page = system.call("states", "GetExecutionHistory", {"executionArn": execution, "maxResults": 1000, **more})
        events += page["events"]
        more = {"nextToken": page["nextToken"]} if page.get("nextToken") else {}
    return events


def permits(system: VirtualSystem) -> dict[str, int]:
    """How many permits of each semaphore are out, in the table; what it counts is what it holds."""
    found = {}
    for row in system.call("dynamodb", "Scan", {"TableName": TABLE})["Items"]:
        name = row.pop("LockName")["S"]
        if name.startswith("starts:"):
            continue
        held = int(row.pop("Held")["N"])
        assert held == len(row), (name, held, row)
        if held:
            found[name] = held
    return found


def ran(
    definition: Json, inputs: list[Any], *, prepare: Callable[[VirtualSystem], object] = lambda _system: None,
    within: str = "2h",
) -> list[Json]:  # fmt: skip
    """What becomes of one execution for each input, all started at once: status, output or error, when, history."""
    with VirtualSystem() as system, extensions.accepted():
        lock_table(system)
        prepare(system)
        arn = machine(system, definition)
        began_ms = system.now_ms
        executions = [start(system, arn, f"n{number}", given) for number, given in enumerate(inputs)]
        system.run_until_idle(within=within)
        assert permits(system) == {}
        return [_end(system, execution, began_ms) for execution in executions]


def _end(system: VirtualSystem, execution: str, began_ms: int) -> Json:
    found = system.call("states", "DescribeExecution", {"executionArn": execution})
    seconds = (found["stopDate"] - began_ms) / 1000
    end = {"status": found["status"], "seconds": seconds, "history": history(system, execution)}
    if "output" in found:
        end["output"] = json.loads(found["output"])
    return {**end, **{name: found[name] for name in ("error", "cause") if name in found}}


def stays(ends: list[Json], name: str) -> list[tuple[float, float]]:
    """When executions were in a state, in the order in which they came."""
    found = []
    for end in ends:
        entered = None
        for event in end["history"]:
            details = event.get("stateEnteredEventDetails") or event.get("stateExitedEventDetails") or {}
            if details.get("name") == name:
                if entered is None:
                    entered = event["timestamp"] / 1000
                else:
                    found.append((entered, event["timestamp"] / 1000))
                    entered = None
    return sorted(found)


def most_at_once(times: list[tuple[float, float]]) -> int:
    """How many of the stays overlap at most."""
    steps = sorted([(begin, 1) for begin, _end in times] + [(end, -1) for _begin, end in times])
    inside = most = 0
    for _at, step in steps:
        inside += step
        most = max(most, inside)
    return most
