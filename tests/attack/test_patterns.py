"""A long event pattern against a long array: each element is looked up, not compared with each value of the pattern."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statewright.query import matching as matching_module
from statewright.query import pattern_leaves
from statewright.query.event_pattern import PatternError, compile_pattern
from statewright.query.matching import LOOP_WORK, Matching, TooMuchWork

ELEMENTS: list[Any] = [f"value-{number}" for number in range(20_000)]


def counted(monkeypatch: pytest.MonkeyPatch, name: str) -> list[Any]:
    calls: list[Any] = []
    real = getattr(pattern_leaves, name)

    def counting(*arguments: Any) -> Any:
        calls.append(None)
        return real(*arguments)

    monkeypatch.setattr(pattern_leaves, name, counting)
    if hasattr(matching_module, name):
        monkeypatch.setattr(matching_module, name, counting)
    return calls


def test_values_of_a_pattern_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = counted(monkeypatch, "frozen")
    matches = [compile_pattern({"a": [f"none-{rule}-{number}" for number in range(300)]}) for rule in range(5)]
    event, matching = {"a": ELEMENTS}, Matching()
    assert not any(one(event, matching) for one in matches)
    # Every value of the patterns and every element once, however many patterns look at the same array.
    assert len(calls) == 5 * 300 + len(ELEMENTS)
    assert compile_pattern({"a": ["none", "value-19999"]})(event, matching)


def test_an_ordinary_pattern_looks_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    ordinary: list[list[Any]] = [["a"], ["a", "b", "c"], [1], [True], [None], [{"prefix": "a"}], [{"exists": True}]]
    leaves = [compile_pattern({"a": choices}) for choices in ordinary]
    calls = [counted(monkeypatch, name) for name in ("frozen", "_covers")]
    matching = Matching(0)
    values: list[Any] = ["a", ["z", "c"], 1, True, None, {}, [], ["z"] * 9]
    seen = [[leaf({"a": value}, matching) for leaf in leaves] for value in values]
    assert not any(calls)
    assert seen == [
        [True, True, False, False, False, True, True],
        [False, True, False, False, False, False, True],
        [False, False, True, False, False, False, True],
        [False, False, False, True, False, False, True],
        [False, False, False, False, True, False, True],
        [False, False, False, False, False, False, False],
        [False, False, False, False, False, False, False],
        [False, False, False, False, False, False, True],
    ]


class Watched(list[Any]):
    """An array that counts how often it is read from its beginning."""

    readings = 0

    def __iter__(self) -> Iterator[Any]:
        self.readings += 1
        return super().__iter__()


@pytest.mark.parametrize(
    "choice",
    [
        lambda number: {"prefix": f"none-{number}"},
        lambda number: {"suffix": f"none-{number}"},
        lambda number: {"prefix": {"equals-ignore-case": f"None-{number}"}},
        lambda number: {"suffix": {"equals-ignore-case": f"None-{number}"}},
        lambda number: {"equals-ignore-case": f"None-{number}"},
        lambda number: {"numeric": [">", number, "<", number + 0.5]},
    ],
)
def test_the_alternatives_of_many_rules_read_an_array_once(choice: Callable[[int], Any]) -> None:
    elements, matching = Watched([*ELEMENTS, *range(20_000)]), Matching()
    for rule in range(5):
        alternatives = [{"a": [choice(300 * rule + number)]} for number in range(300)]
        assert not compile_pattern({"$or": alternatives})({"a": elements}, matching)
    # Once for the types of its elements, once for the index.
    assert elements.readings == 2


def test_the_networks_of_all_rules_parse_each_address_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = counted(monkeypatch, "address_of")
    matching = Matching()
    elements = [f"11.0.{number // 256}.{number % 256}" for number in range(5_000)] * 2
    for rule in range(5):
        alternatives = [{"a": [{"cidr": f"10.{number}.{rule}.0/24"}]} for number in range(100)]
        assert not compile_pattern({"$or": alternatives})({"a": elements}, matching)
    assert len(calls) == 5_000
    assert compile_pattern({"a": [{"cidr": "11.0.19.128/32"}]})({"a": elements}, matching)


@pytest.mark.parametrize(
    ("text", "is_inside"),
    [("10.0.0.1", True), ("10.0.0", False), ("x10.0.0.1", False), ("10.0.0.01", False), ("\u0661\u0660.0.0.1", False),
     ("fe80::1", True), ("FE80::1%eth0", True), ("fe80::10.0.0.1", True), ("fe80::1\n", False), ("", False)],
)  # fmt: skip
def test_an_address_is_one_in_an_array_and_alone(text: str, is_inside: bool) -> None:
    matches = compile_pattern({"a": [{"cidr": "10.0.0.0/8"}, {"cidr": "fe80::/16"}]})
    assert matches({"a": text}, Matching()) is matches({"a": [text] * 40}, Matching()) is is_inside


HEAVY: list[tuple[Any, Any]] = [
    ([{"wildcard": "v*x"}] * 30, ELEMENTS),
    ([{"anything-but": {"wildcard": "v*"}}] * 30, ELEMENTS),
    ([{"anything-but": ELEMENTS}] * 30, ELEMENTS),
    ([{"exists": False}] * 30, ELEMENTS),
    ([{"wildcard": "*" + "a" * 450 + "b" + "a" * 450 + "*"}] * 4, "a" * 20_000),
    ([{"wildcard": "*a*b*c*"}] * 30, "a" * 256_000),
    ([{"wildcard": "*a*b*c*"}] * 30, ["a" * 10_000] * 25),
    ({"b": ["x"]}, [{"b": number} for number in range(60_000)]),
]


@pytest.mark.parametrize(("choices", "value"), HEAVY)
def test_patterns_that_look_at_many_values_one_by_one_leave_the_loop(choices: Any, value: Any) -> None:
    pattern = compile_pattern({"a": choices})
    with pytest.raises(TooMuchWork):
        pattern({"a": value}, Matching(LOOP_WORK))
    assert not pattern({"a": value}, Matching())


def test_the_patterns_of_one_event_share_its_bound() -> None:
    pattern = compile_pattern({"a": [{"wildcard": "*b*"}]})
    event, matching = {"a": ["aaaa"] * 5_000}, Matching(LOOP_WORK)
    for _ in range(LOOP_WORK // 5_000 - 9):
        assert not pattern(event, matching)
    with pytest.raises(TooMuchWork):
        assert not pattern(event, matching)


def test_a_long_text_is_compared_only_as_far_as_the_pattern_goes() -> None:
    class Text(str):
        __slots__ = ()

        def casefold(self) -> str:
            raise AssertionError("all of it is read")

    for choice in ({"equals-ignore-case": "abc"}, {"prefix": {"equals-ignore-case": "abc"}}):
        for others in ([], ["y"]):
            assert not compile_pattern({"a": [choice, *others]})({"a": Text("x" * 200)}, Matching())


def test_a_pattern_with_many_wildcards_is_refused() -> None:
    with pytest.raises(PatternError, match="Rule is too complex"):
        compile_pattern({"a": [{"wildcard": f"*{number}*"} for number in range(40)]})


TEXTS = st.text("abAB*", max_size=3)
CHOICES = st.one_of(
    TEXTS,
    st.integers(-3, 3),
    st.booleans(),
    st.none(),
    TEXTS.map(lambda text: {"prefix": text}),
    TEXTS.map(lambda text: {"suffix": text}),
    TEXTS.map(lambda text: {"prefix": {"equals-ignore-case": text}}),
    TEXTS.filter(bool).map(lambda text: {"equals-ignore-case": text}),
    TEXTS.map(lambda text: {"anything-but": [text]}),
    TEXTS.filter(lambda text: text and "**" not in text).map(lambda text: {"wildcard": text}),
    st.tuples(st.sampled_from(["<", "<=", ">", ">=", "="]), st.integers(-3, 3)).map(lambda one: {"numeric": list(one)}),
    st.tuples(st.integers(-3, 1), st.integers(2, 4)).map(lambda one: {"numeric": [">", one[0], "<=", one[1]]}),
)
VALUES = st.one_of(TEXTS, st.integers(-4, 5), st.floats(-4, 5), st.booleans(), st.none())


@given(st.lists(CHOICES, min_size=1, max_size=6), st.one_of(VALUES, st.lists(VALUES, max_size=40)))
def test_a_leaf_accepts_what_one_of_its_values_accepts(choices: list[Any], value: Any) -> None:
    apart = any(compile_pattern({"a": [choice]})({"a": value}, Matching()) for choice in choices)
    assert compile_pattern({"a": choices})({"a": value}, Matching()) == apart
    many = value * 40 if isinstance(value, list) else [value] * 40
    assert compile_pattern({"a": choices})({"a": many}, Matching()) == apart
