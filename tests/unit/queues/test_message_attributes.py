"""Bodies and attributes of messages: what may be sent, and sums computed here in another way."""

from __future__ import annotations

import hashlib
import struct
from typing import Any

import pytest

from statewright.errors import ApiError
from statewright.queues.message_attributes import (
    attributes_md5,
    body_bytes,
    body_md5,
    chosen,
    decoded,
    encoded,
    is_number,
    trace_header,
    trimmed_number,
)


def text(value: str, kind: str = "String") -> dict[str, Any]:
    return {"DataType": kind, "StringValue": value}


def expected_md5(attributes: dict[str, dict[str, Any]]) -> str:
    """The guide's recipe, written down once more."""
    sum_ = hashlib.md5()
    for name, value in sorted(attributes.items()):
        raw = value["BinaryValue"] if "BinaryValue" in value else value["StringValue"].encode()
        for part in (name.encode(), value["DataType"].encode()):
            sum_.update(struct.pack(">I", len(part)) + part)
        sum_.update(b"\2" if "BinaryValue" in value else b"\1")
        sum_.update(struct.pack(">I", len(raw)) + raw)
    return sum_.hexdigest()


MIXED = {
    "zeta": text("last"),
    "Alpha": text("1.5", "Number.float"),
    "blob": {"DataType": "Binary.png", "BinaryValue": b"\x00\xff"},
    "umlaut": text("ä€😀", "String.größe"),
}


def test_md5_of_a_body() -> None:
    assert body_md5(body_bytes("hello")) == "5d41402abc4b2a76b9719d911017c592"
    assert body_md5(body_bytes("ä\t😀")) == hashlib.md5("ä\t😀".encode()).hexdigest()


def test_md5_of_attributes() -> None:
    assert attributes_md5(MIXED) == expected_md5(MIXED)
    assert encoded(MIXED).md5 == expected_md5(MIXED)


def test_the_size_counts_names_types_and_values() -> None:
    size = sum(
        len(name.encode()) + len(value["DataType"].encode()) + len(value.get("BinaryValue", b""))
        + len(value.get("StringValue", "").encode())
        for name, value in MIXED.items()
    )  # fmt: skip
    assert encoded(MIXED).size_bytes == size


def test_attributes_come_back() -> None:
    assert decoded(encoded(MIXED).value) == MIXED


@pytest.mark.parametrize("body", ["a", "\t\n\r ", "\ud7ff", "\ue000\ufffd", "\U00010000\U0010ffff", "é" * 1000])
def test_bodies(body: str) -> None:
    assert body_bytes(body) == body.encode()


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("\x00", "#x0"),
        ("a\x0bb", "#xB"),
        ("\x1f", "#x1F"),
        ("\ud800", "#xD800"),
        ("\ufffe", "#xFFFE"),
        ("\uffff", "#xFFFF"),
    ],
)
def test_bodies_that_are_refused(body: str, shown: str) -> None:
    with pytest.raises(ApiError) as caught:
        body_bytes(body)
    assert caught.value.code == "InvalidMessageContents"
    assert caught.value.message == (
        f"Invalid binary character '{shown}' was found in the message body, the set of allowed characters is "
        "#x9 | #xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | [#x10000-#x10FFFF]."
    )


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("", text("x"), "1 to 256 characters"),
        ("n" * 257, text("x"), "1 to 256 characters"),
        ("a b", text("x"), "alphanumeric characters, underscores, hyphens and periods"),
        ("a!", text("x"), "alphanumeric characters, underscores, hyphens and periods"),
        (".a", text("x"), "must not start or end with a period"),
        ("a.", text("x"), "must not start or end with a period"),
        ("a..b", text("x"), "periods in succession"),
        ("aws.x", text("x"), "must not start with AWS. or Amazon."),
        ("AMAZON.x", text("x"), "must not start with AWS. or Amazon."),
        ("n", {"StringValue": "x"}, "must contain a non-empty message attribute type"),
        ("n", text("x", "string"), "You must use only the following supported type prefixes: Binary, Number, String."),
        ("n", text("x", "Strings"), "You must use only the following supported type prefixes: Binary, Number, String."),
        ("n", text("x", "String." + "y" * 256), "longer than 256 characters"),
        ("n", text(""), "Message (user) attribute 'n' must contain a non-empty value of type 'String'."),
        ("n", {"DataType": "Binary"}, "Message (user) attribute 'n' must contain a non-empty value of type 'Binary'."),
        ("n", {"DataType": "String", "BinaryValue": b"x"}, "must use field 'String'"),
        ("n", text("x", "Binary"), "must use field 'Binary'"),
        ("n", text("one", "Number"), "Can't cast the value of message (user) attribute 'n' to a number."),
    ],
)
def test_attributes_that_are_refused(name: str, value: dict[str, Any], words: str) -> None:
    with pytest.raises(ApiError) as caught:
        encoded({name: value})
    assert caught.value.code == "InvalidParameterValueException"
    assert words in caught.value.message


