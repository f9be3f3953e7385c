from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statewright.errors import ApiError
from statewright.tables.keys import BEHIND_PARTS, beginning, behind, encoded, part_key, segment
from statewright.tables.values import checked, equal, item_size, number_text, size_of

OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"
UNDERFLOW = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
INVALID = "One or more parameter values were invalid: "


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [
        ("0", "0"),
        ("-0", "0"),
        ("0.0e5", "0"),
        ("1", "1"),
        ("+1", "1"),
        ("01", "1"),
        ("1.50", "1.5"),
        (".5", "0.5"),
        ("5.", "5"),
        ("1E3", "1000"),
        ("1e-3", "0.001"),
        ("-12.3400", "-12.34"),
        ("1200", "1200"),
        ("9" * 38, "9" * 38),
        ("-" + "9" * 38, "-" + "9" * 38),
        ("1" + "0" * 125, "1" + "0" * 125),
        ("1E-130", "0." + "0" * 129 + "1"),
        ("9.9999999999999999999999999999999999999E+125", "9" * 38 + "0" * 88),
        ("0." + "1" * 38, "0." + "1" * 38),
    ],
)
def test_numbers_have_one_form(given_text, expected):
    assert number_text(given_text) == expected


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
        ({"X": "a"}, "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
        ({"S": None}, "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
        (
            {"S": "a", "N": "1"},
            "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported "
            "datatypes",
        ),
        ({"N": "abc"}, "The parameter cannot be converted to a numeric value: abc"),
        ({"N": ""}, "The parameter cannot be converted to a numeric value"),
        ({"N": "1 "}, "The parameter cannot be converted to a numeric value: 1 "),
        ({"N": "NaN"}, "The parameter cannot be converted to a numeric value: NaN"),
        ({"N": "1" * 39}, "Attempting to store more than 38 significant digits in a Number"),
        ({"N": "1E126"}, OVERFLOW),
        ({"N": "1E-131"}, UNDERFLOW),
        (
            {"N": "1e999999999"},
            OVERFLOW,
        ),
        (
            {"N": "-9E9999999"},
            OVERFLOW,
        ),
        (
            {"N": "1e-999999999"},
            UNDERFLOW,
        ),
        ({"N": "1" * 1_000_000}, "Attempting to store more than 38 significant digits in a Number"),
        ({"NULL": False}, INVALID + "Null attribute value types must have the value of true"),
        ({"SS": []}, "1 validation error detected: " + INVALID + "An string set  may not be empty"),
        ({"NS": []}, INVALID + "An number set  may not be empty"),
        ({"BS": []}, INVALID + "Binary sets should not be empty"),
        ({"SS": ["a", "a"]}, INVALID + "Input collection [a, a] contains duplicates."),
        ({"NS": ["1", "1.0"]}, "Input collection contains duplicates"),
        ({"SS": ["a", ""]}, INVALID + "An string set may not have a empty string as a member"),
        (
            {"L": [{"S": "a"}, {}]},
            "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
        ),
    ],
)
def test_values_that_cannot_be_stored(value, message):
    with pytest.raises(ApiError) as caught:
        checked(value)
    assert (caught.value.code, caught.value.message) == ("ValidationException", message)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"S": 5}, "NUMBER_VALUE cannot be converted to String"),
        ({"N": 5}, "NUMBER_VALUE cannot be converted to String"),
        ({"S": True}, "TRUE_VALUE cannot be converted to String"),
        ({"BOOL": "true"}, "STRING_VALUE cannot be converted to Boolean"),
        ({"L": {}}, "Start of structure or map found where not expected"),
        ({"M": []}, "Start of list found where not expected"),
        ({"B": "?"}, "A blob is not base64 text"),
        ("text", "STRING_VALUE cannot be converted to structure"),
    ],
)
def test_values_of_another_json_type(value, message):
    with pytest.raises(ApiError) as caught:
        checked(value)
    assert (caught.value.code, caught.value.message) == ("SerializationException", message)


