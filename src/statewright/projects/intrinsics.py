"""The functions of templates: `Ref`, `Fn::GetAtt`, `Fn::Sub` and their kin, resolved as far as is known.

Owns what each function means. Readers fold a value, so that only what needs resources is left; deployment resolves the
rest. What a name refers to is the scope's business (`cloudformation.py`), expanding `Fn::ForEach` and `Fn::Transform`
that of `expansion.py`.

Source: CloudFormation template reference, "Intrinsic function reference".
"""

from __future__ import annotations

import base64
import ipaddress
import json
import re
from collections.abc import Callable
from typing import Any, Final, Protocol

from statewright.errors import Step
from statewright.payload import Json

MAX_NESTING: Final = 150
"""How deep functions and values may nest. Our own limit, far above what people write by hand."""
MAX_SUBNETS: Final = 256
"""Source: template reference, Fn::Cidr, `count`."""

_VARIABLE: Final = re.compile(r"\$\{([^{}]*)\}")
_DYNAMIC: Final = re.compile(r"\{\{resolve:([^{}]+)\}\}")
_ZONES: Final = ("a", "b", "c")


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
    """A mistake that has been told already, on its way out."""


class Lookup(Protocol):
    """The values of existing resources, known during deployment. Both raise `Unresolved`."""

    def ref(self, id: str) -> Json:
        """The value of `Ref` for a resource or a pseudo parameter."""
        ...

    def attribute(self, id: str, name: str) -> Json:
        """The value of `Fn::GetAtt`."""
        ...


class Scope(Lookup, Protocol):
    """The values that a reader knows. `ref` and `attribute` may return `LATER`; all raise `Unresolved`."""

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


def resolve(value: Json, look: Lookup, dynamic: Callable[[str], str] | None = None) -> Json:
    """The value without functions.

    `dynamic` gives what a dynamic reference stands for: it gets `ssm:/path/name` of `{{resolve:ssm:/path/name}}`.

    Raises: Unresolved, from the lookup or for a function that has no value.
    """

    def refuse(path: tuple[Step, ...], reason: str) -> None:
        where = "/".join(str(step) for step in path)
        raise Refused(f"{where}: {reason}" if where else reason)

    found = Evaluation(_Deployed(look), refuse, dynamic).value(value)
    return None if found is NO_VALUE else found


def fold(value: Json, scope: Scope, refuse: Refuse, path: tuple[Step, ...] = (), noted: Refuse | None = None) -> Json:
    """Resolve everything in a value that the scope knows; a wrong part is reported and left as it is.

    `noted` is called with every id that is left for later, and its path. Returns `NO_VALUE` for a value that is
    to be left out.
    """
    return Evaluation(scope, refuse, path=path, noted=noted).value(value)


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
                    target = _target(argument)
                    if target:
                        found[target[0]] = None
            pending.extend(reversed(part.values()))
        elif isinstance(part, list):
            pending.extend(reversed(part))
    return list(found)


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


def _target(argument: Json) -> tuple[str, Json] | None:
    """The id and the attribute of an `Fn::GetAtt`."""
    if isinstance(argument, str):
        owner, dot, name = argument.partition(".")
        return (owner, name) if dot and owner and name else None
    if isinstance(argument, list) and len(argument) >= 2 and isinstance(argument[0], str):
        rest = argument[1:]
        if all(isinstance(part, str) for part in rest):
            return argument[0], ".".join(rest)
        return (argument[0], rest[0]) if len(rest) == 1 else None
    return None


class Evaluation:
    """One value, resolved. Parts that must wait are known by `_waits`."""

    def __init__(
        self,
        scope: Scope,
        refuse: Refuse,
        dynamic: Callable[[str], str] | None = None,
        path: tuple[Step, ...] = (),
        noted: Refuse | None = None,
    ) -> None:
        self._noted = noted
        self._scope = scope
        self._refuse = refuse
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
            function = FUNCTIONS.get(name)
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

    def _call(self, function: _Function, name: str, argument: Json, whole: Json) -> Json:
        self._path.append(name)
        try:
            return function(self, argument)
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
        return _DYNAMIC.sub(lambda found: look(found[1]), value)

    def _list(self, value: list[Json]) -> list[Json]:
        made = [self.argument(index, part) for index, part in enumerate(value)]
        return [part for part in made if part is not NO_VALUE]

    def _object(self, value: dict[str, Json]) -> dict[str, Json]:
        made = {name: self.argument(name, part) for name, part in value.items()}
        return {name: part for name, part in made.items() if part is not NO_VALUE}


