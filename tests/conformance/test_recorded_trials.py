"""Recorded calls of TestState through the trial driver, where `STATEWRIGHT_CASES` points at recordings.

Stands in for the API around the driver as far as the recordings need it: wrapping a single state, JSON texts, and
answers of the few functions that are called. What belongs to the API alone is left out by its words, see `OF_THE_API`.
"""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from statewright.asl.compile import compile_definition
from statewright.asl.validate import validate_value
from statewright.errors import ApiError, Failure
from statewright.interpreter.commands import ScheduleTask
from statewright.interpreter.events import TaskSucceeded
from statewright.interpreter.trial import (
    STATE_NAME,
    StateTrial,
    TrialSetup,
    machine_of,
    trial_identity,
    try_state,
)
from statewright.payload import Payload, dump_json, parse_json
from statewright.simulator.simulate import ACCOUNT, REGION
from tests.conformance.recorded import SDK_MEMBERS, Case, comparison, folder

ROOT = folder()
pytestmark = pytest.mark.skipif(
    ROOT is None, reason="no recordings on this machine: STATEWRIGHT_CASES does not point at a folder with cases/"
)

OF_THE_API = (
    "Mock result schema validation error",
    "Invalid Context object provided: Field",
    "Invalid Context object provided: 'Map' field",
)
"""Refusals that take a service model or the bare request, not a program: not the driver's."""

NUMBERS = frozenset({"maxConcurrency", "toleratedFailureCount", "toleratedFailurePercentage", "errorDetails"})
"""Members of `inspectionData` that are no JSON texts on the wire."""

KNOWN_MISSES: dict[str, str] = {}
"""Cases that do not match, each with its reason; the test fails when one of them starts to match."""


def trials(root: Path | None) -> list[dict[str, Any]]:
    if root is None:
        return []
    recorded = json.loads((root / "cases" / "test_state.json").read_text())
    return [case for case in recorded if not any(words in json.dumps(case["steps"]) for words in OF_THE_API)]


def name_of(case: dict[str, Any]) -> str:
    return str(case["id"]).rsplit("::", 1)[-1]


@pytest.mark.parametrize("case", trials(ROOT), ids=name_of)
def test_recorded_trial(case: dict[str, Any]) -> None:
    assert ROOT is not None
    differences = play(case, comparison(ROOT))
    if name_of(case) in KNOWN_MISSES:
        assert differences, "matches now: take it off the list"
    else:
        assert not differences


def play(case: dict[str, Any], rules: Any) -> list[Any]:
    """Every difference between what the driver answers and what was recorded."""
    player = Case(case)
    matcher = rules.Matcher(case.get("placeholders", {}))
    differences: list[Any] = []
    for step in case["steps"]:
        parameters = player.resolve(step["params"])
        if step["call"] != "stepfunctions.TestState":
            name = parameters["FunctionName"]
            handler = Path(parameters["Code"]["$handler"]["template"]).stem if "Code" in parameters else ""
            arn = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}"
            player.answers[step["n"]] = {"FunctionArn": arn, "handler": handler}
            continue
        handlers = [str(answer["handler"]) for answer in player.answers.values() if answer["handler"]]
        answer = call_api(parameters, handlers)
        for expected in step["expect"]:
            differences += matcher.equal(*sides(expected, answer), path=expected["key"])
    return differences


def sides(expected: dict[str, Any], answer: dict[str, Any]) -> tuple[Any, Any]:
    """What was recorded and what was answered, in one shape."""
    wanted = expected["value"]
    kind = expected["path"][0] if expected["path"] else None
    if kind == "$error_response":
        return wanted["Error"], answer.get("Error", answer)
    if kind in ("$error_type", "$error"):
        error = answer["Error"]
        shown = f"An error occurred ({error['Code']}) when calling the TestState operation: {error['Message']}"
        return wanted, error["Code"] if kind == "$error_type" else shown
    return wanted, answer


def call_api(parameters: dict[str, Any], handlers: list[str]) -> dict[str, Any]:
    """TestState as far as the recordings go: parameters in, answer or error out."""
    try:
        trial = run_trial(parameters, handlers)
    except ApiError as problem:
        return {"Error": {"Code": problem.code, "Message": problem.message}}
    answer: dict[str, Any] = {
        "status": trial.status,
        "output": trial.output.text if trial.output is not None else None,
        "nextState": trial.next_state,
        "error": trial.error,
        "cause": trial.cause,
    }
    if parameters.get("inspectionLevel", "INFO") != "INFO":
        texts = {name: value if name in NUMBERS else dump_json(value) for name, value in trial.inspection.items()}
        answer["inspectionData"] = texts
    return {name: value for name, value in answer.items() if value is not None}


def run_trial(parameters: dict[str, Any], handlers: list[str]) -> StateTrial:
    definition = parse_json(parameters["definition"])
    if "stateName" not in parameters:
        definition = machine_of(definition)
    for finding in validate_value(definition, lints=False):
        # A single state may lead to states that are not there.
        if finding.severity == "ERROR" and finding.code not in ("MISSING_TRANSITION_TARGET", "MISSING_END_STATE"):
            what = f"{finding.code}: {finding.message} at {finding.location}"
            raise ApiError("InvalidDefinition", f"Invalid State Machine Definition: '{what}'")
    seed = uuid.uuid4().bytes
    configuration = parameters.get("stateConfiguration", {})
    context = parameters.get("context")
    read = configuration.get("mapItemReaderData")
    setup = TrialSetup(
        state_name=parameters.get("stateName", STATE_NAME),
        input=Payload.from_text(parameters.get("input", "{}")),
        mock=mock_of(parameters.get("mock")),
        context=parse_json(context) if context is not None else None,
        retrier_retry_count=configuration.get("retrierRetryCount", 0),
        error_caused_by_state=configuration.get("errorCausedByState"),
        map_iteration_failure_count=configuration.get("mapIterationFailureCount"),
        map_item_reader_data=Payload.from_text(read) if read is not None else None,
    )
    identity = trial_identity(seed, parameters.get("roleArn", ""), account=ACCOUNT, region=REGION)

    def call(task: ScheduleTask) -> TaskSucceeded:
        return TaskSucceeded(task.task_id, Payload(function_result(handlers[-1], task)))

    return try_state(
        compile_definition(definition), setup, call, identity=identity, now_ms=1_700_000_000_000, seed=seed
    )


def mock_of(mock: dict[str, Any] | None) -> Payload | Failure | None:
    if mock is None:
        return None
    if "result" in mock:
        return Payload.from_text(mock["result"])
    return Failure(mock["errorOutput"]["error"], mock["errorOutput"].get("cause"))


def function_result(handler: str, task: ScheduleTask) -> Any:
    """What the functions of the recordings give back."""
    if handler == "return_bytes_str":
        return "HelloWorld!"
    assert handler == "id_function"
    payload = task.parameters.value["Payload"] or {}
    return {"ExecutedVersion": "$LATEST", "Payload": payload, **SDK_MEMBERS, "StatusCode": 200}
