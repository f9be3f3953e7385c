"""Recorded calls of TestState through the operation itself, where `STATEWRIGHT_CASES` points at recordings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from statewright.api import shapes
from statewright.api.operations import Call
from statewright.api.states.trials import test_state as run_test_state
from statewright.config import Config
from statewright.engine.dispatch import ScheduledCall, Succeeded, TaskResult
from statewright.errors import ApiError
from statewright.simulator.simulate import ACCOUNT, REGION
from statewright.virtual_clock import run_virtual
from tests.conformance.recorded import SDK_MEMBERS, Case, comparison
from tests.conformance.test_recorded_trials import ROOT, name_of, sides
from tests.conformance.test_recorded_trials import pytestmark as pytestmark
from tests.unit.api.apps import app_of, engine_of_heavy_steps


def recorded() -> list[dict[str, Any]]:
    if ROOT is None:
        return []
    cases: list[dict[str, Any]] = json.loads((ROOT / "cases" / "test_state.json").read_text())
    return cases


class Functions:
    """Stands in for the integrations: the one function of a case."""

    def __init__(self, handler: str) -> None:
        self.handler = handler

    async def trace(self, task: ScheduledCall, *, reveal_secrets: bool) -> tuple[TaskResult, dict[str, Any]]:
        if self.handler == "return_bytes_str":
            return Succeeded("HelloWorld!"), {}
        payload = task.parameters["Payload"] or {}
        return Succeeded({"ExecutedVersion": "$LATEST", "Payload": payload, **SDK_MEMBERS, "StatusCode": 200}), {}


@pytest.mark.parametrize("case", recorded(), ids=name_of)
def test_recorded_call(case: dict[str, Any]) -> None:
    assert ROOT is not None
    player = Case(case)
    matcher = comparison(ROOT).Matcher(case.get("placeholders", {}))
    differences: list[Any] = []
    handler = ""
    for step in case["steps"]:
        parameters = player.resolve(step["params"])
        if step["call"] != "stepfunctions.TestState":
            if "Code" in parameters:
                handler = Path(parameters["Code"]["$handler"]["template"]).stem
            arn = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{parameters['FunctionName']}"
            player.answers[step["n"]] = {"FunctionArn": arn}
            continue
        answer = call_api(parameters, Functions(handler))
        for expected in step["expect"]:
            differences += matcher.equal(*sides(expected, answer), path=expected["key"])
    assert not differences


def call_api(parameters: dict[str, Any], functions: Functions) -> dict[str, Any]:
    """TestState as the edge calls it: answer or error."""

    async def main(clock: Any) -> Any:
        app = app_of(Config(ACCOUNT, REGION), clock, integrations=functions, engine=engine_of_heavy_steps(clock))
        request = shapes.validator("states", "TestState")(parameters)
        return await run_test_state(app, Call("states", "TestState", "r"), request)

    try:
        answer: dict[str, Any] = shapes.writer("states", "TestState")(run_virtual(main))
    except ApiError as problem:
        return {"Error": {"Code": problem.code, "Message": problem.message}}
    return answer
