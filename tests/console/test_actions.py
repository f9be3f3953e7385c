"""Signing in to the console and acting in it, in a browser: every form by the mouse, and by keys alone."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from tests.e2e.conftest import ROLE, Server

KEYS = {"key": "AKIDBROWSER", "secret": "a secret"}
LOOKS = 4

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("signed")
    (folder / "statewright.toml").write_text('[credentials]\nAKIDBROWSER = "a secret"\n')
    return folder


@pytest.fixture(scope="module")
def strict(folder):
    server = Server(folder / "data", "--config", str(folder / "statewright.toml"))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def machine(strict) -> str:
    """A machine that sends a message and waits for an answer to its token, and then goes through items."""
    sfn, sqs = strict.client(**KEYS), strict.client("sqs", **KEYS)
    queue = sqs.create_queue(QueueName="asked")["QueueUrl"]
    ask = {
        "Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken", "Next": "Each",
        "Arguments": {"QueueUrl": queue, "MessageBody": {"t": "{% $states.context.Task.Token %}"}},
    }  # fmt: skip
    item = {"Type": "Pass", "End": True}
    each = {"Type": "Map", "Items": [1, 2], "ItemProcessor": {"StartAt": "Item", "States": {"Item": item}}, "End": True}
    states = {"Set": {"Type": "Pass", "Assign": {"total": 7}, "Next": "Ask"}, "Ask": ask, "Each": each}
    definition = json.dumps({"QueryLanguage": "JSONata", "StartAt": "Set", "States": states})
    made = sfn.create_state_machine(name="asks", definition=definition, roleArn=ROLE, publish=True)
    arn: str = made["stateMachineArn"]
    return arn


@pytest.fixture(scope="module")
def express(strict) -> str:
    sfn = strict.client(**KEYS)
    states = {"Add": {"Type": "Pass", "Output": "{% $states.input.a + 1 %}", "End": True}}
    definition = json.dumps({"QueryLanguage": "JSONata", "StartAt": "Add", "States": states})
    made = sfn.create_state_machine(name="adds", definition=definition, roleArn=ROLE, type="EXPRESS")
    arn: str = made["stateMachineArn"]
    return arn


@pytest.fixture(scope="module")
def report(drive, strict, folder, machine, express) -> Any:
    return drive("actions.js", strict.port, sys.executable, str(folder), machine, express)


def test_no_page_complains(report):
    # Browsers log the refusal of those who have not signed in yet.
    assert [one for one in report["complaints"] if "status of 401" not in one] == []


def test_forms_are_accessible(report):
    assert report["serious"] == []


def test_a_link_signs_in_and_comes_back(report, machine):
    for shown in report["shown"].values():
        assert shown["address"] == f"/console/start/{machine}"
        assert shown["out"] == "You have signed out."
        assert shown["noLink"] == "This is no link of statewright console."


def test_a_wrong_input_cannot_be_started(report):
    for shown in report["shown"].values():
        assert shown["mistake"] == "Line 1, column 9 No comma may stand before }."
        assert shown["mayStart"] is False


def test_a_double_click_starts_and_forks_once(report, strict, machine):
    executions = strict.client(**KEYS).list_executions(stateMachineArn=machine)["executions"]
    assert len(executions) == 2 * LOOKS
    assert sorted(one["status"] for one in executions) == ["FAILED"] * LOOKS + ["SUCCEEDED"] * LOOKS


def test_what_can_be_done_depends_on_the_status(report):
    for shown in report["shown"].values():
        assert shown["banner"] == "Ask waits for an answer to its task token since …."
        assert "12345678901234567890" in shown["input"]
        assert shown["running"] == ["Compare", "More", "Stop…", "New like this", "Fork from Ask"]
        assert "New like this" in shown["ended"]
        assert shown["stopped"].startswith("Enough")
        assert shown["failed"].startswith("No")


def test_a_fork_names_what_it_repeats_and_where_it_begins(report):
    for shown in report["shown"].values():
        assert "Item is inside this one" in shown["inside"]
        assert shown["isClosed"]
        assert "2 calls ran from here on" in shown["repeats"]
        assert "asked" in shown["repeats"]
        assert json.loads(shown["variables"]) == {"total": 7}


def test_one_like_it_has_the_same_input(report):
    for name, shown in report["shown"].items():
        assert json.loads(shown["like"]) == {"look": name, "n": 12345678901234567890}
        assert "12345678901234567890" in shown["like"]
        assert "recent input" in shown["recent"]
        assert shown["result"].strip() == "2"


def test_what_was_typed_is_there_after_the_next_sign_in(report):
    for shown in report["shown"].values():
        assert shown["kept"] == [True, '{"half": "ty', True, '{"half": "fo']


def test_a_read_only_sign_in_sees_nothing_that_changes(report):
    for shown in report["shown"].values():
        assert shown["reader"] == [["Compare", "What if", "More"], "read only"]
        assert set(shown["ends"]) == {"Sign out"}
