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
from tests.unit.virtual.building import history, machine, start

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
        assert ":statewright:" not in json.dumps(made.definition)
    return made


def errors(definition: Json) -> list[str]:
    found = validate(read_document(json.dumps(definition)))
    return [f"{one.location}: {one.message}" for one in found if one.severity == "ERROR"]


def kinds(made: Exported) -> list[tuple[str, str | None]]:
    return [(note.kind, note.state) for note in made.notes]


def lock_table(system: VirtualSystem) -> None:
    """The table that permits are kept in."""
    system.client("dynamodb").create_table(
        TableName=TABLE, BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "LockName", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "LockName", "AttributeType": "S"}],
    )  # fmt: skip


def permits(system: VirtualSystem) -> dict[str, int]:
    """How many permits of each semaphore are out, in the table; what it counts is what it holds."""
    found = {}
    for row in system.client("dynamodb").scan(TableName=TABLE)["Items"]:
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
    found = system.client("stepfunctions").describe_execution(executionArn=execution)
    seconds = found["stopDate"].timestamp() - began_ms / 1000
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
                    entered = event["timestamp"].timestamp()
                else:
                    found.append((entered, event["timestamp"].timestamp()))
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