def waits(value: Json) -> bool:
    """True if a folded value still holds a function."""
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            if len(part) == 1 and next(iter(part)) in FUNCTIONS:
                return True
            pending.extend(part.values())
        elif isinstance(part, list):
            pending.extend(part)
    return False


def _ref(now: Evaluation, argument: Json) -> Json:
    if not isinstance(argument, str):
        raise Unresolved("Ref needs the name of a parameter or the id of a resource")
    if argument == "AWS::NoValue":
        return NO_VALUE
    found = now.scope.ref(argument)
    if found is LATER:
        now.later(argument)
        return {"Ref": argument}
    return found


def _get_att(now: Evaluation, argument: Json) -> Json:
    target = _target(argument)
    if target is None:
        raise Unresolved('Fn::GetAtt needs the id of a resource and the name of an attribute: ["Queue", "Arn"]')
    owner, name = target
    if not isinstance(name, str):
        name = now.known(1, name, "the name of an attribute")
    return _attribute(now, owner, name)


def _attribute(now: Evaluation, owner: str, name: str) -> Json:
    found = now.scope.attribute(owner, name)
    if found is LATER:
        now.later(owner)
        return {"Fn::GetAtt": [owner, name]}
    return found


def _sub(now: Evaluation, argument: Json) -> Json:
    given: dict[str, Json] = {}
    template = argument
    if isinstance(argument, list):
        if len(argument) != 2 or not isinstance(argument[1], dict):
            raise Unresolved("Fn::Sub needs a text, or a list of a text and an object of values")
        template = argument[0]
        given = argument[1]
    if not isinstance(template, str):
        raise Unresolved("Fn::Sub needs a text with ${...} in it")
    parts: list[Json] = []
    start = 0
    for found in _VARIABLE.finditer(template):
        parts.append(template[start : found.start()])
        start = found.end()
        name = found[1]
        if name.startswith("!"):
            parts.append("${" + name[1:] + "}")
        elif name.strip() in given:
            parts.append(now.argument(1, {name.strip(): given[name.strip()]}).get(name.strip(), ""))
        else:
            parts.append(_variable(now, name.strip()))
    parts.append(template[start:])
    return _joined("", parts)


def _variable(now: Evaluation, name: str) -> Json:
    if not name:
        raise Unresolved("Fn::Sub has an empty ${}: write ${!} for the characters themselves")
    owner, dot, attribute = name.partition(".")
    if dot and not name.startswith("AWS::"):
        return _within(name, lambda: _attribute(now, owner, attribute))
    found = _within(name, lambda: _ref(now, name))
    return "" if found is NO_VALUE else found


def _within(name: str, work: Callable[[], Json]) -> Json:
    try:
        return work()
    except Refused:
        raise
    except Unresolved as problem:
        raise Unresolved(f"${{{name}}}: {problem}") from None


def _join(now: Evaluation, argument: Json) -> Json:
    if not isinstance(argument, list) or len(argument) != 2:
        raise Unresolved("Fn::Join needs a delimiter and a list")
    delimiter = now.argument(0, argument[0])
    if not isinstance(delimiter, str):
        raise Unresolved("Fn::Join needs a text as delimiter")
    values = now.argument(1, argument[1])
    if isinstance(values, list):
        return _joined(delimiter, values)
    if waits(values):
        return {"Fn::Join": [delimiter, values]}
    raise Unresolved("Fn::Join needs a list")


