"""The functions of templates: `Ref`, `Fn::GetAtt`, `Fn::Sub` and their kin, resolved as far as is known.

Owns what each function means. Readers fold a value, so that only what needs resources is left; deployment resolves the
rest. What a name refers to is the scope's business (`cloudformation.py`), expanding `Fn::ForEach` and `Fn::Transform`
that of `expansion.py`, walking over a value that of `evaluation.py`.

Source: CloudFormation template reference, "Intrinsic function reference".
"""

from __future__ import annotations

import base64
import ipaddress
import json
import re
from collections.abc import Callable
from typing import Final

from statewright.errors import Step
from statewright.payload import Json
from statewright.projects.evaluation import (
    LATER,
    NO_VALUE,
    Allowance,
    Evaluation,
    Function,
    Lookup,
    Refuse,
    Refused,
    Scope,
    Unresolved,
    target_of,
    text_of,
    waits,
)

MAX_SUBNETS: Final = 256
"""Source: template reference, Fn::Cidr, `count`."""

_VARIABLE: Final = re.compile(r"\$\{([^{}]*)\}")
_ZONES: Final = ("a", "b", "c")


def resolve(value: Json, look: Lookup, dynamic: Callable[[str], str] | None = None) -> Json:
    """The value without functions.

    `dynamic` gives what a dynamic reference stands for: it gets `ssm:/path/name` of `{{resolve:ssm:/path/name}}`.

    Raises: Unresolved, from the lookup or for a function that has no value.
    """

    def refuse(path: tuple[Step, ...], reason: str) -> None:
        where = "/".join(str(step) for step in path)
        raise Refused(f"{where}: {reason}" if where else reason)

    found = Evaluation(_Deployed(look), refuse, FUNCTIONS, dynamic).value(value)
    return None if found is NO_VALUE else found


def fold(value: Json, scope: Scope, refuse: Refuse, path: tuple[Step, ...] = (), noted: Refuse | None = None) -> Json:
    """Resolve everything in a value that the scope knows; a wrong part is reported and left as it is.

    `noted` is called with every id that is left for later, and its path. Returns `NO_VALUE` for a value that is
    to be left out.
    """
    return Evaluation(scope, refuse, FUNCTIONS, path=path, noted=noted).value(value)


def condition_of(value: Json, scope: Scope, refuse: Refuse) -> bool:
    """The value of a condition as a template declares it. Raises: Unresolved."""
    return _truth(Evaluation(scope, refuse, FUNCTIONS), "Condition", value)


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
    target = target_of(argument)
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
    own: dict[str, Json] = {}
    parts: list[Json] = []
    start = 0
    for found in _VARIABLE.finditer(template):
        parts.append(template[start : found.start()])
        start = found.end()
        name = found[1]
        if name.startswith("!"):
            parts.append("${" + name[1:] + "}")
        elif name.strip() in given:
            if name not in own:
                own[name] = now.argument(1, {name.strip(): given[name.strip()]}).get(name.strip(), "")
            parts.append(own[name])
        else:
            parts.append(_variable(now, name.strip()))
    parts.append(template[start:])
    return _joined(now, "", parts)


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
        return _joined(now, delimiter, values)
    if waits(values):
        return {"Fn::Join": [delimiter, values]}
    raise Unresolved("Fn::Join needs a list")


def _joined(now: Evaluation, delimiter: str, parts: list[Json]) -> Json:
    """Parts joined; adjacent known ones become one."""
    now.scope.allowance.spend(len(delimiter) * len(parts) + sum(len(part) for part in parts if isinstance(part, str)))
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


def _truth(now: Evaluation, step: Step, value: Json) -> bool:
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
    return [_truth(now, index, part) for index, part in enumerate(argument)]


def _and(now: Evaluation, argument: Json) -> Json:
    return all(_many(now, argument, "Fn::And"))


def _or(now: Evaluation, argument: Json) -> Json:
    return any(_many(now, argument, "Fn::Or"))


def _not(now: Evaluation, argument: Json) -> Json:
    if not isinstance(argument, list) or len(argument) != 1:
        raise Unresolved("Fn::Not needs a list of one condition")
    return not _truth(now, 0, argument[0])


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


FUNCTIONS: Final[dict[str, Function]] = {
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
        self.allowance = Allowance()

    def condition(self, name: str) -> bool:
        raise Unresolved(f"the condition {name} is not known here")

    def mapping(self, name: str, first: str, second: str) -> Json:
        raise Unresolved(f"the mapping {name} ({first}, {second}) is not known here")

    def imported(self, name: str) -> Json:
        raise Unresolved(f"nothing exports {name!r}")
