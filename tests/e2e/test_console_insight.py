"""Figures, copies, recordings and simulations of the console against a server that redacts."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from tests.deadlines import PATIENCE_SECONDS, until
from tests.e2e.conftest import ROLE, Server, ended

SECRET = "hunter2-4711"
DEFINITION = {
    "StartAt": "Name",
    "States": {
        "Name": {"Type": "Pass", "Parameters": {"other.$": "$.login.password", "n.$": "$.n"}, "Next": "Try"},
        "Try": {
            "Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage", "Next": "Big?", "ResultPath": "$.sent",
            "Parameters": {"QueueUrl": "http://nowhere/000000000000/none", "MessageBody.$": "$.other"},
            "Catch": [{"ErrorEquals": ["States.ALL"], "ResultPath": "$.problem", "Next": "Big?"}],
        },
        "Big?": {"Type": "Choice", "Choices": [{"Variable": "$.n", "NumericGreaterThan": 1, "Next": "Wait"}],
                 "Default": "Refuse"},
        "Refuse": {"Type": "Fail", "Error": "Refused", "CausePath": "States.Format('no entry for {}', $.other)"},
        "Wait": {"Type": "Wait", "Seconds": 100_000, "End": True},
    },
}  # fmt: skip
GIVEN = {"login": {"password": SECRET}, "text": json.dumps({"Password": SECRET})}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("insight")
    (folder / "statewright.toml").write_text('[console]\nredact = ["**.password"]\n')
    made = Server(folder / "data", "--config", str(folder / "statewright.toml"))
    yield made
    made.stop()


@pytest.fixture(scope="module")
def machine(server: Server) -> str:
    """A machine with two executions that failed and three that wait."""
    sfn = server.client("stepfunctions")
    made: str = sfn.create_state_machine(name="m", definition=json.dumps(DEFINITION), roleArn=ROLE)["stateMachineArn"]
    for n in range(5):
        arn = sfn.start_execution(stateMachineArn=made, name=f"e{n}", input=json.dumps({**GIVEN, "n": n}))[
            "executionArn"
        ]
        if n < 2:
            assert ended(sfn, arn)["status"] == "FAILED"
        else:
            waits(sfn, arn)
    return made


def waits(sfn: Any, arn: str) -> None:
    """Return once an execution waits."""
    until(lambda: last_event(sfn, arn) == "WaitStateEntered")


def last_event(sfn: Any, arn: str) -> str:
    found: str = sfn.get_execution_history(executionArn=arn, reverseOrder=True, maxResults=1)["events"][0]["type"]
    return found


def ask(server: Server, path: str, body: Any = None, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """A request of the console's page."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_SECONDS)
    try:
        own = {"Sec-Fetch-Site": "same-origin", "Content-Type": "application/json", **headers}
        given = json.dumps(body) if body is not None else None
        connection.request("GET" if body is None else "POST", f"/console/{path}", given, own)
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def read(server: Server, name: str, body: Any = None, **query: Any) -> Any:
    status, _, text = ask(server, f"api/{name}?{urlencode(query)}", body)
    return {"httpStatus": status, **json.loads(text)}


def execution(machine: str, name: str) -> str:
    return machine.replace("stateMachine", "execution") + f":{name}"


def test_no_answer_has_a_value_that_is_redacted(server, machine):
    arn = execution(machine, "e0")
    history = server.client("stepfunctions").get_execution_history(executionArn=arn, maxResults=100)["events"]
    assert json.dumps(history, default=str).count(SECRET) > 5
    sqs = server.client("sqs")
    queue = sqs.create_queue(QueueName="secrets")["QueueUrl"]
    sqs.send_message(QueueUrl=queue, MessageBody=json.dumps({"password": SECRET}))
    call = {"service": "states", "operation": "DescribeExecution", "request": {"executionArn": arn}}
    answers = [
        ask(server, f"api/{name}?{urlencode(query)}")[2]
        for name, query in [
            ("run", {"arn": arn}), ("run/events", {"arn": arn}), ("run/events", {"arn": arn, "text": "hunter2"}),
            ("run/costs", {"arn": arn}), ("run/export", {"arn": arn}), ("run/svg", {"arn": arn}),
            ("machine/heat", {"arn": machine}), ("machine/costs", {"arn": machine}),
            ("machine/occupancy", {"arn": machine}), ("simulations/scenario", {"arn": machine}),
            ("executions", {}), ("executions/search", {"q": "entry"}), ("overview", {}),
            ("queue/peek", {"name": "secrets"}),
            ("run/explain", {"arn": arn, "event": 2}), ("compare", {"a": arn, "b": execution(machine, "e1")}),
            ("machine/inputs", {"arn": machine}), ("run/input", {"arn": arn}), ("run/logs", {"arn": arn}),
            *(("run/payload", {"arn": arn, "event": event["id"], "member": member})
              for event in history for member in ("input", "output", "parameters", "cause")),
        ]
    ]  # fmt: skip
    answers.append(ask(server, "api/call", call)[2])
    table = server.client("dynamodb")
    table.create_table(
        TableName="secrets", BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
    )  # fmt: skip
    table.put_item(TableName="secrets", Item={"k": {"S": "1"}, "password": {"S": SECRET}})
    items = ask(server, "api/tables/select", {"statement": "SELECT * FROM secrets"})[2]
    assert json.loads(items)["items"] == [{"k": {"S": "1"}, "password": "•••"}]
    answers.append(items)
    answers.append(ask(server, "api/import", {"history": json.dumps(history, default=str)})[2])
    assert [
        answer[:60] + answer[answer.find(b"hunter2") - 150 :][:200] for answer in answers if b"hunter2" in answer
    ] == []
    assert [answer[:200] for answer in answers if b'"error":"NotFound"' in answer] == []
    assert sum("•••".encode() in answer for answer in answers) > 10
    assert read(server, "run", arn=arn)["head"]["cause"] == "no entry for •••"


