"""Attacks on redaction: lists, searches, forms and logs of the console neither show nor find what is hidden."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from tests.attack.conftest import send
from tests.e2e.conftest import ROLE, Server, ended

IN_A_TEXT = "granite-1138"
IN_A_STATE = "basalt-2187"
FROM_A_VAULT = "obsidian-42"
LOGGED = "marble-9001"
HIDDEN = (IN_A_TEXT, IN_A_STATE, FROM_A_VAULT, LOGGED)
GROUP = "/app/shop"

PLAIN = {
    "StartAt": "Refuse",
    "States": {
        "Refuse": {
            "Type": "Fail",
            "Error": "Refused",
            "Cause": f"the shop answered: password={IN_A_TEXT}\nat line 7",
        }
    },
}
WITHIN: dict[str, Any] = {
    "StartAt": "Sign in",
    "States": {
        "Sign in": {"Type": "Pass", "Result": {"password": IN_A_STATE, "SecretString": FROM_A_VAULT}, "Next": "Rename"},
        "Rename": {
            "Type": "Pass", "Next": "How?",
            "Parameters": {
                "note.$": "States.Format('shop refuses {} and {}', $.password, $.SecretString)",
                "how.$": "$$.Execution.Input.how",
            },
        },
        "How?": {
            "Type": "Choice", "Default": "Done",
            "Choices": [{"Variable": "$.how", "StringEquals": "fails", "Next": "Refuse"}],
        },
        "Refuse": {"Type": "Fail", "Error": "Refused", "CausePath": "$.note"},
        "Done": {"Type": "Succeed"},
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("redaction")
    settings = folder / "statewright.toml"
    settings.write_text('[console]\nredact = ["**.password"]\n')
    made = Server(folder / "data", "--config", str(settings))
    yield made
    assert made.stop() == 0


@pytest.fixture(scope="module")
def runs(server: Server) -> dict[str, str]:
    """Executions with hidden values in a plain text, and in the middle of a history alone."""
    sfn = server.client("stepfunctions")
    found: dict[str, str] = {}
    for name, definition, given in (
        ("plain", PLAIN, {}), ("fails", WITHIN, {"how": "fails"}), ("succeeds", WITHIN, {"how": "succeeds"}),
    ):  # fmt: skip
        made = sfn.create_state_machine(name=f"m-{name}", definition=json.dumps(definition), roleArn=ROLE)
        found[name] = sfn.start_execution(
            stateMachineArn=made["stateMachineArn"], name=name, input=json.dumps(given)
        )["executionArn"]  # fmt: skip
        started_ms = round(ended(sfn, found[name])["startDate"].timestamp() * 1000)
    logs = server.client("logs")
    logs.create_log_group(logGroupName=GROUP)
    logs.create_log_stream(logGroupName=GROUP, logStreamName="one")
    events = [{"timestamp": started_ms, "message": f"sign in with password: {LOGGED}"}]
    logs.put_log_events(logGroupName=GROUP, logStreamName="one", logEvents=events)
    return found


def ask(server: Server, name: str, body: Any = None, **query: Any) -> str:
    """The text of an answer of the console."""
    path = f"/console/api/{name}?{urlencode(query, quote_via=quote)}"
    given = json.dumps(body).encode() if body is not None else b""
    reply = send(server, "GET" if body is None else "POST", path, {"Content-Type": "application/json"}, given)
    assert reply.status == 200, reply.body
    return reply.body.decode()


def call(server: Server, service: str, operation: str, **request: Any) -> str:
    return ask(server, "call", {"service": service, "operation": operation, "request": request})


@pytest.mark.usefixtures("runs")
def test_no_search_finds_what_is_hidden_in_a_text(server):
    wanted = [*HIDDEN, *(one[:6] for one in HIDDEN), *(one.split("-")[1] for one in HIDDEN)]
    for text in wanted:
        for query in (text, f'cause ~ "{text}"', f'output ~ "{text}"', f"output[*] ~ {text}", f'"{text}"'):
            assert '"rows"' not in ask(server, "executions/search", q=query), query
            preview = {"verb": "redrive", "filters": {"q": query}}
            assert '"arns":[],' in ask(server, "executions/bulk/preview", preview), query
    for query in (
        f'cause != "shop refuses {IN_A_STATE}"',
        'cause ~ "shop refuses"',
        "shop refuses",
        "the shop answered",
    ):
        found = ask(server, "executions/search", q=query)
        assert '"rows"' in found, query
        assert not [one for one in HIDDEN if one in found], query


def test_no_list_and_no_form_shows_what_is_hidden_in_a_text(server, runs):
    answers = [
        ask(server, "executions"), ask(server, "executions", status="failed"), ask(server, "overview"),
        *(ask(server, name, arn=arn) for arn in runs.values() for name in ("run/input", "run/events")),
        *(ask(server, "fork", arn=runs[name], state=state) for name, state in (
            ("fails", "Rename"), ("succeeds", "Done"), ("plain", "Refuse"),
        )),
        *(call(server, "states", "DescribeExecution", executionArn=arn) for arn in runs.values()),
    ]  # fmt: skip
    assert [answer for answer in answers for one in HIDDEN if one in answer] == []
    assert sum("shop refuses" in answer for answer in answers) >= 5


@pytest.mark.usefixtures("runs")
def test_no_log_line_shows_what_is_hidden_and_no_filter_finds_it(server):
    shown = json.loads(call(server, "logs", "FilterLogEvents", logGroupName=GROUP))
    assert [one["message"] for one in shown["events"]] == ["sign in with password: •••"]
    for pattern in ("marble", f'"{LOGGED}"', "%marb.*%"):
        found = json.loads(call(server, "logs", "FilterLogEvents", logGroupName=GROUP, filterPattern=pattern))
        assert found["events"] == [], pattern
