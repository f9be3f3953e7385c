"""Where JSON values and lists of names part."""

from __future__ import annotations

from typing import Any

import pytest

from statewright.simulator.differences import (
    MOST_DIFFERENCES,
    differences,
    is_subsequence,
    path_text,
    sequence_changes,
)


def parted(wanted: Any, got: Any, *, subset: bool = False) -> list[tuple[str, str, str]]:
    return [(one.where, repr(one.wanted), repr(one.got)) for one in differences(wanted, got, subset=subset)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (None, None), (1, 1.0), (10**30, 10**30), ("a", "a"), (True, True), ([], []), ({}, {}),
        ({"a": 1, "b": [2]}, {"b": [2.0], "a": 1}),
    ],
)  # fmt: skip
def test_equal_values(one: Any, other: Any):
    assert parted(one, other) == parted(other, one) == []


@pytest.mark.parametrize(
    ("wanted", "got", "found"),
    [
        (1, True, [("$", "1", "True")]),
        (0, False, [("$", "0", "False")]),
        (1, "1", [("$", "1", "'1'")]),
        (None, False, [("$", "None", "False")]),
        ([], {}, [("$", "[]", "{}")]),
        ({"a": 1}, {"a": 2}, [("$.a", "1", "2")]),
        ({"a": 1}, {}, [("$.a", "1", "nothing")]),
        ({}, {"a": None}, [("$.a", "nothing", "None")]),
        ([1, 2], [1], [("$[1]", "2", "nothing")]),
        ([1], [1, 2], [("$[1]", "nothing", "2")]),
        ({"a": [{"b c": 1}]}, {"a": [{"b c": 2}]}, [('$.a[0]["b c"]', "1", "2")]),
    ],
)
def test_differences(wanted: Any, got: Any, found: list[tuple[str, str, str]]):
    assert parted(wanted, got) == found


def test_subset():
    assert parted({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}, "d": 3}, subset=True) == []
    assert parted({"a": [1]}, {"a": [1, 2]}, subset=True) == [("$.a[1]", "nothing", "2")]
    assert parted({"a": 1}, {"b": 1}, subset=True) == [("$.a", "1", "nothing")]


def test_there_is_an_end():
    assert len(parted(list(range(1000)), [])) == MOST_DIFFERENCES


def test_depth_costs_no_recursion():
    one: Any = 1
    other: Any = 2
    for _ in range(5_000):
        one, other = [one], {"a": other}
    assert len(differences(one, other)) == 1
    for _ in range(5_000):
        one, other = [one], [other]
    assert len(differences(one, other)) == 1


def test_path_text():
    assert path_text(("a_b", 3, "c-d", "é", "")) == '$.a_b[3]["c-d"].é[""]'


def test_sequences():
    assert sequence_changes(["A", "B", "C"], ["A", "X", "C", "D"]) == [
        ("same", "A"),
        ("missing", "B"),
        ("extra", "X"),
        ("same", "C"),
        ("extra", "D"),
    ]
    assert sequence_changes([], []) == []


def test_long_sequences_are_matched_only_at_their_start():
    changes = sequence_changes(["A", "B"] * 5_000, ["A"] + ["B", "A"] * 4_000 + ["C"])
    assert changes[0] == ("same", "A")
    assert ("extra", "C") in changes


def test_subsequences():
    assert is_subsequence([], [])
    assert is_subsequence(["A", "A"], ["A", "B", "A"])
    assert not is_subsequence(["A", "A"], ["A", "B"])
    assert not is_subsequence(["B", "A"], ["A", "B"])
