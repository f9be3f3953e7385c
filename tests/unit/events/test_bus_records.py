"""What is said of patterns that are none: the service's words, with the place that its parser had reached."""

from __future__ import annotations

import pytest

from statewright.errors import ApiError
from statewright.events.bus_records import read_pattern


@pytest.mark.parametrize(
    ("text", "reason", "line", "column"),
    [
        ("[1]", "Filter is not an object", 1, 2),
        ("{ }", "Empty objects are not allowed", 1, 4),
        ('{"a": {}}', "Empty objects are not allowed", 1, 9),
        ('{"a":[]}', "Empty arrays are not allowed", 1, 8),
        ('{"a": "b"}', '"a" must be an object or an array', 1, 8),
        ('{"a": 12}', '"a" must be an object or an array', 1, 9),
        ('{"a": [1],\n "b": {"c": [[1]]}}', "Match value must be String, number, true, false, or null", 2, 15),
        ('{"x": [true, {"like": "y"}]}', "Unrecognized match type like", 1, 24),
        ('{"x": [{"exists": "y"}]}', "exists match pattern must be either true or false.", 1, 20),
        ('{"x": [{"numeric": [">", 1, "<", 6e9]}]}', "Value must be between -5.0E9 and 5.0E9, inclusive", 1, 37),
        ('{"a": [1]', "Unexpected end-of-input: expected close marker for Object (start marker at", 1, 10),
        ("{a: 1}", "Unexpected character ('a' (code 97)): was expecting double-quote to start field name", 1, 3),
    ],
)
def test_what_is_said_and_where(text: str, reason: str, line: int, column: int) -> None:
    with pytest.raises(ApiError) as caught:
        read_pattern(text)
    assert caught.value.code == "InvalidEventPatternException"
    assert caught.value.message.startswith(f"Event pattern is not valid. Reason: {reason}")
    assert caught.value.message.endswith(f'\n at [Source: (String)"{text}"; line: {line}, column: {column}]')


@pytest.mark.parametrize(
    "text", ["", "nul", '{"a": [NaN]}', '{"a": "\ud800"}', "{" * 5000, '{"a":' * 300 + "[1]" + "}" * 300]
)
def test_junk_is_refused(text: str) -> None:
    with pytest.raises(ApiError, match="Event pattern is not valid"):
        read_pattern(text)
