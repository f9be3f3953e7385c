"""One state run alone, as the service's TestState does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from statewright.payload import Json, JsonMapping, JsonObject, dump_json, parse_json
from statewright.testing.bench import Bench
from statewright.testing.machine import Machine, load_machine

_NOTHING: Final[Any] = object()


@dataclass(frozen=True, slots=True)
class Trial:
    """The result. `status` is SUCCEEDED, FAILED, RETRIABLE or CAUGHT_ERROR; `inspection` the steps on the way."""

    status: str
    output: Json
    error: str | None
    cause: str | None
    next_state: str | None
    inspection: JsonObject = field(repr=False)


def try_state(
    bench: Bench, definition: str | Path | JsonMapping | Machine, state: str | None = None, *, input: Json = None,
    returns: Json = _NOTHING, throws: str | tuple[str, str] | None = None, variables: Mapping[str, Json] | None = None,
    context: Mapping[str, Json] | None = None, retries: int | None = None, validate: str = "NONE",
) -> Trial:  # fmt: skip
    """Run one state. `definition` is a machine with the name of one of its states, or a state's own definition.

    `returns` and `throws` mock the task; `retries` is how often it has been retried before. `validate` checks the mock
    against the API's shape: NONE, PRESENT or STRICT.

    Raises: ApiError for what the service refuses.
    """
    if isinstance(definition, Machine):
        text = definition.text
    elif isinstance(definition, Mapping):
        text = dump_json(dict(definition))
    else:
        text = load_machine(bench, definition, name=f"trial-{len(bench.subjects) + 1}").text
    request: JsonObject = {"definition": text, "roleArn": bench.role, "inspectionLevel": "DEBUG"}
    request["input"] = dump_json({} if input is None else input)
    if state is not None:
        request["stateName"] = state
    if variables is not None:
        request["variables"] = dump_json(dict(variables))
    if context is not None:
        request["context"] = dump_json(dict(context))
    if retries is not None:
        request["stateConfiguration"] = {"retrierRetryCount": retries}
    if returns is not _NOTHING:
        request["mock"] = {"result": dump_json(returns), "fieldValidationMode": validate}
    elif throws is not None:
        error, cause = throws if isinstance(throws, tuple) else (throws, "")
        request["mock"] = {"errorOutput": {"error": error, "cause": cause}, "fieldValidationMode": validate}
    answer = bench.system.call("stepfunctions", "TestState", request)
    output = parse_json(answer["output"]) if "output" in answer else None
    return Trial(
        answer["status"], output, answer.get("error"), answer.get("cause"), answer.get("nextState"),
        answer.get("inspectionData", {}),
    )  # fmt: skip
