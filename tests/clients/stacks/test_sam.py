"""The SAM CLI without Docker: build, deploy with a bucket of its own, change, sync, delete."""

from __future__ import annotations

import pytest

from tests.clients.stacks.conftest import Shop, Tool
from tests.e2e.conftest import Server
from tests.thoroughness import slow

pytestmark = slow
DEPLOY = ("deploy", "--stack-name", "sam-shop", "--resolve-s3", "--capabilities", "CAPABILITY_IAM",
          "--no-confirm-changeset", "--no-fail-on-empty-changeset")  # fmt: skip


@pytest.fixture
def shop(server: Server) -> Shop:
    return Shop(server, "sam-shop")


def test_an_application_is_built_deployed_changed_and_deleted(sam: Tool, shop: Shop) -> None:
    assert "is a valid SAM Template" in sam("validate")
    assert "Build Succeeded" in sam("build")
    shown = sam(*DEPLOY)
    assert "Successfully created/updated stack" in shown
    # The table of events, and that of the outputs.
    assert "AWS::Lambda::Function" in shown
    assert "CREATE_COMPLETE" in shown
    assert "ApprovalArn" in shown
    shop.works()
    assert "No changes to deploy" in sam(*DEPLOY)
    assert "UPDATE_COMPLETE" in sam(*DEPLOY, "--parameter-overrides", "ApproveFrom=7")
    shop.rejects("b")
    code = sam.folder / "functions" / "price.py"
    code.write_text(code.read_text().replace('"lamp": 40', '"lamp": 41'))
    sam("sync", "--code", "--stack-name", "sam-shop", answer="Y\n")
    assert shop.ordered("c", "lamp")["total"] == 41
    assert "Deleted successfully" in sam("delete", "--stack-name", "sam-shop", "--no-prompts")
    assert shop.is_gone()
