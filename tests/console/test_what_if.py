"""What if, Compare, Evaluated and Why in a browser."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from statewright.console.assets import FOLDER
from tests.console.conftest import HERE, run
from tests.e2e.conftest import Server
from tests.e2e.recorded_orders import Orders

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("what-if") / "data")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def report(drive, address) -> Any:
    """What the pages show of a run that failed, and of one that succeeded."""
    orders = Orders(address, "orders")
    busy = orders.run("busy", ["GatewayBusy", "GatewayBusy", "Declined"])
    fine = orders.run("fine", ["GatewayBusy", {"id": "c-1"}], cents=700)
    return drive("what_if.js", address.port, busy, fine)


def test_no_page_complains(report):
    # What is refused is answered with 400, which browsers log.
    assert [one for one in report["complaints"] if "status of 400" not in one] == []


def test_pages_are_accessible(report):
    assert report["serious"] == []


def test_a_state_is_explained(report):
    for shown in report["shown"].values():
        assert shown["steps"][:3] == ["State input", "After InputPath", "After Parameters"]
        assert shown["tries"][0].startswith("GatewayBusy Retry 1: back-off about 1 s, it waited")
        assert shown["tries"][2] == "Declined No Retry and no Catch is for this error."


def test_a_value_is_followed_back(report):
    for shown in report["shown"].values():
        why = shown["why"]
        assert (why["asked"], why["shown"], why["tab"]) == ("/cents", "/charge/id", 1)
        assert why["places"] == ["Ship", "Charge card", "In stock?", "Check", "Check"]
        assert why["end"] == "The execution began with it: its input at /cents."
        assert why["answered"].split(" answered it at /id, event ")[0].endswith(":orders-charge")


def test_the_ways_part_and_a_mock_leads_to_the_end(report):
    for shown in report["shown"].values():
        assert shown["refused"].startswith("Invalid State Machine Definition")
        assert "After Charge card it goes on to Release stock; recorded: the end." in shown["verdict"]
        assert [row.split()[0] for row in shown["parting"]] == ["Check", "In", "Charge", "Here", "Release"]
        assert shown["wrong"].startswith("The result is not JSON")
        assert shown["ends"][0].startswith("Failed with Declined")
        assert shown["ends"][1].startswith("Failed with Refused")
        assert '"<b>released</b>"' in shown["mocks"]
        assert (shown["lanes"], shown["markup"]) == (3 + 5, 0)


def test_the_last_executions_are_checked(report):
    for shown in report["shown"].values():
        assert shown["checked"] == "2 executions change, 0 stay the same."


def test_two_runs_are_compared(report):
    for shown in report["shown"].values():
        assert shown["sides"] == ["fine", "busy"]
        assert shown["first"][0].startswith("the input of Check at $.order")
        assert shown["first"][-1] == "After Charge card: A goes to Ship, B ends."
        assert {"Ship, Task, only in A", "Check, Task, in both", "Refuse, Fail, not reached"} <= set(shown["graph"])
        assert shown["top"] == {"below": True, "marks": 2}, "the start and the end"
        assert '"fine"' in shown["payload"]
        assert '"busy"' in shown["payload"]
        assert "Choose two executions" in shown["same"]


def test_the_pure_modules(tmp_path):
    if shutil.which("node") is None:
        pytest.skip("there is no node")
    for path in (*FOLDER.glob("*.js"), HERE / "modules_what_if.js"):
        shutil.copy(path, tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    run(["node", "modules_what_if.js"], cwd=tmp_path)