def nested(levels: int) -> dict[str, object]:
    value: dict[str, object] = {"S": "deep"}
    for _ in range(levels):
        value = {"L": [value]}
    return value


def test_values_nest_thirty_two_levels_deep():
    checked(nested(32))
    with pytest.raises(ApiError, match="Nesting Levels have exceeded supported limits"):
        checked(nested(33))


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({"S": ""}, 0),
        ({"S": "aé"}, 3),
        ({"N": "0"}, 1),
        ({"N": "123"}, 3),
        ({"N": "-123"}, 4),
        ({"N": "1000"}, 2),
        ({"B": "aGk="}, 2),
        ({"B": "aGlo"}, 3),
        ({"BOOL": False}, 1),
        ({"NULL": True}, 1),
        ({"SS": ["ab", "c"]}, 3),
        ({"NS": ["1", "22"]}, 4),
        ({"BS": ["aGk="]}, 2),
        ({"L": []}, 3),
        ({"L": [{"S": "ab"}, {"BOOL": True}]}, 8),
        ({"M": {"k": {"S": "ab"}}}, 7),
    ],
)
def test_sizes(value, size):
    stored, counted = checked(value)
    assert counted == size == size_of(stored)
    assert item_size({"name": stored}) == size + 4


def test_bytes_inside_the_process_are_base64_as_on_the_wire():
    assert checked({"BS": [b"hi", b"\xff"]}) == ({"BS": ["aGk=", "/w=="]}, 3)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"SS": ["a", "b"]}, {"SS": ["b", "a"]}, True),
        ({"SS": ["a"]}, {"SS": ["a", "b"]}, False),
        ({"L": [{"SS": ["a", "b"]}]}, {"L": [{"SS": ["b", "a"]}]}, True),
        ({"M": {"k": {"NS": ["1", "2"]}}}, {"M": {"k": {"NS": ["2", "1"]}}}, True),
        ({"M": {"k": {"S": "1"}}}, {"M": {"j": {"S": "1"}}}, False),
        ({"S": "1"}, {"N": "1"}, False),
        ({"L": []}, {"M": {}}, False),
    ],
)
def test_sets_are_equal_in_any_order(one, other, same):
    assert equal(one, other) is same


numbers = st.decimals(allow_nan=False, allow_infinity=False, places=9).filter(lambda n: abs(n) < Decimal(10) ** 28)


@given(numbers, numbers)
def test_encoded_numbers_sort_as_numbers(one, other):
    left, right = encoded({"N": number_text(str(one))}), encoded({"N": number_text(str(other))})
    assert (left < right) == (one < other)
    assert (left == right) == (one == other)


@given(st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_categories=["Cs"])))
def test_encoded_texts_sort_as_their_bytes(one, other):
    left, right = encoded({"S": one}), encoded({"S": other})
    assert (left < right) == (one.encode() < other.encode())
    prefix = beginning({"S": one})
    assert (prefix <= right < behind(prefix)) == other.startswith(one)


@given(st.text("\0\1aé", max_size=4), st.text("\0\1aé", max_size=4), st.binary(max_size=3), st.binary(max_size=3))
def test_what_follows_a_value_does_not_change_its_place(one, other, tail, other_tail):
    left, right = encoded({"S": one}), encoded({"S": other})
    if one != other:
        assert (left + tail < right + other_tail) == (left < right)
    assert left <= left + tail < behind(left)


def test_segments_share_all_partitions_out():
    for total in (1, 2, 3, 7, 1_000_000):
        ends = [segment(number, total) for number in (range(total) if total < 10 else (0, 1, 999_999))]
        assert ends[0][0] == b"\0\0\0\0"
        assert ends[-1][1] == BEHIND_PARTS
    bounds = [segment(number, 7) for number in range(7)]
    assert [end for _, end in bounds[:-1]] == [begin for begin, _ in bounds[1:]]
    parts = [part_key({"S": f"key-{number}"}) for number in range(700)]
    shares = [sum(begin <= part < end for part in parts) for begin, end in bounds]
    assert sum(shares) == 700
    assert min(shares) > 50
