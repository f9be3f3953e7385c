"""The Workbench and the page of a state machine in a browser, in both themes and two widths, with hostile texts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from statewright.simulator.cases import load_cases, run_case
from tests.e2e.conftest import ROLE, Server, ended

LONG = "$LONG"
"""The program puts a text of 80,000 characters there."""
HOSTILE = {
    "Comment": LONG,
    "StartAt": "</script><b>A \u202e",
    "States": {
        "</script><b>A \u202e": {"Type": "Pass", "Comment": "<img src=x onerror=alert(1)>", "Next": "constructor"},
        "constructor": {"Type": "Pass", "Parameters": {LONG: "{{<script>}}"}, "Next": "__proto__"},
        "__proto__": {"Type": "Succeed"},
    },
}
DEFINITION = {
    "StartAt": "First",
    "States": {
        "First": {"Type": "Pass", "Result": {"n": 1}, "ResultPath": "$.first", "Next": "Pause"},
        "Pause": {"Type": "Wait", "Seconds": 1, "Next": "Last"},
        "Last": {"Type": "Succeed"},
    },
}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("workbench") / "data")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def report(drive, address) -> Any:
    """What the pages show in a browser."""
    sfn = address.client("stepfunctions")
    made = sfn.create_state_machine(name="order", definition=json.dumps(DEFINITION), roleArn=ROLE, publish=True)
    arn = made["stateMachineArn"]
    started = sfn.start_execution(stateMachineArn=made["stateMachineVersionArn"], name="o-1", input='{"order": 7}')
    ended(sfn, started["executionArn"])
    changed = json.loads(json.dumps(DEFINITION))
    changed["States"]["Pause"].update({"Seconds": 2, "Next": "Extra"})
    changed["States"]["Extra"] = {"Type": "Pass", "Next": "Last"}
    sfn.update_state_machine(stateMachineArn=arn, definition=json.dumps(changed))
    return drive("workbench.js", address.port, arn, started["executionArn"], json.dumps(HOSTILE))


def test_no_page_complains(report):
    # A version that does not exist is answered with 400, and the editor's library is kept away once: browsers log both.
    expected = ("status of 400", "net::ERR_FAILED")
    assert [one for one in report["complaints"] if not any(words in one for words in expected)] == []


def test_without_its_library_the_editor_is_a_text_field(report):
    assert {shown["plain"] for shown in report["shown"].values()} == {"plaintext"}


def test_pages_are_accessible(report):
    assert report["serious"] == []


def test_a_run_in_the_workbench_is_on_the_graph_and_becomes_a_case(report):
    for shown in report["shown"].values():
        assert (shown["first"], shown["ran"]) == (5, 4)
        # The server cannot be asked about a run that it does not have.
        assert shown["parts"] == ["Input", "Output", "Changes", "Definition"]
        assert "returns_payload" in shown["saved"]
        assert shown["file"] == "machine.cases.yaml"


def test_a_state_is_tried_by_itself(report):
    for shown in report["shown"].values():
        assert shown["tried"] == "Succeeded"
        assert '"total": 7' in shown["output"]


def test_a_mistake_is_named_and_leaves_the_last_graph(report):
    for shown in report["shown"].values():
        assert any("MISSING_TRANSITION_TARGET" in one for one in shown["problems"])
        assert shown["old"] == "as it was before the last mistake"
        assert shown["kept"].strip() == '{"StartAt":'
        assert shown["left"] is True


def test_hostile_definitions_are_text(report):
    for shown in report["shown"].values():
        assert shown["markup"] == 0
        assert {name.split(",")[0] for name in shown["names"]} >= {"constructor", "__proto__"}
        assert shown["wide"] is True


def test_the_page_of_a_machine(report):
    for shown in report["shown"].values():
        tabs = shown["tabs"]
        assert "o-1" in tabs["executions"]
        assert "version" not in tabs["versions"] or "1" in tabs["versions"]
        assert ROLE in tabs["settings"]
        assert "Executions, by 5 minutes" in tabs["metrics"]
        assert "1 state added" in tabs["diff"]
        assert shown["missing"] == "There is no such state machine"


def test_two_definitions_side_by_side(report):
    for shown in report["shown"].values():
        assert "Pause differs in Seconds, Next" in shown["fields"]
        assert {label.split(", ", 2)[0] for label in shown["looks"]} == {"Pause", "Extra"}
        assert '+      "Seconds": 2' in shown["text"]


def test_the_difference_comes_before_saving(report):
    (first, *_rest) = report["shown"].values()
    assert "TimeoutSeconds" in first["before"]


def test_an_execution_is_pinned_as_a_test(report, tmp_path):
    for shown in report["shown"].values():
        assert "passes" in shown["pinned"]["said"]
    (tmp_path / "order.asl.json").write_text(json.dumps(DEFINITION))
    (tmp_path / "order.cases.yaml").write_text(shown["pinned"]["text"])
    (case,) = load_cases(tmp_path / "order.cases.yaml").cases
    assert run_case(case).passed
