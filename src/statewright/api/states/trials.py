"""TestState: one state, executed by itself.

Owns the checks of the request and the form of the answer; the trial itself is `interpreter.trial`, the check of mocked
results `api.mock_shapes`. A Task without a mock makes its call through the same integrations as an execution.

Source: API reference, TestState; texts observed unless a comment says otherwise.
"""

from __future__ import annotations

import asyncio
from typing import Final, cast

from statewright import chance
from statewright.api.operations import App, Call, operation
from statewright.api.states.host_prefix import hint_at_host_prefix
from statewright.asl.program import Program, StateDef, TaskDef
from statewright.asl.text import jackson
from statewright.clock import Timer
from statewright.engine.dispatch import call_of, event_of
from statewright.engine.machines.long_definitions import worked_on
from statewright.engine.trials import Attempt, Called, begin, finish, program_of
from statewright.errors import TIMEOUT, ApiError, Failure
from statewright.interpreter.events import Event, TaskFailed, TimerFired
from statewright.interpreter.state import Identity
from statewright.interpreter.trial import STATE_NAME, Mock, StateTrial, TrialSetup, trial_identity
from statewright.payload import Json, JsonMapping, JsonObject, JsonTextError, Payload, dump_json, parse_json

LONGEST_TRIAL_MS: Final = 5 * 60 * 1000
"""Source: developer guide, "Using TestState API": a test can run for up to five minutes."""

NUMBERS: Final = frozenset({"maxConcurrency", "toleratedFailureCount", "toleratedFailurePercentage", "errorDetails"})
"""Members of `inspectionData` that are not JSON texts. Source: service model."""


@operation("states", "TestState", waits=True)
async def test_state(app: App, call: Call, request: JsonObject) -> Json:
    """Execute one state with the given input, mock and context; answer with its output and the requested inspection."""
    hint_at_host_prefix(call)
    level = request.get("inspectionLevel", "INFO")
    mock = _mock_of(request)
    if mock is None and request.get("context") is not None:
        raise _invalid("TestState does not support Context when a mock is not specified.")
    text, named = request["definition"], "stateName" in request
    name = request["stateName"] if named else STATE_NAME
    program = await worked_on(app.clock, text, program_of, text, named)
    setup = _setup_of(request, name, mock)
    definition = _state_named(program, name)
    if isinstance(mock, Payload) and definition is not None and isinstance(definition.body, TaskDef):
        # botocore's models are loaded for a mock only, and off the loop: the large ones take a third of a second.
        from statewright.api.mock_shapes import check_mock

        mode = request["mock"].get("fieldValidationMode", "STRICT")
        with app.clock.busy():
            await asyncio.to_thread(check_mock, definition.body.resource, mock.value, mode)
    seed = chance.random_bytes(32)
    account, region = app.config.account, app.config.region
    identity = trial_identity(seed, request.get("roleArn", ""), account=account, region=region)
    attempt = Attempt(text, named, setup, identity, app.clock.now_ms(), seed)
    begun = await app.engine.heavy.run(begin, attempt)
    traced: JsonObject = {}
    if isinstance(begun, Called):
        event, traced = await _make_call(app, begun, identity, reveal_secrets=bool(request.get("revealSecrets")))
        trial = await app.engine.heavy.run(finish, attempt, event, app.clock.now_ms())
    else:
        trial = begun
    return _answer(trial, level, traced)


def _invalid(message: str) -> ApiError:
    return ApiError("ValidationException", message)


# ------------------------------------------------------------------ the request


def _mock_of(request: JsonMapping) -> Mock | None:
    mock = request.get("mock")
    if mock is None:
        return None
    if ("result" in mock) == ("errorOutput" in mock):
        raise _invalid("A test mock should have only one of the following fields: [result, errorOutput].")
    if request.get("revealSecrets"):
        raise _invalid("TestState does not support RevealSecrets when a mock is specified.")
    if "errorOutput" in mock:
        return Failure(mock["errorOutput"].get("error"), mock["errorOutput"].get("cause"))
    return Payload(_json_of(mock["result"], "Mocked result must be valid JSON"))


def _state_named(program: Program, name: str) -> StateDef | None:
    return next((scope.states[name] for scope in program.scopes if name in scope.states), None)


def _setup_of(request: JsonMapping, name: str, mock: Mock | None) -> TrialSetup:
    configuration = request.get("stateConfiguration", {})
    variables = _json_of(request.get("variables", "{}"), "Variables must be valid JSON")
    if not isinstance(variables, dict):
        raise _invalid("Variables must be a JSON object")
    read = configuration.get("mapItemReaderData")
    return TrialSetup(
        state_name=name,
        input=_input_of(request.get("input", "{}")),
        mock=mock,
        variables=variables,
        context=_context_of(request["context"]) if "context" in request else None,
        retrier_retry_count=configuration.get("retrierRetryCount", 0),
        error_caused_by_state=configuration.get("errorCausedByState"),
        map_iteration_failure_count=configuration.get("mapIterationFailureCount"),
        map_item_reader_data=Payload(_json_of(read, "MapItemReaderData must be valid JSON")) if read else None,
    )