def test_a_run_is_a_picture_at_its_own_address(server, machine):
    path = f"svg/{quote(execution(machine, 'e0'), safe=':')}"
    status, headers, body = ask(server, path)
    assert (status, headers["content-type"]) == (200, "image/svg+xml; charset=utf-8")
    assert headers["content-security-policy"].endswith("sandbox")
    assert body.startswith(b"<svg")
    assert b"Failed" in body
    assert ask(server, path, **{"If-None-Match": headers["etag"]})[0] == 304
    assert ask(server, path, **{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "image"})[0] == 403
    assert ask(server, f"{path}-missing")[0] == 400


def test_heat_has_figures_of_every_state(server, machine):
    found = read(server, "machine/heat", arn=machine)
    assert (found["runs"], found["running"], found["isCut"]) == (5, 3, False)
    states = {one["name"]: one for one in found["states"]}
    assert list(states) == ["Name", "Try", "Big?", "Refuse", "Wait"]
    assert (states["Try"]["visits"], states["Try"]["caught"], states["Refuse"]["failed"]) == (5, 5, 2)
    assert states["Wait"]["p95"] is None
    assert {(one["source"], one["target"]): one["count"] for one in found["edges"]}["Big?", "Wait"] == 3
    slow = states["Try"]["slowest"][0]
    run = read(server, "run", arn=slow["arn"])
    assert run["states"][run["visits"]["state"][slow["visit"]]]["name"] == "Try"
    assert read(server, "machine/heat", arn=machine, runs=2)["runs"] == 2
    assert read(server, "machine/heat", arn=machine + "x")["error"] == "StateMachineDoesNotExist"


def test_occupancy_says_where_running_executions_stand(server, machine):
    found = read(server, "machine/occupancy", arn=machine)
    assert (found["running"], found["looked"], found["isCut"]) == (3, 3, False)
    (state,) = found["states"]
    assert (state["name"], state["count"]) == ("Wait", 3)
    assert [one["name"] for one in state["oldest"]] == ["e2", "e3", "e4"]


def test_costs_are_those_of_the_command_line(server, machine):
    found = read(server, "machine/costs", arn=machine)
    assert found["runs"] == 5
    assert sum(one["transitions"] for one in found["states"]) == 20
    assert found["usd"] == pytest.approx(sum(one["usd"] for one in found["lines"]))
    assert found["express"]["why"] is None
    one = read(server, "run/costs", arn=execution(machine, "e0"))
    assert one["usd"] == pytest.approx(read(server, "run", arn=execution(machine, "e0"))["head"]["usd"])


def test_an_exported_page_is_one_file_that_asks_for_nothing(server, machine):
    status, headers, body = ask(server, f"api/run/export?{urlencode({'arn': execution(machine, 'e0')})}")
    assert (status, headers["content-type"]) == (200, "application/octet-stream")
    text = body.decode()
    assert not re.search(r"(?:src|href)=\"(?!#)", text.partition("<script>")[0])
    data = json.loads(text.partition('id="run">')[2].partition("</script>")[0])
    assert data["run"]["head"]["name"] == "e0"
    assert len(data["details"]) == data["run"]["head"]["events"]


