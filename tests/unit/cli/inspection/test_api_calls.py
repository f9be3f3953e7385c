"""Responses of `statewright api call`: what is shown of bodies that are JSON, text, or neither."""

from __future__ import annotations

from typing import Any

import pytest

from statewright.cli.inspection.apis.calling import Response

DEEP = "[" * 200_000


@pytest.mark.parametrize(
    ("body", "value"),
    [(b'{"a": 1}', {"a": 1}), (b"<p>", "<p>"), (b"", ""), (b"\xff", None), (DEEP.encode(), DEEP)],
    ids=["json", "text", "nothing", "bytes", "deep"],
)  # fmt: skip
def test_a_body_is_shown_as_what_it_is(body: bytes, value: Any) -> None:
    assert Response(200, "OK", [], body).value() == value


def test_only_a_named_execution_is_shown() -> None:
    assert Response(200, "OK", [], b'{"executionArn": "arn:x"}').execution == "arn:x"
    for body in (b'{"executionArn": 1}', b'{"executionArn": "x"}', b'["executionArn"]'):
        assert Response(200, "OK", [], body).execution is None
