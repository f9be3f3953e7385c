"""The console's actions against a server: starts, stops, forks, answers to tasks, and signing in."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.deadlines import PATIENCE_SECONDS, until
from tests.e2e.conftest import ROLE, Server, ended

OWN = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors", "Content-Type": "application/json"}


def asked(server: Server, name: str, document: Any = None, token: str = "", **query: Any) -> dict[str, Any]:
    """A read, or with a document an action, of the console's page; its answer, with `httpStatus`."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_SECONDS)
    headers: Mapping[str, str] = {**OWN, **({"Authorization": f"Bearer {token}"} if token else {})}
    try:
        path = f"/console/api/{name}?{urlencode(query)}"
        connection.request("GET" if document is None else "POST", path, json.dumps(document), dict(headers))
        answer = connection.getresponse()
        return {"httpStatus": answer.status, **json.loads(answer.read())}
    finally:
        connection.close()


def called(server: Server, operation: str, request: Any, service: str = "states", region: str = "") -> dict[str, Any]:
    document = {"service": service, "operation": operation, "request": request, "region": region}
    return asked(server, "call", document)


def machine_of(server: Server, name: str, states: Any, kind: str = "STANDARD", start: str = "") -> str:
    definition = {"QueryLanguage": "JSONata", "StartAt": start or next(iter(states)), "States": states}
    made = server.client().create_state_machine(name=name, definition=json.dumps(definition), roleArn=ROLE, type=kind)
    arn: str = made["stateMachineArn"]
    return arn


@pytest.fixture(scope="module")
def queue(server) -> str:
    url: str = server.client("sqs").create_queue(QueueName="console-actions")["QueueUrl"]
    return url


@pytest.fixture(scope="module")
def waits(server, queue) -> str:
    """A machine that waits for an answer to a token, and then for a worker of an activity."""
    activity = server.client().create_activity(name="console-pack")["activityArn"]
    send = {"Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken", "TimeoutSeconds": 3_600,
            "HeartbeatSeconds": 600, "Next": "Both", "Output": "{% $states.result %}",
            "Arguments": {"QueueUrl": queue, "MessageBody": {"t": "{% $states.context.Task.Token %}"}}}  # fmt: skip
    pack = {"Type": "Task", "Resource": activity, "End": True}
    branches = [{"StartAt": name, "States": {name: pack}} for name in ("Pack", "Wrap")]
    return machine_of(server, "console-waits-for-answers", {
        "Set": {"Type": "Pass", "Assign": {"n": 7}, "Next": "Ask"}, "Ask": send,
        "Both": {"Type": "Parallel", "Branches": branches, "End": True},
    })  # fmt: skip


def waiting(server: Server, arn: str, count: int) -> list[dict[str, Any]]:
    """The tasks of an execution, once so many wait."""

    def found() -> list[dict[str, Any]] | None:
        tasks: list[dict[str, Any]] = asked(server, "run/waiting", arn=arn)["tasks"]
        # A heartbeat counts from when the request was sent.
        is_sent = all(task["heartbeatMs"] or task["isActivity"] for task in tasks)
        return tasks if len(tasks) == count and is_sent else None

    tasks: list[dict[str, Any]] = until(found)
    return tasks


