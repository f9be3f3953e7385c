from __future__ import annotations

import json

import pytest

from statewright.errors import RUNTIME, ExecutionFailure
from statewright.payload import MAX_DEPTH, JsonTextError, Payload, dump_json, dump_row, embedded, parse_json

HUGE = 2**70


def nested(depth: int) -> list[object]:
    value: list[object] = []
    for _ in range(depth - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        (b"[1.5]", [1.5]),
        ('{"a":{"b":null}}', {"a": {"b": None}}),
        ('"\\u00e9\u20ac"', "é€"),
        ("9007199254740993", 9007199254740993),
        ("18446744073709551616", 2**64),
        (f"[{HUGE}]", [HUGE]),
        ("1.0", 1.0),
        ("0.1234567890123456789", 0.12345678901234568),
        (' {"a" : 1} ', {"a": 1}),
    ],
)
def test_reads(text: str | bytes, value: object) -> None:
    found = parse_json(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "nul", "{a:1}", "[1,]", "NaN", "-Infinity", "1e999", '"\ud800"', '"\\ud800"', b'"\xff"', b"\xff\xfe1",
        f"[{HUGE}, NaN]", f"[{HUGE}, 1e999]", f'[{HUGE}, "\\ud800"]', f"[{HUGE},]", f"\ufeff{HUGE}",
        b'["1234567890123456789", "\xff"]', "1" * 5000,
    ],
)  # fmt: skip
def test_refuses_what_is_no_json(text: str | bytes) -> None:
    with pytest.raises(JsonTextError):
        parse_json(text)


def test_says_where() -> None:
    with pytest.raises(JsonTextError) as found:
        parse_json('{"a": 1,\n "b" 2}')
    assert (found.value.line, found.value.column) == (2, 6)
    with pytest.raises(JsonTextError) as found:
        parse_json(f'{{"a": {HUGE},\n "b" 2}}')
    assert (found.value.line, found.value.column) == (2, 6)


@pytest.mark.parametrize("beside", ["", f", {HUGE}"])
@pytest.mark.parametrize("depth", [1, 200, 254, 255, 400])
def test_deep_values_come_through(depth: int, beside: str) -> None:
    text = f"[{'[' * depth}{']' * depth}{beside}]".replace(" ", "")
    value = parse_json(text)
    assert dump_json(value) == text
    assert Payload(value).size_bytes == len(text)


@pytest.mark.parametrize("leaf", ["", str(HUGE)])
def test_the_limit_of_depth_is_the_same_for_reading_and_writing(leaf: str) -> None:
    text = "[" * MAX_DEPTH + leaf + "]" * MAX_DEPTH
    assert dump_json(parse_json(text)) == text
    deeper = f"[{text}]"
    with pytest.raises(JsonTextError, match="deeper than 500"):
        parse_json(deeper)
    with pytest.raises(ExecutionFailure, match="deeper than 500") as failure:
        dump_json([parse_json(text)])
    assert failure.value.error == RUNTIME
    assert dump_json(parse_json(deeper, max_depth=501), max_depth=501) == deeper


@pytest.mark.parametrize("depth", [1_100, 100_000])
@pytest.mark.parametrize("leaf", ["", str(HUGE)])
def test_far_too_deep_is_an_error_of_its_own(depth: int, leaf: str) -> None:
    with pytest.raises(JsonTextError, match="deeper"):
        parse_json("[" * depth + leaf + "]" * depth)


def test_brackets_within_strings_are_no_depth() -> None:
    text = json.dumps(["[" * 2_000, {"a": "{" * 2_000}])
    assert parse_json(text) == json.loads(text)


@pytest.mark.parametrize("value", ["\ud800", {"\ud800": 1}, {1: object()}, [object()], [HUGE, float("nan")]])
def test_refuses_to_write_what_json_cannot_carry(value: object) -> None:
    with pytest.raises(ExecutionFailure) as failure:
        dump_json(value)
    assert failure.value.error == RUNTIME


def test_writes_compactly_and_in_order() -> None:
    assert dump_json({"b": [1, 2.5, True, None], "a": "é"}) == '{"b":[1,2.5,true,null],"a":"é"}'
    assert dump_json({"b": [HUGE], "a": "é"}) == f'{{"b":[{HUGE}],"a":"é"}}'


def test_embeds_text_as_it_is() -> None:
    assert dump_row([1, embedded('{"a": 1}'), None]) == b'[1,{"a": 1},null]'


class TestPayload:
    def test_text_size_and_digest_are_made_once(self) -> None:
        payload = Payload({"é": 1})
        assert payload.text is payload.text
        assert payload.size_bytes == len('{"é":1}'.encode())
        assert payload.digest is payload.digest
        assert len(payload.digest) == 16

    @pytest.mark.parametrize("text", ['"plain"', '"é€"', f"[{HUGE}]"])
    def test_size_of_a_given_text(self, text: str) -> None:
        assert Payload(parse_json(text), text).size_bytes == len(text.encode())
        assert Payload(parse_json(text)).size_bytes == len(text.encode())

    def test_equality_is_that_of_the_text(self) -> None:
        assert Payload({"a": 1}) == Payload({"a": 1})
        assert hash(Payload({"a": 1})) == hash(Payload({"a": 1}))
        assert Payload({"a": 1}) != Payload({"a": 1.0})
        assert Payload(1) != 1
        assert Payload(1).digest != Payload(2).digest

    def test_from_text_normalises(self) -> None:
        assert Payload.from_text(' {"a" : 1.50} ').text == '{"a":1.5}'
        with pytest.raises(JsonTextError):
            Payload.from_text("{")

    def test_shows_a_part_of_itself(self) -> None:
        assert repr(Payload("x" * 200)) == 'Payload("' + "x" * 79 + ")"

    def test_a_value_that_cannot_be_written_fails_when_asked_for(self) -> None:
        payload = Payload(nested(501))
        with pytest.raises(ExecutionFailure):
            _ = payload.size_bytes
