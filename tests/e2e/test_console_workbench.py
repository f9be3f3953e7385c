"""The Workbench and the pages of machines against a server: graphs, runs in virtual time, differences, cases."""

from __future__ import annotations

import http.client
import json
from pathlib import Path
from typing import Any

import pytest

from statewright.simulator.cases import load_cases, run_case
from tests.e2e.conftest import ROLE, ended
from tests.e2e.test_console import read

DEFINITION = {
    "StartAt": "Price",
    "States": {
        "Price": {
            "Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage",
            "Parameters": {"QueueUrl.$": "$.queue", "MessageBody.$": "$"}, "ResultPath": "$.sent",
            "Retry": [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "MaxAttempts": 1}],
            "Catch": [{"ErrorEquals": ["States.ALL"], "ResultPath": "$.problem", "Next": "Refuse"}],
            "Next": "Pause",
        },
        "Pause": {"Type": "Wait", "Seconds": 1, "Next": "Done"},
        "Done": {"Type": "Succeed", "OutputPath": "$.order"},
        "Refuse": {"Type": "Fail", "Error": "Refused", "CausePath": "$.problem.Cause"},
    },
}  # fmt: skip
MOCKS = "mocks:\n  Price:\n    - {throws: Busy}\n    - returns: {MessageId: m-1}\n"


def post(server: Any, name: str, document: Any) -> Any:
    """An action of the console's page; its document, or the last line of an answer that goes on."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        headers = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors", "Content-Type": "application/json"}
        connection.request("POST", f"/console/api/{name}", json.dumps(document), headers)
        answer = connection.getresponse()
        return {"httpStatus": answer.status, **json.loads(answer.read().splitlines()[-1])}
    finally:
        connection.close()


def run(server: Any, definition: Any, **more: Any) -> Any:
    return post(server, "workbench/run", {"text": json.dumps(definition), "name": "order", **more})


def passed(path: Path) -> list[str]:
    """The names of a file's cases that pass as `statewright test` runs them."""
    return [case.name for case in load_cases(path).cases if run_case(case).passed]


@pytest.fixture(scope="module")
def machine(server):
    sfn = server.client("stepfunctions")
    return sfn.create_state_machine(name="order", definition=json.dumps(DEFINITION), roleArn=ROLE, publish=True)


def test_a_text_is_a_graph_with_findings(server):
    text = json.dumps(DEFINITION, indent=1).replace('"Next": "Pause"', '"Next": "Nowhere"')
    found = post(server, "graph", {"text": text})
    assert {state["name"] for state in found["drawing"]["states"]} >= set(DEFINITION["States"])
    first = found["findings"][0]
    assert (first["code"], first["severity"]) == ("MISSING_TRANSITION_TARGET", "ERROR")
    assert text.splitlines()[first["line"] - 1].strip() == '"Next": "Nowhere"'
    assert found["tasks"] == [{"name": "Price", "resource": "arn:aws:states:::sqs:sendMessage"}]


def test_a_text_that_is_not_json_has_its_place(server):
    found = post(server, "graph", {"text": '{\n  "StartAt": ,\n}'})
    assert (found["drawing"], found["findings"][0]["line"]) == (None, 2)
    yaml = post(server, "graph", {"text": "StartAt: A\nStates:\n  A: {Type: Succeed}\n", "language": "yaml"})
    assert json.loads(yaml["json"]) == {"StartAt": "A", "States": {"A": {"Type": "Succeed"}}}
    assert post(server, "graph", {"text": "x" * 1_100_000})["error"] == "BadRequest"
    assert post(server, "graph", {"text": "{}", "language": "toml"})["error"] == "BadRequest"


def test_a_run_in_virtual_time_becomes_a_case(server, tmp_path):
    found = run(server, DEFINITION, input='{"order": 7, "queue": "q"}', mocks=MOCKS, case="busy once")
    assert (found["status"], found["output"], found["durationMs"]) == ("SUCCEEDED", "7", 2_000)
    assert found["run"]["head"]["status"] == "SUCCEEDED"
    assert found["payloads"][0][1]["input"] == '{"order":7,"queue":"q"}'
    (tmp_path / "order.asl.json").write_text(json.dumps(DEFINITION))
    (tmp_path / "order.cases.yaml").write_text(found["case"]["text"])
    assert passed(tmp_path / "order.cases.yaml") == ["busy once"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"mocks": ""}, "Price"),
        ({"mocks": "mocks: {Price: {returns: {}, throws: x}}"}, "The mocks have mistakes."),
        ({"input": "{"}, "The input is not JSON"),
        ({"text": "{"}, "The definition cannot run"),
    ],
)
def test_a_run_that_is_not_possible_says_why(server, change, expected):
    request = {"text": json.dumps(DEFINITION), "name": "order", "input": '{"queue": "q"}', "mocks": MOCKS, **change}
    found = post(server, "workbench/run", request)
    assert expected in found["problem"]
    assert found["case"] is None


