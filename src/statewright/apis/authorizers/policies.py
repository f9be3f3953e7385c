"""Policy documents that authorizers return: whether they let a caller invoke a method.

Owns the grammar of statements, wildcards in ARNs, and conditions. What is not understood never lets a caller in: such a
condition makes a statement that allows void, and one that denies effective.

Source: IAM user guide, "Policy evaluation logic" and "Grammar of the IAM JSON policy language"; API Gateway developer
guide, "Control access for invoking an API".
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, Literal

from statewright.payload import Json, JsonMapping

INVOKE: Final = "execute-api:invoke"
LONGEST_PATTERN: Final = 512
"""Characters of a resource in a statement. Source: developer guide, "Output from a Lambda authorizer"."""
MOST_STATEMENTS: Final = 1_000
"""Statements of a document. Ours."""

Decision = Literal["allow", "deny", "none"]


class PolicyMalformed(Exception):
    """A document that is no policy."""


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts that conditions compare: the client's address, its agent, and the time."""

    source_ip: str
    user_agent: str
    referer: str
    now_ms: int


@dataclass(frozen=True, slots=True)
class _Statement:
    denies: bool
    resources: tuple[str, ...]
    is_complement: bool
    condition: JsonMapping


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy document, read."""

    statements: tuple[_Statement, ...]

    @classmethod
    def of(cls, document: Json) -> Policy:
        """Read a document. Raises: PolicyMalformed."""
        if not isinstance(document, dict):
            raise PolicyMalformed("policyDocument is no object")
        given = document.get("Statement")
        listed = given if isinstance(given, list) else [given]
        if not listed or len(listed) > MOST_STATEMENTS:
            raise PolicyMalformed(f"Statement must have 1 to {MOST_STATEMENTS} members")
        found = [_statement(one) for one in listed]
        return cls(tuple(one for one in found if one is not None))

    def decide(self, arn: str, facts: Facts) -> Decision:
        """The decision about a method's ARN: a statement that denies wins over all that allow."""
        allowed = False
        for one in self.statements:
            if any(_covers(pattern, arn) for pattern in one.resources) is one.is_complement:
                continue
            holds = _holds(one.condition, facts)
            if one.denies and holds is not False:
                return "deny"
            allowed = allowed or (not one.denies and holds is True)
        return "allow" if allowed else "none"


def _statement(given: Json) -> _Statement | None:
    """A statement about invocations; `None` for one about other actions. Raises: PolicyMalformed."""
    if not isinstance(given, dict) or given.get("Effect") not in ("Allow", "Deny"):
        raise PolicyMalformed("a statement has no Effect Allow or Deny")
    unknown = given.keys() - {"Sid", "Effect", "Action", "NotAction", "Resource", "NotResource", "Condition"}
    if unknown:
        raise PolicyMalformed(f"a statement has the member {min(unknown)[:40]}")
    actions = _texts(given, "Action", "NotAction")
    resources = _texts(given, "Resource", "NotResource")
    condition = given.get("Condition") or {}
    if not isinstance(condition, dict):
        raise PolicyMalformed("Condition is no object")
    is_meant = any(wildcard_matches(one.lower(), INVOKE) for one in actions)
    if is_meant is ("NotAction" in given):
        return None
    return _Statement(given["Effect"] == "Deny", resources, "NotResource" in given, condition)


def _texts(given: JsonMapping, name: str, complement: str) -> tuple[str, ...]:
    if (name in given) is (complement in given):
        raise PolicyMalformed(f"a statement needs {name} or {complement}")
    value = given.get(name, given.get(complement))
    listed = value if isinstance(value, list) else [value]
    if not listed or any(not isinstance(one, str) or len(one) > LONGEST_PATTERN for one in listed):
        raise PolicyMalformed(f"{name} has values that are no text of at most {LONGEST_PATTERN} characters")
    return tuple(listed)


# ------------------------------------------------------------------ ARNs


