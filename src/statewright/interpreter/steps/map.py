"""Inline Map: one child frame for each item, with limited concurrency. A distributed Map becomes a Map Run."""

from __future__ import annotations

from statewright.asl.program import MapDef, StateDef
from statewright.interpreter.dataflow import effective_input, exit_state, item_scope, scope_of
from statewright.interpreter.phases import CHILDREN, SPAWNING
from statewright.interpreter.state import Children, Frame
from statewright.interpreter.steps.map_run_start import start_map_run
from statewright.interpreter.turn import Turn
from statewright.payload import Json, Payload


def begin_map(turn: Turn, frame: Frame, definition: StateDef, *, unheard_of: bool = False) -> bool:
    """Evaluate the items and start the iterations, or the Map Run.

    `unheard_of`: the history already names the Map Run, but it never began.
    """
    scope = scope_of(turn, frame, definition)
    payload = effective_input(turn, frame, definition, scope)
    body = definition.body
    assert isinstance(body, MapDef)
    reads_items = body.distributed is not None and body.distributed.reader is not None
    items = [] if reads_items else body.items(scope)
    if not reads_items:
        _note(turn, "afterItemsPath", items)
    concurrency = body.max_concurrency(scope) if body.max_concurrency is not None else 0
    _note(turn, "maxConcurrency", concurrency)
    started = frame.last_event if unheard_of else turn.record(frame, "MapStateStarted", {"length": len(items)})
    count = body.tolerated_count(scope) if body.tolerated_count is not None else None
    _note(turn, "toleratedFailureCount", count)
    percentage = body.tolerated_percentage(scope) if body.tolerated_percentage is not None else None
    _note(turn, "toleratedFailurePercentage", percentage)
    if body.distributed is not None:
        tolerance = (count, percentage)
        listed = None if reads_items else items
        arn = frame.map_run[0] if unheard_of and frame.map_run is not None else None
        return start_map_run(turn, frame, definition, body, scope, payload, listed, concurrency, tolerance, arn)
    if not items and turn.inspection is None:
        turn.record_beside(started, "MapStateSucceeded")
        return exit_state(turn, frame, definition, scope, Payload([]))
    cap = turn.limits.inline_map_concurrency
    limit = min(concurrency or len(items), len(items))
    if cap is not None:
        limit = min(limit, cap)
    base = turn.state.next_frame_id
    turn.state.next_frame_id = base + len(items)
    frame.children = Children(base, len(items), limit, payload, Payload(items), started)
    frame.phase = SPAWNING
    return True


def spawn(turn: Turn, frame: Frame, definition: StateDef) -> bool:
    """Start iterations until the limit, the last item, or the end of this turn's budget; True: continue later."""
    children = frame.children
    body = definition.body
    assert children is not None
    assert children.items is not None
    assert isinstance(body, MapDef)
    state = turn.state
    start_at = turn.program.scopes[body.scope].start_at
    items = children.items.value
    while children.next_index < children.length and children.open < children.limit:
        if turn.transitions_left <= 0:
            return True
        index = children.next_index
        child_input = _iteration_input(turn, frame, definition, body, children, items[index])
        child = Frame(children.base + index, frame.id, body.scope, index, start_at, child_input)
        details = {"name": definition.name, "index": index}
        # The limit on events may end the execution here: an iteration that has not started is not counted.
        child.last_event = turn.record_beside(children.after_event, "MapIterationStarted", details)
        children.next_index = index + 1
        children.open += 1
        state.frames[child.id] = child
        turn.changed.add(child.id)
        state.ready.append(child.id)
        turn.transitions_left -= 1
    frame.phase = CHILDREN
    return False


def _iteration_input(
    turn: Turn, frame: Frame, definition: StateDef, body: MapDef, children: Children, value: Json
) -> Payload:
    if body.item_selector is None:
        return Payload(value)
    item = {"Index": children.next_index, "Value": value, "Source": "STATE_DATA"}
    scope = item_scope(turn, frame, definition, children.input.value, item)
    payload = Payload(body.item_selector(scope))
    if payload.size_bytes > turn.payload_bytes:
        raise turn.too_large(definition.name, "provided parameters")
    return payload


def _note(turn: Turn, member: str, value: Json) -> None:
    """Note the evaluated settings for a trial; a tolerance that is not set is left out."""
    if turn.inspection is not None and value is not None:
        turn.inspection.note(member, value)
