"""The reads of the console against a server: executions of all machines, one run, its payloads and events."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.e2e.conftest import ROLE, ended

ITEMS = [3, 1, 2]
DEFINITION = {
    "QueryLanguage": "JSONata",
    "StartAt": "Each",
    "States": {
        "Each": {
            "Type": "Map",
            "Items": "{% $states.input.items %}",
            "ItemProcessor": {"StartAt": "Double", "States": {
                "Double": {"Type": "Pass", "Output": "{% $states.input * 2 %}", "Assign": {"n": 1}, "End": True},
            }},
            "Next": "Many?",
        },
        "Many?": {"Type": "Choice", "Choices": [{"Condition": "{% $count($states.input) > 2 %}", "Next": "Refuse"}],
                  "Default": "Done"},
        "Refuse": {"Type": "Fail", "Error": "TooMany", "Cause": "{% 'there are ' & $count($states.input) %}"},
        "Done": {"Type": "Succeed"},
    },
}  # fmt: skip


def read(server: Any, name: str, **query: Any) -> Any:
    """A read of the console's page; its document."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        own = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}
        connection.request("GET", f"/console/api/{name}?{urlencode(query)}", headers=own)
        answer = connection.getresponse()
        return {"httpStatus": answer.status, **json.loads(answer.read())}
    finally:
        connection.close()


def run_to_its_end(server: Any, machine: str, given: Any, name: str) -> str:
    """The ARN of an execution that has ended."""
    sfn = server.client("stepfunctions")
    arn: str = sfn.start_execution(stateMachineArn=machine, name=name, input=json.dumps(given))["executionArn"]
    ended(sfn, arn)
    return arn


@pytest.fixture(scope="module")
def machine(server):
    sfn = server.client("stepfunctions")
    made = sfn.create_state_machine(name="console", definition=json.dumps(DEFINITION), roleArn=ROLE)
    return made["stateMachineArn"]


@pytest.fixture(scope="module")
def failed(server, machine):
    return run_to_its_end(server, machine, {"items": ITEMS}, "failed")


def column(of: Any, name: str) -> list[int]:
    """A column of steps as the numbers themselves."""
    total, found = 0, []
    for step in of[name]:
        total += step
        found.append(total)
    return found


def test_a_run_has_facts_visits_and_a_drawing(server, failed):
    run = read(server, "run", arn=failed)
    head, visits = run["head"], run["visits"]
    assert (head["status"], head["error"], head["cause"]) == ("FAILED", "TooMany", "there are 3")
    names = [run["states"][state]["name"] for state in visits["state"]]
    assert names == ["Each", "Double", "Double", "Double", "Many?", "Refuse"]
    assert [run["statuses"][status] for status in visits["status"]] == [
        "succeeded", "succeeded", "succeeded", "succeeded", "succeeded", "failed",
    ]  # fmt: skip
    assert visits["parent"] == [-1, 0, 0, 0, -1, -1]
    assert sorted(visits["strand"][1:4]) == [0, 1, 2]
    assert {shape["name"] for shape in (*run["drawing"]["states"], *run["drawing"]["boxes"])} == {*names, "Done"}
    history = server.client("stepfunctions").get_execution_history(executionArn=failed, maxResults=1000)["events"]
    assert [run["eventTypes"][number] for number in run["events"]["type"]] == [event["type"] for event in history]
    for begin, length, name in zip(column(visits, "begin"), visits["end"], names, strict=True):
        assert history[begin - 1]["stateEnteredEventDetails"]["name"] == name
        assert length > 0 or name == "Refuse"


def test_payloads_come_one_by_one(server, failed):
    run = read(server, "run", arn=failed)
    visits = run["visits"]
    begin = column(visits, "begin")
    given = read(server, "run/payload", arn=failed, event=begin[0], member="input")
    assert json.loads(given["text"]) == {"items": ITEMS}
    part = read(server, "run/payload", arn=failed, event=begin[0], member="input", pointer="/items/1")
    assert part["text"] == "1"
    left = read(server, "run/payload", arn=failed, event=begin[0] + visits["end"][0], member="output")
    assert json.loads(left["text"]) == [6, 2, 4]
    assert read(server, "run/payload", arn=failed, event=1, member="roleArn")["httpStatus"] == 400
    assert read(server, "run/payload", arn=failed, event=999, member="input")["httpStatus"] == 404


def test_events_are_searched_on_the_server(server, failed):
    found = read(server, "run/events", arn=failed, text="toomany")["rows"]
    assert [row["type"] for row in found] == ["ExecutionFailed"]
    assert [row["details"]["name"] for row in read(server, "run/events", arn=failed, text="Many?")["rows"]] == [
        "Many?", "Many?",
    ]  # fmt: skip


def test_executions_of_all_machines_are_merged_newest_first(server, machine):
    sfn = server.client("stepfunctions")
    other = sfn.create_state_machine(name="console-other", definition=json.dumps(DEFINITION), roleArn=ROLE)
    arns = [
        run_to_its_end(server, one, {"items": [1]}, f"merged-{number}")
        for number, one in enumerate([machine, other["stateMachineArn"]] * 15)
    ]
    page = read(server, "executions", limit=7)
    found, pages = [row["arn"] for row in page["executions"]], 1
    while len(found) < len(arns):
        page = read(server, "executions", limit=7, cursor=page["next"])
        found += [row["arn"] for row in page["executions"]]
        pages += 1
    assert found[: len(arns)] == arns[::-1]
    assert pages > 4
    of_one = read(server, "executions", machine=other["stateMachineArn"], limit=100)["executions"]
    assert [row["arn"] for row in of_one] == arns[1::2][::-1]
    assert read(server, "executions", status="FAILED", machine=machine)["executions"][0]["name"] == "failed"
    assert read(server, "executions", cursor="1.x")["httpStatus"] == 400


