"""Patch operations: what their paths lead to, and values of the wrong type."""

from __future__ import annotations

from typing import Any

import pytest

from statewright.api.apigateway.patches import patched
from statewright.api.apigateway.stage_patches import staged
from statewright.errors import ApiError

STAGE = ("deploymentId", "description", "variables", "tracingEnabled", "canarySettings", "accessLogSettings")
API = ("name", "binaryMediaTypes", "endpointConfiguration", "minimumCompressionSize", "apiKeySource")


def one(path: str, op: str = "replace", value: Any = None) -> list[dict[str, Any]]:
    return [{"op": op, "path": path, **({} if value is None else {"value": value})}]


def test_values_have_the_types_of_their_members() -> None:
    before = {"deploymentId": "d"}
    assert patched(before, one("/tracingEnabled", value="TRUE"), STAGE, "Stage")["tracingEnabled"] is True
    assert patched(before, one("/variables/a~1b", "add", "5"), STAGE, "Stage")["variables"] == {"a/b": "5"}
    part = patched(before, one("/canarySettings/percentTraffic", value="2.5"), STAGE, "Stage")["canarySettings"]
    assert part == {"percentTraffic": 2.5}
    assert patched({}, one("/minimumCompressionSize", value="5"), API, "RestApi") == {"minimumCompressionSize": 5}
    assert before == {"deploymentId": "d"}


@pytest.mark.parametrize("given", ["--1", "\u00b2", "1.5", "", "9" * 20])
def test_other_texts_are_no_numbers(given: str) -> None:
    with pytest.raises(ApiError, match="Invalid patch value"):
        patched({}, one("/minimumCompressionSize", value=given), API, "RestApi")


def test_members_of_lists_are_named_by_the_path_or_the_value() -> None:
    before = {"binaryMediaTypes": ["a/b"], "endpointConfiguration": {"types": ["EDGE"]}}
    for operation, found in (
        (one("/binaryMediaTypes/c~1d", "add"), ["a/b", "c/d"]),
        (one("/binaryMediaTypes", "add", "c/d"), ["a/b", "c/d"]),
        (one("/binaryMediaTypes/a~1b", "remove"), []),
        (one("/binaryMediaTypes", "remove", "a/b"), []),
        (one("/binaryMediaTypes/a~1b", "replace", "c/d"), ["c/d"]),
    ):
        assert patched(before, operation, API, "RestApi")["binaryMediaTypes"] == found
    moved = patched(before, one("/endpointConfiguration/types/EDGE", value="REGIONAL"), API, "RestApi")
    assert moved["endpointConfiguration"] == {"types": ["REGIONAL"]}
    assert before["endpointConfiguration"] == {"types": ["EDGE"]}


@pytest.mark.parametrize(
    ("path", "op", "value", "text"),
    [
        ("x", "replace", "1", "Invalid patch path x"),
        ("//a", "replace", "1", "Invalid patch path //a"),
        ("/description", None, "1", "Invalid patch path  '/description' specified for op 'None'. Must be one of: []"),
        ("/none", "replace", "1", "Invalid patch path  '/none' specified for op 'replace'. Must be one of: [/deploy"),
        ("/description", "move", "1", "Invalid patch path  '/description' specified for op 'move'."),
        ("/deploymentId", "remove", None, "Invalid patch path  '/deploymentId' specified for op 'remove'."),
        ("/description/a", "replace", "1", "Invalid patch path /description/a"),
        ("/variables", "replace", "1", "Invalid patch path /variables"),
        ("/variables/a/b", "replace", "1", "Invalid patch path /variables/a/b"),
        ("/variables" + "/a" * 5_000, "replace", "1", "Invalid patch path /variables/a"),
        ("/accessLogSettings/none", "replace", "1", "Invalid patch path /accessLogSettings/none"),
        ("/tracingEnabled", "replace", "yes", "Invalid patch value 'yes' specified for op 'replace'"),
        ("/canarySettings/percentTraffic", "replace", "NaN", "Invalid patch value 'NaN'"),
        ("/description", "replace", None, "Invalid patch value 'None'"),
    ],
)
def test_other_paths_and_values_are_refused(path: str, op: Any, value: Any, text: str) -> None:
    with pytest.raises(ApiError) as refused:
        patched({"deploymentId": "d", "variables": {"a": "b"}}, one(path, op, value), STAGE, "Stage")
    assert (refused.value.code, refused.value.message[: len(text)]) == ("BadRequestException", text)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("caching/ttlInSeconds", "9" * 30), ("caching/ttlInSeconds", "-1"), ("caching/ttlInSeconds", "1.5"),
        ("throttling/burstLimit", "9" * 30), ("throttling/rateLimit", "nan"), ("throttling/rateLimit", "inf"),
    ],
)  # fmt: skip
def test_method_settings_are_numbers_that_rows_can_have(path: str, value: str) -> None:
    with pytest.raises(ApiError, match="must be a number"):
        staged({"deploymentId": "d"}, one(f"/*/*/{path}", value=value))