def _json_of(text: str, refusal: str) -> Json:
    try:
        return parse_json(text)
    except JsonTextError:
        raise _invalid(refusal) from None


def _input_of(text: str) -> Payload:
    try:
        return Payload.from_text(text)
    except JsonTextError as problem:
        fault = jackson.first_fault(text)
        reason = fault.reason if fault is not None else problem.message
        message = f"Invalid State Machine Execution Input: '{reason}'"
        raise ApiError("InvalidExecutionInput", message) from None


# ------------------------------------------------------------------ the context object

_CONTEXT: Final[dict[str, dict[str, str]]] = {
    "Execution": {
        "Id": "a string",
        "Input": "anything",
        "Name": "a string",
        "RoleArn": "a string",
        "StartTime": "a string",
        "RedriveCount": "a number",
        "RedriveTime": "a string",
    },
    "State": {"EnteredTime": "a string", "Name": "a string", "RetryCount": "a number"},
    "StateMachine": {"Id": "a string", "Name": "a string"},
    "Task": {"Token": "a string"},
}
"""Fields of a context object. Source: developer guide, "Accessing execution data from the Context object"."""


def _context_of(text: str) -> JsonObject:
    """Read a context object that replaces the whole one.

    Raises: ApiError. Observed: the texts for an unknown field, a wrong type and `Map`; others by analogy.
    """
    context = _json_of(text, "Invalid Context object provided: Context must be valid JSON")
    if not isinstance(context, dict):
        raise _bad_context("Context must be a JSON object")
    for name, members in context.items():
        if name == "Map":
            raise _bad_context("'Map' field is not supported when mocking a Context object")
        if name not in _CONTEXT:
            raise _bad_context(f"Field '{name}' is not allowed")
        if not isinstance(members, dict):
            raise _bad_context(f"{name} must be an object")
        for member, value in members.items():
            if member not in _CONTEXT[name]:
                raise _bad_context(f"Field '{member}' is not allowed")
            if not _has_type(value, _CONTEXT[name][member]):
                raise _bad_context(f"{name}.{member} must be {_CONTEXT[name][member]}")
    return cast("JsonObject", context)


def _bad_context(reason: str) -> ApiError:
    return _invalid(f"Invalid Context object provided: {reason}")


def _has_type(value: Json, expected: str) -> bool:
    if expected == "a string":
        return isinstance(value, str)
    if expected == "a number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return True


# ------------------------------------------------------------------ a Task without a mock


async def _make_call(app: App, called: Called, identity: Identity, *, reveal_secrets: bool) -> tuple[Event, JsonObject]:
    """Make the task's call; returns its end, by its result or the first timer, whichever comes first."""
    clock = app.clock
    now_ms = clock.now_ms()
    key = f"trial-{identity.name}"
    scheduled = call_of(called.task, identity.execution_arn, identity.role_arn, identity.region, key, now_ms)
    answer = asyncio.ensure_future(app.integrations.trace(scheduled, reveal_secrets=reveal_secrets))
    over: asyncio.Future[Event] = asyncio.get_running_loop().create_future()
    waited_for: list[asyncio.Future[Json]] = [answer, over]

    def end_with(event: Event) -> None:
        if not over.done():
            over.set_result(event)

    ends: list[tuple[int, Event]] = [(timer.due_at_ms, TimerFired(timer.timer_id)) for timer in called.timers]
    ends.append((now_ms + LONGEST_TRIAL_MS, TaskFailed(called.task.task_id, TIMEOUT, None)))
    due_ms, event = min(ends, key=lambda end: end[0])
    timer: Timer = clock.call_at(due_ms, lambda: end_with(event))
    try:
        await asyncio.wait(waited_for, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            return over.result(), {}
        result, traced = answer.result()
        return event_of(scheduled, result), traced
    finally:
        timer.cancel()
        answer.cancel()
        over.cancel()


# ------------------------------------------------------------------ the answer


def _answer(trial: StateTrial, level: str, traced: JsonMapping) -> JsonObject:
    answer: JsonObject = {
        "output": trial.output.text if trial.output is not None else None,
        "error": trial.error,
        "cause": trial.cause,
        "nextState": trial.next_state,
        "status": trial.status,
    }
    answer = {member: value for member, value in answer.items() if value is not None}
    if level != "INFO":
        shown = {name: value if name in NUMBERS else dump_json(value) for name, value in trial.inspection.items()}
        if level == "TRACE":
            shown.update(traced)
        answer["inspectionData"] = shown
    return answer
