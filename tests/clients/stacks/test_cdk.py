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


def test_an_application_is_deployed_changed_and_destroyed(cdk: Tool, shop: Shop, server: Server) -> None:
    assert "bootstrapped" in bootstrap(cdk)
    assert "bootstrapped (no changes)" in bootstrap(cdk)
    assert "There were no differences" not in cdk("diff")

    shown = cdk("deploy", *SILENT)
    assert "CREATE_COMPLETE" in shown
    assert shop.price_of("a", 7) == 14
    assert shop.quote_of("a", 5) == 10
    assert "(no changes)" in cdk("deploy", *SILENT)
    assert "There were no differences" in cdk("diff")

    factor = ("--context", "factor=3")
    difference = cdk("diff", *factor)
    assert "AWS::Lambda::Function" in difference
    assert "FACTOR" in difference
    assert "UPDATE_COMPLETE" in cdk("deploy", *SILENT, *factor)
    assert shop.price_of("b", 7) == 21

    cdk("destroy", "--force")
    assert shop.is_gone()
    assert [one for one in server.client("dynamodb").list_tables()["TableNames"] if one.startswith("CdkShop-")] == []
    assert [one for one in server.client().list_state_machines()["stateMachines"] if "CdkShop" in one["name"]] == []


def test_a_hot_swap_changes_functions_and_machines_without_a_stack_operation(
    cdk: Tool, shop: Shop, server: Server, tmp_path: Path
) -> None:
    bootstrap(cdk)
    cdk("deploy", *SILENT)
    assert shop.price_of("a", 7) == 14
    stacks = server.client("cloudformation")
    events = len(stacks.describe_stack_events(StackName=shop.stack)["StackEvents"])
    code = cdk.folder / "price" / "app.py"
    code.write_text(code.read_text().replace("* int", "* 100 * int"))
    app = cdk.folder / "app.mjs"
    app.write_text(app.read_text().replace('"$.Payload",', '"$.Payload", comment: "hot",'))
    assert "hotswapped" in cdk("deploy", *SILENT, "--hotswap")
    assert shop.price_of("b", 7) == 1400
    definition = server.client().describe_state_machine(stateMachineArn=shop.outputs()["MachineArn"])["definition"]
    assert '"hot"' in definition
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
        code.write_text(code.read_text().replace("* 100 *", "* 1000 *"))
        until(lambda: log.read_text().count("hotswapped!") > 0, "the hot swap of a changed file")
        end(watch)
    assert shop.price_of("c", 7) == 14_000
    cdk("destroy", "--force")
