"""The SDKs for JavaScript, versions 3 and 2, and sqs-consumer."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tests.clients.node.conftest import NodeProgram
from tests.thoroughness import slow

HANDLER = """
exports.handler = async ({ number, fail }) => {
  if (fail) throw new Error(fail)
  return { answer: number * 2 + 2 }
}
"""


@pytest.fixture
def handler(tmp_path: Path) -> str:
    """A package with a handler."""
    path = tmp_path / "handler.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("index.js", HANDLER)
    return str(path)


@slow
def test_version_3(node: NodeProgram, handler: str) -> None:
    assert node("sdk_v3.mjs", handler) == {
        "sqs": ["ü", "first"],
        "sns": "by topic",
        "events": [0, {"id": 7}],
        "scheduler": ["ENABLED", '"by schedule"'],
        "s3": ["text", [["a/ü 1.txt", 4], ["parts", 12_000_000]]],
        "fetch": [200, 200, "by fetch"],
        "tables": [
            {"id": "a", "at": 1, "tags": ["x", "y"], "deep": {"list": [1, None, True], "name": "ü"}},
            [3, 2],
            3,
            "ConditionalCheckFailedException",
        ],
        "lambda": [200, {"answer": 42}, True],
        "failed": ["Unhandled", "no"],
        "sfn": ["SUCCEEDED", {"answer": 4}, True],
        "token": '"approved"',
        "sync": ["SUCCEEDED", '{"answer":6}'],
    }


@slow
def test_version_2(node: NodeProgram, handler: str) -> None:
    assert node("sdk_v2.cjs", handler) == {
        "sqs": "ü",
        "sns": "by topic",
        "events": {"id": 7},
        "s3": [200, "by fetch", [["a/ü 1", 11_000_000], ["signed", 8]]],
        "tables": [{"list": [1, None]}, ["x"], "ConditionalCheckFailedException"],
        "lambda": {"answer": 42},
        "sfn": ["SUCCEEDED", '{"answer":4}'],
        "sync": ["SUCCEEDED", '{"answer":6}'],
    }


@slow
def test_sqs_consumer(node: NodeProgram) -> None:
    said = node("sqs_consumer.mjs")
    seen, failures, dead = said["first"]
    assert seen == {str(number): 5 for number in range(10) if number != 7}
    # Five messages fail, twice each.
    assert (failures, dead) == (10, 5)
    assert said["batched"] == 10
