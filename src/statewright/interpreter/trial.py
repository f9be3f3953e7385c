"""A trial: one state run alone, with inspection. The third driver of the interpreter; pure, too.

`begin_trial` runs the state up to the call that its Task makes, or to its end; a mock answers for a Task, a Map or a
Parallel. Checks here need the program: which requests fit which state. Leaves the texts of mocks, context objects and
definitions, and the wire form of `inspectionData`, to the API.

Source: API reference, TestState, where no comment says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from statewright.asl.program import MapDef, ParallelDef, Program, ScopeDef, StateDef, TaskDef
from statewright.errors import RUNTIME, ApiError, ExecutionFailure, Failure
from statewright.interpreter.advance import advance, new_execution, resume
from statewright.interpreter.commands import ScheduleTask, StartMapRun, StartTimer
from statewright.interpreter.dataflow import exit_state, item_scope, scope_of
from statewright.interpreter.events import BurstContinued, Event, TaskFailed, TaskSucceeded
from statewright.interpreter.failing import state_failed
from statewright.interpreter.inspection import Inspection
from statewright.interpreter.map_run.items import close_batch, own_items, select, selection_of, take_items, with_keys
from statewright.interpreter.map_run.state import MapRunState, new_map_run
from statewright.interpreter.phases import BACKING_OFF, TASK
from statewright.interpreter.state import ROOT, ExecutionState, Frame, Identity
from statewright.interpreter.turn import Turn
from statewright.limits import AWS, Limits
from statewright.payload import Json, JsonObject, Payload, dump_json
from statewright.query.scope import Entropy

Mock = Payload | Failure
"""The result that a Task, Map or Parallel is to have, or the error that it is to fail with."""

TrialStatus = Literal["SUCCEEDED", "FAILED", "RETRIABLE", "CAUGHT_ERROR"]

STATE_NAME: Final = "StateName"
"""The name of a state that comes without a machine (observed)."""


@dataclass(frozen=True, slots=True)
class TrialSetup:
    """The input of a trial. `context` replaces the whole context object; without it one is made up.

    `retrier_retry_count` is how often the retrier that matches the mocked error has retried before.
    `map_item_reader_data` is what an ItemReader has read: a JSON document, or the list of items of any other format.
    """

    state_name: str
    input: Payload
    mock: Mock | None = None
    variables: Mapping[str, Json] = field(default_factory=dict)
    context: dict[str, Json] | None = None
    retrier_retry_count: int = 0
    error_caused_by_state: str | None = None
    map_iteration_failure_count: int | None = None
    map_item_reader_data: Payload | None = None


@dataclass(frozen=True, slots=True)
class StateTrial:
    """The result of a trial. `output` is set if the state was left, `next_state` if another one follows.

    `inspection` is `inspectionData` with JSON values in place of texts. `choice` is the number of the rule that a
    Choice has taken, `None` for its Default.
    """

    status: TrialStatus
    output: Payload | None
    next_state: str | None
    error: str | None
    cause: str | None
    inspection: dict[str, Json]
    choice: int | None = None


@dataclass(frozen=True, slots=True)
class PendingTrial:
    """A Task without a mock, up to its call. Make the call, then `finish_trial`, once.

    `timers` are the task's own: send their `TimerFired` if they are due before the answer.
    """

    task: ScheduleTask
    timers: tuple[StartTimer, ...]
    trial: _Trial


@dataclass(frozen=True, slots=True)
class _Trial:
    program: Program
    setup: TrialSetup
    definition: StateDef
    state: ExecutionState
    frame: Frame
    inspection: Inspection
    limits: Limits


def begin_trial(
    program: Program,
    setup: TrialSetup,
    *,
    identity: Identity,
    now_ms: int,
    seed: bytes,
    limits: Limits = AWS,
) -> StateTrial | PendingTrial:
    """Run one state of a program; a Task without a mock stops at its call.

    `identity` is what the made-up context object shows; `trial_identity` makes one. A Wait ends at once.

    Raises: ApiError for an impossible trial: no such state, a mock that does not fit, or one that is missing.
    """
    scope, definition = _find(program, setup.state_name)
    if setup.mock is None:
        _refuse_without_mock(definition, setup, identity)
    else:
        _refuse_with_mock(program, definition, setup, setup.mock)
    trial = _prepare(program, setup, scope, definition, identity, now_ms, seed, limits)
    frame = trial.frame
    # A budget of one transition ends the burst once the state is left.
    step = advance(program, trial.state, BurstContinued(), now_ms, limits=limits, budget=1, inspection=trial.inspection)
    if frame.phase == TASK:
        task = next(command for command in step.commands if isinstance(command, ScheduleTask))
        pending = PendingTrial(task, tuple(c for c in step.commands if isinstance(c, StartTimer)), trial)
        if setup.mock is None:
            return pending
        return finish_trial(pending, _event_of(task, setup.mock), now_ms)
    if setup.mock is not None and trial.inspection.failure is None and trial.state.status == "RUNNING":
        turn = Turn(program, trial.state, now_ms, limits, 0, trial.inspection)
        command = next((command for command in step.commands if isinstance(command, StartMapRun)), None)
        mock = setup.mock
        resume(turn, frame, lambda: _answer(turn, trial, command, mock))
    return _outcome(trial)


def finish_trial(pending: PendingTrial, event: Event, now_ms: int) -> StateTrial:
    """Finish a trial with the end of its call: the task's success, failure or refusal, or one of its timers.

    Raises: ValueError for an event that does not end the task.
    """
    trial = pending.trial
    state, limits, inspection = trial.state, trial.limits, trial.inspection
    advance(trial.program, state, event, now_ms, limits=limits, budget=0, inspection=inspection)
    if trial.frame.phase == TASK and state.status == "RUNNING":
        raise ValueError(f"the task still waits after {event!r}")
    return _outcome(trial)


def try_state(
    program: Program,
    setup: TrialSetup,
    call: Callable[[ScheduleTask], Event] | None = None,
    *,
    identity: Identity,
    now_ms: int,
    seed: bytes,
    limits: Limits = AWS,
) -> StateTrial:
    """A whole trial; `call` makes the call of a Task without a mock, in no time.

    Raises: as `begin_trial`; ValueError when a call is to be made and there is no `call`.
    """
    begun = begin_trial(program, setup, identity=identity, now_ms=now_ms, seed=seed, limits=limits)
    if isinstance(begun, StateTrial):
        return begun
    if call is None:
        raise ValueError(f"state '{setup.state_name}' calls {begun.task.resource.short_name}: give a mock or a call")
    return finish_trial(begun, call(begun.task), now_ms)


def map_items(
    program: Program, setup: TrialSetup, *, identity: Identity, now_ms: int, seed: bytes, limits: Limits = AWS
) -> list[Json] | None:
    """The items that an inline Map goes through, before its ItemSelector; `None` for any other state, or none.

    Raises: ApiError for an impossible trial.
    """
    scope, definition = _find(program, setup.state_name)
    trial = _prepare(program, setup, scope, definition, identity, now_ms, seed, limits)
    advance(program, trial.state, BurstContinued(), now_ms, limits=limits, budget=1, inspection=trial.inspection)
    children = trial.frame.children
    return list(children.items.value) if children is not None and children.items is not None else None


def trial_identity(seed: bytes, role_arn: str, *, account: str, region: str) -> Identity:
    """The identity in a made-up context object: an express execution and a machine, both named by a UUID (observed)."""
    entropy = Entropy(seed)
    machine, name = entropy.uuid4(), entropy.uuid4()
    prefix = f"arn:aws:states:{region}:{account}"
    return Identity(
        execution_arn=f"{prefix}:express:{machine}:{name}",
        name=name,
        state_machine_arn=f"{prefix}:stateMachine:{machine}",
        state_machine_name=machine,
        role_arn=role_arn,
        region=region,
        execution_type="EXPRESS",
    )


def machine_of(state: JsonObject) -> JsonObject:
    """The definition of a machine around the definition of a single state; its targets do not exist."""
    return {"StartAt": STATE_NAME, "States": {STATE_NAME: state}}


# ------------------------------------------------------------------ refusals

_MOCKABLE: Final = frozenset({"Task", "Map", "Parallel"})
_FAILURE_COUNT_WITHOUT_MOCK = "TestState does not support MapIterationFailureCount when a mock is not specified."
_CONTAINER_WITHOUT_MOCK = (
    "TestState API does not support Map or Parallel states. "
    "Supported state types include: [Task, Wait, Pass, Succeed, Fail, Choice]"
)
_WAITING_TASK_WITHOUT_MOCK = (
    "TestState API supports activities and the '.sync' and '.waitForTaskToken' service integration patterns only when "
    "a mock is specified."
)
"""Ours: the service's words were never recorded."""
_NO_ROLE = "RoleArn must be specified when testing a Task state"
_TASK_IN_CONTEXT = (
    "Invalid Context object provided: Context object contains 'Task' when state is not a Task state with a '.sync' or "
    "'.waitForTaskToken' service integration pattern"
)
_NOT_AN_ARRAY = "Mocked result must be an array."
_NOT_AN_OBJECT = "Mocked result must be a JSON object."
_WRONG_BRANCHES = "Mocked result must contain the same number of items as number of Parallel branches."
_TOO_MANY_FAILURES = "Map iteration failure count must be less than or equal to the number of Map iterations"


