"""The gateway's own variables: `$input`, `$util`, `$context`, `$stageVariables`, by their members.

Each member is a closed function; one that is not listed is refused before deployment. Paths are those of
`query.jsonpath`, compiled with the template where they are constant.

Source: guide, "Variables for data transformations"; what a body without JSON or a missing value gives is observed.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Final
from urllib.parse import quote_plus, unquote_plus

from statewright.apis.templates.failures import BodyIsNotJson, RenderingFailed
from statewright.apis.templates.rendering import Rendering
from statewright.apis.templates.values import counted_json, text_of
from statewright.errors import ExecutionFailure
from statewright.payload import Json, JsonTextError, parse_json
from statewright.query.fence import FENCE
from statewright.query.jsonpath import JsonPath, PathNotFound, PathSyntaxError, compile_path

LONGEST_PATH: Final = 2_048
"""Characters of a JSONPath. Ours."""
_ROOTS: Final = ("path", "querystring", "header")
_FORM: Final = "application/x-www-form-urlencoded"
_MISSING: Final[Json] = object()

Evaluate = Callable[[Rendering], Json]


def path_of(text: str) -> JsonPath:
    """A JSONPath over the body; without `$` it begins there. Raises: PathSyntaxError."""
    if len(text) > LONGEST_PATH:
        raise PathSyntaxError(f"More than {LONGEST_PATH} characters", text, LONGEST_PATH)
    path = compile_path(text if text.startswith("$") else f"$.{text}")
    if path.root != "data" or path.variables or path.uses_context:
        raise PathSyntaxError("A path of a mapping template reads the body, from $ on,", text, 0)
    return path


def read_path(path: JsonPath, run: Rendering) -> Json:
    """`$input.path`: a part of the body; null if it is missing. `$` of a form is its text."""
    try:
        found = _found(path, run)
    except BodyIsNotJson:
        if path.text == "$" and str(parameter("Content-Type", run)).lower().startswith(_FORM):
            return run.inputs.body
        raise
    if found is _MISSING:
        return None
    return found if run.shares_document or found.__class__ not in (dict, list) else run.copied(found)


def read_json(path: JsonPath, run: Rendering) -> Json:
    """`$input.json`: a part of the body as JSON text; `""` if it is missing."""
    found = _found(path, run)
    return '""' if found is _MISSING else counted_json(found, run)


def _found(path: JsonPath, run: Rendering) -> Json:
    before = FENCE.visited
    try:
        return path.find(run.document())
    except PathNotFound:
        return _MISSING
    except ExecutionFailure as failure:
        raise RenderingFailed(failure.cause) from None
    finally:
        if FENCE.visited != before:
            run.spend(FENCE.visited - before)


def dynamic(read: Callable[[JsonPath, Rendering], Json], argument: Evaluate) -> Evaluate:
    """`$input.path` or `json` with a path that the template makes."""

    def evaluate(run: Rendering) -> Json:
        text = text_of(argument(run), run)
        run.spend(20 + len(text))
        try:
            path = path_of(text)
        except PathSyntaxError as error:
            raise RenderingFailed(f"a path: {error}") from None
        return read(path, run)

    return evaluate


def parameters(run: Rendering) -> Json:
    """`$input.params()`: a map of maps that the template may change."""
    given = run.inputs.parameters
    run.spend(sum(len(members) for members in given.values()))
    return {kind: dict(given.get(kind, {})) for kind in _ROOTS}


def parameter(name: str, run: Rendering) -> Json:
    """`$input.params(name)`: of the path, the query string or the headers; an empty text if there is none."""
    given = run.inputs.parameters
    for kind in _ROOTS:
        found = given.get(kind, {}).get(name)
        if found is not None:
            return found
    lower = name.lower()
    return next((value for header, value in given.get("header", {}).items() if header.lower() == lower), "")


# ------------------------------------------------------------------ $util


class _JavaScript(dict[int, str]):
    """The escapes of `escapeJavaScript` by character, for `str.translate`."""

    def __missing__(self, code: int) -> str:
        if 0x20 <= code < 0x7F:
            return chr(code)
        if code > 0xFFFF:
            code -= 0x10000
            return f"\\u{0xD800 + (code >> 10):04X}\\u{0xDC00 + (code & 0x3FF):04X}"
        escape = f"\\u{code:04X}"
        self[code] = escape
        return escape


_SIGNS: Final = {"'": "\\'", '"': '\\"', "\\": "\\\\", "/": "\\/"}
_CONTROLS: Final = {"\b": "\\b", "\n": "\\n", "\t": "\\t", "\f": "\\f", "\r": "\\r"}
_JAVASCRIPT: Final = _JavaScript({ord(char): escape for char, escape in {**_SIGNS, **_CONTROLS}.items()})


def _escape_javascript(text: str, run: Rendering) -> Json:
    is_plain = text.isascii() and text.isprintable()
    run.spend_text(len(text), 4 if is_plain else 32)
    if is_plain:
        # Most texts, several times as quick: only the four signs.
        escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace('"', '\\"').replace("/", "\\/")
    else:
        escaped = text.translate(_JAVASCRIPT)
    if len(escaped) > len(text) + 1024:
        run.spend_text(len(escaped))
    return escaped


def _parse_json(text: str, run: Rendering) -> Json:
    run.spend_text(len(text), 2)
    try:
        return parse_json(text)
    except JsonTextError as error:
        raise RenderingFailed(f"$util.parseJson: {error}") from None


def _url_encode(text: str, run: Rendering) -> Json:
    run.spend_text(3 * len(text), 16)
    return quote_plus(text, safe="*", errors="replace").replace("~", "%7E")


def _url_decode(text: str, run: Rendering) -> Json:
    run.spend_text(len(text), 64)
    return unquote_plus(text)


def _base64_encode(text: str, run: Rendering) -> Json:
    run.spend_text(2 * len(text))
    return base64.b64encode(text.encode("utf-8", "replace")).decode()


def _base64_decode(text: str, run: Rendering) -> Json:
    run.spend_text(len(text))
    try:
        return base64.b64decode(text.encode("ascii", "replace")).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        raise RenderingFailed("$util.base64Decode: the text is not base64") from None


UTILITIES: Final[dict[str, Callable[[str, Rendering], Json]]] = {
    "escapeJavaScript": _escape_javascript,
    "parseJson": _parse_json,
    "urlEncode": _url_encode,
    "urlDecode": _url_decode,
    "base64Encode": _base64_encode,
    "base64Decode": _base64_decode,
}
"""The functions of `$util`, each of one text."""
