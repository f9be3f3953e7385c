"""The language of the search box: what it finds, what it refuses and where, and that no row is passed over unread."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statewright.console.lists.conditions import Found, Texts, met, parse
from statewright.console.lists.search import may_match, revealed_by
from statewright.console.redaction import Redactor
from statewright.engine.executions.views import Head, Tail
from statewright.errors import ApiError
from statewright.settings.server import ConsoleSettings
from statewright.stores.protocol import Row

ORDER = {
    "order": "o-7", "total": 31.5, "count": 7, "code": "7", "paid": True, "coupon": None, "odd name": {"x": 1},
    "customer": {"name": "Grace Hopper", "email": "grace@navy.example"}, "items": [{"sku": "a"}, {"sku": "B\u00e4r"}],
}  # fmt: skip
TEXTS = Texts("run-1", json.dumps(ORDER), json.dumps({"total": 12}), None, None)
FAILED = Texts("run-2", "{}", None, "GatewayBusy", "gateway answered 503")


def place(text: str) -> tuple[int, str]:
    """The place and the words of a refusal."""
    with pytest.raises(ApiError) as refused:
        parse(text)
    assert refused.value.code == "BadQuery"
    begin, _, words = refused.value.message.partition(": ")
    return int(begin.removeprefix("At character ")), words


@pytest.mark.parametrize(
    "text",
    [
        "o-7", "HOPPER", "run-1", "bär", '"o-7"',
        'input.order = "o-7"', "input.order = o-7", "input.order != o-8", 'input.customer.email ~ "NAVY"',
        "input.count = 7", "input.code = 7", "input.count > 6.5", "input.count >= 7", "input.total < 32",
        "input.total = 31.50",
        "input.paid = true", "input.coupon = null", "input ~ hopper", "input.customer ~ hopper",
        "input.items[1].sku ~ är",
        "input.items[*].sku = a", "input.*.name ~ grace", 'input["odd name"].x = 1', "input.order > o-6",
        "output.total <= 12 and input.order = o-7", "name ~ RUN", "input.items !~ zzz", "error = null",
    ],
)  # fmt: skip
def test_it_finds(text):
    assert met(parse(text), TEXTS) is not None


@pytest.mark.parametrize(
    "text",
    [
        "o-8", "order hopper", 'input.code = "8"', 'input.count = "7"', "input.count = 8", "input.count > 7",
        "input.paid = 1", "input.paid = yes", "input.nothing = 1", "input.nothing != 1",
        "input.coupon != 1", "input.items[2].sku = a", "input.items[9].sku !~ a", "input.order.x = 1",
        "input.order[0] = o",
        "output.total = 12 and input.order = o-8", "error = GatewayBusy", "error ~ null", "name = RUN-1",
        "input ~ navy.examples",
    ],
)  # fmt: skip
def test_it_does_not_find(text):
    assert met(parse(text), TEXTS) is None


def test_texts_of_failures():
    assert met(parse("error = GatewayBusy"), FAILED) == Found("error", "", "GatewayBusy", "")
    assert met(parse("cause ~ 503 and error != Other"), FAILED) is not None
    assert met(parse("output.x = 1"), FAILED) is None


def test_it_says_where():
    assert met(parse("input.customer.email ~ navy"), TEXTS) == Found(
        "input.customer.email", '"grace@', "navy", '.example"'
    )
    assert met(parse("hopper"), TEXTS) == Found("input.customer.name", '"Grace ', "Hopper", '"')
    assert met(parse("order"), TEXTS) == Found("input", '{"', "order", '": "o-7", "total": 31.5, "count"…')
    long = Texts("n", json.dumps({"a": "x" * 500 + "needle" + "y" * 500}), None, None, None)
    assert met(parse("NEEDLE"), long) == Found("input.a", "…" + "x" * 32, "needle", "y" * 32 + "…")


@pytest.mark.parametrize(
    ("text", "at", "words"),
    [
        ("input.order =", 14, "a value is missing after =."),
        ("input.order", 12, "an operator is expected here"),
        ("input. = 3", 7, "the name of a member is expected here"),
        ("input[x] = 3", 6, '[0], [*] or ["name"] is expected here.'),
        ('input.a = "x', 11, "the quotes are not closed."),
        ("input.a = x y", 13, "`and` is expected here"),
        ("input.a = 1 and", 16, "a field is expected here"),
        ("input.a = 1 and nothing = 2", 17, "a field is expected here"),
        ("input.a = [1]", 11, "a text, a number, true, false or null is expected here."),
        ("input.a > true", 14, "> needs a number or a text."),
        ('input.a ~ ""', 12, "~ needs a text that is not empty."),
        ("error = x and error.y = 3", 20, "error is a text, and has no members."),
        ('input.a = "\\q"', 11, "these quotes hold no valid text of JSON."),
        (" and ".join(["input.a = 1"] * 21), 317, "there are more than 20 conditions."),
    ],
)
def test_it_refuses_with_a_place(text, at, words):
    found, said = place(text)
    assert said.startswith(words)
    assert found == at


@pytest.mark.parametrize("text", ["input", "error", "inputs.a = 3", "my input.a = 3", "name", "error 3 = x", "a = b"])
def test_anything_else_is_plain_text(text):
    assert parse(text).text == text


@given(st.text(max_size=40))
def test_any_text_is_a_query_or_refused_at_a_place_of_it(text):
    message = ""
    try:
        parse(text)
    except ApiError as refused:
        message = refused.message
    if message:
        assert 1 <= int(message.split(":")[0].removeprefix("At character ")) <= len(text) + 1


NAMES = st.sampled_from(["a", "b", "Order", "odd name", 'q"uote', "ü"])
LEAVES = st.one_of(
    st.text(max_size=8), st.integers(), st.booleans(), st.none(), st.floats(allow_nan=False, allow_infinity=False)
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3))
)


def members(value: Any, path: str) -> list[tuple[str, Any]]:
    """Every value with its path as the language writes it."""
    found = [(path, value)]
    if isinstance(value, dict):
        for name, member in value.items():
            found += members(member, f"{path}[{json.dumps(name)}]")
    elif isinstance(value, list):
        for number, member in enumerate(value):
            found += members(member, f"{path}[{number}]")
    return found


@given(st.data(), VALUES, st.booleans(), st.sampled_from(["input", "output"]))
def test_every_leaf_is_found_by_its_path_and_by_its_text(data, value, is_ascii, field):
    text = json.dumps(value, ensure_ascii=is_ascii)
    texts = Texts("n", text if field == "input" else "{}", text if field == "output" else None, None, None)
    path, leaf = data.draw(st.sampled_from(members(value, field)))
    if isinstance(leaf, (dict, list)):
        return
    query = parse(f"{path} = {json.dumps(leaf)}")
    assert met(query, texts) is not None
    assert may_match(row_of(texts), query)
    if isinstance(leaf, str) and leaf.strip() and leaf.lower().strip().isalnum() and len(leaf.lower()) == len(leaf):
        for plain in (parse(json.dumps(leaf.swapcase())), parse(f"{field} ~ {json.dumps(leaf)}")):
            if leaf.swapcase().lower() == leaf.lower():
                assert met(plain, texts) is not None
                assert may_match(row_of(texts), plain)


def row_of(texts: Texts) -> Row:
    """A row that has these texts."""
    head = Head("arn", "machine", "m", 1, "r", "STANDARD", "role", None, None, None, texts.input)
    tail = Tail(output=texts.output, error=texts.error, cause=texts.cause)
    return Row(1, 0, 1, texts.name, "RUNNING", 0, None, head.encode(), tail.encode())


def test_a_row_gives_its_texts():
    assert revealed_by(Redactor())(row_of(FAILED)) == FAILED
    assert may_match(row_of(TEXTS), parse("HOPPER"))
    assert may_match(row_of(FAILED), parse("error ~ BUSY"))
    assert not may_match(row_of(FAILED), parse("turing"))
    assert not may_match(row_of(FAILED), parse("input.nothing = 3"))


def test_hidden_values_are_neither_found_nor_shown_beside_them():
    redactor = Redactor(ConsoleSettings(redact=("**.password",)))
    row = row_of(Texts("a", '{"password": "open sesame", "n": 1}', None, "Refused", "no one opens with open sesame"))
    shown = revealed_by(redactor)(row)
    assert "sesame" not in f"{shown}"
    assert shown.error == "Refused"