def _invalid(message: str) -> ApiError:
    return ApiError("ValidationException", message)


def _find(program: Program, name: str) -> tuple[ScopeDef, StateDef]:
    for scope in program.scopes:
        if name in scope.states:
            return scope, scope.states[name]
    raise _invalid("State not found in definition")


def _refuse_without_mock(definition: StateDef, setup: TrialSetup, identity: Identity) -> None:
    if setup.map_iteration_failure_count is not None:
        raise _invalid(_FAILURE_COUNT_WITHOUT_MOCK)
    body = definition.body
    if isinstance(body, (MapDef, ParallelDef)):
        raise ApiError("InvalidDefinition", _CONTAINER_WITHOUT_MOCK)
    if isinstance(body, TaskDef):
        if body.resource.pattern != "request":
            raise ApiError("InvalidDefinition", _WAITING_TASK_WITHOUT_MOCK)
        if not identity.role_arn:
            raise _invalid(_NO_ROLE)


def _refuse_with_mock(program: Program, definition: StateDef, setup: TrialSetup, mock: Mock) -> None:
    if definition.type not in _MOCKABLE:
        raise _invalid(f"State type '{definition.type}' is not supported when a mock is specified")
    body = definition.body
    if setup.context is not None and "Task" in setup.context:
        resource = body.resource if isinstance(body, TaskDef) else None
        if resource is None or resource.kind == "activity" or resource.pattern == "request":
            raise _invalid(_TASK_IN_CONTEXT)
    if isinstance(mock, Payload):
        if isinstance(body, MapDef) and _exports(body):
            if not isinstance(mock.value, dict):
                raise _invalid(_NOT_AN_OBJECT)
        elif isinstance(body, (MapDef, ParallelDef)) and not isinstance(mock.value, list):
            raise _invalid(_NOT_AN_ARRAY)
        if isinstance(body, ParallelDef) and len(mock.value) != len(body.scopes):
            raise _invalid(_WRONG_BRANCHES)
    origin = setup.error_caused_by_state
    if origin is not None and not _holds(program, definition, origin):
        # Ours: no recording shows this check in the service, but such a trial would test nothing.
        raise _invalid(f"State '{origin}', which is to cause the error, is not a state inside '{definition.name}'")


