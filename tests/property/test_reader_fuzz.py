"""Whatever the reader is given, it returns a document or says what is wrong and where."""

import json
import math
import re
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from statewright.asl.reader import Document, ReadError, Syntax, read_document
from statewright.asl.text import jackson
from tests.thoroughness import examples

EXAMPLES = settings(max_examples=examples(150))

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=12)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
JSON_TEXTS = st.builds(
    lambda value, indent, ascii_only: json.dumps(value, indent=indent, ensure_ascii=ascii_only),
    VALUES,
    st.sampled_from([None, 1, 3]),
    st.booleans(),
)
YAML_TEXTS = st.builds(
    lambda value, flow: yaml.safe_dump(value, default_flow_style=flow, allow_unicode=True), VALUES, st.booleans()
)
PIECES = st.sampled_from(
    [*"{}[]:,\"'\\\n\r\t -#&*!|>%@`?~<$", "${", "{%", "%}", "//", "/*", "\\u", "\\ud800", "\ufeff", "\x00", "\x85",
     "\ud800", "é", "NaN", "-", "0", "1e999", "null", "<<: ", "&a ", "*a", "---\n", "...\n", "!!int ", "? ", ": ",
     "- ", '"a":1,', "a: 1\n"]
)  # fmt: skip


@st.composite
def mutated(draw, texts):
    text = draw(texts)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 3)))
        text = text[:start] + draw(PIECES) + text[end:]
    return text


def check(text: str | bytes, syntax: Syntax | None = None) -> Document | None:
    """Read a text; a refusal must name places in it, and the service's words must not fail either."""
    refusal = None
    try:
        document = read_document(text, syntax=syntax)
    except ReadError as error:
        refusal = error
    if refusal:
        assert refusal.diagnostics
        assert all(found.line >= 1 and found.column >= 1 and found.hint for found in refusal.diagnostics)
        assert refusal.service_message != ""
        return None
    json.dumps(document.value, allow_nan=False).encode()
    every_position(document)
    return document


def every_position(document: Document) -> None:
    lines = document.source.text.count("\n") + document.source.text.count("\r") + 1
    pending: list[tuple[tuple[str | int, ...], Any]] = [((), document.value)]
    while pending and len(pending) < 500:
        path, value = pending.pop()
        assert 1 <= document.position(path)[0] <= lines
        assert 1 <= document.key_position(path)[0] <= lines
        if isinstance(value, dict):
            pending.extend(((*path, name), part) for name, part in value.items())
        elif isinstance(value, list):
            pending.extend(((*path, index), part) for index, part in enumerate(value))


@EXAMPLES
@given(st.text() | st.lists(PIECES, max_size=40).map("".join), st.sampled_from([None, "json", "yaml"]))
def test_any_text(text, syntax):
    check(text, syntax)


@EXAMPLES
@given(st.binary() | st.lists(PIECES, max_size=20).map(lambda found: "".join(found).encode("utf-8", "surrogatepass")))
def test_any_bytes(data):
    check(data)


@EXAMPLES
@given(mutated(JSON_TEXTS))
def test_mutated_json(text):
    document = check(text, "json")
    fault = jackson.first_fault(text)
    if document and not document.placeholders and not text.startswith("\ufeff"):
        assert fault is None
    if document is None and fault:
        assert fault.line >= 1


@EXAMPLES
@given(mutated(YAML_TEXTS))
def test_mutated_yaml(text):
    check(text, "yaml")


@EXAMPLES
@given(JSON_TEXTS)
def test_json_round_trip(text):
    document = read_document(text, syntax="json")
    assert repr(document.value) == repr(json.loads(text))
    assert document.placeholders == ()
    every_position(document)


@EXAMPLES
@given(mutated(JSON_TEXTS))
def test_json_is_refused_exactly_when_the_standard_library_refuses(text):
    def strict_pairs(pairs):
        if len({name for name, _ in pairs}) < len(pairs):
            raise ValueError("repeated")
        return dict(pairs)

    def no_constant(name):
        raise ValueError(name)

    def finite(digits):
        number = float(digits)
        if math.isinf(number):
            raise ValueError(digits)
        return number

    try:
        value = json.loads(
            text.removeprefix("\ufeff"),
            object_pairs_hook=strict_pairs,
            parse_constant=no_constant,
            parse_float=finite,
        )
        json.dumps(value, ensure_ascii=False).encode()
    except ValueError:
        expected = None
    else:
        expected = repr(value)
    try:
        read = repr(read_document(text, syntax="json", placeholders=False).value)
    except ReadError:
        read = None
    assert read == expected


@EXAMPLES
@given(VALUES)
def test_yaml_reads_what_json_writes(value):
    # Flow style and double quotes read JSON, but YAML folds more line breaks, takes fewer characters as they are, and
    # puts no pairs of escapes together.
    text = json.dumps(value, ensure_ascii=False)
    text = re.sub("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]", lambda found: f"\\u{ord(found[0]):04x}", text)
    assert repr(read_document(text, syntax="yaml").value) == repr(value)