def test_machines_have_their_counts(server, machine, failed):
    found = {one["arn"]: one for one in read(server, "machines")["machines"]}[machine]
    assert (found["type"], found["counts"]["FAILED"]) == ("STANDARD", 1)


def test_a_run_that_is_not_there(server, machine):
    gone = read(server, "run", arn=machine.replace("stateMachine", "execution") + ":nothing")
    assert (gone["httpStatus"], gone["error"]) == (400, "ExecutionDoesNotExist")


def test_a_run_under_way_shows_how_far_it_is(server):
    sfn = server.client("stepfunctions")
    waits = {"StartAt": "Wait", "States": {"Wait": {"Type": "Wait", "Seconds": 3_600, "End": True}}}
    made = sfn.create_state_machine(name="console-waits", definition=json.dumps(waits), roleArn=ROLE)
    arn = sfn.start_execution(stateMachineArn=made["stateMachineArn"])["executionArn"]
    run = read(server, "run", arn=arn)
    assert (run["head"]["status"], run["head"]["endedMs"]) == ("RUNNING", None)
    assert run["visits"]["end"] == [0]
    assert [run["statuses"][status] for status in run["visits"]["status"]] == ["running"]
    sfn.stop_execution(executionArn=arn)
    assert read(server, "run", arn=arn)["head"]["status"] == "ABORTED"


def test_a_child_of_a_distributed_map_has_the_states_of_its_processor(server):
    inner = {
        "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}, "StartAt": "First",
        "States": {"First": {"Type": "Pass", "Next": "Second"}, "Second": {"Type": "Pass", "End": True}},
    }  # fmt: skip
    each = {"Type": "Map", "ItemProcessor": inner, "End": True}
    sfn = server.client("stepfunctions")
    definition = json.dumps({"StartAt": "Each", "States": {"Each": each}})
    made = sfn.create_state_machine(name="console-apart", definition=definition, roleArn=ROLE)["stateMachineArn"]
    arn = run_to_its_end(server, made, [1], "apart")
    parent = read(server, "run", arn=arn)
    assert [(state["name"], state["owner"], state["apart"]) for state in parent["states"]] == [
        ("Each", -1, False), ("First", 0, True), ("Second", 0, True),
    ]  # fmt: skip
    run_of_map = sfn.list_map_runs(executionArn=arn)["mapRuns"][0]["mapRunArn"]
    child = read(server, "run", arn=sfn.list_executions(mapRunArn=run_of_map)["executions"][0]["executionArn"])
    assert [(state["name"], state["owner"], state["apart"]) for state in child["states"]] == [
        ("First", -1, False), ("Second", -1, False),
    ]  # fmt: skip
    assert child["visits"]["state"] == [0, 1]


def test_names_and_numbers_that_mean_something_elsewhere(server):
    """A state called None, and a number that JavaScript and most parsers round."""
    long = 12345678901234567890123
    states = {"None": {"Type": "Pass", "Result": long, "Next": "constructor"}, "constructor": {"Type": "Succeed"}}
    definition = json.dumps({"StartAt": "None", "States": states})
    sfn = server.client("stepfunctions")
    made = sfn.create_state_machine(name="console-odd", definition=definition, roleArn=ROLE)["stateMachineArn"]
    arn = run_to_its_end(server, made, {}, "odd")
    run = read(server, "run", arn=arn)
    assert [(state["name"], state["owner"]) for state in run["states"]] == [("None", -1), ("constructor", -1)]
    assert run["definition"]["States"]["None"]["Result"] == long
    begin = column(run["visits"], "begin")
    assert read(server, "run/payload", arn=arn, event=begin[1], member="input")["text"] == str(long)
    assert len(read(server, "run/events", arn=arn, **{f"x{number}": "" for number in range(100)})["rows"]) == 6


def test_a_page_has_a_row_at_least(server, failed):
    page = read(server, "executions", limit=0)
    assert (len(page["executions"]), page["httpStatus"]) == (1, 200)


def test_a_run_that_is_read_again_has_what_came_since(server):
    sfn = server.client("stepfunctions")
    waits = {"StartAt": "Wait", "States": {"Wait": {"Type": "Wait", "Seconds": 3_600, "End": True}}}
    made = sfn.create_state_machine(name="console-again", definition=json.dumps(waits), roleArn=ROLE)
    arn = sfn.start_execution(stateMachineArn=made["stateMachineArn"])["executionArn"]
    assert read(server, "run/events", arn=arn)["rows"][-1]["type"] == "WaitStateEntered"
    sfn.stop_execution(executionArn=arn, error="Enough")
    for _ in range(2):
        assert [row["id"] for row in read(server, "run/events", arn=arn, text="enough")["rows"]] == [3]


def test_an_express_execution_is_listed_and_has_no_page(server):
    sfn = server.client("stepfunctions")
    definition = json.dumps({"StartAt": "A", "States": {"A": {"Type": "Succeed"}}})
    made = sfn.create_state_machine(name="console-express", definition=definition, roleArn=ROLE, type="EXPRESS")
    sfn.start_execution(stateMachineArn=made["stateMachineArn"], name="quick")
    (row,) = read(server, "executions", machine=made["stateMachineArn"])["executions"]
    assert (row["name"], row["type"]) == ("quick", "EXPRESS")
    refused = read(server, "run", arn=row["arn"])
    assert (refused["httpStatus"], refused["error"]) == (400, "NoHistory")
