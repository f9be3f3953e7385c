"""The keys that a condition names: one item for a write, some partitions for a read, or nothing for a scan.

A part of a condition counts if the whole condition cannot hold without it: if it is the condition, or one of the parts
that AND joins.

Source: developer guide, "PartiQL select statements": what reads by key, and what scans.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from statewright.tables.definitions import Definition, Index
from statewright.tables.expressions.bindings import Bindings
from statewright.tables.expressions.key_conditions import KeyRange, key_range
from statewright.tables.expressions.tree import (
    All,
    Among,
    Between,
    Call,
    Compare,
    Condition,
    Either,
    Literal,
    Operand,
    Path,
)
from statewright.tables.values import Item, invalid

PARAMETER: Final = "Statement"
MOST_PARTITIONS: Final = 50
"""Values of a partition key in an IN. Source: developer guide, "PartiQL operators"."""
_RANGES: Final = frozenset({"=", "<", "<=", ">", ">="})


def item_key(names: Sequence[str], where: Condition | None, bindings: Bindings) -> Item | None:
    """The key that a condition names by an equality for each of its attributes; `None` if it does not."""
    found: Item = {}
    for part in _parts(where):
        one = _equality(part, bindings)
        if one is not None and one[0] in names:
            found.setdefault(one[0], bindings.value(PARAMETER, one[1]))
    return {name: found[name] for name in names} if len(found) == len(names) else None


def needed_key(names: Sequence[str], where: Condition | None, bindings: Bindings) -> Item:
    """As `item_key`. Raises: ApiError if the condition does not name a key."""
    found = item_key(names, where, bindings)
    if found is None:
        raise invalid("Where clause does not contain a mandatory equality on all key attributes")
    return found


def partitions(
    keys: Definition | Index, where: Condition | None, bindings: Bindings, types: Mapping[str, str]
) -> list[KeyRange] | None:
    """The ranges of partitions that a condition names, in its order; `None` if it names none. Raises: ApiError."""
    parts = list(_parts(where))
    ranges = list(_range_parts(keys.ranges, parts, bindings))
    found: dict[tuple[bytes, bytes], KeyRange] = {}
    several = _hashes(keys.hashes, parts, bindings)
    if several is None:
        return None
    if len(several) > MOST_PARTITIONS:
        raise invalid(
            f"The IN operator is provided with too many hash key values; values: {len(several)}, "
            f"allowed: {MOST_PARTITIONS}"
        )
    for hashes in several:
        one = key_range(All((*hashes, *ranges)), bindings, keys.hashes, keys.ranges, types)
        found.setdefault((one.part, one.low), one)
    return list(found.values())


def _parts(where: Condition | None) -> Iterator[Condition]:
    if isinstance(where, All):
        for part in where.parts:
            yield from _parts(part)
    elif where is not None:
        yield where


def _hashes(names: Sequence[str], parts: Sequence[Condition], bindings: Bindings) -> list[list[Compare]] | None:
    """The equalities of each partition that is named; `None` if there are none."""
    every: list[Compare] = []
    for name in names:
        values = next((found for part in parts if (found := _values_of(name, part, bindings))), None)
        if values is None or (len(values) > 1 and len(names) > 1):
            return None
        if len(names) == 1:
            return [[one] for one in values]
        every += values
    return [every]


def _values_of(name: str, part: Condition, bindings: Bindings) -> list[Compare] | None:
    """The equalities of an attribute of which one must hold; `None` if other conditions are enough."""
    if isinstance(part, Compare):
        one = _equality(part, bindings)
        return [Compare("=", _path_of(part), one[1])] if one is not None and one[0] == name else None
    if isinstance(part, Among) and _name(part.operand, bindings) == name:
        named = all(isinstance(choice, Literal) for choice in part.choices)
        return [Compare("=", part.operand, choice) for choice in part.choices] if named else None
    if isinstance(part, Either):
        found: list[Compare] = []
        for choice in part.parts:
            values = _values_of(name, choice, bindings)
            if not values:
                return None
            found += values
        return found
    return None


def _path_of(part: Compare) -> Operand:
    return part.left if isinstance(part.left, Path) else part.right


def _range_parts(names: Sequence[str], parts: Sequence[Condition], bindings: Bindings) -> Iterator[Condition]:
    """The conditions on the sort key that bound what is read: from the left, up to one that is no equality."""
    for name in names:
        found = next((part for part in parts if _bounds(part, bindings) == name), None)
        if found is None:
            return
        yield found
        if not isinstance(found, Compare) or found.sign != "=":
            return


def _bounds(part: Condition, bindings: Bindings) -> str | None:
    """The attribute whose values a condition bounds as a query can."""
    if isinstance(part, Compare) and part.sign in _RANGES:
        operands = (part.left, part.right)
        return _name(_path_of(part), bindings) if any(isinstance(one, Literal) for one in operands) else None
    if isinstance(part, Between) and isinstance(part.low, Literal) and isinstance(part.high, Literal):
        return _name(part.operand, bindings)
    if isinstance(part, Call) and part.function == "begins_with" and isinstance(part.arguments[1], Literal):
        return _name(part.arguments[0], bindings)
    return None


def _equality(part: Condition, bindings: Bindings) -> tuple[str, Literal] | None:
    """The attribute that a condition compares with a value by `=`, and the value."""
    if not isinstance(part, Compare) or part.sign != "=":
        return None
    for path, value in ((part.left, part.right), (part.right, part.left)):
        name = _name(path, bindings)
        if name is not None and isinstance(value, Literal):
            return name, value
    return None


def _name(operand: Operand, bindings: Bindings) -> str | None:
    """The attribute that an operand is, not one of its parts."""
    if not isinstance(operand, Path):
        return None
    steps = bindings.path(PARAMETER, operand)
    return str(steps[0]) if len(steps) == 1 else None
