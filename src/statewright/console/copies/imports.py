"""Import of a history: one that this server or the service wrote to a file, shown with the page of an execution.

Owns reading the file, with refusals that say what is wrong with it. Nothing of it is kept: the answer is the run with
its payloads inside, and the page holds that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Final, NoReturn, TypeGuard

from statewright.asl.loading import check_text
from statewright.asl.program import Program
from statewright.console.asked import Asked, document
from statewright.console.context import Console
from statewright.console.copies.exports import bundled
from statewright.console.copies.outlines import outline
from statewright.console.recorded import ENDS, Recorded
from statewright.console.redaction import Redactor
from statewright.console.runs import ReadRun
from statewright.engine.executions.views import ExecutionView
from statewright.engine.machines.definitions import compiled
from statewright.errors import ApiError, ExecutionFailure
from statewright.interpreter.history import DETAILS_MEMBER, EVENT_TYPES, HistoryEvent
from statewright.payload import Json, JsonObject, JsonTextError, dump_json, parse_json, size_of

MOST_DEFINITION: Final = 4 * 1024 * 1024
MOST_EVENTS: Final = 30_000
"""More than the service's histories may have."""
_MACHINE: Final = "arn:aws:states:us-east-1:000000000000:stateMachine:imported"
_EXECUTION: Final = "arn:aws:states:us-east-1:000000000000:execution:imported:history"
_SECONDS: Final = 100_000_000_000
"""Numbers below it are instants in seconds, others in milliseconds."""


async def import_history(console: Console, asked: Asked) -> JsonObject:
    """`{history, definition, name}`, texts or documents, to what `exports.bundled` returns, and `notes`.

    Raises: ApiError (`BadRequest`), which says what is wrong with which of the files.
    """
    body = document(asked)
    now_ms = console.app.clock.now_ms()
    return await asyncio.to_thread(imported, body, now_ms, console.redactor)


def imported(body: JsonObject, now_ms: int, redactor: Redactor) -> JsonObject:
    """The run of a posted history. Raises: ApiError (`BadRequest`)."""
    notes: list[str] = []
    events = _events(_read(body.get("history"), "history"), notes)
    name = str(body.get("name") or "history")[:200]
    given = body.get("definition")
    if given:
        definition, program = _definition(_read(given, "definition"), events)
    else:
        try:
            definition = outline(events)
            program = _program(definition)
        except (RecursionError, ValueError):
            _refuse("The states of the history are nested too deep.")
        notes.append(
            "Without a definition, the graph has only the states and transitions of this history; conditions, retriers "
            "and waits are not known."
        )
    view = _view(events, name)
    try:
        recorded = Recorded(view, program, redactor)
        recorded.note(events)
        found = bundled(ReadRun(view, recorded, program, redactor.value(definition)), now_ms, redactor)
    except (KeyError, TypeError, IndexError, AttributeError, ValueError, RecursionError) as problem:
        _refuse(f"The history does not fit together, or not with the definition: {problem!r}"[:300])
    head = found["run"]["head"]
    head.update({"arn": f"import:{name}", "machine": "Imported history", "machineArn": ""})
    return {**found, "notes": notes}


def _read(given: Json, what: str) -> Json:
    """A document, also as text. The service's answers wrap definitions."""
    if isinstance(given, str):
        text = given.removeprefix("\ufeff")
        if not text.strip():
            _refuse(f"The {what} is empty.")
        if what == "definition":
            return text
        try:
            return parse_json(text)
        except (JsonTextError, RecursionError) as problem:
            where = f" at line {problem.line}, column {problem.column}" if isinstance(problem, JsonTextError) else ""
            _refuse(f"The {what} is not JSON{where}: {problem}")
    if given is None:
        _refuse(f"There is no {what}.")
    return given


def _events(found: Json, notes: list[str]) -> list[HistoryEvent]:
    if isinstance(found, dict):
        if "events" not in found:
            names = ", ".join(list(found)[:5])
            hint = " It looks like a definition." if "States" in found else ""
            _refuse(f"The history has no member events: it has {names or 'no members'}.{hint}")
        if found.get("nextToken") or found.get("NextToken"):
            notes.append("This is the first part of a longer history: the file has a nextToken.")
        found = found["events"]
    if not isinstance(found, list):
        _refuse("The history must be a list of events, or an object that has one as events.")
    if not found:
        _refuse("The history has no events.")
    if len(found) > MOST_EVENTS:
        _refuse(f"The history has {len(found):,} events, of at most {MOST_EVENTS:,}.")
    events = sorted((_event(one, place) for place, one in enumerate(found)), key=lambda one: one.id)
    for place, event in enumerate(events, 1):
        if event.id != place:
            what = "twice" if place > 1 and events[place - 2].id == event.id else "missing"
            number = event.id if what == "twice" else place
            _refuse(f"Event {number} is {what}: a history is read from event 1 to its last one, without a gap.")
        if event.previous_id >= event.id:
            _refuse(f"Event {event.id} follows event {event.previous_id}, which comes later.")
    return events