def _exports(body: MapDef) -> bool:
    """True if a ResultWriter puts the results elsewhere, so that the state's result only names their place."""
    writer = body.distributed.writer if body.distributed is not None else None
    return writer is not None and writer.resource is not None


def _holds(program: Program, definition: StateDef, name: str) -> bool:
    """True if a state is the named one, or has it inside at any depth."""
    if name == definition.name:
        return True
    scope: ScopeDef | None = next((scope for scope in program.scopes if name in scope.states), None)
    while scope is not None and scope.owner is not None:
        if scope.owner == definition.name:
            return True
        scope = program.scopes[scope.parent] if scope.parent is not None else None
    return False


# ------------------------------------------------------------------ the state and its surroundings


def _prepare(
    program: Program,
    setup: TrialSetup,
    scope: ScopeDef,
    definition: StateDef,
    identity: Identity,
    now_ms: int,
    seed: bytes,
    limits: Limits,
) -> _Trial:
    state = new_execution(identity, setup.input, seed)
    state.started_ms = now_ms
    state.variables_bytes = sum(len(dump_json(value).encode()) for value in setup.variables.values())
    frame = Frame(ROOT, -1, scope.index, 0, definition.name, setup.input)
    frame.variables = dict(setup.variables)
    frame.retry_count = setup.retrier_retry_count
    frame.retries = [setup.retrier_retry_count] * len(definition.retry)
    state.frames[ROOT] = frame
    state.ready.append(ROOT)
    inspection = Inspection(definition, setup.context, _map_item(program, scope, setup.input))
    return _Trial(program, setup, definition, state, frame, inspection, limits)