def test_a_message_has_ten_attributes_at_most() -> None:
    assert encoded({f"n{number}": text("x") for number in range(10)}).size_bytes == 90
    with pytest.raises(ApiError, match=r"Number of message attributes \[11\] exceeds the allowed maximum \[10\]\."):
        encoded({f"n{number}": text("x") for number in range(11)})


def test_names_of_attributes_may_have_letters_of_any_script() -> None:
    assert encoded({"attr.1øßä": text("x")}).size_bytes == len("attr.1øßä".encode()) + len("Stringx")


def test_attribute_values_have_the_characters_of_bodies() -> None:
    with pytest.raises(ApiError, match="InvalidParameterValueException: Invalid binary character '#x1' was found"):
        encoded({"n": text("a\x01")})


def test_lists_are_for_the_future() -> None:
    with pytest.raises(ApiError, match="UnsupportedOperation"):
        encoded({"n": {"DataType": "String", "StringValue": "x", "StringListValues": ["y"]}})


@pytest.mark.parametrize(
    "number",
    ["0", "-1", "+7", "1.5", ".5", "5.", "007.100", "1e10", "1E-128", "9" * 38, "0." + "1" * 38, "1e126", "-0"],
)
def test_numbers(number: str) -> None:
    assert is_number(number)


@pytest.mark.parametrize(
    "number", ["", ".", "-", "x", "1,5", "0x1", "1e", "1" * 39, "1e127", "2e126", "1e-129", "NaN", "Infinity", "١"]
)
def test_what_is_no_number(number: str) -> None:
    assert not is_number(number)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("007.100", "7.1"),
        ("1.0", "1"),
        ("0.50", "0.5"),
        (".5", "0.5"),
        ("-00", "0"),
        ("+3", "3"),
        ("-10", "-10"),
        ("01e2", "01e2"),
    ],
)
def test_numbers_lose_their_outer_zeroes(given: str, kept: str) -> None:
    assert trimmed_number(given) == kept
    made = encoded({"n": text(given, "Number")})
    assert made.value["n"]["StringValue"] == kept
    # What a sender verifies is what was sent.
    assert made.md5 == expected_md5({"n": text(given, "Number")})


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (["All"], {"a.x", "a.y", "b", "ab"}),
        ([".*"], {"a.x", "a.y", "b", "ab"}),
        (["b"], {"b"}),
        (["b", "missing"], {"b"}),
        (["a.*"], {"a.x", "a.y", "ab"}),
        (["a.x", "b"], {"a.x", "b"}),
        (["*"], {"a.x", "a.y", "b", "ab"}),
        (["AWS.", "..b"], set()),
        ([], set()),
    ],
)
def test_choosing_attributes(wanted: list[str], names: set[str]) -> None:
    stored = encoded({name: text("x") for name in ("a.x", "a.y", "b", "ab")}).value
    assert set(chosen(stored, wanted)) == names


def test_the_trace_header_is_the_only_system_attribute() -> None:
    assert trace_header({"AWSTraceHeader": text("Root=1")}) == "Root=1"
    for wrong in ({"Other": text("x")}, {"AWSTraceHeader": text("")}, {"AWSTraceHeader": text("1", "Number")}):
        with pytest.raises(ApiError) as caught:
            trace_header(wrong)
        assert caught.value.code == "InvalidParameterValueException"
