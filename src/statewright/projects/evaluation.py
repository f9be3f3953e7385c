"""A value of a template as it is evaluated: the walk over it, what a scope is, and which parts must wait.

Owns where a mistake is reported and how deep values may nest. What each function means is in `intrinsics.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from statewright.errors import Step
from statewright.payload import Json

MAX_NESTING: Final = 150
"""How deep functions and values may nest. Our own limit, far above what people write by hand."""
NAMES: Final = frozenset(
    (
        "Ref",
        "Fn::GetAtt",
        "Fn::Sub",
        "Fn::Join",
        "Fn::Select",
        "Fn::Split",
        "Fn::If",
        "Fn::And",
        "Fn::Or",
        "Fn::Not",
        "Fn::Equals",
        "Fn::FindInMap",
        "Fn::ImportValue",
        "Fn::Base64",
        "Fn::Cidr",
        "Fn::GetAZs",
        "Fn::Length",
        "Fn::ToJsonString",
    )
)
"""The functions of templates. `intrinsics.FUNCTIONS` has one for each."""

_DYNAMIC: Final = re.compile(r"\{\{resolve:([^{}]+)\}\}")


class _Mark:
    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


LATER: Final[Any] = _Mark("LATER")
"""A scope's answer for a value that is known only after deployment."""
NO_VALUE: Final[Any] = _Mark("NO_VALUE")
"""`AWS::NoValue`: the member or element that has it is left out."""


class Unresolved(Exception):
    """A reference or function that has no value. The text is a sentence for the user."""


class Refused(Unresolved):
    """A mistake that has been reported already, on its way out."""


class Lookup(Protocol):
    """The values of existing resources, known during deployment. Both raise `Unresolved`."""

    def ref(self, id: str) -> Json:
        """The value of `Ref` for a resource or a pseudo parameter."""
        ...

    def attribute(self, id: str, name: str) -> Json:
        """The value of `Fn::GetAtt`."""
        ...


MOST_MADE: Final = 16 * 1024 * 1024


@dataclass(slots=True)
class Allowance:
    """The text that the functions and loops of one template may still make, in characters.

    A template of a kilobyte whose functions hold one another would otherwise make terabytes.
    """

    left: int = MOST_MADE

    def spend(self, characters: int) -> None:
        """Count what is about to be made. Raises: Unresolved."""
        self.left -= characters
        if self.left < 0:
            raise Unresolved(f"the functions of the template make more than {MOST_MADE:,} characters")


class Scope(Lookup, Protocol):
    """The values that a reader knows. `ref` and `attribute` may return `LATER`; all raise `Unresolved`."""

    @property
    def allowance(self) -> Allowance:
        """The text that functions may still make."""
        ...

    def condition(self, name: str) -> bool:
        """True if a named condition holds."""
        ...

    def mapping(self, name: str, first: str, second: str) -> Json:
        """A value of a mapping; `LookupError` where there is none, which a default may replace."""
        ...

    def imported(self, name: str) -> Json:
        """The value that another stack exports."""
        ...


Refuse = Callable[[tuple[Step, ...], str], None]
"""Called with each problem and its path from the value's root."""


def references(value: Json) -> list[str]:
    """The ids that a folded value needs, in order, each once."""
    found: dict[str, None] = {}
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            if len(part) == 1:
                (name, argument), *_ = part.items()
                if name == "Ref" and isinstance(argument, str):
                    found[argument] = None
                    continue
                if name == "Fn::GetAtt":
                    target = target_of(argument)
                    if target:
                        found[target[0]] = None
            pending.extend(reversed(part.values()))
        elif isinstance(part, list):
            pending.extend(reversed(part))
    return list(found)


def size_of(value: Json) -> int:
    """The characters of the texts in a value; a member or element counts as eight."""
    if isinstance(value, str):
        return len(value)
    size, pending = 0, [value]
    while pending:
        part = pending.pop()
        if isinstance(part, str):
            size += len(part)
        elif isinstance(part, (dict, list)):
            size += 8 * len(part)
            pending.extend(part.values() if isinstance(part, dict) else part)
    return size


