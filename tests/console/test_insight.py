"""Figures, copies, recordings and simulations in a browser, in both themes and two widths, with hostile names."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.deadlines import until
from tests.e2e.conftest import ROLE, Server, ended
from tests.e2e.test_console_insight import read, waits

HOSTILE = "</script><b>Charge \u202ecard</b>"
"""The name of a state, which is nothing but text."""
DEFINITION = {
    "StartAt": "Begin",
    "States": {
        "Begin": {"Type": "Pass", "Next": HOSTILE},
        HOSTILE: {"Type": "Choice", "Default": "Hold", "Choices": [
            {"Variable": "$.n", "NumericGreaterThan": 1, "Next": "Refuse"}]},
        "Refuse": {"Type": "Fail", "Error": "Refused", "Cause": "<img src=x onerror=alert(1)>"},
        "Hold": {"Type": "Wait", "Seconds": 100_000, "End": True},
    },
}  # fmt: skip
SCENARIO = """
name: small
functions: {{work: {{duration: 1s}}}}
queues: {{jobs: {{visibility: 1m}}}}
mappings: [{{queue: jobs, function: work}}]
arrivals: {{queue: jobs, burst: {}, over: 30s}}
"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("insight") / "data")
    yield server
    server.stop()


def simulated(server: Server, messages: int) -> str:
    """The id of a simulation that has ended."""
    started: str = read(server, "simulations/start", {"name": f"{messages}", "scenario": SCENARIO.format(messages)})[
        "id"
    ]
    until(lambda: read(server, "simulations/one", id=started)["status"] != "running")
    return started


@pytest.fixture(scope="module")
def report(drive, address, tmp_path_factory) -> Any:
    """What the pages show in a browser, in both themes and two widths."""
    sfn = address.client("stepfunctions")
    text = json.dumps(DEFINITION)
    machine = sfn.create_state_machine(name="page", definition=text, roleArn=ROLE)["stateMachineArn"]
    express = sfn.create_state_machine(name="quick", type="EXPRESS", roleArn=ROLE, definition=json.dumps(
        {"StartAt": "A", "States": {"A": {"Type": "Succeed"}}}))["stateMachineArn"]  # fmt: skip
    for n in range(5):
        given = json.dumps({"n": n, "text": "</script><script>alert(1)</script>"})
        arn = sfn.start_execution(stateMachineArn=machine, name=f"order-{n}", input=given)["executionArn"]
        if n > 1:
            ended(sfn, arn)
        else:
            waits(sfn, arn)
    history = tmp_path_factory.mktemp("history") / "order.json"
    events = sfn.get_execution_history(executionArn=arn, maxResults=100)["events"]
    history.write_text(json.dumps({"events": events}, default=lambda at: at.isoformat()))
    runs = [simulated(address, 5), simulated(address, 50)]
    return drive("insight.js", address.port, machine, arn, express, str(history), *runs)


def test_no_page_complains(report):
    # Refusals that the walk provokes are answered with 400 and 404, which browsers log.
    assert [one for one in report["complaints"] if "status of 400" not in one and "asked blob:" not in one] == []


def test_pages_are_accessible(report):
    assert report["serious"] == []


def test_figures_are_the_same_on_the_graph_and_in_the_table(report):
    for shown in report["shown"].values():
        figures = shown["figures"]
        visits = [("Begin", "5"), (HOSTILE, "5"), ("Refuse", "3"), ("Hold", "2")]
        assert [tuple(row) for row in figures["table"]] == visits
        assert {
            label.rsplit(", ", 1)[0].rsplit(",", 1)[0]: label.rsplit(", ", 1)[1] for label in figures["graph"]
        } == dict(visits)
        assert figures["chosen"] == "Begin"
        assert figures["standing"] == [["Hold", "2"]]
        assert "an execution, on average of the last 5 executions" in figures["total"]
        assert figures["markup"] == 0


def test_a_link_that_the_browser_does_not_copy_is_said(report):
    said = {shown["copies"]["refused"] for shown in report["shown"].values()}
    assert said == {"The browser did not copy it: Write permission denied."}


def test_an_exported_file_shows_the_run_without_a_server(report):
    for shown in report["shown"].values():
        copies = shown["copies"]
        assert copies["file"] == "order-4.html"
        offline = copies["offline"]
        assert offline["complaints"] == []
        assert (offline["nodes"], offline["at"], offline["markup"]) == (4, "1", 0)
        assert "</script><script>alert(1)</script>" in offline["input"]
        assert offline["total"] == copies["total"]
        assert offline["note"].startswith("A copy of one run, read only")
        assert offline["hash"] == "#/console/execution/arn:"


def test_an_imported_history_stays_in_its_tab(report):
    for shown in report["shown"].values():
        imported = shown["imported"]
        assert "It looks like a definition" in imported["refused"]
        assert (imported["title"], imported["nodes"], imported["exports"]) == ("order", 3, 0)
        assert imported["actions"] == ["More"], "the server knows nothing of it that could be done"
        assert "Import the file again" in imported["gone"]


def test_recording_begins_and_ends_with_the_page(report):
    assert {shown["recorded"]["empty"] for shown in report["shown"].values()} == {1}


def test_simulations_are_shown_and_compared(report):
    for shown in report["shown"].values():
        simulated = shown["simulated"]
        assert "fitted to 5 executions" in simulated["scenario"]
        assert "run this scenario with statewright simulate" in simulated["refused"]
        assert "In flight" in simulated["charts"]
        assert "work: calls" in simulated["differs"]
        assert simulated["numbers"] > 1
