"""The Workbench: a text becomes a graph with findings, runs in virtual time, and is compared with what is stored.

Nothing here changes anything. What a definition is saved as, and a trial of one state, are the service's own
operations.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Final, Literal

from statewright.asl.comparison import compare
from statewright.asl.loading import check_text
from statewright.asl.outline import outline, states_of
from statewright.asl.reader import MAX_CHARACTERS
from statewright.clock import Clock
from statewright.console.asked import Answer, Asked, Lines, document, text_of
from statewright.console.context import Console
from statewright.console.definitions.trial_runs import found_json
from statewright.console.definitions.trial_worker import Room, TrialWorkers
from statewright.console.drawings import drawing
from statewright.errors import ApiError
from statewright.payload import Json, JsonObject, dump_json
from statewright.virtual_clock import VIRTUAL_START_MS

Action = Callable[[Console, Asked], Awaitable[Answer]]

LONGEST_TEXT: Final = MAX_CHARACTERS
LONGEST_GIVEN: Final = 1_000_000
"""Characters of an input, or of mocks."""
MOST_FINDINGS: Final = 200
MOST_DRAWN: Final = 1_000
"""States of a definition that is drawn while it is written. Ours: a tangle of as many takes some seconds."""
MOST_DIFFERENCES: Final = 3_000
"""Lines of a difference as text."""
_NAMES: Final = {"json": "definition.json", "yaml": "definition.yaml"}


async def graph(console: Console, asked: Asked) -> JsonObject:
    """A text as a definition: `{text, language, type}` to `{drawing, definition, json, findings, more, tasks, states}`.

    `definition` is its value, `json` that value as JSON text; both are null if the text cannot be read. `tasks` are the
    states that a run needs mocks for, `more` counts findings that are left out.
    """
    body = document(asked)
    text, name, kind = _text_of(body), _language_of(body), _type_of(body)
    # One at a time: a page asks again after each rest in typing, and the pool of threads is that of the whole server.
    async with _ROOM.here():
        with console.app.clock.busy():
            return await asyncio.to_thread(_looked_at, text, name, kind)


async def run(console: Console, asked: Asked) -> Lines:
    """Run a text in virtual time: `{text, language, input, mocks, name}` to one line, as `trial_runs.trial_run`
    returns it. The run ends when the page goes away.
    """
    body = document(asked)
    text, language = _text_of(body), _language_of(body)
    given, mocks = text_of(body, "input", "{}"), text_of(body, "mocks", "")
    for member, value in (("input", given), ("mocks", mocks)):
        if len(value) > LONGEST_GIVEN:
            raise ApiError("BadRequest", f"The {member} is longer than {LONGEST_GIVEN:,} characters.")
    request: JsonObject = {
        "definition": await _as_json(text, language, console.app.clock), "input": given, "mocks": mocks,
        "startMs": VIRTUAL_START_MS, "file": f"{text_of(body, 'name', 'machine')[:80]}.asl.json",
        "name": text_of(body, "case", "a run in the Workbench")[:200],
    }  # fmt: skip

    async def documents() -> AsyncIterator[Json]:
        yield await WORKERS.ask("run", request)

    return Lines(documents())


async def difference(console: Console, asked: Asked) -> JsonObject:
    """Compare a text with a definition as JSON text: `{before, text, language}` to what `compared` returns."""
    body = document(asked)
    text, before, name = _text_of(body), text_of(body, "before"), _language_of(body)
    if len(before) > LONGEST_TEXT:
        raise ApiError("BadRequest", f"A definition has at most {LONGEST_TEXT:,} characters.")
    with console.app.clock.busy():
        return await asyncio.to_thread(_compared_texts, before, text, name)


def compared(before: Json, after: Json, name_before: str, name_after: str) -> JsonObject:
    """Two definitions side by side: `{same, added, removed, changed, fields, lines, more, before, after}`.

    The last two are drawings; `changed` has the names of fields by state, `lines` are those of a unified diff.
    """
    found = compare(before, after, name_before, name_after)
    return {
        "same": found.same, "added": found.added, "removed": found.removed, "changed": found.changed,
        "fields": found.fields, "lines": found.text[:MOST_DIFFERENCES],
        "more": max(0, len(found.text) - MOST_DIFFERENCES), "before": drawing(before), "after": drawing(after),
    }  # fmt: skip


_ROOM: Final = Room(1)
WORKERS: Final = TrialWorkers()
"""Those of the whole process: a limit for each region would not spare the machine."""


async def _as_json(text: str, language: str, clock: Clock) -> str:
    if language == _NAMES["json"]:
        return text
    with clock.busy():
        value = (await asyncio.to_thread(check_text, text, language, lints=False))[0]
    if value is None:
        raise ApiError("BadRequest", "The definition cannot be read; see the problems.")
    return dump_json(value.value)


def _compared_texts(before: str, text: str, name: str) -> JsonObject:
    stored, _ = check_text(before, _NAMES["json"], lints=False)
    written, _ = check_text(text, name, lints=False)
    for one in (stored, written):
        if one is None or not isinstance(one.value, dict):
            raise ApiError("BadRequest", "The definition cannot be read; see the problems.")
    assert stored is not None
    assert written is not None
    return compared(stored.value, written.value, "stored", "this text")


def _looked_at(text: str, name: str, kind: Literal["STANDARD", "EXPRESS"]) -> JsonObject:
    read, findings = check_text(text, name, machine_type=kind)
    found = sorted(findings, key=lambda one: (one.severity != "ERROR", one.line or 0, one.column or 0))
    answer: JsonObject = {
        "drawing": None, "definition": None, "json": None, "tasks": [], "states": [], "isTooLarge": False,
        "findings": [found_json(one) for one in found[:MOST_FINDINGS]], "more": max(0, len(found) - MOST_FINDINGS),
    }  # fmt: skip
    if read is None:
        return answer
    answer.update({"definition": read.value, "json": dump_json(read.value)})
    if not isinstance(read.value, dict):
        return answer
    states = list(states_of(outline(read.value, express=False)))
    answer["isTooLarge"] = len(states) > MOST_DRAWN
    answer["drawing"] = None if answer["isTooLarge"] else drawing(read.value)
    answer["states"] = [
        {"name": one.name, "type": one.type, "line": read.key_position(one.path)[0]} for one in states[:MOST_DRAWN]
    ]
    resources = [(one.name, one.node.get("Resource")) for one in states if one.type == "Task"]
    answer["tasks"] = [
        {"name": task, "resource": resource if isinstance(resource, str) else ""} for task, resource in resources[:200]
    ]
    return answer


def _text_of(body: JsonObject) -> str:
    text = text_of(body, "text")
    if len(text) > LONGEST_TEXT:
        raise ApiError("BadRequest", f"A definition has at most {LONGEST_TEXT:,} characters.")
    return text


def _language_of(body: JsonObject) -> str:
    name = _NAMES.get(text_of(body, "language", "json"))
    if name is None:
        raise ApiError("BadRequest", "A definition is in json or yaml.")
    return name


def _type_of(body: JsonObject) -> Literal["STANDARD", "EXPRESS"]:
    return "EXPRESS" if text_of(body, "type", "STANDARD") == "EXPRESS" else "STANDARD"


ACTIONS: Final[Mapping[str, Action]] = {"graph": graph, "workbench/run": run, "workbench/difference": difference}
