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
    assert shop.price_of("a", 7) == 14
    assert shop.quote_of("a", 5) == 10
    assert "No changes to deploy" in sls("deploy")
    code = sls.folder / "price" / "app.py"
    code.write_text(code.read_text().replace("* int", "* 100 * int"))
    assert "Service deployed to stack sls-shop-dev" in sls("deploy")
    assert shop.price_of("b", 7) == 1400
    assert '"price": 1400' in sls("invoke", "-f", "price", "--data", '{"id": "c", "amount": 7}')
    assert "Service sls-shop has been successfully removed" in sls("remove")
    assert shop.is_gone()
    assert [one for one in server.client("s3").list_buckets()["Buckets"] if "sls-shop" in one["Name"]] == []
