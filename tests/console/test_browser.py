"""The console in a browser: every page in both themes and two widths, with hostile names."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.conftest import ROLE, Server, ended

HOSTILE = "</script><b>Charge \u202ecard</b>"
"""The name of a state, which is nothing but text."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("console") / "data")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def arn(address) -> str:
    """An execution that failed after a caught error, in a state with a hostile name."""
    sfn = address.client("stepfunctions")
    missing = "arn:aws:lambda:us-east-1:000000000000:function:missing"
    states = {
        "Begin": {"Type": "Pass", "Next": HOSTILE},
        HOSTILE: {
            "Type": "Task", "Resource": missing, "Next": "Done",
            "Catch": [{"ErrorEquals": ["States.ALL"], "ResultPath": "$.problem", "Next": "Refuse"}],
        },
        "Done": {"Type": "Succeed"},
        "Refuse": {"Type": "Fail", "Error": "Refused", "Cause": "<img src=x onerror=alert(1)>"},
    }  # fmt: skip
    definition = json.dumps({"StartAt": "Begin", "States": states})
    machine = sfn.create_state_machine(name="page", definition=definition, roleArn=ROLE)["stateMachineArn"]
    given = json.dumps({"order": "<script>alert(1)</script>"})
    started: str = sfn.start_execution(stateMachineArn=machine, name="order-1", input=given)["executionArn"]
    assert ended(sfn, started)["status"] == "FAILED"
    return started


@pytest.fixture(scope="module")
def report(drive, address, arn) -> Any:
    """What the pages show in a browser, in both themes and two widths."""
    return drive("browser.js", address.port, arn)


def test_no_page_complains(report):
    # The read of a run that does not exist is answered with 400, which browsers log.
    assert [one for one in report["complaints"] if "status of 400" not in one] == []


def test_pages_are_accessible(report):
    assert report["serious"] == []


def test_an_execution_is_told_by_its_failure(report):
    for shown in report["shown"].values():
        assert shown["machines"] == ["page"]
        assert shown["selected"] == HOSTILE
        assert shown["said"].startswith("Failed with Lambda.ResourceNotFoundException")
        assert shown["said"].endswith("a Catch took it to Refuse.")
        assert "<img src=x onerror=alert(1)>" in shown["banner"]
        assert '"<script>alert(1)</script>"' in shown["input"]
        assert "ExecutionFailed" in shown["found"]
        assert shown["missing"] == "There is no such execution"


def test_text_is_never_markup(report):
    assert {shown["markup"] for shown in report["shown"].values()} == {0}


def test_the_table_has_what_the_graph_shows(report):
    for shown in report["shown"].values():
        graph = {label.rsplit(", ", 2)[0]: label.rsplit(", ", 2)[2] for label in shown["graph"]}
        assert dict(shown["table"]) == graph
        assert graph == {"Begin": "Succeeded", HOSTILE: "Caught", "Refuse": "Failed", "Done": "Not reached"}


def test_the_axis_is_a_slider_over_the_events(report):
    for shown in report["shown"].values():
        assert (shown["first"]["event"], shown["first"]["reached"]) == ("1", 0)
        assert shown["first"]["chip"].startswith("as it was at")
        assert (shown["last"]["reached"], shown["last"]["chips"]) == (3, 0)
        assert int(shown["last"]["event"]) > 5


def test_a_page_is_small(report):
    assert max(shown["elements"] for shown in report["shown"].values()) < 3_000


def test_keys_choose_states_and_narrow_pages_keep_their_links(report):
    assert {(shown["pressed"], shown["pages"]) for shown in report["shown"].values()} == {("Begin", 1)}


def test_an_address_with_wrong_values_shows_the_first_view(report):
    for shown in report["shown"].values():
        assert [text.strip() for text in shown["odd"]["chosen"]] == ["Input", "Timeline"]
        assert shown["odd"]["state"] == HOSTILE
