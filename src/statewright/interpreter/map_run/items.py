"""Items of a distributed Map on their way into child executions: ItemSelector, ItemBatcher, the size limit.

Leaves reading the items and starting children to `advance.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Final

from statewright.asl.program import Evaluate
from statewright.errors import DATA_LIMIT, WordedFailure
from statewright.interpreter.map_run.state import PENDING, MapChild, MapRunState
from statewright.payload import Json, JsonObject, Payload, dump_json
from statewright.query.scope import NO_VARIABLES, Scope

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


def take_items(
    state: MapRunState,
    selector: Evaluate | None,
    items: Sequence[Json],
    keys: Sequence[str] | None,
    source: str | None,
    now_ms: int,
    payload_bytes: int | None,
) -> None:
    """Make children of the items that come next.

    Raises: ExecutionFailure when the ItemSelector fails or an input is over the payload limit.
    """
    limit = payload_bytes if payload_bytes is not None else NO_LIMIT
    settings = state.settings
    batches = settings.batch_items is not None or settings.batch_bytes is not None
    select = _selecting(state, selector, source or settings.source, now_ms) if selector is not None else None
    for offset, value in enumerate(items):
        key = keys[offset] if keys is not None else None
        if select is not None:
            value = select(state.items_read, key, value)
        elif key is not None:
            value = {"Key": key, "Value": value}
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


def _selecting(
    state: MapRunState, selector: Evaluate, source: str, now_ms: int
) -> Callable[[int, str | None, Json], Json]:
    """A function of index, key and value that evaluates the ItemSelector."""
    settings = state.settings
    data: Json = settings.input.value if settings.input is not None else {}
    variables: Mapping[str, Json] = settings.variables.value if settings.variables is not None else NO_VARIABLES
    outer: dict[str, Json] = settings.context.value if settings.context is not None else {}
    entropy = state.entropy

    def select(index: int, key: str | None, value: Json) -> Json:
        item: dict[str, Json] = {"Index": index, "Value": value, "Source": source}
        if key is not None:
            item["Key"] = key
        context: JsonObject = {**outer, "Map": {"Item": item}}
        return selector(Scope(data, variables, lambda: context, entropy=entropy, now_ms=now_ms))

    return select


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