def test_a_history_comes_back_as_the_same_run(server, machine):
    arn = execution(machine, "e0")
    history = server.client("stepfunctions").get_execution_history(executionArn=arn, maxResults=100)
    text = json.dumps({"events": history["events"]}, default=lambda at: at.isoformat())
    found = read(server, "import", {"history": text, "definition": json.dumps(DEFINITION), "name": "copy"})
    run = read(server, "run", arn=arn)
    for part in ("states", "events", "visits", "attempts", "drawing"):
        assert found["run"][part] == run[part]
    assert found["run"]["head"]["arn"] == "import:copy"
    assert read(server, "import", {"history": "{"})["httpStatus"] == 400


def test_express_executions_are_recorded_while_a_page_watches(server):
    sfn = server.client("stepfunctions")
    definition = {"StartAt": "A", "States": {"A": {"Type": "Pass", "Next": "B"}, "B": {"Type": "Succeed"}}}
    arn = sfn.create_state_machine(name="quick", definition=json.dumps(definition), roleArn=ROLE, type="EXPRESS")[
        "stateMachineArn"
    ]
    assert read(server, "machine/heat", arn=arn)["error"] == "NoHistory"
    unseen = sfn.start_execution(stateMachineArn=arn, name="unseen")["executionArn"]
    until(lambda: read(server, "executions", machine=arn)["executions"][0]["status"] == "SUCCEEDED")
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_SECONDS)
    connection.request(
        "GET", f"/console/api/express/watch?{urlencode({'arn': arn})}", headers={"Sec-Fetch-Site": "same-origin"}
    )
    stream = connection.getresponse()
    assert json.loads(stream.readline())["rows"] == []
    given = json.dumps({"password": SECRET})
    seen = sfn.start_execution(stateMachineArn=arn, name="seen", input=given)["executionArn"]
    rows: dict[str, Any] = {}
    while rows.get(seen, {}).get("status") != "SUCCEEDED":
        rows.update({row["arn"]: row for row in json.loads(stream.readline())["rows"]})
    assert list(rows) == [seen]
    assert (rows[seen]["name"], rows[seen]["events"], rows[seen]["isWhole"]) == ("seen", 6, True)
    run = read(server, "run", arn=seen)
    assert (run["head"]["type"], run["head"]["status"], len(run["visits"]["state"])) == ("EXPRESS", "SUCCEEDED", 2)
    assert SECRET not in ask(server, f"api/run/events?{urlencode({'arn': seen})}")[2].decode()
    assert read(server, "run", arn=unseen)["error"] == "NoHistory"
    connection.close()
    assert read(server, "run", arn=seen)["httpStatus"] == 200
    assert read(server, "express/watch", arn=execution(arn, "x"))["httpStatus"] == 400


SCENARIO = """
name: small
functions: {work: {duration: 1s}}
queues: {jobs: {visibility: 1m}}
mappings: [{queue: jobs, function: work}]
arrivals: {queue: jobs, burst: 5}
"""


def test_a_simulation_runs_beside_the_server(server):
    refused = read(server, "simulations/start", {"name": "x", "scenario": "project: /"})
    assert (refused["httpStatus"], "statewright simulate" in refused["message"]) == (400, True)
    started = read(server, "simulations/start", {"name": "small", "scenario": SCENARIO})
    other = read(server, "simulations/start", {"name": "other", "scenario": SCENARIO})
    assert (other["httpStatus"], other["error"]) == (409, "Busy")
    until(lambda: read(server, "simulations")["simulations"][0]["status"] != "running")
    found = read(server, "simulations/one", id=started["id"])
    assert (found["name"], found["status"], found["result"]["name"]) == ("small", "done", "small")
    assert found["result"]["functions"][0]["invocations"] > 0
    assert b"<!doctype html>" in ask(server, f"api/simulations/page?{urlencode({'id': started['id']})}")[2]
    assert read(server, "simulations/one", id="../x")["httpStatus"] == 404
    assert read(server, "simulations/delete", {"id": started["id"]})["httpStatus"] == 200
    assert read(server, "simulations")["simulations"] == []


def test_a_simulation_is_stopped(server):
    endless = "functions: {work: {duration: 1s}}\narrivals: {function: work, rate: 50/s, for: 7d}\n"
    started = read(server, "simulations/start", {"name": "endless", "scenario": endless})
    assert read(server, "simulations/delete", {"id": started["id"]})["httpStatus"] == 409
    assert read(server, "simulations/stop", {"id": started["id"]})["httpStatus"] == 200
    until(lambda: read(server, "simulations")["simulations"][0]["status"] == "stopped")
    assert read(server, "simulations/page", id=started["id"])["httpStatus"] == 404
