"""Hints of commands for a server: names that exist, and commands that reach the same server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from statewright.cli.client import ApiProblem, Unreachable, command_words
from statewright.cli.inspection import data_table, execution_fork, function, queue, schedule, topic
from statewright.cli.inspection import object as object_
from tests.unit.cli.conftest import Run
from tests.unit.cli.stub_server import PREFIX, StubServer, stub

URL = "http://127.0.0.1:4877"


def missing(code: str) -> Callable[..., Exception]:
    return lambda **members: ApiProblem(code, "It does not exist.", URL, members)


CASES: list[tuple[Any, str, dict[str, Any], str]] = [
    (function, "function invoke pric", {
        "invoke": missing("ResourceNotFoundException"), "list_functions": {"Functions": [{"FunctionName": "price"}]},
    }, "price"),
    (function, "function concurrency arn:aws:lambda:us-east-1:000000000000:function:pric:live", {
        "get_function_concurrency": missing("ResourceNotFoundException"),
        "list_functions": {"Functions": [{"FunctionName": "price"}]},
    }, "price"),
    (queue, "queue peek ordrs", {
        "get_queue_url": missing("QueueDoesNotExist"), "list_queues": {"QueueUrls": [f"{URL}/000000000000/orders"]},
    }, "orders"),
    (queue, f"queue purge {URL}/000000000000/ordrs", {
        "purge_queue": missing("QueueDoesNotExist"), "list_queues": {"QueueUrls": [f"{URL}/000000000000/orders"]},
    }, "orders"),
    (data_table, "table scan ordrs", {
        "describe_table": missing("ResourceNotFoundException"), "list_tables": {"TableNames": ["orders"]},
    }, "orders"),
    (schedule, "schedule next billing/nihtly", {
        "get_schedule": missing("ResourceNotFoundException"),
        "list_schedules": {"Schedules": [{"GroupName": "billing", "Name": "nightly"}]},
    }, "billing/nightly"),
    (topic, "topic publish ordrs hello", {
        "list_topics": {"Topics": [{"TopicArn": "arn:aws:sns:us-east-1:000000000000:orders"}]},
    }, "orders"),
    (object_, "object ls s3://dat", {
        "list_objects_v2": missing("NoSuchBucket"), "list_buckets": {"Buckets": [{"Name": "data"}]},
    }, "data"),
]  # fmt: skip


@pytest.mark.parametrize(("module", "command", "answers", "near"), CASES)
def test_a_name_that_is_nearly_one(
    statewright: Run,
    monkeypatch: pytest.MonkeyPatch,
    module: Any,
    command: str,
    answers: dict[str, Any],
    near: str,
):
    stub(monkeypatch, module, **answers)
    result = statewright(*command.split())
    assert result.code == 3
    assert f"hint: did you mean {near}?" in result.err


def test_without_a_name_like_it_a_hint_names_the_command_that_lists_them(statewright: Run, monkeypatch):
    stub(monkeypatch, queue, get_queue_url=missing("QueueDoesNotExist"), list_queues={"QueueUrls": []})
    result = statewright("queue", "peek", "ordrs")
    assert f"hint: to see what there is: statewright queue list --endpoint {URL}" in result.err
    # The list may be refused, too: the hint stays.
    refused = missing("AccessDeniedException")
    stub(monkeypatch, queue, get_queue_url=missing("QueueDoesNotExist"), list_queues=refused)
    assert statewright("queue", "peek", "ordrs").err == result.err


@pytest.mark.parametrize(("state", "hint"), [("Prise", "did you mean Price?"), ("Zzzz", "its states are Price, Ship")])
def test_a_fork_at_a_state_that_is_none(statewright: Run, monkeypatch: pytest.MonkeyPatch, state: str, hint: str):
    definition = '{"StartAt": "Price", "States": {"Price": {}, "Ship": {}}}'
    stub(
        monkeypatch, execution_fork, fork_execution=missing("ValidationException"),
        get_execution_history={"events": []}, describe_state_machine_for_execution={"definition": definition},
    )  # fmt: skip
    result = statewright("execution", "fork", f"{PREFIX}:execution:order:one", "--at", state)
    assert result.code == 2
    assert f"hint: {hint}" in result.err


@pytest.mark.parametrize(
    ("endpoint", "hint"),
    [
        ("http://127.0.0.1:4566", "start one: statewright serve"),
        (URL, "start one: statewright serve --port 4877"),
        ("http://localhost:5000", "start one: statewright serve --port 5000"),
        ("http://build.example:4566", "check the address: it comes from --endpoint, "),
        ("http://[::1", "check the address: "),
    ],
)
def test_how_to_start_the_server_that_does_not_answer(endpoint: str, hint: str):
    assert str(Unreachable(endpoint).hint).startswith(hint)
    assert "--port 4566" not in str(Unreachable(endpoint).hint)


def test_commands_in_hints_go_to_the_same_server():
    assert command_words("queue list", None) == "statewright queue list"
    assert command_words("queue list", URL) == f"statewright queue list --endpoint {URL}"
    assert command_words("aws sqs help", URL) == f"STATEWRIGHT_ENDPOINT={URL} statewright aws sqs help"
    assert StubServer(URL).words("limit list") == f"statewright limit list --endpoint {URL}"