def _covers(pattern: str, arn: str) -> bool:
    """True if the ARN of a statement includes that of a method.

    The first five parts are compared one by one, so that a wildcard for an account cannot reach into the path; a last
    part that ends with `*` stands for all the rest.
    """
    wanted, given = pattern.split(":", 5), arn.split(":", 5)
    if len(wanted) < len(given) and not wanted[-1].endswith("*"):
        return False
    return all(map(wildcard_matches, wanted, given))


@lru_cache(maxsize=1024)
def _parts(pattern: str) -> tuple[re.Pattern[str], ...]:
    """The texts between the asterisks of a pattern."""
    return tuple(re.compile(re.escape(one).replace(r"\?", "."), re.DOTALL) for one in pattern.split("*"))


def wildcard_matches(pattern: str, text: str) -> bool:
    """True if a pattern with `*` and `?` matches a whole text. Never backtracks over an asterisk."""
    if "*" not in pattern and "?" not in pattern:
        return pattern == text
    first, *rest = _parts(pattern)
    if not rest:
        return first.fullmatch(text) is not None
    found = first.match(text)
    for part in rest[:-1]:
        if found is None:
            return False
        found = part.search(text, found.end())
    if found is None:
        return False
    at = len(text) - len(pattern.rpartition("*")[2])
    return at >= found.end() and rest[-1].match(text, at) is not None


# ------------------------------------------------------------------ conditions


def _holds(condition: JsonMapping, facts: Facts) -> bool | None:
    """True if all parts of a condition hold, False if one does not; `None` if one is not understood."""
    unknown = False
    for operator, members in condition.items():
        if not isinstance(members, dict):
            return None
        for key, wanted in members.items():
            found = _compared(operator, key.lower(), wanted if isinstance(wanted, list) else [wanted], facts)
            if found is False:
                return False
            unknown = unknown or found is None
    return None if unknown else True


def _compared(operator: str, key: str, wanted: list[Json], facts: Facts) -> bool | None:
    base = operator.removesuffix("IfExists")
    if any(not isinstance(one, str | int | float) for one in wanted):
        return None
    if key == "aws:sourceip" and base in ("IpAddress", "NotIpAddress"):
        inside = _is_inside(facts.source_ip, wanted)
        return None if inside is None else inside is (base == "IpAddress")
    if key == "aws:securetransport" and base == "Bool":
        return all(str(one).lower() == "false" for one in wanted)
    if key == "aws:currenttime" and base in _DATES:
        return _dated(base, wanted, facts.now_ms)
    text = {"aws:useragent": facts.user_agent, "aws:referer": facts.referer}.get(key)
    test = _STRINGS.get(base.replace("Not", "", 1))
    if text is None or test is None:
        return None
    if not text:
        # A request without the header: only what negates, or asks for it if it exists, holds.
        return "Not" in base or base != operator
    return any(test(str(one), text) for one in wanted) is ("Not" not in base)


_STRINGS: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "StringEquals": lambda wanted, text: wanted == text,
    "StringEqualsIgnoreCase": lambda wanted, text: wanted.lower() == text.lower(),
    "StringLike": wildcard_matches,
}
_DATES: Final[Mapping[str, Callable[[datetime, datetime], bool]]] = {
    "DateLessThan": lambda now, limit: now < limit,
    "DateLessThanEquals": lambda now, limit: now <= limit,
    "DateGreaterThan": lambda now, limit: now > limit,
    "DateGreaterThanEquals": lambda now, limit: now >= limit,
}


def _dated(operator: str, wanted: list[Json], now_ms: int) -> bool | None:
    try:
        limits = [datetime.fromisoformat(str(one)) for one in wanted]
    except ValueError:
        return None
    now = datetime.fromtimestamp(now_ms / 1000, UTC)
    return any(_DATES[operator](now, one if one.tzinfo is not None else one.replace(tzinfo=UTC)) for one in limits)


def _is_inside(address: str, wanted: list[Json]) -> bool | None:
    try:
        given = ipaddress.ip_address(address)
        networks = [ipaddress.ip_network(str(one), strict=False) for one in wanted]
    except ValueError:
        return None
    return any(given.version == one.version and given in one for one in networks)
