"""ResultPath writes: put a value where a Reference Path points, copying only the objects and arrays on the way.

Missing objects on the way are created. Arrays are never created and never grow: an index must name an element that
exists (a negative one counts from the end). The open specification does not define an index past the end; here it is
`States.ResultPathMatchFailure`, like every other place that the document does not have. Leaves reading to `jsonpath`.
"""

from __future__ import annotations

import json
from typing import Final

from statewright.errors import RESULT_PATH_MATCH, ExecutionFailure
from statewright.payload import Json
from statewright.query.comparison import kind_of
from statewright.query.jsonpath_parser import PathSyntaxError, parse_path
from statewright.query.jsonpath_tree import Index, Name

SHOWN_INPUT: Final = 1_000
"""Characters of the document that a failure's cause repeats."""


class ReferencePath:
    """A compiled place in a document. `keys` are member names and array indexes; none for `$`."""

    __slots__ = ("keys", "text")

    def __init__(self, text: str, keys: tuple[str | int, ...]) -> None:
        self.text = text
        self.keys = keys

    def write(self, document: Json, value: Json) -> Json:
        """A document with `value` at this place; all other parts are shared with `document`.

        Raises: `ExecutionFailure` (States.ResultPathMatchFailure) where the document has no such place.
        """
        keys = self.keys
        if not keys:
            return value
        if len(keys) == 1 and isinstance(document, dict) and isinstance(keys[0], str):
            return {**document, keys[0]: value}
        copies: list[dict[str, Json] | list[Json]] = []
        current = document
        for at, key in enumerate(keys):
            copy: dict[str, Json] | list[Json]
            if isinstance(key, str):
                if not isinstance(current, dict):
                    return self._fail(document, current, at)
                copy = dict(current)
                # Missing members become objects; only the last one may be any value.
                current = copy.get(key, _NOTHING)
            else:
                if not isinstance(current, list) or not -len(current) <= key < len(current):
                    return self._fail(document, current, at)
                copy = list(current)
                current = copy[key]
            copies.append(copy)
        for key, copy in zip(reversed(keys), reversed(copies), strict=True):
            copy[key] = value  # type: ignore[index]
            value = copy
        return value

    def _fail(self, document: Json, found: Json, at: int) -> Json:
        key = self.keys[at]
        place = "$" + "".join(f"[{k}]" if isinstance(k, int) else f"['{k}']" for k in self.keys[:at])
        if found is _NOTHING:
            reason = f"there is no array at {place}"
        elif isinstance(key, str):
            reason = f"{place} is {kind_of(found)}, which has no members"
        elif isinstance(found, list):
            reason = f"{place} is {kind_of(found)}, which has no element {key}"
        else:
            reason = f"{place} is {kind_of(found)}, which has no elements"
        raise ExecutionFailure(
            RESULT_PATH_MATCH, f"Unable to apply ReferencePath {self.text} to input {_shown(document)}: {reason}"
        )


class _Nothing(dict[str, Json]):
    """Stands for a missing member; it copies as an empty object."""

    __slots__ = ()


_NOTHING: Final = _Nothing()


def compile_reference_path(text: str) -> ReferencePath:
    """Compile a place such as `$`, `$.a.b` or `$['x y'][0].b`.

    Raises: `PathSyntaxError` for an invalid path, for `$$` and variables, and for more than one node.
    """
    path = parse_path(text).path
    if path.root != "data":
        raise PathSyntaxError("A place to write to starts with '$' alone", text, 1)
    keys: list[str | int] = []
    for step in path.steps:
        if isinstance(step, Name) and step.plain:
            keys.append(step.name)
        elif isinstance(step, Index):
            keys.append(step.index)
        else:
            raise PathSyntaxError("A Reference Path has only names and single indexes", text, 0)
    return ReferencePath(text, tuple(keys))


def _shown(document: Json) -> str:
    """The document as JSON, shortened; a document too deep for the encoder is named by its type."""
    try:
        shown = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        return kind_of(document)
    return shown if len(shown) <= SHOWN_INPUT else shown[:SHOWN_INPUT] + "..."
