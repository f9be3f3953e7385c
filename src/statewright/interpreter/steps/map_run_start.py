"""A distributed Map as its parent sees it: one Map Run that starts, and later succeeds, fails or is aborted.

Leaves items, children and counts to `interpreter.map_run`.
"""

from __future__ import annotations

from statewright.asl.program import DistributedDef, Evaluate, MapDef, StateDef
from statewright.errors import Failure
from statewright.interpreter.commands import RedriveMapRun, StartMapRun
from statewright.interpreter.context import build_context, iterations_of
from statewright.interpreter.dataflow import exit_state, scope_of
from statewright.interpreter.failing import state_failed
from statewright.interpreter.history import failure_details
from statewright.interpreter.phases import MAP_RUN
from statewright.interpreter.state import Frame, OpenTask
from statewright.interpreter.turn import Turn
from statewright.payload import Json, JsonObject, Payload
from statewright.query.scope import Scope


def start_map_run(
    turn: Turn,
    frame: Frame,
    definition: StateDef,
    body: MapDef,
    scope: Scope,
    payload: Payload,
    items: Json,
    concurrency: int,
    tolerance: tuple[Json, Json],
    arn: str | None = None,
) -> bool:
    """Evaluate the settings of the Map Run, record its start and command it. Returns False: the frame waits.

    `arn` is that of a Map Run whose start is already recorded.
    """
    distributed = body.distributed
    assert distributed is not None
    reader, batcher, writer = distributed.reader, distributed.batcher, distributed.writer
    cap = turn.limits.map_run_concurrency
    wanted = concurrency or (cap if cap is not None else 0)
    context: Payload | None = None
    variables: Payload | None = None
    if body.item_selector is not None:
        context = Payload(build_context(turn, frame, definition))
        variables = Payload(dict(turn.variables_of(frame)))
    command: JsonObject = {
        "reader": _value(reader.arguments if reader else None, scope),
        "reader_config": _value(reader.config if reader else None, scope),
        "max_items": _value(reader.max_items if reader else None, scope),
        "max_concurrency": min(wanted, cap) if cap is not None else wanted,
        "tolerated_count": tolerance[0],
        "tolerated_percentage": tolerance[1],
        "batch_items": _value(batcher.max_items if batcher else None, scope),
        "batch_bytes": _value(batcher.max_bytes if batcher else None, scope),
        "batch_input": _value(batcher.batch_input if batcher else None, scope),
        "writer": _value(writer.arguments if writer else None, scope),
        "context": context,
        "variables": variables,
        "seed": turn.state.entropy.next_bytes(),
        "entered_event": frame.entered_event,
        "iterations": iterations_of(turn, frame),
        "attempt": frame.retry_count,
    }
    task_id = turn.state.new_id(frame.id)
    if arn is None:
        arn = map_run_arn(turn, distributed)
        turn.record(frame, "MapRunStarted", {"mapRunArn": arn})
        frame.map_run = (arn, 0)
    frame.task = OpenTask(task_id)
    frame.task.started = True
    frame.phase = MAP_RUN
    listed = None if items is None else Payload(items)
    turn.commands.append(StartMapRun(task_id, definition.name, body.scope, arn, body, payload, listed, **command))
    return False


def map_run_arn(turn: Turn, distributed: DistributedDef) -> str:
    """`arn:..:mapRun:<machine>/<label>:<uuid>`; a label is made up if the definition has none."""
    identity = turn.state.identity
    label = distributed.label or turn.state.entropy.uuid4()
    prefix, _, machine = identity.state_machine_arn.partition(":stateMachine:")
    # Labels are unique in a definition, so a run inside a child execution is named like one outside.
    machine = machine.partition(":")[0].partition("/")[0]
    return f"{prefix}:mapRun:{machine}/{label}:{turn.state.entropy.uuid4()}"


def map_run_succeeded(turn: Turn, frame: Frame, definition: StateDef, output: Payload) -> bool:
    """The run ended well: its output is the state's result.

    Observed: the chain goes from MapRunStarted to MapStateExited, past MapRunSucceeded and MapStateSucceeded.
    """
    frame.task = None
    frame.map_run = None
    succeeded = turn.record_beside(frame.last_event, "MapRunSucceeded")
    turn.record_beside(succeeded, "MapStateSucceeded")
    return exit_state(turn, frame, definition, scope_of(turn, frame, definition), output)


def map_run_failed(turn: Turn, frame: Frame, definition: StateDef, failure: Failure) -> bool:
    """The run failed: the state fails with its error."""
    turn.record(frame, "MapRunFailed", failure_details(failure.error, failure.cause))
    return state_failed(turn, frame, definition, failure)


def redrive_map_run(turn: Turn, frame: Frame) -> None:
    """Run the unsuccessful children of the same Map Run again."""
    assert frame.map_run is not None
    arn, redrives = frame.map_run
    frame.map_run = (arn, redrives + 1)
    task_id = turn.state.new_id(frame.id)
    turn.record(frame, "MapRunRedriven", {"mapRunArn": arn, "redriveCount": redrives + 1})
    frame.task = OpenTask(task_id)
    frame.task.started = True
    frame.phase = MAP_RUN
    turn.commands.append(RedriveMapRun(task_id, arn, redrives + 1))


def _value(evaluate: Evaluate | None, scope: Scope) -> Json:
    return evaluate(scope) if evaluate is not None else None
