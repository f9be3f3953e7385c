"""Differences of two JSON values or two lists of names, as a failed expectation shows them.

Owns equality as JSON means it and the smallest places at which values part. Nothing here prints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final, Literal

from statewright.errors import Step
from statewright.payload import Json, dump_json

MOST_DIFFERENCES: Final = 50
"""The most places that are listed. Ours: more are not read, and two large values could differ in all."""

_LONGEST_MATCHED: Final = 400

Place = tuple[Step, ...]


class Absent:
    """Stands for a value that is not there."""

    def __repr__(self) -> str:
        return "nothing"


ABSENT: Final = Absent()


@dataclass(frozen=True, slots=True)
class Difference:
    """One place at which two values part; either side may be `ABSENT`."""

    place: Place
    wanted: Json | Absent
    got: Json | Absent

    @property
    def where(self) -> str:
        """The place as a path: `$.items[2].price`."""
        return path_text(self.place)


Change = tuple[Literal["same", "missing", "extra"], str]


def path_text(place: Place) -> str:
    """A place as people write it: `$.items[2].price`, `$['odd key']`."""
    parts = ["$"]
    for step in place:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        else:
            parts.append(f".{step}" if step.replace("_", "a").isalnum() else f"[{dump_json(step)}]")
    return "".join(parts)


def differences(wanted: Json, got: Json, *, subset: bool = False, most: int = MOST_DIFFERENCES) -> list[Difference]:
    """The places at which `got` is not what was wanted, in the order of `wanted`; at most `most`.

    Numbers are compared by value, so 1 equals 1.0; `true` equals no number. With `subset` objects may have further
    members, at any depth; arrays must still have the same length.
    """
    found: list[Difference] = []
    pending: list[tuple[Place, Json | Absent, Json | Absent]] = [((), wanted, got)]
    while pending and len(found) < most:
        place, left, right = pending.pop()
        if isinstance(left, dict) and isinstance(right, dict):
            keys = [*left, *(() if subset else (key for key in right if key not in left))]
            inner = [((*place, key), left.get(key, ABSENT), right.get(key, ABSENT)) for key in keys]
            pending.extend(reversed(inner))
        elif isinstance(left, list) and isinstance(right, list):
            longest = range(max(len(left), len(right)))
            pending.extend(((*place, i), _item(left, i), _item(right, i)) for i in reversed(longest))
        elif not _same_leaf(left, right):
            found.append(Difference(place, left, right))
    return found


def _item(values: list[Json], index: int) -> Json | Absent:
    return values[index] if index < len(values) else ABSENT


def _same_leaf(left: Json | Absent, right: Json | Absent) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    comparable = type(left) is type(right) or (_is_number(left) and _is_number(right))
    return comparable and left == right


def _is_number(value: Json | Absent) -> bool:
    return isinstance(value, (int, float))


def sequence_changes(wanted: Sequence[str], got: Sequence[str]) -> list[Change]:
    """Two lists of names as one: what both have, what is missing from `got`, and what it has beyond `wanted`."""
    start = 0
    while start < min(len(wanted), len(got)) and wanted[start] == got[start]:
        start += 1
    changes: list[Change] = [("same", name) for name in wanted[:start]]
    wanted, got = wanted[start:], got[start:]
    if max(len(wanted), len(got)) > _LONGEST_MATCHED:
        # Lists of few names that repeat are the slowest to match, and are not read that far.
        return [*changes, *(("missing", name) for name in wanted), *(("extra", name) for name in got)]
    for kind, i1, i2, j1, j2 in SequenceMatcher(None, wanted, got, autojunk=False).get_opcodes():
        if kind == "equal":
            changes += [("same", name) for name in wanted[i1:i2]]
        else:
            changes += [("missing", name) for name in wanted[i1:i2]]
            changes += [("extra", name) for name in got[j1:j2]]
    return changes


def is_subsequence(wanted: Sequence[str], got: Sequence[str]) -> bool:
    """True if all names of `wanted` come in `got`, in this order, with or without others between them."""
    rest = iter(got)
    return all(name in rest for name in wanted)