def test_a_run_without_end_is_ended(server):
    again = {"Type": "Choice", "Choices": [{"Variable": "$.over", "IsPresent": True, "Next": "B"}], "Default": "A"}
    rest = {"Again": again, "B": {"Type": "Succeed"}}
    loop = {"StartAt": "A", "States": {"A": {"Type": "Pass", "Next": "Again"}, **rest}}
    assert "history events" in run(server, loop)["problem"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "expression", ["$sum([1..9000000].($ * $))", "$join([1..9000000].($string($) & $pad('', 200)))"]
)
def test_a_run_that_takes_too_much_ends_alone(server, expression):
    state = {"Type": "Pass", "Output": f"{{% {expression} %}}", "End": True}
    found = run(server, {"QueryLanguage": "JSONata", "StartAt": "A", "States": {"A": state}})
    assert found["error"] in ("TrialEnded", "States.QueryEvaluationError")
    assert read(server, "me")["httpStatus"] == 200


def test_two_versions_side_by_side(server, machine):
    sfn = server.client("stepfunctions")
    changed = json.loads(json.dumps(DEFINITION))
    changed["States"]["Pause"]["Seconds"] = 2
    del changed["States"]["Refuse"]
    changed["States"]["Price"]["Catch"][0]["Next"] = "Sorry"
    changed["States"]["Sorry"] = {"Type": "Succeed"}
    arn = machine["stateMachineArn"]
    sfn.update_state_machine(stateMachineArn=arn, definition=json.dumps(changed))
    found = read(server, "machine/difference", a=machine["stateMachineVersionArn"], b=arn)
    assert (found["added"], found["removed"]) == ({"Sorry": "Succeed"}, {"Refuse": "Fail"})
    ran = sfn.start_execution(stateMachineArn=machine["stateMachineVersionArn"], input="{}")["executionArn"]
    by_run = read(server, "machine/difference", a=ran, b=arn)
    assert (by_run["changed"], by_run["lines"][0]) == (found["changed"], f"--- order, as {ran.split(':')[-1]} ran it")
    assert read(server, "machine/difference", a=f"{ran}-none", b=arn)["error"] == "ExecutionDoesNotExist"
    assert found["changed"] == {"Price": ["Catch"], "Pause": ["Seconds"]}
    assert {state["name"] for state in found["after"]["states"]} == set(changed["States"])
    stored = json.dumps(DEFINITION)
    same = post(server, "workbench/difference", {"before": stored, "text": json.dumps(changed)})
    assert same["changed"] == found["changed"]
    assert read(server, "machine/graph", arn=machine["stateMachineVersionArn"])["definition"] == DEFINITION
    assert read(server, "machine/graph", arn=f"{arn}:99")["httpStatus"] == 400


def test_an_execution_becomes_a_case_that_passes(server, machine, tmp_path):
    sfn, sqs = server.client("stepfunctions"), server.client("sqs")
    queue = sqs.create_queue(QueueName="prices")["QueueUrl"]
    version = machine["stateMachineVersionArn"]
    for name, given in {"good": {"queue": queue, "order": 8}, "bad": {"queue": f"{queue}-missing"}}.items():
        arn = sfn.start_execution(stateMachineArn=version, name=name, input=json.dumps(given))["executionArn"]
        ended(sfn, arn)
        found = read(server, "run/case", arn=arn)
        assert (found["problem"], found["leftOut"]) == (None, [])
        folder = tmp_path / name
        folder.mkdir()
        (folder / found["definitionFile"]).write_text(json.dumps(DEFINITION))
        (folder / found["file"]).write_text(found["text"])
        assert passed(folder / found["file"]) == [name]
    assert read(server, "run/case", arn=f"{arn}-missing")["httpStatus"] == 400
