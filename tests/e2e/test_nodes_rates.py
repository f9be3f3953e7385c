"""The rates of the API on two nodes: what both of them answer is shared, what the home answers is not divided."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.deadlines import until
from tests.e2e.conftest import ROLE, Server
from tests.postgres_server import server_or_skip

RATES = """
[limits.rates]
ListExecutions = { bucket = 40, refill = 0.0001 }
ListStateMachines = { bucket = 40, refill = 0.0001 }
"""


def answered(node: Server, operation: str, **request: Any) -> int:
    """How many of a hundred calls a node answers."""
    codes = []
    for _ in range(100):
        try:
            getattr(node.client(), operation)(**request)
        except ClientError as refused:
            codes.append(refused.response["Error"]["Code"])
    assert set(codes) == {"ThrottlingException"}
    return 100 - len(codes)


def _metrics(node: Server) -> bytes:
    with urllib.request.urlopen(f"{node.url}/metrics") as answer:
        text: bytes = answer.read()
        return text


@pytest.mark.slow
def test_two_nodes_share_the_rates(tmp_path: Path) -> None:
    address = server_or_skip().new_database()
    (tmp_path / "settings.toml").write_text(RATES)
    options = ("--store", address, "--config", str(tmp_path / "settings.toml"))
    home = Server(tmp_path / "a", *options, "--node", "a", "--cells", "5")
    other = Server(tmp_path / "b", *options, "--node", "b")
    until(lambda: b"statewright_node_cells 2" in _metrics(other), "a share of the cells")
    definition = json.dumps({"StartAt": "P", "States": {"P": {"Type": "Pass", "End": True}}})
    arn = home.client().create_state_machine(name="m", definition=definition, roleArn=ROLE)["stateMachineArn"]
    assert [answered(node, "list_executions", stateMachineArn=arn) for node in (home, other)] == [20, 20]
    assert [answered(node, "list_state_machines") for node in (other, home)] == [40, 0]
    assert (other.stop(), home.stop()) == (0, 0)