def _joined(delimiter: str, parts: list[Json]) -> Json:
    """Parts joined; adjacent known ones become one."""
    merged: list[Json] = []
    open_: list[str] = []
    for part in parts:
        if waits(part):
            if open_:
                merged.append(delimiter.join(open_))
                open_ = []
            merged.append(part)
        else:
            open_.append(text_of(part))
    if not merged:
        return delimiter.join(open_)
    if open_:
        merged.append(delimiter.join(open_))
    if not delimiter:
        merged = [part for part in merged if part != ""]
        if len(merged) == 1 and _is_text(merged[0]):
            return merged[0]
    return {"Fn::Join": [delimiter, merged]}


def _is_text(part: Json) -> bool:
    """True if an unresolved part is certain to become a string, so that it needs no wrapping."""
    return isinstance(part, dict) and next(iter(part)) in ("Fn::Join", "Fn::Sub", "Fn::Base64", "Ref")


def _select(now: Evaluation, argument: Json) -> Json:
    if not isinstance(argument, list) or len(argument) != 2:
        raise Unresolved("Fn::Select needs an index and a list")
    text = now.known(0, argument[0], "the index of Fn::Select")
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise Unresolved(f"Fn::Select needs a whole number from 0 as index, not {text[:40]!r}")
    index = int(text)
    values = now.argument(1, argument[1])
    if not isinstance(values, list):
        if waits(values):
            return {"Fn::Select": [index, values]}
        raise Unresolved("Fn::Select needs a list")
    if index >= len(values):
        raise Unresolved(f"Fn::Select asks for element {index} of a list of {len(values)}")
    return values[index]


def _split(now: Evaluation, argument: Json) -> Json:
    if not isinstance(argument, list) or len(argument) != 2 or not isinstance(argument[0], str) or not argument[0]:
        raise Unresolved("Fn::Split needs a delimiter and a text")
    source = now.argument(1, argument[1])
    if waits(source):
        return {"Fn::Split": [argument[0], source]}
    return text_of(source).split(argument[0])


def _if(now: Evaluation, argument: Json) -> Json:
    if not isinstance(argument, list) or len(argument) != 3 or not isinstance(argument[0], str):
        raise Unresolved("Fn::If needs the name of a condition and two values")
    index = 1 if now.scope.condition(argument[0]) else 2
    return now.argument(index, argument[index])


def truth(now: Evaluation, step: Step, value: Json) -> bool:
    """A condition's value. Raises: Unresolved."""
    if isinstance(value, dict) and len(value) == 1 and isinstance(value.get("Condition"), str):
        return now.scope.condition(value["Condition"])
    found = now.argument(step, value)
    if found is True or found == "true":
        return True
    if found is False or found == "false":
        return False
    raise Unresolved("a condition is made of Fn::And, Fn::Or, Fn::Not, Fn::Equals and Condition")


def _many(now: Evaluation, argument: Json, name: str) -> list[bool]:
    if not isinstance(argument, list) or not 1 <= len(argument) <= 10:
        raise Unresolved(f"{name} needs a list of 2 to 10 conditions")
    return [truth(now, index, part) for index, part in enumerate(argument)]


def _and(now: Evaluation, argument: Json) -> Json:
    return all(_many(now, argument, "Fn::And"))


def _or(now: Evaluation, argument: Json) -> Json:
    return any(_many(now, argument, "Fn::Or"))


def _not(now: Evaluation, argument: Json) -> Json:
    if not isinstance(argument, list) or len(argument) != 1:
        raise Unresolved("Fn::Not needs a list of one condition")
    return not truth(now, 0, argument[0])


def _equals(now: Evaluation, argument: Json) -> Json:
    if not isinstance(argument, list) or len(argument) != 2:
        raise Unresolved("Fn::Equals needs a list of two values")
    left, right = now.argument(0, argument[0]), now.argument(1, argument[1])
    if waits(left) or waits(right):
        raise Unresolved("Fn::Equals cannot compare values that are known only after deployment")
    if isinstance(left, (dict, list)) or isinstance(right, (dict, list)):
        return bool(left == right)
    return text_of(left) == text_of(right)


