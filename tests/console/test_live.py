"""Pages that follow what happens: an execution as it runs, lists, and a server that is killed and comes back."""

from __future__ import annotations

import json
import random
import shutil
import socket
import sys
from typing import Any

import pytest

from statewright.console.assets import FOLDER
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.console.conftest import HERE, run
from tests.e2e.conftest import ROLE, Server
from tests.unit.console.live_pages import begin_busy, console_of
from tests.unit.engine.running import Rig, machine, passing, task

DEFINITION = {
    "StartAt": "Ask",
    "States": {
        "Ask": {
            "Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken", "Next": "Each",
            "Parameters": {"QueueUrl": "", "MessageBody.$": "$$.Task.Token"},
        },
        "Each": {
            "Type": "Map", "ItemsPath": "$.items", "End": True,
            "ItemProcessor": {"StartAt": "One", "States": {"One": {"Type": "Pass", "End": True}}},
        },
    },
}  # fmt: skip

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def report(drive, tmp_path_factory) -> Any:
    """What a page showed while an execution ran, in both themes and two widths."""
    server = Server(tmp_path_factory.mktemp("live") / "data")
    queue = server.client("sqs").create_queue(QueueName="answers")["QueueUrl"]
    definition = json.loads(json.dumps(DEFINITION))
    definition["States"]["Ask"]["Parameters"]["QueueUrl"] = queue
    sfn = server.client("stepfunctions")
    made = sfn.create_state_machine(name="live", definition=json.dumps(definition), roleArn=ROLE)
    report = drive("live.js", server.port, made["stateMachineArn"], queue)
    # The last page had a stream.
    assert server.stop() == 0
    return report


def test_no_page_complains(report):
    # The browser logs the read that was refused.
    assert [one for one in report["complaints"] if "status of 404" not in one] == []
    assert report["serious"] == []


def test_what_was_read_stays_when_a_later_read_is_refused(report):
    for shown in report["shown"].values():
        assert shown["refused"]["words"].startswith("There is none.")
        assert shown["refused"]["at"] == str(shown["events"])
        assert shown["vanished"] == 0


def test_a_letter_alone_leads_to_no_other_page(report):
    assert {shown["stayed"] for shown in report["shown"].values()} == {"/console/machines"}


def test_a_page_that_is_scrubbed_counts_what_is_new(report):
    for shown in report["shown"].values():
        inspected, known = shown["inspected"], shown["inspected"]["known"]
        assert shown["waits"] == "Waiting for an answer with its task token."
        assert inspected["button"] == f"Live · {shown['events'] - known} new"
        assert (inspected["most"], inspected["at"], inspected["reached"]) == (known, "1", 0)
        assert inspected["spoken"].endswith(": Succeeded")


def test_a_key_follows_the_run_again(report):
    for shown in report["shown"].values():
        assert shown["followed"] == {"at": shown["events"], "buttons": 0, "reached": 3}


def test_a_killed_server_comes_back_and_nothing_is_lost_or_doubled(drive, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    report = drive("restart.js", port, sys.executable, str(tmp_path / "data"), str(port))
    (shown,) = report["shown"].values()
    assert shown["kept"], "the page was not loaded anew"
    assert 0 < shown["before"] < shown["after"] == shown["events"]
    assert shown["ids"] == list(range(1, shown["events"] + 1))
    assert shown["banner"].startswith("The server was away for ")
    assert "nothing was lost" in shown["banner"]
    assert shown["mark"].startswith("The server was away for ")
    assert report["serious"] == []
    # Browsers log each attempt while there is no server.
    assert [one for one in report["complaints"] if "ERR_" not in one] == []


def growing(seed: int) -> list[Any]:
    """A run in the middle, its deltas at instants that chance chooses, and the run at its end."""
    chance = random.Random(seed)

    async def main(clock: VirtualClock) -> list[Any]:
        rig = await Rig(clock).up()
        arn = await begin_busy(rig)
        found = await grown_of(rig, clock, arn, chance)
        await rig.down()
        return found

    return run_virtual(main)


async def grown_of(rig: Rig, clock: VirtualClock, arn: str, chance: random.Random) -> list[Any]:
    runs = console_of(rig).runs_of(arn)
    document = await runs.view(arn)
    deltas, known = [], len(document["events"]["type"])
    while True:
        is_over = (await rig.engine.describe(arn)).status != "RUNNING"
        delta = await runs.since(arn, known)
        known = delta["to"]
        deltas.append(delta)
        if is_over:
            return [document, deltas, await runs.view(arn)]
        await clock.sleep_until(clock.now_ms() + chance.randrange(1, 900))


def redriven() -> list[Any]:
    """A run that failed, and went on when it was redriven."""

    async def main(clock: VirtualClock) -> list[Any]:
        rig = await Rig(clock).up()
        rig.integrations.throws("T", "Broken")
        arn = await rig.begin(machine(A=passing("T"), T=task(Next="B"), B=passing()))
        await rig.end(arn)
        runs = console_of(rig).runs_of(arn)
        document = await runs.view(arn)
        rig.integrations.returns("T", 1, after_ms=50)
        await rig.engine.redrive_execution(arn)
        await rig.end(arn)
        found = [document, [await runs.since(arn, len(document["events"]["type"]))], await runs.view(arn)]
        await rig.down()
        return found

    return run_virtual(main)


def test_a_run_that_grew_is_the_run_that_is_read(tmp_path):
    if shutil.which("node") is None:
        pytest.skip("there is no node")
    runs = tmp_path / "runs.json"
    runs.write_text(json.dumps([*(growing(seed) for seed in range(20)), redriven()]))
    for path in (*FOLDER.glob("*.js"), HERE / "modules_live.js"):
        shutil.copy(path, tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    run(["node", "modules_live.js", str(runs)], cwd=tmp_path)
