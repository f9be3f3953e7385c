"""Long condition expressions over large items: each list is searched, and each pair of values compared, once."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statewright.tables.expressions import conditions, parser
from statewright.tables.expressions.bindings import Bindings
from statewright.tables.expressions.conditions import Compiler, Test

PARAMETER = "FilterExpression"


def compiled(text: str, values: dict[str, Any] | None = None) -> Test:
    bindings = Bindings(None, values, {PARAMETER: text})
    return Compiler(PARAMETER, bindings).test(parser.condition(PARAMETER, text))


def counted(monkeypatch: pytest.MonkeyPatch, name: str) -> list[Any]:
    calls: list[Any] = []
    real = getattr(conditions, name)

    def counting(*arguments: Any) -> Any:
        calls.append(None)
        return real(*arguments)

    monkeypatch.setattr(conditions, name, counting)
    return calls


def test_a_list_is_searched_once_for_all_conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    equal, keys = counted(monkeypatch, "equal"), counted(monkeypatch, "_key_of")
    values = {f":v{number}": {"N": str(-number)} for number in range(1, 101)}
    test = compiled(" OR ".join(f"contains(l, {name})" for name in values), values)
    assert not test({"l": {"L": [{"N": str(number)} for number in range(20_000)]}})
    assert not equal
    assert len(keys) == 20_000 + len(values)
    assert test({"l": {"L": [{"N": "-100"}] * 50}})


@pytest.mark.parametrize("text", [" OR ".join(["l = m"] * 100), f"l IN ({', '.join(['m'] * 90)})"])
def test_a_pair_of_large_values_is_compared_once(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    calls = counted(monkeypatch, "equal")
    test = compiled(text)
    ones: list[Any] = [{"N": "1"}] * 1_000
    assert not test({"l": {"L": ones}, "m": {"L": [*ones, {"N": "2"}]}})
    assert len(calls) == 1
    assert test({"l": {"L": ones}, "m": {"L": list(ones)}})


def test_only_the_beginning_of_bytes_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[int] = []

    def decode(text: str) -> bytes:
        decoded.append(len(text))
        return b64decode(text)

    monkeypatch.setattr(conditions, "b64decode", decode)
    item = {"b": {"B": b64encode(bytes(range(256)) * 1_000).decode()}}
    for length in range(1, 9):
        for wanted, expected in ((bytes(range(length)), True), (bytes(range(1, length + 1)), False)):
            test = compiled("begins_with(b, :v)", {":v": {"B": b64encode(wanted).decode()}})
            assert test(item) is expected
    assert compiled("size(b) = :v", {":v": {"N": "256000"}})(item)
    assert max(decoded) <= 12


SCALARS: Any = st.one_of(
    st.sampled_from(["0", "1", "2"]).map(lambda text: {"N": text}),
    st.sampled_from(["0", "1", "a"]).map(lambda text: {"S": text}),
    st.booleans().map(lambda flag: {"BOOL": flag}),
    st.just({"NULL": True}),
    st.sampled_from([{"SS": ["a", "b"]}, {"SS": ["b", "a"]}, {"NS": ["1"]}, {"BS": ["AAEC"]}]),
)
VALUES: Any = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda one: {"L": one}),
        st.dictionaries(st.sampled_from("ab"), inner, max_size=2).map(lambda one: {"M": one}),
    ),
    max_leaves=4,
)


@given(st.lists(VALUES, max_size=6), VALUES)
def test_a_long_list_contains_what_a_short_one_does(elements: list[Any], part: Any) -> None:
    test = compiled("contains(l, :v)", {":v": part})
    assert test({"l": {"L": elements}}) == test({"l": {"L": elements * 40}})
