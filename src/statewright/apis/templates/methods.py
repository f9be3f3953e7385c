"""The methods of Java's texts, numbers, lists and maps that templates may call: a closed list.

A method is a function of this module; no attribute of a Python value is ever reached by name. A method that the type
has not, or arguments that it does not take, give null, as Velocity does; what throws in Java fails the rendering.
`KNOWN` has all names: a call of any other is refused before deployment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from statewright.apis.templates import texts
from statewright.apis.templates.failures import RenderingFailed
from statewright.apis.templates.rendering import Rendering
from statewright.apis.templates.values import Entry, Items, equal, text_of
from statewright.payload import Json

Call = Callable[..., Json]
"""A method: rendering, receiver, arguments."""

NO_SUCH: Final[Json] = object()
"""The result of a method for arguments of types that it does not take."""


class Loop:
    """`$foreach` inside a loop. Properties and methods are in the tables below."""

    __slots__ = ("count", "index", "parent", "size")

    def __init__(self, size: int, parent: Json) -> None:
        self.index = -1
        self.count = 0
        self.size = size
        self.parent = parent


def property_of(value: Json, name: str) -> Json:
    """`.name` of a value: a map's member, or one of the few properties of other types; null for all else."""
    if isinstance(value, dict):
        return value.get(name)
    if isinstance(value, Loop):
        reader = _LOOP.get(name)
        return None if reader is None else reader(value)
    if name == "empty" and isinstance(value, str | list):
        return not value
    if isinstance(value, Entry):
        return value.key if name == "key" else value.value if name == "value" else None
    return None


def index_of(value: Json, index: Json, run: Rendering) -> Json:
    """`[index]` of a list or a map. Raises: RenderingFailed beyond a list's end."""
    if isinstance(value, dict):
        return value.get(text_of(index, run))
    if isinstance(value, list):
        return value[position(value, index)] if index.__class__ is int else None
    return None


def position(values: Sequence[Json], index: Json) -> int:
    """An index into a list; a negative one counts from its end. Raises: RenderingFailed."""
    if index.__class__ is not int:
        raise RenderingFailed("the index of a list is no whole number")
    if not -len(values) <= index < len(values):
        raise RenderingFailed(f"index {index} is out of bounds for a list of {len(values)}")
    return int(index)


# ------------------------------------------------------------------ every type


def _to_string(run: Rendering, value: Json) -> Json:
    return text_of(value, run)


def _equals(run: Rendering, value: Json, other: Json) -> Json:
    same_kind = value.__class__ is other.__class__ or (
        isinstance(value, list | dict) and isinstance(other, list | dict)
    )
    return same_kind and equal(value, other, run)


_ANY: Final[dict[str, tuple[int, int, Call]]] = {"toString": (0, 0, _to_string), "equals": (1, 1, _equals)}

# ------------------------------------------------------------------ lists


def _list_get(_run: Rendering, values: list[Json], index: Json) -> Json:
    return values[position(values, index)]