def _map_item(program: Program, scope: ScopeDef, input: Payload) -> Json:
    """`Map.Item` for a state inside a Map: its input counts as the first item. `None` for any other state."""
    while scope.parent is not None and scope.owner is not None:
        parent = program.scopes[scope.parent]
        if parent.states[scope.owner].type == "Map":
            return {"Index": 0, "Value": input.value, "Source": "STATE_DATA"}
        scope = parent
    return None


# ------------------------------------------------------------------ mocks


def _event_of(task: ScheduleTask, mock: Mock) -> Event:
    if isinstance(mock, Failure):
        return TaskFailed(task.task_id, mock.error, mock.cause)
    return TaskSucceeded(task.task_id, mock)


def _answer(turn: Turn, trial: _Trial, command: StartMapRun | None, mock: Mock) -> bool:
    """End a Map or Parallel that is about to start its children; returns True if its frame continues immediately."""
    frame, definition, body = trial.frame, trial.definition, trial.definition.body
    if isinstance(body, MapDef):
        iterations = _note_items(turn, trial, body, command)
        failures = trial.setup.map_iteration_failure_count or 0
        if iterations is not None and failures > iterations:
            raise _invalid(_TOO_MANY_FAILURES)
        if isinstance(mock, Payload) and _over_tolerance(trial.inspection.data, failures, iterations):
            mock = _THRESHOLD_EXCEEDED
    if isinstance(mock, Failure):
        return state_failed(turn, frame, definition, mock)
    return exit_state(turn, frame, definition, scope_of(turn, frame, definition), mock)


_THRESHOLD_EXCEEDED: Final = Failure(
    "States.ExceedToleratedFailureThreshold", "The specified tolerated failure threshold was exceeded"
)


def _over_tolerance(noted: dict[str, Json], failures: int, iterations: int | None) -> bool:
    count, percentage = noted.get("toleratedFailureCount"), noted.get("toleratedFailurePercentage")
    if count is None and percentage is None:
        return failures > 0
    if count is not None and failures > count:
        return True
    return percentage is not None and iterations is not None and failures * 100 > percentage * iterations


