"""The CDK's command: bootstrap, deploy, change, diff, hot swap, destroy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clients.stacks.conftest import ACCOUNT, Shop, Tool
from tests.deadlines import end, started, until
from tests.e2e.conftest import Server
from tests.thoroughness import slow

pytestmark = slow
SILENT = ("--require-approval", "never")


@pytest.fixture
def shop(server: Server) -> Shop:
    return Shop(server, "CdkShop")


def bootstrap(cdk: Tool) -> str:
    return cdk("bootstrap", f"aws://{ACCOUNT}/us-east-1")


def test_an_application_is_deployed_changed_hot_swapped_and_destroyed(
    cdk: Tool, shop: Shop, server: Server, tmp_path: Path
) -> None:
    assert "bootstrapped" in bootstrap(cdk)
    assert "bootstrapped (no changes)" in bootstrap(cdk)

    shown = cdk("deploy", *SILENT)
    assert "CREATE_COMPLETE" in shown
    shop.works()
    assert "(no changes)" in cdk("deploy", *SILENT)
    assert "There were no differences" in cdk("diff")

    lower = ("--context", "approveFrom=7")
    difference = cdk("diff", *lower)
    assert "AWS::StepFunctions::StateMachine" in difference
    assert "$number('7')" in difference
    assert "UPDATE_COMPLETE" in cdk("deploy", *SILENT, *lower)
    shop.rejects("b")

    stacks = server.client("cloudformation")
    events = len(stacks.describe_stack_events(StackName=shop.stack)["StackEvents"])
    code = cdk.folder / "functions" / "price.py"
    code.write_text(code.read_text().replace('"lamp": 40', '"lamp": 41'))
    machine = cdk.folder / "machines" / "place-order.asl.yaml"
    machine.write_text(machine.read_text().replace("status: ACCEPTED", "status: HOT"))
    assert "hotswapped" in cdk("deploy", *SILENT, "--hotswap")
    found = shop.ordered("c", "lamp")
    assert (found["total"], found["status"]) == (41, "HOT")
    assert len(stacks.describe_stack_events(StackName=shop.stack)["StackEvents"]) == events

    log = tmp_path / "watch.log"
    with log.open("w") as printed:
        watch = started(
            [*cdk.command, "watch", "--hotswap"],
            cwd=cdk.folder,
            env=dict(cdk.environment),
            stdout=printed,
            stderr=printed,
        )
        until(lambda: "Total time" in log.read_text(), "the first deployment of cdk watch")
        code.write_text(code.read_text().replace('"lamp": 41', '"lamp": 42'))
        until(lambda: log.read_text().count("hotswapped!") > 0, "the hot swap of a changed file")
        end(watch)
    assert shop.ordered("d", "lamp")["total"] == 42
    cdk("destroy", "--force")
    assert shop.is_gone()
    assert [one for one in server.client("dynamodb").list_tables()["TableNames"] if one.startswith("CdkShop-")] == []
    assert [one for one in server.client().list_state_machines()["stateMachines"] if "CdkShop" in one["name"]] == []