def _list_add(run: Rendering, values: list[Json], first: Json, *more: Json) -> Json:
    if more:
        run.spend(len(values) // 64)
        values.insert(len(values) if first == len(values) else position(values, first), more[0])
        return None
    values.append(first)
    return True


def _list_add_all(run: Rendering, values: list[Json], others: Json) -> Json:
    if not isinstance(others, list):
        return NO_SUCH
    run.spend(len(others))
    values.extend(others[:])
    return bool(others)


def _list_set(_run: Rendering, values: list[Json], index: Json, value: Json) -> Json:
    at = position(values, index)
    before, values[at] = values[at], value
    return before


def _list_remove(run: Rendering, values: list[Json], which: Json) -> Json:
    run.spend(len(values) // 64)
    if which.__class__ is int:
        return values.pop(position(values, which))
    at = _found(run, values, which)
    if at >= 0:
        values.pop(at)
    return at >= 0


def _found(run: Rendering, values: list[Json], wanted: Json) -> int:
    for at, value in enumerate(values):
        run.spend(1)
        if _equals(run, value, wanted) or (value is None and wanted is None):
            return at
    return -1


def _sub_list(run: Rendering, values: list[Json], first: Json, last: Json) -> Json:
    if first.__class__ is not int or last.__class__ is not int:
        return NO_SUCH
    if not 0 <= first <= last <= len(values):
        raise RenderingFailed(f"subList({first}, {last}) is out of bounds for a list of {len(values)}")
    run.spend(last - first)
    return Items(values[first:last])


def _clear(_run: Rendering, values: list[Json] | dict[str, Json]) -> Json:
    values.clear()
    return None


def _size(_run: Rendering, values: Sequence[Json]) -> Json:
    return len(values)


def _is_empty(_run: Rendering, values: Sequence[Json]) -> Json:
    return not values


_LIST_METHODS: Final[dict[str, tuple[int, int, Call]]] = {
    **_ANY,
    "size": (0, 0, _size),
    "isEmpty": (0, 0, _is_empty),
    "get": (1, 1, _list_get),
    "add": (1, 2, _list_add),
    "addAll": (1, 1, _list_add_all),
    "set": (2, 2, _list_set),
    "remove": (1, 1, _list_remove),
    "clear": (0, 0, _clear),
    "contains": (1, 1, lambda run, values, wanted: _found(run, values, wanted) >= 0),
    "indexOf": (1, 1, _found),
    "subList": (2, 2, _sub_list),
}

# ------------------------------------------------------------------ maps


def _map_get(run: Rendering, values: dict[str, Json], key: Json, *default: Json) -> Json:
    return values.get(text_of(key, run), *default)


def _put(run: Rendering, values: dict[str, Json], key: Json, value: Json) -> Json:
    name = text_of(key, run)
    before = values.get(name)
    values[name] = value
    return before


def _put_if_absent(run: Rendering, values: dict[str, Json], key: Json, value: Json) -> Json:
    name = text_of(key, run)
    before = values.get(name)
    if before is None:
        values[name] = value
    return before


def _put_all(run: Rendering, values: dict[str, Json], others: Json) -> Json:
    if not isinstance(others, dict):
        return NO_SUCH
    run.spend(len(others))
    values.update(others)
    return None


def _map_remove(run: Rendering, values: dict[str, Json], key: Json) -> Json:
    return values.pop(text_of(key, run), None)


def _entries(run: Rendering, values: dict[str, Json]) -> Json:
    run.spend(len(values))
    return Items(Entry(name, value) for name, value in values.items())


def _keys(run: Rendering, values: dict[str, Json]) -> Json:
    run.spend(len(values))
    return Items(values)


def _values(run: Rendering, values: dict[str, Json]) -> Json:
    run.spend(len(values))
    return Items(values.values())


_MAP_METHODS: Final[dict[str, tuple[int, int, Call]]] = {
    **_ANY,
    "size": (0, 0, _size),
    "isEmpty": (0, 0, _is_empty),
    "get": (1, 1, _map_get),
    "getOrDefault": (2, 2, _map_get),
    "put": (2, 2, _put),
    "putIfAbsent": (2, 2, _put_if_absent),
    "putAll": (1, 1, _put_all),
    "remove": (1, 1, _map_remove),
    "clear": (0, 0, _clear),
    "containsKey": (1, 1, lambda run, values, key: text_of(key, run) in values),
    "containsValue": (1, 1, lambda run, values, wanted: _found(run, list(values.values()), wanted) >= 0),
    "keySet": (0, 0, _keys),
    "values": (0, 0, _values),
    "entrySet": (0, 0, _entries),
}

# ------------------------------------------------------------------ numbers, booleans, entries, loops


def _parse_int(run: Rendering, _: Json, text: Json, *__: Json) -> Json:
    try:
        if isinstance(text, str) and len(text) <= 20 and text.isascii() and "_" not in text and text == text.strip():
            return int(text)
    except ValueError:
        pass
    raise RenderingFailed(f"parseInt: {text_of(text, run)[:40]!r} is no whole number")


def _parse_double(run: Rendering, _: Json, text: Json) -> Json:
    try:
        if isinstance(text, str) and len(text) <= 40 and "_" not in text:
            return float(text)
    except ValueError:
        pass
    raise RenderingFailed(f"parseDouble: {text_of(text, run)[:40]!r} is no number")


def _int_value(_run: Rendering, value: float) -> Json:
    return int(value) if abs(value) < 1e18 else None


def _double_value(_run: Rendering, value: float) -> Json:
    return float(value) if abs(value) < 1e300 else None


def _compare(_run: Rendering, value: float, other: Json) -> Json:
    if isinstance(other, bool) or not isinstance(other, int | float):
        return NO_SUCH
    return (value > other) - (value < other)


def _value_of(run: Rendering, value: Json, text: Json) -> Json:
    read = _parse_double if isinstance(value, float) else _parse_int
    return text if isinstance(text, int | float) else read(run, value, text)


_NUMBER_METHODS: Final[dict[str, tuple[int, int, Call]]] = {
    **_ANY,
    "parseInt": (1, 1, _parse_int),
    "parseLong": (1, 1, _parse_int),
    "parseDouble": (1, 1, _parse_double),
    "valueOf": (1, 1, _value_of),
    "intValue": (0, 0, _int_value),
    "longValue": (0, 0, _int_value),
    "doubleValue": (0, 0, _double_value),
    "compareTo": (1, 1, _compare),
}

_ENTRY_METHODS: Final[dict[str, tuple[int, int, Call]]] = {
    **_ANY,
    "getKey": (0, 0, lambda _, entry: entry.key),
    "getValue": (0, 0, lambda _, entry: entry.value),
}

_LOOP: Final[dict[str, Callable[[Loop], Json]]] = {
    "index": lambda loop: loop.index,
    "count": lambda loop: loop.count,
    "hasNext": lambda loop: loop.count < loop.size,
    "first": lambda loop: loop.index == 0,
    "last": lambda loop: loop.count == loop.size,
    "parent": lambda loop: loop.parent,
}
_LOOP_METHODS: Final[dict[str, tuple[int, int, Call]]] = {
    "hasNext": (0, 0, lambda _, loop: _LOOP["hasNext"](loop)),
    "getIndex": (0, 0, lambda _, loop: loop.index),
    "getCount": (0, 0, lambda _, loop: loop.count),
    "isFirst": (0, 0, lambda _, loop: loop.index == 0),
    "isLast": (0, 0, lambda _, loop: _LOOP["last"](loop)),
    "getParent": (0, 0, lambda _, loop: loop.parent),
}

_BY_CLASS: Final[dict[type, dict[str, tuple[int, int, Call]]]] = {
    str: {**_ANY, **texts.METHODS},
    list: _LIST_METHODS,
    Items: _LIST_METHODS,
    dict: _MAP_METHODS,
    int: _NUMBER_METHODS,
    float: _NUMBER_METHODS,
    bool: _ANY,
    Entry: _ENTRY_METHODS,
    Loop: _LOOP_METHODS,
}

KNOWN: Final = frozenset(name for table in _BY_CLASS.values() for name in table)
"""The names of all methods."""

CHANGING: Final = frozenset({"add", "addAll", "set", "remove", "clear", "put", "putIfAbsent", "putAll"})
"""The methods that change their receiver."""


def methods_of(name: str, arguments: int) -> dict[type, Call]:
    """The methods of a name that take so many arguments, by the class of the receiver."""
    found: dict[type, Call] = {}
    for kind, table in _BY_CLASS.items():
        if name in table and table[name][0] <= arguments <= table[name][1]:
            found[kind] = table[name][2]
    return found
