"""Places of a run's values, one step from one to another, and how a way of such steps ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from statewright.payload import Json
from statewright.query.jsonpath import compile_path
from statewright.query.jsonpath_parser import PathSyntaxError
from statewright.query.jsonpath_tree import plain_keys
from statewright.simulator.differences import ABSENT, Absent, Place
from statewright.simulator.story import Visit

Kind = Literal["start", "literal", "result", "computed", "error", "context", "parts", "unknown"]
"""How a way ends: `start`, the execution's input; `parts`, a value put together of several; the others speak for
themselves.
"""
How = Literal["input", "previous", "item", "branch", "inside", "variable"] | Kind
"""`input`: from the input of the same visit; `previous`: the output of the one before; `item` and `branch`: from the
Map or Parallel around; `inside`: from the last state of an item or branch.
"""


@dataclass(frozen=True, slots=True)
class Spot:
    """A place of a run. The first step of a path in `assigned` is the name of a variable."""

    visit: Visit
    where: str
    path: Place


@dataclass(frozen=True, slots=True)
class End:
    """The end of a way. `found` is the value that is there, if that is known without the one that is followed."""

    kind: Kind
    reason: str | None = None
    event: int | None = None
    resource: str | None = None
    path: Place | None = None
    expression: str | None = None
    reads: tuple[tuple[str, Spot], ...] = ()
    found: Json | Absent = field(default=ABSENT, repr=False)


@dataclass(frozen=True, slots=True)
class Move:
    """One step back. `fields` are those of the definition that it goes through, each with its path or expression, the
    last one that was evaluated first.
    """

    how: How
    to: Spot | End
    fields: tuple[tuple[str, str | None], ...] = ()

    def by(self, name: str, expression: str | None = None) -> Move:
        """The same step through one more field."""
        return replace(self, fields=((name, expression), *self.fields))


Source = Callable[[Place], Move]


@dataclass(frozen=True, slots=True)
class Scope:
    """The documents that expressions of a field read: `data` is `$` of JSONPath, `states` are members of `$states`.

    `item` is the Map and the number of the item that `Map.Item` is about.
    """

    visit: Visit
    data: Source
    states: Mapping[str, Source]
    item: tuple[Visit, int] | None = None


def lookup(value: Json | Absent, path: Place) -> Json | Absent:
    """The part of a value at a place; `ABSENT` if it has none."""
    found: Json = value
    for step in path:
        if isinstance(found, dict):
            is_there = step in found
        else:
            is_there = isinstance(found, list) and isinstance(step, int) and 0 <= step < len(found)
        if not is_there:
            return ABSENT
        found = found[step]
    return found


def ended(kind: Kind, **known: Json | Absent) -> Move:
    """An end; `known` are members of `End`."""
    return Move(kind, End(kind, **known))  # type: ignore[arg-type]


def input_of(visit: Visit) -> Source:
    """The input of a visit, before InputPath."""
    return lambda path: Move("input", Spot(visit, "input", path))


def renamed(move: Move, how: How) -> Move:
    """A step from the input of a visit under another name."""
    return replace(move, how=how) if move.how == "input" else move


def keys_of(text: str) -> Place | None:
    """The place that a reference path names."""
    try:
        return plain_keys(compile_path(text).steps)
    except PathSyntaxError:
        return None


def texts_of(template: Json) -> Iterator[tuple[str, bool]]:
    """Every text of a template, and whether it is a name."""
    pending = [template]
    while pending:
        part = pending.pop()
        if isinstance(part, str):
            yield part, False
        elif isinstance(part, dict):
            yield from ((name, True) for name in part)
            pending.extend(part.values())
        elif isinstance(part, list):
            pending.extend(part)
