"""Forks of executions."""

from __future__ import annotations

from statewright.api.operations import App, Call, operation
from statewright.engine.executions.forks import Wish
from statewright.engine.machines.settings import check_name
from statewright.errors import ApiError
from statewright.payload import Json, JsonObject, JsonTextError, parse_json


@operation("statewright", "ForkExecution")
async def fork_execution(app: App, _call: Call, request: Json) -> Json:
    """Start a new execution at a state that an old one has reached; answers once it is durable."""
    name = request.get("name")
    if name is not None:
        check_name(name)
    variables = _variables(request.get("variables"))
    started = await app.engine.fork(
        Wish(
            request["executionArn"],
            request["stateName"],
            request.get("input"),
            variables,
            request.get("stateMachineArn"),
            name,
            request.get("visit"),
        )
    )
    return {"executionArn": started.arn, "startDate": started.start_ms}


def _variables(text: str | None) -> JsonObject | None:
    if text is None:
        return None
    try:
        value = parse_json(text)
    except JsonTextError as problem:
        raise ApiError("ValidationException", f"The variables are not JSON: {problem}") from None
    if not isinstance(value, dict):
        raise ApiError("ValidationException", "The variables must be a JSON object, with a member for each variable.")
    return value