def test_tasks_that_wait_are_answered(server, waits):
    arn = called(server, "StartExecution", {"stateMachineArn": waits, "input": "{}"})["executionArn"]
    (task,) = waiting(server, arn, 1)
    assert (task["state"], task["resource"], task["isActivity"]) == ("Ask", "sqs:sendMessage.waitForTaskToken", False)
    now_ms = asked(server, "run/waiting", arn=arn)["nowMs"]
    assert now_ms < task["heartbeatMs"] < task["timeoutMs"]
    history = server.client().get_execution_history(executionArn=arn)["events"]
    assert history[task["event"] - 1]["stateEnteredEventDetails"]["name"] == "Ask"
    scheduled = next(one["taskScheduledEventDetails"] for one in history if one["type"] == "TaskScheduled")
    assert task["token"] == json.loads(scheduled["parameters"])["MessageBody"]["t"]
    assert called(server, "SendTaskHeartbeat", {"taskToken": task["token"]})["httpStatus"] == 200
    assert waiting(server, arn, 1)[0]["heartbeatMs"] > task["heartbeatMs"]
    wrong = called(server, "SendTaskSuccess", {"taskToken": task["token"], "output": "{"})
    assert (wrong["httpStatus"], wrong["error"]) == (400, "InvalidOutput")
    assert called(server, "SendTaskSuccess", {"taskToken": task["token"], "output": '{"yes": 1}'})["httpStatus"] == 200
    # Activities are answered without their workers, which alone have seen their tokens.
    pack, wrap = sorted(waiting(server, arn, 2), key=lambda one: one["state"])
    assert (pack["resource"], pack["isActivity"], pack["isStarted"]) == ("activity:console-pack", True, False)
    assert pack["timeoutMs"] is pack["heartbeatMs"] is None
    assert called(server, "SendTaskSuccess", {"taskToken": pack["token"], "output": "1"})["httpStatus"] == 200
    failure = {"taskToken": wrap["token"], "error": "Torn", "cause": "by hand"}
    assert called(server, "SendTaskFailure", failure)["httpStatus"] == 200
    done = ended(server.client(), arn)
    assert (done["status"], done["error"], done["cause"]) == ("FAILED", "Torn", "by hand")
    assert asked(server, "run/waiting", arn=arn)["tasks"] == []
    late = called(server, "SendTaskSuccess", {"taskToken": pack["token"], "output": "1"})
    assert late["error"] == "TaskTimedOut"


def test_a_read_of_what_waits_changes_nothing(server, waits):
    arn = called(server, "StartExecution", {"stateMachineArn": waits})["executionArn"]
    (task,) = waiting(server, arn, 1)
    before = server.client().get_execution_history(executionArn=arn)["events"]
    for _ in range(3):
        assert asked(server, "run/waiting", arn=arn)["tasks"] == [task]
    assert server.client().get_execution_history(executionArn=arn)["events"] == before
    assert called(server, "StopExecution", {"executionArn": arn, "error": "Enough"})["httpStatus"] == 200
    assert ended(server.client(), arn)["error"] == "Enough"
    redriven = called(server, "RedriveExecution", {"executionArn": arn, "clientToken": "one"})
    assert called(server, "RedriveExecution", {"executionArn": arn, "clientToken": "one"}) == redriven
    assert waiting(server, arn, 1)[0]["state"] == "Ask"
    called(server, "StopExecution", {"executionArn": arn})


def test_what_waits_in_an_execution_that_is_not_there(server, waits):
    gone = asked(server, "run/waiting", arn=f"{waits.replace(':stateMachine:', ':execution:')}:none")
    assert (gone["httpStatus"], gone["error"]) == (400, "ExecutionDoesNotExist")
    assert asked(server, "run/waiting", arn="x")["error"] == "InvalidArn"
    far = asked(server, "run/waiting", arn=f"{waits.replace('us-east-1', 'eu-west-1')}:none")
    assert far["httpStatus"] == 400


