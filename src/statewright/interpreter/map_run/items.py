"""Items of a distributed Map on their way into child executions: ItemSelector, ItemBatcher, the size limit.

Leaves reading the items and starting children to `advance.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from statewright.asl.program import Evaluate
from statewright.errors import DATA_LIMIT, ExecutionFailure, Failure, WordedFailure
from statewright.interpreter.map_run.state import PENDING, MapChild, MapRunState
from statewright.payload import Json, JsonObject, Payload, dump_json
from statewright.query.scope import NO_VARIABLES, Entropy, Scope

NO_LIMIT: Final = 1 << 62


def own_items(state: MapRunState, count: int) -> tuple[Sequence[Json], Sequence[str] | None]:
    """The next items of the Map's own input, and their keys if it is an object."""
    items = state.settings.items
    assert items is not None
    first = state.items_read
    value = items.value
    if isinstance(value, dict):
        keys = list(islice(value, first, first + count))
        return [value[key] for key in keys], keys
    return value[first : first + count], None


@dataclass(frozen=True, slots=True)
class Selection:
    """A slice of items for an ItemSelector, and the surroundings that all items share. `first` is an index."""

    data: Json
    variables: Mapping[str, Json]
    context: JsonObject
    source: str
    first: int
    items: Sequence[Json]
    keys: Sequence[str] | None
    now_ms: int
    seed: bytes
    drawn: int


@dataclass(frozen=True, slots=True)
class Selected:
    """The result of an ItemSelector over a slice: values up to the first failure. `drawn` counts the draws.

    `failure` is an error and its cause; `is_worded`: the cause names the state already.
    """

    values: Sequence[Json]
    drawn: int
    failure: Failure | None = None
    is_worded: bool = False


def selection_of(
    state: MapRunState, items: Sequence[Json], keys: Sequence[str] | None, source: str | None, now_ms: int
) -> Selection:
    """The slice that comes next, for the ItemSelector."""
    settings = state.settings
    return Selection(
        settings.input.value if settings.input is not None else {},
        settings.variables.value if settings.variables is not None else NO_VARIABLES,
        settings.context.value if settings.context is not None else {},
        source or settings.source,
        state.items_read,
        items,
        keys,
        now_ms,
        state.entropy.seed,
        state.entropy.counter,
    )


def select(selector: Evaluate, selection: Selection) -> Selected:
    """Evaluate an ItemSelector for each item of a slice. Pure, so that it may be repeated elsewhere."""
    entropy = Entropy(selection.seed, selection.drawn)
    keys = selection.keys
    values: list[Json] = []
    for offset, value in enumerate(selection.items):
        item: dict[str, Json] = {"Index": selection.first + offset, "Value": value, "Source": selection.source}
        if keys is not None:
            item["Key"] = keys[offset]
        context: JsonObject = {**selection.context, "Map": {"Item": item}}
        scope = Scope(
            selection.data,
            selection.variables,
            lambda context=context: context,  # type: ignore[misc]
            entropy=entropy,
            now_ms=selection.now_ms,
        )
        try:
            values.append(selector(scope))
        except ExecutionFailure as problem:
            failure = Failure(problem.error, problem.cause)
            return Selected(values, entropy.counter, failure, isinstance(problem, WordedFailure))
    return Selected(values, entropy.counter)


def with_keys(items: Sequence[Json], keys: Sequence[str] | None) -> Sequence[Json]:
    """The inputs that items have without an ItemSelector."""
    return items if keys is None else [{"Key": key, "Value": value} for key, value in zip(keys, items, strict=True)]


def take_items(state: MapRunState, values: Sequence[Json], payload_bytes: int | None) -> None:
    """Make children of the inputs that come next.

    Raises: ExecutionFailure when an input is over the payload limit.
    """
    limit = payload_bytes if payload_bytes is not None else NO_LIMIT
    settings = state.settings
    batches = settings.batch_items is not None or settings.batch_bytes is not None
    for value in values:
        payload = Payload(value)
        if payload.size_bytes > limit:
            raise _too_large(settings.state)
        if batches:
            _batch(state, payload, limit)
        else:
            _add_child(state, payload, 1)
        state.items_read += 1


def close_batch(state: MapRunState) -> None:
    """Make a child of the items gathered so far, if there are any."""
    items = state.batch
    if items:
        state.batch = []
        state.batch_size = 0
        _add_child(state, Payload(_batch_input(state.settings.batch_input, items)), len(items))


def _batch(state: MapRunState, payload: Payload, limit: int) -> None:
    """Add an item to the open batch, which is closed before it becomes too large, and once it is full.

    The limit in bytes is compared with the whole input of the child. An item over it goes alone.
    """
    settings = state.settings
    most_bytes = min(settings.batch_bytes or NO_LIMIT, limit)
    if state.batch and state.batch_size + 1 + payload.size_bytes > most_bytes:
        close_batch(state)
    if state.batch:
        state.batch_size += 1 + payload.size_bytes
    else:
        state.batch_size = len(dump_json(_batch_input(settings.batch_input, [])).encode()) + payload.size_bytes
        if state.batch_size > limit:
            raise _too_large(settings.state)
    state.batch.append(payload.value)
    if len(state.batch) == settings.batch_items:
        close_batch(state)


def _batch_input(batch_input: Json, items: list[Json]) -> dict[str, Json]:
    return {"Items": items} if batch_input is None else {"BatchInput": batch_input, "Items": items}


def _add_child(state: MapRunState, payload: Payload, item_count: int) -> None:
    state.children.append(MapChild(len(state.children), payload, item_count))
    state.executions[PENDING] += 1
    state.items[PENDING] += item_count


def _too_large(name: str) -> WordedFailure:
    cause = (
        f"The state/task '{name}' provided parameters with a size exceeding the maximum number of bytes service limit."
    )
    return WordedFailure(DATA_LIMIT, cause)
