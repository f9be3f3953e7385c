"""The Serverless Framework, version 3, with serverless-step-functions: deploy, change, invoke, remove."""

from __future__ import annotations

import pytest

from tests.clients.stacks.conftest import Shop, Tool
from tests.e2e.conftest import Server
from tests.thoroughness import slow

pytestmark = slow


@pytest.fixture
def shop(server: Server) -> Shop:
    return Shop(server, "sls-shop-dev")


def test_a_service_is_deployed_changed_and_removed(sls: Tool, shop: Shop, server: Server) -> None:
    assert "Service deployed to stack sls-shop-dev" in sls("deploy")
    shop.works()
    assert "No changes to deploy" in sls("deploy")
    code = sls.folder / "functions" / "price.py"
    code.write_text(code.read_text().replace('"lamp": 40', '"lamp": 41'))
    assert "Service deployed to stack sls-shop-dev" in sls("deploy")
    assert shop.ordered("b", "lamp")["total"] == 41
    assert '"total": 41' in sls("invoke", "-f", "price", "--data", '{"lines": [{"item": "lamp"}]}')
    assert "Service sls-shop has been successfully removed" in sls("remove")
    assert shop.is_gone()
    assert [one for one in server.client("s3").list_buckets()["Buckets"] if "sls-shop" in one["Name"]] == []
