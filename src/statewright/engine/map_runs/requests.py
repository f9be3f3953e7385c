"""A parent's requests about a Map Run, as outbox bodies: start one, or redrive one.

The Map state's definition is not stored: it is found again in the program, by scope and name.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

from statewright.asl.program import MapDef, Program
from statewright.formats import array_in, damaged
from statewright.interpreter.commands import RedriveMapRun, StartMapRun
from statewright.payload import JsonObject, Payload, dump_row, embedded, parse_json

VERSION: Final = 1
_WHAT: Final = "the request to a Map Run"
_PAYLOADS: Final = ("input", "items", "context", "variables")
_PLAIN: Final = tuple(
    one.name for one in fields(StartMapRun) if one.name not in (*_PAYLOADS, "definition", "seed", "iterations")
)


@dataclass(frozen=True, slots=True)
class RunRequest:
    """The content of an outbox body: a redrive has no `start`."""

    task_id: int
    map_run_arn: str
    redrive_count: int
    start: JsonObject | None


def encode_request(command: StartMapRun | RedriveMapRun) -> bytes:
    """An outbox row's body."""
    if isinstance(command, RedriveMapRun):
        return dump_row([VERSION, command.task_id, command.map_run_arn, command.redrive_count])
    payloads = [getattr(command, name) for name in _PAYLOADS]
    return dump_row(
        [
            VERSION,
            command.task_id,
            command.map_run_arn,
            0,
            [embedded(Payload(getattr(command, name)).text) for name in _PLAIN],
            [None if payload is None else [embedded(payload.text)] for payload in payloads],
            command.seed.hex(),
            list(command.iterations),
        ]
    )


def decode_request(body: bytes) -> RunRequest:
    """Read an outbox row's body. Raises: Unreadable."""
    try:
        row = array_in(parse_json(body), _WHAT, VERSION)
        if len(row) == 4:
            return RunRequest(row[1], row[2], row[3], None)
        given: JsonObject = dict(zip(_PLAIN, row[4], strict=False))
        for name, stored in zip(_PAYLOADS, row[5], strict=False):
            given[name] = None if stored is None else Payload(stored[0])
        given["seed"] = bytes.fromhex(row[6])
        given["iterations"] = tuple(row[7])
        return RunRequest(row[1], row[2], 0, given)
    except (IndexError, TypeError, ValueError) as problem:
        raise damaged(_WHAT, problem) from None


def command_of(request: RunRequest, program: Program) -> StartMapRun:
    """The command of a request, with its definition from the parent's program.

    Raises: KeyError when the program has no such state.
    """
    assert request.start is not None
    name = request.start["state"]
    for scope in program.scopes:
        definition = scope.states.get(name)
        body = definition.body if definition is not None else None
        if isinstance(body, MapDef) and body.scope == request.start["scope"]:
            return StartMapRun(definition=body, **request.start)
    raise KeyError(name)