def _note_items(turn: Turn, trial: _Trial, body: MapDef, command: StartMapRun | None) -> int | None:
    """Note the items of the iterations; returns their number, `None` if that is not known.

    Raises: ExecutionFailure.
    """
    if command is not None:
        return _note_map_run_items(turn, trial, body, command)
    children = trial.frame.children
    assert children is not None
    assert children.items is not None
    items = children.items.value
    if body.item_selector is not None:
        selected = []
        for index, value in enumerate(items):
            item = {"Index": index, "Value": value, "Source": "STATE_DATA"}
            scope = item_scope(turn, trial.frame, trial.definition, children.input.value, item)
            selected.append(body.item_selector(scope))
        trial.inspection.note("afterItemSelector", selected)
    return len(items)


def _note_map_run_items(turn: Turn, trial: _Trial, body: MapDef, command: StartMapRun) -> int | None:
    items = command.items
    distributed = body.distributed
    assert distributed is not None
    if distributed.reader is not None:
        read = trial.setup.map_item_reader_data
        if read is None:
            return None
        items = _iterable(read.value, distributed.items_pointer)
        if distributed.items_pointer is not None:
            trial.inspection.note("afterItemsPointer", items.value)
    assert items is not None
    count = min(len(items.value), command.max_items or len(items.value))
    source = new_map_run(command, "").settings.source
    run = new_map_run(replace(command, items=items, batch_items=None, batch_bytes=None), "")
    values, keys = own_items(run, count)
    if body.item_selector is None:
        values = with_keys(values, keys)
    else:
        found = select(body.item_selector, selection_of(run, values, keys, source, turn.now_ms))
        if found.failure is not None:
            raise ExecutionFailure(found.failure.error or RUNTIME, found.failure.cause or "")
        values = found.values
    take_items(run, values, trial.limits.payload_bytes)
    selected = _child_inputs(run)
    if body.item_selector is not None:
        trial.inspection.note("afterItemSelector", selected)
    if distributed.batcher is not None:
        run = new_map_run(command, "")
        take_items(run, selected, trial.limits.payload_bytes)
        close_batch(run)
        trial.inspection.note("afterItemBatcher", _child_inputs(run))
    return count


def _child_inputs(run: MapRunState) -> list[Json]:
    return [child.input.value for child in run.children if child.input is not None]


def _iterable(document: Json, pointer: str | None) -> Payload:
    """The items at an ItemsPointer (RFC 6901) in the data that was read. Raises: ExecutionFailure."""
    found = document
    for step in (pointer or "").split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and name in found:
            found = found[name]
        elif isinstance(found, list) and name.isascii() and name.isdigit() and int(name) < len(found):
            found = found[int(name)]
        else:
            # The service's words for this were never recorded.
            raise ExecutionFailure("States.ItemReaderFailed", f"ItemsPointer '{pointer}' leads to nothing.")
    if not isinstance(found, (list, dict)):
        raise ExecutionFailure("States.ItemReaderFailed", "Attempting to map over non-iterable node.")
    return Payload(found)


# ------------------------------------------------------------------ the end


def _outcome(trial: _Trial) -> StateTrial:
    state, frame, inspection = trial.state, trial.frame, trial.inspection
    if state.status == "FAILED":
        return StateTrial("FAILED", None, None, state.error, state.cause, inspection.to_data())
    failure = inspection.failure
    if failure is not None and frame.phase == BACKING_OFF:
        return StateTrial("RETRIABLE", None, None, failure.error, failure.cause, inspection.to_data())
    data = inspection.to_data(frame.variables)
    if state.status == "SUCCEEDED":
        return StateTrial("SUCCEEDED", state.output, None, None, None, data, inspection.choice)
    if failure is not None:
        return StateTrial("CAUGHT_ERROR", frame.input, frame.state, failure.error, failure.cause, data)
    return StateTrial("SUCCEEDED", frame.input, frame.state, None, None, data, inspection.choice)