def _event(one: Json, place: int) -> HistoryEvent:
    where = f"Entry {place + 1} of the history"
    if not isinstance(one, dict):
        _refuse(f"{where} is no object.")
    type_, number, previous = one.get("type"), one.get("id"), one.get("previousEventId", 0)
    if type_ not in EVENT_TYPES:
        _refuse(f"{where} has the type {str(type_)[:60]!r}, which no event has.")
    if not _is_whole(number) or number < 1:
        _refuse(f"{where} has no id, a whole number from 1 on.")
    if not _is_whole(previous) or previous < 0:
        _refuse(f"{where} has a previousEventId that is no whole number: {str(previous)[:40]}")
    at_ms = _instant(one.get("timestamp"))
    if at_ms is None:
        _refuse(f"{where} has no timestamp that can be read: {str(one.get('timestamp'))[:60]}")
    member = DETAILS_MEMBER.get(type_)
    details = one.get(member, one.get("details")) if member else None
    if details is not None and not isinstance(details, dict):
        _refuse(f"{where} has {member}, which is no object.")
    kept = {
        name: value for name, value in (details or {}).items() if not (name.endswith("Details") and _is_note(value))
    }
    if type_.endswith(("StateEntered", "StateExited")) and not isinstance(kept.get("name"), str):
        _refuse(f"{where} is {type_}, and does not name its state in {member}.")
    return HistoryEvent(number, previous, at_ms, type_, kept or None)


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_note(value: Json) -> bool:
    """True for `inputDetails` and its like, which say whether a payload was cut."""
    return isinstance(value, dict) and set(value) <= {"truncated", "included"}


def _instant(value: Json) -> int | None:
    """An instant in epoch milliseconds: of seconds, milliseconds, or ISO 8601."""
    try:
        if isinstance(value, bool):
            return None
        if isinstance(value, int | float):
            at_ms = round(value * 1000 if abs(value) < _SECONDS else value)
        elif isinstance(value, str):
            at_ms = round(datetime.fromisoformat(value.strip()).timestamp() * 1000)
        else:
            return None
    except (ValueError, OverflowError):
        return None
    # What pages can show as a date.
    return at_ms if 0 <= at_ms < 8_640_000_000_000_000 else None


def _definition(given: Json, events: Sequence[HistoryEvent]) -> tuple[Json, Program]:
    """A definition and its program; also the answer of DescribeStateMachine, which has it as text."""
    text = given if isinstance(given, str) else dump_json(given)
    value = _json(text)
    if isinstance(value, dict) and isinstance(value.get("definition"), str):
        text = value["definition"]
    read, findings = check_text(text, "definition" if text.lstrip().startswith("{") else "definition.yaml", lints=False)
    errors = [one for one in findings if one.severity == "ERROR"]
    if read is None or errors:
        line = f" (line {errors[0].line})" if errors and errors[0].line else ""
        _refuse(f"The definition has a mistake{line}: {errors[0].message if errors else 'it cannot be read'}")
    try:
        # Aliases of YAML share structure, which may be small as text and without end as a document.
        size_of(read.value, MOST_DEFINITION)
        definition = parse_json(dump_json(read.value))
    except (ExecutionFailure, JsonTextError):
        _refuse(f"The definition is larger than {MOST_DEFINITION // 1024 // 1024} MiB, or nested too deep.")
    program = _program(definition)
    known = {name for scope in program.scopes for name in scope.states}
    for event in events:
        if event.type.endswith("StateEntered") and event.details is not None and event.details["name"] not in known:
            name = event.details["name"]
            _refuse(f"The definition has no state {name[:80]!r}, which event {event.id} enters: it is another one.")
    return definition, program


def _json(text: str) -> Json:
    try:
        return parse_json(text)
    except (JsonTextError, RecursionError):
        return None


def _program(definition: Json) -> Program:
    return compiled(dump_json(definition))


def _view(events: Sequence[HistoryEvent], name: str) -> ExecutionView:
    first, last = events[0], events[-1]
    status = ENDS.get(last.type, "RUNNING")
    given = (first.details or {}).get("input")
    return ExecutionView(
        id=0, execution_arn=_EXECUTION, machine_arn=_MACHINE, machine_id=0, name=name, type="STANDARD", status=status,
        started_ms=first.at_ms, stopped_ms=last.at_ms if status != "RUNNING" else None,
        input=given if isinstance(given, str) else "{}", output=None, error=None, cause=None, revision_id="",
        role_arn="", version_arn=None, alias_arn=None, trace_header=None, map_run_arn=None, item_count=None,
        redrive_count=sum(event.type == "ExecutionRedriven" for event in events), redriven_ms=None, redrive_status="",
        redrive_reason=None, quarantine=None,
    )  # fmt: skip


def _refuse(text: str) -> NoReturn:
    raise ApiError("BadRequest", text)


ACTIONS: Final = {"import": import_history}