def test_a_fork_names_what_it_repeats(server, queue):
    arguments = {"QueueUrl": queue, "MessageBody": "{% $string($states.input) %}"}
    send = {"Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage", "Arguments": arguments, "End": True}
    each = {"Type": "Map", "Items": [1, 2, 3], "Output": "{% $states.input %}", "Next": "Look",
            "ItemProcessor": {"StartAt": "Send", "States": {"Send": send}}}  # fmt: skip
    arn = machine_of(server, "console-forks", {
        "Set": {"Type": "Pass", "Assign": {"n": 12345678901234567890}, "Output": {"a": "b"}, "Next": "Each"},
        "Each": each,
        "Look": {"Type": "Task", "Resource": "arn:aws:states:::aws-sdk:sqs:getQueueAttributes", "End": True,
                 "Arguments": {"QueueUrl": queue, "AttributeNames": ["All"]}},
    })  # fmt: skip
    started = called(server, "StartExecution", {"stateMachineArn": arn, "name": "to-fork"})["executionArn"]
    assert ended(server.client(), started)["status"] == "SUCCEEDED"
    moment = asked(server, "fork", arn=started, state="Each", visit=1)
    assert (moment["input"], moment["variables"]) == ('{"a":"b"}', '{"n":12345678901234567890}')
    sent, look = moment["repeats"]
    assert sent == {"resource": "sqs:sendMessage", "target": queue, "count": 3, "states": ["Send"], "reads": False}
    assert (look["count"], look["reads"], look["states"]) == (1, True, ["Look"])
    assert [one["reads"] for one in asked(server, "fork", arn=started, state="Look")["repeats"]] == [True]
    assert asked(server, "fork", arn=started, state="Send")["error"] == "ValidationException"
    assert asked(server, "fork", arn=started, state="Each", visit=2)["error"] == "StateNotReached"
    wish = {"executionArn": started, "stateName": "Look", "input": '{"forked": true}', "name": "forked"}
    forked = called(server, "ForkExecution", wish, "statewright")["executionArn"]
    assert ended(server.client(), forked)["status"] == "SUCCEEDED"
    assert called(server, "ForkExecution", wish, "statewright")["error"] == "ExecutionAlreadyExists"


def test_recent_inputs_are_different_ones(server):
    arn = machine_of(server, "console-inputs", {"Done": {"Type": "Succeed"}})
    for number in (*range(12), 11, 11, 10):
        called(server, "StartExecution", {"stateMachineArn": arn, "input": f'{{"n":  {number}}}'})
    called(server, "StartExecution", {"stateMachineArn": arn, "input": json.dumps("x" * 70_000), "name": "long"})
    found = asked(server, "machine/inputs", arn=arn)["inputs"]
    assert [one["text"] for one in found] == [None, *(f'{{"n":  {number}}}' for number in (10, 11, *range(9, 2, -1)))]
    assert found[0]["length"] == 70_002
    assert asked(server, "run/input", arn=found[0]["arn"])["input"] == json.dumps("x" * 70_000)
    assert asked(server, "machine/inputs", arn=f"{arn}-missing")["error"] == "StateMachineDoesNotExist"


def test_starts_keep_the_words_of_their_refusals(server):
    arn = machine_of(server, "console-starts", {"Wait": {"Type": "Wait", "Seconds": 9_999, "End": True}})
    once = {"stateMachineArn": arn, "name": "same", "input": "{}"}
    started = called(server, "StartExecution", once)
    assert called(server, "StartExecution", once)["executionArn"] == started["executionArn"]
    refused = called(server, "StartExecution", {**once, "input": "[]"})
    assert (refused["httpStatus"], refused["error"]) == (400, "ExecutionAlreadyExists")
    assert called(server, "StartExecution", {**once, "name": "a b"})["error"] == "InvalidName"
    assert called(server, "StartExecution", {**once, "input": "{", "name": "x"})["error"] == "InvalidExecutionInput"
    assert called(server, "StartExecution", once, region="eu-north-1")["error"] == "BadRequest"
    assert called(server, "StartExecution", "text")["httpStatus"] == 400
    called(server, "StopExecution", {"executionArn": started["executionArn"]})
    assert called(server, "DeleteStateMachine", {"stateMachineArn": arn})["error"] == "AccessDenied"
    log = server.log.read_text()
    assert "StartExecution by a user of this machine in the console, request " in log
    assert f"stateMachineArn '{arn}', name 'same'" in log


