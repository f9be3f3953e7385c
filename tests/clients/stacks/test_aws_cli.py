"""The AWS CLI: package, deploy with change sets, describe, delete."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.clients.stacks.conftest import Shop, Tool
from tests.deadlines import until
from tests.e2e.conftest import Server
from tests.thoroughness import slow

pytestmark = slow
DEPLOY = ("deploy", "--template-file", "packaged.yaml", "--stack-name", "cli-shop",
          "--capabilities", "CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND")  # fmt: skip


@pytest.fixture
def shop(server: Server) -> Shop:
    return Shop(server, "cli-shop")


@pytest.fixture
def cloudformation(
    client_folder: Path, application: Callable[[str], Path], environment: Mapping[str, str]
) -> Tool:  # fmt: skip
    """`aws cloudformation`, in the folder of the order API."""
    command = (str(client_folder / "python"), str(client_folder / "aws"), "cloudformation")
    return Tool(command, application("sam"), environment)


def test_a_template_is_packaged_deployed_changed_and_deleted(
    cloudformation: Tool, shop: Shop, server: Server
) -> None:  # fmt: skip
    server.client("s3").create_bucket(Bucket="cli-artifacts")
    packaged = ("package", "--template-file", "template.yaml", "--s3-bucket", "cli-artifacts")
    cloudformation(*packaged, "--output-template-file", "packaged.yaml")
    assert "Successfully created/updated stack - cli-shop" in cloudformation(*DEPLOY)
    shop.works()
    assert "No changes to deploy. Stack cli-shop is up to date" in cloudformation(
        *DEPLOY, "--no-fail-on-empty-changeset"
    )
    # The CLI names change sets after the second, and a second may have two of them here.
    changed = until(
        lambda: (
            "AlreadyExists"
            not in (done := cloudformation.run(*DEPLOY, "--parameter-overrides", "ApproveFrom=7")).stderr
            and done
        )
    )
    assert "Successfully created/updated stack" in changed.stdout + changed.stderr
    shop.rejects("b")
    cloudformation("delete-stack", "--stack-name", "cli-shop")
    cloudformation("wait", "stack-delete-complete", "--stack-name", "cli-shop")
    assert shop.is_gone()
    done = cloudformation.run("describe-stacks", "--stack-name", "cli-shop")
    assert done.returncode > 0
    assert "(ValidationError)" in done.stderr
    assert "Stack with id cli-shop does not exist" in done.stderr
