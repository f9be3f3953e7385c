"""Routes of REST services: from method, path and query to an operation, compiled from the `http` traits of the model.

Several operations may share a method and path; then the one whose own query members and headers are present wins:
`?tagging`, `?uploadId=`, `x-amz-copy-source`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final
from urllib.parse import unquote

from statewright.api.models import load_model
from statewright.integrations.endpoints.service_models import Model

_PLACE: Final = re.compile(r"\{([A-Za-z0-9_]+)(\+?)\}")


@dataclass(frozen=True, slots=True)
class Found:
    """An operation, and the values in its path by location name."""

    operation: str
    places: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Template:
    operation: str
    path: re.Pattern[str]
    names: tuple[str, ...]
    literals: tuple[tuple[str, str | None], ...]
    """Query members that belong to the operation, with the value that they must have, if any."""
    required: frozenset[str]
    """Query members that must be present."""
    headers: frozenset[str]
    """Headers that must be present."""

    @property
    def weight(self) -> int:
        return 2 * len(self.literals) + len(self.required) + len(self.headers)


@dataclass(frozen=True, slots=True)
class _Templates:
    """The templates of one method, in the order in which they are tried."""

    every: Sequence[_Template]
    without_query: Sequence[_Template]
    """Those that fit a request without a query: few, because most operations on one resource differ by it."""

    @classmethod
    def of(cls, templates: Sequence[_Template]) -> _Templates:
        return cls(templates, [one for one in templates if not one.literals and not one.required])


def match(
    service: str, method: str, raw_path: str, query: Mapping[str, Sequence[str]], headers: Mapping[str, str]
) -> Found | None:
    """Find the operation of a request; `None` if the service has none there. `raw_path` is still escaped."""
    templates = _templates(service).get(method)
    if templates is None:
        return None
    for template in templates.every if query else templates.without_query:
        found = template.path.fullmatch(raw_path)
        if found is not None and _fits(template, query, headers):
            places = dict(zip(template.names, map(unquote, found.groups()), strict=True))
            return Found(template.operation, places)
    return None


def _fits(template: _Template, query: Mapping[str, Sequence[str]], headers: Mapping[str, str]) -> bool:
    for name, value in template.literals:
        given = query.get(name)
        if given is None or (value is not None and value not in given):
            return False
    return all(name in query for name in template.required) and all(name in headers for name in template.headers)


@cache
def _templates(service: str) -> dict[str, _Templates]:
    """Templates by method; those that require more come first, then those with more letters of their own."""
    model = load_model(service)
    assert model is not None, service
    found: dict[str, list[tuple[int, int, _Template]]] = {}
    for name, operation in model["operations"].items():
        template = _compile(model, name, operation)
        own_letters = len(_PLACE.sub("", operation["http"]["requestUri"].partition("?")[0]))
        # Of two at one address, the newer wins.
        weight = 2 * template.weight - bool(operation.get("deprecated"))
        found.setdefault(operation["http"]["method"], []).append((weight, own_letters, template))
    return {
        method: _Templates.of(
            _without_needless_conditions(
                [template for _, _, template in sorted(of, key=lambda one: (-one[0], -one[1]))]
            )
        )
        for method, of in found.items()
    }


def _without_needless_conditions(templates: list[_Template]) -> list[_Template]:
    # A template that shares its path and literals with no other matches even if members are missing: its validator
    # reports them.
    count = Counter((one.path, one.literals) for one in templates)
    return [
        one if count[one.path, one.literals] > 1 else replace(one, required=frozenset(), headers=frozenset())
        for one in templates
    ]


def _compile(model: Model, name: str, operation: Model) -> _Template:
    path, _, literal = operation["http"]["requestUri"].partition("?")
    pattern, names, at = "", [], 0
    for place in _PLACE.finditer(path):
        pattern += re.escape(path[at : place.start()]) + ("(.+)" if place[2] else "([^/]+)")
        names.append(place[1])
        at = place.end()
    pattern += re.escape(path[at:].rstrip("/")) + "/?"
    if names and path.endswith("+}"):
        # A key may end with a slash, which then belongs to it.
        pattern = pattern.removesuffix("/?")
    literals = []
    for part in literal.split("&") if literal else ():
        key, equals, value = part.partition("=")
        literals.append((key, value if equals else None))
    shape = model["shapes"][operation["input"]["shape"]] if "input" in operation else {"members": {}}
    required = [member for member in shape.get("required", ()) if "location" in shape["members"][member]]
    by_place: dict[str, set[str]] = {"querystring": set(), "header": set(), "uri": set(), "headers": set()}
    for one in required:
        by_place[shape["members"][one]["location"]].add(shape["members"][one]["locationName"])
    return _Template(
        name,
        re.compile(pattern, re.DOTALL),
        tuple(names),
        tuple(literals),
        frozenset(by_place["querystring"]),
        frozenset(header.lower() for header in by_place["header"]),
    )