def test_an_express_execution_is_run_to_its_end(server):
    add = {"Type": "Pass", "Output": "{% $states.input.a + 1 %}", "End": True}
    arn = machine_of(server, "console-sync", {"Add": add}, "EXPRESS")
    done = called(server, "StartSyncExecution", {"stateMachineArn": arn, "input": '{"a": 1}'})
    assert (done["status"], done["output"]) == ("SUCCEEDED", "2")


def test_no_one_signs_in_where_there_is_nothing_to_sign_with(server, statewright):
    shown = statewright("console", "--print")
    assert (shown.code, shown.out) == (0, f"{server.url}/console\n")
    refused = statewright("console", "--print", "--read-only")
    assert (refused.code, "asks no one to sign in" in refused.err) == (1, True)
    assert asked(server, "sessions") == {"httpStatus": 200, "sessions": [], "user": ""}
    assert asked(server, "settings")["hasCredentials"] is False


def signed_in(statewright: Any, server: Server, *options: str) -> str:
    """The token that the link of `statewright console` opens."""
    shown = statewright("console", "--print", "--endpoint", server.url, *options)
    assert shown.code == 0, shown.err
    address, _, key = shown.out.strip().partition("#k=")
    assert address == f"{server.url}/console"
    token: str = asked(server, "session", {"key": key})["token"]
    return token


def settings(folder: Path, text: str) -> None:
    (folder / "statewright.toml").write_text(text)
    (folder / "statewright.toml").chmod(0o600)


def test_a_sign_in_outlives_the_server_but_not_its_key(tmp_path, monkeypatch, statewright):
    both = '[credentials]\nAKIDONE = "one"\nAKIDTWO = { secret = "two", account = "111122223333" }\n'
    settings(tmp_path, both)
    options = ("--config", str(tmp_path / "statewright.toml"))
    server = Server(tmp_path / "data", *options)
    try:
        one = signed_in(statewright, server)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDTWO")
        two = signed_in(statewright, server, "--read-only")
        assert asked(server, "me", token=one)["account"] == "000000000000"
        other = asked(server, "me", token=two)
        assert (other["account"], other["mayWrite"]) == ("111122223333", False)
        # Temporary credentials of the environment sign, too, where no settings file has a key.
        keys = server.client("sts", key="AKIDONE", secret="one").get_session_token(DurationSeconds=900)["Credentials"]
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", keys["AccessKeyId"])
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", keys["SecretAccessKey"])
        monkeypatch.setenv("AWS_SESSION_TOKEN", keys["SessionToken"])
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        monkeypatch.chdir(elsewhere)
        short = asked(server, "me", token=signed_in(statewright, server))
        assert (short["user"], short["account"]) == (keys["AccessKeyId"], "000000000000")
        assert short["expiresMs"] == keys["Expiration"].timestamp() * 1000
        machine_of_one(server, "AKIDONE", "one")
        assert [len(asked(server, "machines", token=token)["machines"]) for token in (one, two)] == [1, 0]
        assert [len(asked(server, "sessions", token=token)["sessions"]) for token in (one, two)] == [2, 1]
    finally:
        assert server.stop() == 0
    settings(tmp_path, both.replace('AKIDONE = "one"\n', ""))
    server = Server(tmp_path / "data", *options)
    try:
        assert asked(server, "me", token=one)["httpStatus"] == 401
        assert asked(server, "me", token=two)["user"] == "AKIDTWO"
    finally:
        assert server.stop() == 0


def machine_of_one(server: Server, key: str, secret: str) -> None:
    definition = json.dumps({"StartAt": "A", "States": {"A": {"Type": "Succeed"}}})
    server.client(key=key, secret=secret).create_state_machine(name="one", definition=definition, roleArn=ROLE)


def test_a_trusted_header_needs_an_origin(tmp_path):
    settings(tmp_path, '[console]\ntrust_header = "X-Forwarded-User"\n')
    with pytest.raises(AssertionError, match="needs the origin at which browsers reach the proxy"):
        Server(tmp_path / "data", "--config", str(tmp_path / "statewright.toml"))
