from __future__ import annotations

import json
from pathlib import Path

import pytest

from statewright.cli import client
from statewright.cli.client import ApiProblem, endpoint_of, machine_of, short_name
from statewright.cli.inspection import execution
from statewright.cli.output import Stop
from statewright.cli.table import dated, length_words
from statewright.cost.execution_usage import transitions_of
from statewright.interpreter.history import HistoryEvent
from tests.unit.cli.conftest import Run
from tests.unit.cli.stub_server import PREFIX, StubServer, stub


def test_where_the_server_is(monkeypatch):
    for name in client.ENDPOINT_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    assert endpoint_of(None) == ("http://127.0.0.1:4566", "default")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://a:1")
    assert endpoint_of(None) == ("http://a:1", "AWS_ENDPOINT_URL")
    monkeypatch.setenv("STATEWRIGHT_ENDPOINT", "http://b:1")
    assert endpoint_of(None)[0] == "http://b:1"
    assert endpoint_of("http://c:1") == ("http://c:1", "--endpoint")


@pytest.mark.parametrize(
    ("api_code", "code"),
    [
        ("StateMachineDoesNotExist", 3),
        ("ResourceNotFound", 3),
        ("NoSuchBucket", 3),
        ("NoSuchKey", 3),
        ("InvalidArn", 2),
        ("ValidationException", 2),
        ("ExecutionNotRedrivable", 1),
        ("InvalidSignatureException", 1),
        ("ServiceUnavailable", 1),
    ],
)
def test_exit_codes_of_the_api(api_code, code):
    assert ApiProblem(api_code, "why").code == code


@pytest.mark.parametrize(
    ("api_code", "message", "hint"),
    [
        ("StateMachineDoesNotExist", "'arn:aws:states:r:1:stateMachine:order:7'", "machine versions order"),
        ("StateMachineDoesNotExist", "'arn:aws:states:r:1:stateMachine:order'", "machine list"),
        ("ResourceNotFoundException", "Function not found: arn", "function list"),
        ("ResourceNotFoundException", "Schedule nightly does not exist.", "schedule list"),
        ("ResourceNotFoundException", "Requested resource not found: Table: t not found", "table list"),
        ("NoSuchBucket", "no", "object ls"),
    ],
)
def test_where_to_look_for_what_is_missing(api_code, message, hint):
    assert str(ApiProblem(api_code, message).hint).endswith(f"statewright {hint}")


@pytest.mark.parametrize("command", [("list",), ("show", "x"), ("history", "x"), ("tail", "x"), ("stop", "x"),
                                     ("start", "m"), ("redrive", "x")])  # fmt: skip
def test_no_server(statewright: Run, command):
    result = statewright("execution", *command, "--endpoint", "http://127.0.0.1:1")
    assert (result.code, result.out) == (4, "")
    assert "No Statewright server at http://127.0.0.1:1: connection failed." in result.err
    assert "statewright serve" in result.err


def test_an_endpoint_that_is_none(statewright: Run):
    assert statewright("execution", "list", "--endpoint", "nonsense").code == 2


def test_profiles_and_proxies_of_the_real_service_do_not_matter(statewright: Run, monkeypatch):
    monkeypatch.setenv("AWS_PROFILE", "nobody-has-this")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:2")
    result = statewright("execution", "list", "--endpoint", "http://127.0.0.1:1")
    assert (result.code, "127.0.0.1:1:" in result.err) == (4, True)


def test_names_lead_to_arns(monkeypatch):
    stub(monkeypatch, execution)
    server = StubServer(None)
    assert server.machine_arn("order") == f"{PREFIX}:stateMachine:order"
    assert server.machine_arn("order:prod") == f"{PREFIX}:stateMachine:order:prod"
    assert server.machine_arn(f"{PREFIX}:stateMachine:any") == f"{PREFIX}:stateMachine:any"
    assert server.execution_arn("order:one") == f"{PREFIX}:execution:order:one"
    assert server.execution_arn("one", "order") == f"{PREFIX}:execution:order:one"
    with pytest.raises(Stop) as caught:
        server.machine_arn("odrer")
    assert (caught.value.code, caught.value.hint) == (3, "did you mean order?")


def test_pages_end_where_enough_is_known(monkeypatch):
    page = {"executions": [{}] * 2, "nextToken": "more"}
    calls = stub(monkeypatch, execution, list_executions=page)
    server = StubServer(None)
    assert len(list(server.pages("list_executions", "executions", most=4))) == 4
    assert [members["maxResults"] for _, members in calls] == [4, 2]


