"""Filter patterns: what they match, and what is none."""

from __future__ import annotations

import pytest

from statewright.errors import ApiError
from statewright.records.log_patterns import compile_pattern

BAD = "[ERROR 400] BAD REQUEST"
ARGUMENTS = "[ERROR 419] MISSING ARGUMENTS"
ORDER = '{"level": "ERROR", "order": {"id": 7, "items": [{"n": "a"}, {"n": "b"}]}, "ok": false, "gone": null, "a.b": 1}'


@pytest.mark.parametrize(
    ("pattern", "message", "matches"),
    [
        ("", BAD, True),
        ("  ", BAD, True),
        ('" "', BAD, True),
        ("ERROR", BAD, True),
        ("error", BAD, False),
        ("ERROR ARGUMENTS", BAD, False),
        ("ERROR ARGUMENTS", ARGUMENTS, True),
        ('"BAD REQUEST"', BAD, True),
        ('"REQUEST BAD"', BAD, False),
        ("ERROR -ARGUMENTS", BAD, True),
        ("ERROR -ARGUMENTS", ARGUMENTS, False),
        ('-"BAD REQUEST"', BAD, False),
        ("?WARN ?BAD", BAD, True),
        ("?WARN ?BAD", ARGUMENTS, False),
        ("?WARN ERROR", BAD, True),
        (r'"say \"hi\""', 'say "hi"', True),
        ("%[0-9]{3}%", BAD, True),
        ("%^ERROR%", BAD, False),
        (r"%^\[ERROR|REQUEST$%", BAD, True),
        ('{ $.level = "ERROR" }', ORDER, True),
        ("{ $.level = ERR* }", ORDER, True),
        ('{ $.level = "*RO*" }', ORDER, True),
        ('{ $.level != "ERROR" }', ORDER, False),
        ('{ $.level != "INFO" }', ORDER, True),
        ('{ $.none != "INFO" }', ORDER, False),
        ("{ $.level = %^ERR% }", ORDER, True),
        ("{ $.order.id = 7 }", ORDER, True),
        ("{ $.order.id >= 7.5 }", ORDER, False),
        ("{ $.order.id < 1e1 }", ORDER, True),
        ("{ $.level > 1 }", ORDER, False),
        ('{ $.order.items[1].n = "b" }', ORDER, True),
        ('{ $.order.items[2].n = "b" }', ORDER, False),
        ('{ $.order.items[*].n = "b" }', ORDER, True),
        ("{ $.order.* = 7 }", ORDER, True),
        ("{ $['a.b'] = 1 }", ORDER, True),
        ("{ $.order.items = 7 }", ORDER, False),
        ("{ $.ok IS FALSE }", ORDER, True),
        ("{ $.ok IS TRUE }", ORDER, False),
        ("{ $.gone IS NULL }", ORDER, True),
        ("{ $.none NOT EXISTS }", ORDER, True),
        ("{ $.gone NOT EXISTS }", ORDER, False),
        ('{ $.level = "INFO" || $.order.id = 7 && $.ok IS FALSE }', ORDER, True),
        ('{ ($.level = "INFO" || $.order.id = 7) && $.ok IS TRUE }', ORDER, False),
        ('{ $.level = "ERROR" }', "no JSON { at all", False),
        ('{ $.level = "ERROR" }', "[1]", False),
    ],
)
def test_matches(pattern: str, message: str, matches: bool) -> None:
    assert compile_pattern(pattern)(message) is matches


@pytest.mark.parametrize(
    "pattern",
    [
        "{", "{ }", "{ $.a }", "{ $.a = }", "{ $.a = 1", "{ $.a = 1 && }", "{ ($.a = 1 }", "{ $.a ~ 1 }", "{ a = 1 }",
        '{ $.a < "x" }', "{ $.a IS WRONG }", '"open', "%(%", "[a, b",
            "[a = ]", "[a < x]", "[..., a, ...]", "{ " + "(" * 60 + "$.a = 1" + ")" * 60 + " }",
    ],
)  # fmt: skip
def test_invalid_patterns(pattern: str) -> None:
    with pytest.raises(ApiError) as caught:
        compile_pattern(pattern)
    assert caught.value.code == "InvalidParameterException"
