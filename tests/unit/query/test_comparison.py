"""Equality, order and doubles as the service has them."""

from __future__ import annotations

import math

import pytest

from statewright.query.comparison import as_double, is_number, json_equal, kind_of, text_less


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        (True, True, True),
        (None, None, True),
        (None, False, False),
        ("a", "a", True),
        ("1", 1, False),
        ([1, [2, {"a": None}]], [1.0, [2, {"a": None}]], True),
        ([1], [True], False),
        ([1], [1, 2], False),
        ([1], {"0": 1}, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 1}, {"b": 1}, False),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": 1}, [1], False),
        ({"a": [True]}, {"a": [1]}, False),
        (5, [5], False),
    ],
)
def test_equality(left, right, same):
    assert json_equal(left, right) is same
    assert json_equal(right, left) is same


def test_equality_tells_its_work():
    spent: list[int] = []
    assert json_equal([[1, 2], {"a": 3}], [[1, 2], {"a": 3}], spent.append)
    assert sorted(spent) == [1, 2, 2]


def test_numbers():
    assert [is_number(v) for v in (1, 1.5, True, "1", None)] == [True, True, False, False, False]
    assert as_double(2**53 + 1) == 2.0**53
    assert as_double(7) == 7
    assert isinstance(as_double(7), int)
    assert as_double(10**400) == math.inf
    assert as_double(-(10**400)) == -math.inf


def test_text_order():
    assert text_less("a", "b")
    assert not text_less("b", "a")
    assert not text_less("a", "a")
    assert text_less("a", "é")
    assert text_less("\U0001f600", "\uff5e")
    assert not text_less("\uff5e", "\U0001f600")
    assert text_less("\ud800", "\ue000")


def test_kinds():
    values = [{}, [1, 2], "x", True, None, 1.5]
    assert [kind_of(v) for v in values] == [
        "an object",
        "an array of 2",
        "a string",
        "a boolean",
        "null",
        "a number",
    ]
