"""Answers of functions that are JSON, but not for every JSON library: they are answered as any other."""

from __future__ import annotations

import pytest

from statewright.apis.calls import IntegrationFailed
from statewright.apis.integrations.lambda_answers import answer_of_http

LONG = b"123456789012345678901234567890"
DEEP = b"[" * 300 + b"]" * 300


@pytest.mark.parametrize("value", [LONG, b'{"a":' + LONG + b"}", DEEP])
def test_long_numbers_and_deep_lists_come_through(value: bytes) -> None:
    assert answer_of_http(value, "2.0").body == value
    assert answer_of_http(b'{"statusCode":200,"body":' + value + b"}", "2.0").body == value


@pytest.mark.parametrize("status", ["\u00b2", "\u0663", "2e2"])
def test_a_status_of_other_digits_is_no_status(status: str) -> None:
    with pytest.raises(IntegrationFailed):
        answer_of_http(b'{"statusCode":"' + status.encode() + b'"}', "2.0")
