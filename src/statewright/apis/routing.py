"""The router of a deployed API: a trie of path segments, whose depth alone decides what finding a route costs.

Owns matching: a literal segment before a parameter, both before the greedy parameter of the nearest level, each only if
it has the method or ANY. Segments are split before they are unescaped, so that an encoded slash never separates.

Source: HTTP APIs, "Routing API requests"; REST APIs, observed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar
from urllib.parse import unquote

T = TypeVar("T")

ANY: Final = "ANY"


@dataclass(frozen=True, slots=True)
class Found(Generic[T]):
    """A target, and the values of its path's parameters by name, still escaped."""

    target: T
    parameters: dict[str, str]


@dataclass(slots=True)
class _End(Generic[T]):
    target: T
    names: tuple[str, ...]


@dataclass(slots=True)
class _Node(Generic[T]):
    literals: dict[str, _Node[T]] = field(default_factory=dict)
    parameter: _Node[T] | None = None
    ends: dict[str, _End[T]] = field(default_factory=dict)
    greedy: dict[str, _End[T]] = field(default_factory=dict)


class Router(Generic[T]):
    """Finds the target of a method and a path."""

    def __init__(self) -> None:
        self._root: _Node[T] = _Node()

    def add(self, method: str, path: str, target: T) -> None:
        """Add a target: `GET`, `/orders/{id}`. The path `/` is that of the API itself."""
        node, names = self._root, []
        for segment in _segments(path):
            if segment.startswith("{") and segment.endswith("+}"):
                names.append(segment[1:-2])
                node.greedy[method] = _End(target, tuple(names))
                return
            if segment.startswith("{") and segment.endswith("}"):
                names.append(segment[1:-1])
                if node.parameter is None:
                    node.parameter = _Node()
                node = node.parameter
            else:
                node = node.literals.setdefault(segment, _Node())
        node.ends[method] = _End(target, tuple(names))

    def find(self, method: str, path: str) -> Found[T] | None:
        """The target of a request; `path` is still escaped and begins with a slash."""
        segments = _segments(path)
        try:
            found = _find(self._root, method, segments, 0)
        except RecursionError:
            # A route of a thousand segments is there, and leads nowhere.
            return None
        if found is None:
            return None
        end, values = found
        return Found(end.target, dict(zip(end.names, values, strict=True)))


def _segments(path: str) -> list[str]:
    rest = path[1:] if path.startswith("/") else path
    return rest.split("/") if rest else []


def _find(node: _Node[T], method: str, segments: list[str], at: int) -> tuple[_End[T], list[str]] | None:
    if at == len(segments):
        end = node.ends.get(method) or node.ends.get(ANY)
        return None if end is None else (end, [])
    segment = segments[at]
    child = node.literals.get(unquote(segment) if "%" in segment else segment)
    if child is not None:
        found = _find(child, method, segments, at + 1)
        if found is not None:
            return found
    if node.parameter is not None and segment:
        found = _find(node.parameter, method, segments, at + 1)
        if found is not None:
            found[1].insert(0, segment)
            return found
    end = node.greedy.get(method) or node.greedy.get(ANY)
    if end is None:
        return None
    rest = "/".join(segments[at:])
    return (end, [rest]) if rest else None