def text_of(value: Json) -> str:
    """A scalar as template functions write it into a text. Raises: Unresolved for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return json.dumps(value)
    if value is None:
        raise Unresolved("found null where a string is needed")
    raise Unresolved(f"{'a list' if isinstance(value, list) else 'an object'} found where a string is needed")


def target_of(argument: Json) -> tuple[str, Json] | None:
    """The id and the attribute of an `Fn::GetAtt`."""
    if isinstance(argument, str):
        owner, dot, name = argument.partition(".")
        return (owner, name) if dot and owner and name else None
    if isinstance(argument, list) and len(argument) >= 2 and isinstance(argument[0], str):
        rest = argument[1:]
        if all(isinstance(part, str) for part in rest):
            name = ".".join(rest)
            return (argument[0], name) if argument[0] and name else None
        return (argument[0], rest[0]) if len(rest) == 1 else None
    return None


class Evaluation:
    """One value, resolved. Parts that must wait are known by `_waits`."""

    def __init__(
        self,
        scope: Scope,
        refuse: Refuse,
        functions: Mapping[str, Function],
        dynamic: Callable[[str], str] | None = None,
        path: tuple[Step, ...] = (),
        noted: Refuse | None = None,
    ) -> None:
        self._noted = noted
        self._scope = scope
        self._refuse = refuse
        self._functions = functions
        self._dynamic = dynamic
        self._path: list[Step] = list(path)
        self._base = len(path)

    def value(self, value: Json) -> Json:
        """Work a value out; `NO_VALUE` for one that is to be left out."""
        if isinstance(value, str):
            return self._text(value)
        if len(self._path) - self._base > MAX_NESTING:
            self._refuse(tuple(self._path), f"values are nested more than {MAX_NESTING} levels deep here")
            return value
        if isinstance(value, list):
            return self._list(value)
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            ((name, argument),) = value.items()
            function = self._functions.get(name)
            if function is not None:
                return self._call(function, name, argument, value)
            if isinstance(name, str) and name.startswith("Fn::"):
                self._refuse(tuple(self._path), f"{name} is not a known function")
                return value
        return self._object(value)

    def argument(self, step: Step, value: Json) -> Json:
        """Resolve a part of the value."""
        self._path.append(step)
        try:
            return self.value(value)
        finally:
            self._path.pop()

    def known(self, step: Step, value: Json, what: str) -> str:
        """An argument that must be a text now. Raises: Unresolved."""
        found = self.argument(step, value)
        if waits(found):
            raise Unresolved(f"{what} must be known before anything is deployed")
        try:
            return text_of(found)
        except Unresolved:
            raise Unresolved(f"{what} must be a text") from None

    def later(self, name: str) -> None:
        """Note that a name is left for later."""
        if self._noted is not None:
            self._noted(tuple(self._path), name)

    @property
    def scope(self) -> Scope:
        """The ids that names refer to."""
        return self._scope

    def _call(self, function: Function, name: str, argument: Json, whole: Json) -> Json:
        self._path.append(name)
        try:
            found = function(self, argument)
            self._scope.allowance.spend(size_of(found))
            return found
        except Refused:
            raise
        except Unresolved as problem:
            self._refuse(tuple(self._path), str(problem))
            return whole
        finally:
            self._path.pop()

    def _text(self, value: str) -> str:
        if self._dynamic is None or "{{resolve:" not in value:
            return value
        look = self._dynamic

        def looked(found: re.Match[str]) -> str:
            text = look(found[1])
            self._scope.allowance.spend(len(text))
            return text

        return _DYNAMIC.sub(looked, value)

    def _list(self, value: list[Json]) -> list[Json]:
        made = [self.argument(index, part) for index, part in enumerate(value)]
        return [part for part in made if part is not NO_VALUE]

    def _object(self, value: dict[str, Json]) -> dict[str, Json]:
        made = {name: self.argument(name, part) for name, part in value.items()}
        return {name: part for name, part in made.items() if part is not NO_VALUE}


Function = Callable[[Evaluation, Json], Json]
"""Called with the evaluation and the argument, not evaluated yet; raises `Unresolved`."""


def waits(value: Json) -> bool:
    """True if a folded value still holds a function."""
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            if len(part) == 1 and next(iter(part)) in NAMES:
                return True
            pending.extend(part.values())
        elif isinstance(part, list):
            pending.extend(part)
    return False