def _find_in_map(now: Evaluation, argument: Json) -> Json:
    if not isinstance(argument, list) or len(argument) not in (3, 4):
        raise Unresolved("Fn::FindInMap needs the name of a mapping and two keys")
    name, first, second = (
        now.known(index, part, "an argument of Fn::FindInMap") for index, part in enumerate(argument[:3])
    )
    try:
        return now.scope.mapping(name, first, second)
    except LookupError as problem:
        default = argument[3] if len(argument) == 4 else None
        if isinstance(default, dict) and "DefaultValue" in default:
            return now.argument(3, default)["DefaultValue"]
        raise Unresolved(str(problem.args[0])) from None


def _import_value(now: Evaluation, argument: Json) -> Json:
    return now.scope.imported(now.known("Fn::ImportValue", argument, "the name of an export"))


def _base64(now: Evaluation, argument: Json) -> Json:
    found = now.argument("Fn::Base64", argument)
    return {"Fn::Base64": found} if waits(found) else base64.b64encode(text_of(found).encode()).decode()


def _cidr(now: Evaluation, argument: Json) -> Json:
    if not isinstance(argument, list) or len(argument) not in (2, 3):
        raise Unresolved("Fn::Cidr needs a block, a count and the bits of a subnet")
    found = now.argument("Fn::Cidr", argument)
    if waits(found):
        return {"Fn::Cidr": found}
    block, count, bits = (*(text_of(part) for part in found), "")[:3]
    try:
        network = ipaddress.ip_network(block)
        wanted = int(count)
        prefix = network.max_prefixlen - int(bits) if bits else network.prefixlen + (wanted - 1).bit_length()
    except ValueError as problem:
        raise Unresolved(f"Fn::Cidr: {problem}") from None
    if not 1 <= wanted <= MAX_SUBNETS:
        raise Unresolved(f"Fn::Cidr makes 1 to {MAX_SUBNETS} blocks, not {wanted}")
    if not network.prefixlen <= prefix <= network.max_prefixlen or 2 ** (prefix - network.prefixlen) < wanted:
        raise Unresolved(f"Fn::Cidr: {block} has no room for {wanted} blocks of {bits} bits")
    subnets = network.subnets(new_prefix=prefix)
    return [str(next(subnets)) for _ in range(wanted)]


def _zones(now: Evaluation, argument: Json) -> Json:
    found = now.argument("Fn::GetAZs", argument)
    region = text_of(found) or text_of(now.scope.ref("AWS::Region"))
    return [region + letter for letter in _ZONES]


def _length(now: Evaluation, argument: Json) -> Json:
    found = now.argument("Fn::Length", argument)
    if isinstance(found, list):
        return len(found)
    if waits(found):
        return {"Fn::Length": found}
    raise Unresolved("Fn::Length needs a list")


def _to_json(now: Evaluation, argument: Json) -> Json:
    found = now.argument("Fn::ToJsonString", argument)
    if waits(found):
        return {"Fn::ToJsonString": found}
    if not isinstance(found, (dict, list)):
        raise Unresolved("Fn::ToJsonString needs an object or a list")
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"))


_Function = Callable[[Evaluation, Json], Json]
FUNCTIONS: Final[dict[str, _Function]] = {
    "Ref": _ref,
    "Fn::GetAtt": _get_att,
    "Fn::Sub": _sub,
    "Fn::Join": _join,
    "Fn::Select": _select,
    "Fn::Split": _split,
    "Fn::If": _if,
    "Fn::And": _and,
    "Fn::Or": _or,
    "Fn::Not": _not,
    "Fn::Equals": _equals,
    "Fn::FindInMap": _find_in_map,
    "Fn::ImportValue": _import_value,
    "Fn::Base64": _base64,
    "Fn::Cidr": _cidr,
    "Fn::GetAZs": _zones,
    "Fn::Length": _length,
    "Fn::ToJsonString": _to_json,
}


class _Deployed:
    """The scope of deployment: resources, and nothing that a reader would have settled."""

    def __init__(self, look: Lookup) -> None:
        self.ref = look.ref
        self.attribute = look.attribute

    def condition(self, name: str) -> bool:
        raise Unresolved(f"the condition {name} is not known here")

    def mapping(self, name: str, first: str, second: str) -> Json:
        raise Unresolved(f"the mapping {name} ({first}, {second}) is not known here")

    def imported(self, name: str) -> Json:
        raise Unresolved(f"nothing exports {name!r}")