def test_lists_are_filtered_and_merged(statewright: Run, monkeypatch):
    rows = [{"name": "one", "executionArn": f"{PREFIX}:execution:order:one", "status": "FAILED", "startDate": 1_000,
             "stopDate": 13_500, "redriveCount": 2}]  # fmt: skip
    calls = stub(monkeypatch, execution, list_executions={"executions": rows})
    out = statewright("execution", "list", "--status", "failed").out
    assert out.splitlines()[1].split() == [
        "one", "order", "FAILED", "(redrive", "2)", "1970-01-01", "00:00:01", "12", "s",
    ]  # fmt: skip
    assert calls[-1][1]["statusFilter"] == "FAILED"
    assert statewright("execution", "list", "--machine", "order", "--map-run", "x").code == 2
    stub(monkeypatch, execution, list_executions={"executions": []})
    assert "There are no" in statewright("execution", "list").err


def test_history_names_state_and_function_of_each_task(statewright: Run, monkeypatch):
    call = {"resource": "invoke", "resourceType": "lambda"}
    arn = "arn:aws:lambda:us-east-1:0:function:charge:$LATEST"
    found = [
        ("TaskStateEntered", "stateEntered", {"name": "Charge"}),
        ("TaskScheduled", "taskScheduled", {**call, "parameters": json.dumps({"FunctionName": arn})}),
        ("TaskStarted", "taskStarted", call),
        ("TaskFailed", "taskFailed", {**call, "error": "Declined", "cause": "no money"}),
        ("LambdaFunctionScheduled", "lambdaFunctionScheduled", {"resource": "arn:aws:lambda:a:0:function:ship"}),
        ("LambdaFunctionStarted", "lambdaFunctionStarted", {}),
        ("ActivityScheduled", "activityScheduled", {"resource": "arn:aws:states:us-east-1:0:activity:sign"}),
        ("ExecutionFailed", "executionFailed", {"error": "Declined"}),
    ]  # fmt: skip
    events = [
        {"id": number, "previousEventId": number - 1, "timestamp": 0, "type": kind, f"{member}EventDetails": details}
        for number, (kind, member, details) in enumerate(found, 1)
    ]
    stub(monkeypatch, execution, get_execution_history={"events": events[::-1]}, describe_execution={})
    printed = [
        line.split(maxsplit=3)[3] for line in statewright("execution", "history", "order:x").out.splitlines()[2:]
    ]
    assert [" ".join(line.split()[1:]) for line in reversed(printed[:-1])] == [
        "TaskScheduled Charge lambda:invoke charge",
        "TaskStarted Charge lambda:invoke charge",
        "TaskFailed Charge lambda:invoke charge · Declined (no money)",
        "LambdaFunctionScheduled Charge lambda ship",
        "LambdaFunctionStarted Charge lambda ship",
        "ActivityScheduled Charge activity sign",
    ]  # fmt: skip


def test_several_are_stopped_but_one_is_followed(statewright: Run, monkeypatch):
    calls = stub(monkeypatch, execution, stop_execution={"stopDate": 0})
    assert statewright("execution", "stop", "order:a", "order:b").out == "stopped order:a\nstopped order:b\n"
    assert [members["executionArn"][-1] for name, members in calls if name == "stop_execution"] == ["a", "b"]
    assert statewright("execution", "redrive", "order:a", "order:b", "--follow").code == 2


def test_only_members_that_are_instants_are_dated():
    assert dated({"startDate": 1_500, "name": "xDate", "rows": [{"stopDate": 0}]}) == {
        "startDate": "1970-01-01T00:00:01.500Z", "name": "xDate", "rows": [{"stopDate": "1970-01-01T00:00:00Z"}],
    }  # fmt: skip


def test_words():
    assert short_name(f"{PREFIX}:execution:order:one") == "order:one"
    assert machine_of(f"{PREFIX}:stateMachine:order/label") == "order"
    assert [length_words(0, 1_234, 9), length_words(0, None, 1_234), length_words(0, 61_234, 9)] == [
        "1.234 s", "1 s", "1 min 1 s",
    ]  # fmt: skip


def test_retried_attempts_are_transitions():
    types = ["ExecutionStarted", "TaskStateEntered", "TaskScheduled", "TaskFailed", "TaskScheduled", "TaskSucceeded"]
    history = [HistoryEvent(number, number - 1, 0, kind, {}) for number, kind in enumerate(types, 1)]
    assert transitions_of(history) == 2


def test_every_command_is_documented(statewright: Run):
    text = (Path(__file__).resolve().parents[4] / "docs" / "server.md").read_text()
    for group in ("execution", "machine", "map-run"):
        listed = statewright(group, "--help").out.split("Commands:")[1]
        for name in [line.split()[0] for line in listed.splitlines() if line.strip()]:
            assert name in text, f"{group} {name}"


@pytest.mark.parametrize(
    "api_code",
    ["UnrecognizedClientException", "InvalidClientTokenId", "InvalidAccessKeyId", "SignatureDoesNotMatch",
     "InvalidSignatureException"],
)  # fmt: skip
def test_who_is_not_known_hears_where_credentials_are(api_code: str):
    problem = ApiProblem(api_code, "no")
    assert (problem.code, "statewright.toml" in str(problem.hint)) == (1, True)
