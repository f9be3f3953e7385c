"""The console's lists in a browser: by mouse and by keys, in both themes and two widths."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.console.conftest import check_modules
from tests.e2e.conftest import ROLE, ended

pytestmark = pytest.mark.slow

COUNT = 128
STATES = {
    "Kind": {"Type": "Choice", "Choices": [
        {"Variable": "$.kind", "StringEquals": "bad", "Next": "Refuse"},
        {"Variable": "$.kind", "StringEquals": "slow", "Next": "Wait"},
    ], "Default": "Done"},
    "Refuse": {"Type": "Fail", "Error": "</script><b>Refused \u202e", "Cause": "<img src=x onerror=alert(1)>"},
    "Wait": {"Type": "Wait", "Seconds": 36_000, "Next": "Done"},
    "Done": {"Type": "Succeed"},
}  # fmt: skip


@pytest.fixture(scope="module")
def machine(own_server) -> str:
    """A machine with many executions, of which thirteen failed; another one has two that wait."""
    sfn = own_server.client("stepfunctions")
    definition = json.dumps({"StartAt": "Kind", "States": STATES})
    first, second = (
        sfn.create_state_machine(name=name, definition=definition, roleArn=ROLE)["stateMachineArn"]
        for name in ("first", "second")
    )
    for number in range(COUNT):
        given = json.dumps({"order": f"o-{number}", "kind": "bad" if number % 10 == 9 or number == 4 else "good"})
        arn = sfn.start_execution(stateMachineArn=first, name=f"order-{number}", input=given)["executionArn"]
        ended(sfn, arn)
    for name in ("waits-1", "waits-2"):
        sfn.start_execution(stateMachineArn=second, name=name, input=json.dumps({"kind": "slow"}))
    return str(first)


@pytest.fixture(scope="module")
def report(drive, own_server, machine) -> Any:
    """What the lists show in a browser, in both themes and two widths."""
    return drive("list.js", own_server.port, machine)


def test_nothing_complains(report):
    # A search with a mistake is answered with 400, which browsers log.
    assert [one for one in report["complaints"] if "status of 400" not in one] == []


def test_lists_are_accessible(report):
    assert report["serious"] == []


def test_pages_lead_to_each_other(report):
    for shown in report["shown"].values():
        assert shown["tiles"] == [
            "2 running", "0 without an event for an hour", "13 failed in 24 hours", f"{COUNT + 2} started in 24 hours",
        ]  # fmt: skip
        assert (shown["running"], shown["status"]) == (["waits-2", "waits-1"], "RUNNING")
        assert (shown["machines"], shown["filtered"], shown["address"]) == (
            ["first", "second"], ["second"], "?name=SECOND",
        )  # fmt: skip
        assert shown["wrong"] == "The console has no page machin. Did you mean State machines?"


def test_rows_are_walked_through_by_keys_and_drawn_near_the_view_alone(report):
    for shown in report["shown"].values():
        assert shown["focused"] == "waits-1"
        assert shown["drawn"] <= 60
        assert shown["elements"] < 3_000
        assert shown["last"] == "order-0"


def test_filters_and_search_stand_in_the_address(report, machine):
    for shown in report["shown"].values():
        assert shown["query"] == {"status": "failed", "machine": machine.replace(":first", ":second")}
        assert (shown["found"], shown["marked"]) == ("input.order: o-7", "o-7")
        assert shown["mistake"].startswith("At character 14: a value is missing after =.")
        assert shown["opened"] == "order-7"
        assert shown["skipped"] == "2 executions: Execution is RUNNING and cannot be redriven"


def test_the_theme_that_was_chosen_goes_before_the_systems(report):
    for shown in report["shown"].values():
        assert shown["background"] != shown["other"]
        assert shown["kept"] == shown["other"]


def test_the_pure_modules(tmp_path):
    check_modules("modules_list.js", tmp_path)
