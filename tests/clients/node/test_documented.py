"""`docs/clients.md` lists each client for Node.js with the version that the tests run."""

from __future__ import annotations

import json
import re

import pytest

from tests.clients.node.conftest import HERE

DOCUMENT = (HERE.parents[2] / "docs" / "clients.md").read_text()
LOCK = json.loads((HERE / "package-lock.json").read_text())["packages"]


@pytest.mark.parametrize(
    "name", ["@aws-sdk/client-sfn", "aws-sdk", "sqs-consumer", "aws-cdk-lib", "serverless-step-functions"]
)
def test_the_versions_are_those_of_the_lock(name: str) -> None:
    (version,) = re.findall(rf"^\| `{re.escape(name)}`[^|]*\| ([\d.]+) \|", DOCUMENT, re.MULTILINE)
    assert version == LOCK[f"node_modules/{name}"]["version"]


def test_the_lock_names_no_address() -> None:
    assert [name for name, one in LOCK.items() if "resolved" in one] == []
