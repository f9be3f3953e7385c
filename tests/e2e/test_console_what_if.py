"""What if, its batch, Compare, Evaluated and `machine check` against a server, on executions that a test answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.e2e.conftest import ROLE, Server, ended
from tests.e2e.recorded_orders import Orders, asked, posted


@pytest.fixture(scope="module")
def orders(server: Any) -> Orders:
    return Orders(server, "what-if-orders")


@pytest.fixture(scope="module")
def busy(orders: Orders) -> str:
    """An execution that failed after two attempts of Charge card."""
    return orders.run("busy", ["GatewayBusy", "Declined"])


@pytest.fixture(scope="module")
def fine(orders: Orders, busy: str) -> str:
    """One that succeeded on the second attempt."""
    return orders.run("fine", ["GatewayBusy", {"id": "c-1"}], cents=700)


def read(server: Any, name: str, **query: Any) -> Any:
    status, [found] = asked(server, "GET", f"{name}?{urlencode(query)}")
    return {"httpStatus": status, **found}


def changed(found: Any) -> list[tuple[str, str | None]]:
    return [(one["kind"], one["state"]) for one in found["changes"]]


# ------------------------------------------------------------------ what if


def test_a_recorded_execution_replays_to_its_end(server, busy, fine):
    for arn, status, error in ((busy, "FAILED", "Declined"), (fine, "SUCCEEDED", None)):
        found = posted(server, "what-if", arn=arn)
        assert (found["verdict"], found["reason"], found["changes"]) == ("same", None, [])
        assert (found["replayed"]["status"], found["replayed"]["error"]) == (status, error)
        assert found["replayed"]["output"] == found["recorded"]["output"]
        assert found["run"]["head"]["status"] == status


def test_another_catch_parts_from_the_record_and_asks_for_what_is_missing(server, orders, busy):
    other = json.dumps(orders.definition(attempts=3, caught="Declined"))
    found = posted(server, "what-if", arn=busy, definition=other)
    assert changed(found) == [("path", "Charge card"), ("answer", "Release stock")]
    assert found["changes"][0]["words"] == "After Charge card it goes on to Release stock; recorded: the end."
    missing = found["missing"]
    assert (missing["state"], json.loads(missing["arguments"])["problem"]["Error"]) == ("Release stock", "Declined")
    place = {name: missing[name] for name in ("state", "iteration", "visit", "number")}
    mocked = posted(server, "what-if", arn=busy, definition=other, mocks=[{**place, "result": {"released": True}}])
    assert mocked["missing"] is None
    assert (mocked["replayed"]["error"], mocked["mocked"]) == ("Refused", ["Release stock"])
    assert changed(mocked) == [("path", "Charge card"), ("end", None)]
    names = [pair["state"] for pair in mocked["pairs"] if pair["recorded"] is None]
    assert names == ["Release stock", "Refuse"]


def test_a_mock_may_fail_a_call_that_was_recorded(server, orders, fine):
    mock = {"state": "Charge card", "iteration": [], "visit": 0, "number": 1, "error": "Declined", "cause": "no funds"}
    found = posted(server, "what-if", arn=fine, mocks=[mock])
    assert (found["replayed"]["status"], found["replayed"]["cause"]) == ("FAILED", "no funds")
    assert found["unused"] == ["Ship"]


def test_other_arguments_are_a_change(server, orders, fine):
    other = orders.definition()
    other["States"]["Charge card"]["Parameters"] = {"order.$": "$.order", "cents": 1}
    found = posted(server, "what-if", arn=fine, definition=json.dumps(other))
    assert changed(found) == [("arguments", "Charge card")] * 2
    first = found["changes"][0]
    assert (first["pointer"], first["before"], first["after"]) == ("$.cents", "700", "1")


def test_nothing_happens(server, orders, fine):
    sfn = orders.sfn
    before = sfn.list_executions(stateMachineArn=orders.machine)["executions"]
    history = sfn.get_execution_history(executionArn=fine)["events"]
    other = json.dumps(orders.definition(attempts=0, caught="GatewayBusy"))
    assert posted(server, "what-if", arn=fine, definition=other)["verdict"] == "changed"
    assert sfn.list_executions(stateMachineArn=orders.machine)["executions"] == before
    assert sfn.get_execution_history(executionArn=fine)["events"] == history


def test_a_version_is_replayed_by_its_arn(server, orders, fine):
    version = orders.sfn.publish_state_machine_version(stateMachineArn=orders.machine)["stateMachineVersionArn"]
    assert posted(server, "what-if", arn=fine, versionArn=version)["verdict"] == "same"


def test_an_item_of_a_distributed_map_is_replayed_on_the_map_of_a_version(server, orders):
    items = {
        "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}, "StartAt": "Item",
        "States": {"Item": {"Type": "Pass", "End": True}},
    }  # fmt: skip
    each = {"Type": "Map", "Label": "Each", "ItemProcessor": items, "End": True}
    sfn = orders.sfn
    machine = sfn.create_state_machine(
        name="what-if-map", definition=json.dumps({"StartAt": "M", "States": {"M": each}}), roleArn=ROLE, publish=True
    )
    arn = sfn.start_execution(stateMachineArn=machine["stateMachineArn"], input="[1]")["executionArn"]
    assert ended(sfn, arn)["status"] == "SUCCEEDED"
    [run] = sfn.list_map_runs(executionArn=arn)["mapRuns"]
    [child] = sfn.list_executions(mapRunArn=run["mapRunArn"])["executions"]
    found = posted(server, "what-if", arn=child["executionArn"], versionArn=machine["stateMachineVersionArn"])
    assert (found["verdict"], found["changes"]) == ("same", [])
    version = orders.sfn.publish_state_machine_version(stateMachineArn=orders.machine)["stateMachineVersionArn"]
    found = posted(server, "what-if", arn=child["executionArn"], versionArn=version)
    assert (found["httpStatus"], found["error"]) == (400, "BadRequest")


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"definition": "{"}, "InvalidDefinition"),
        ({"definition": '{"StartAt":"A","States":{}}'}, "InvalidDefinition"),
        ({"definition": 7}, "BadRequest"),
        ({"definition": "{}", "versionArn": "arn"}, "BadRequest"),
        ({"versionArn": "arn:aws:states:us-east-1:000000000000:stateMachine:none"}, "StateMachineDoesNotExist"),
        ({"mocks": {}}, "BadRequest"),
        ({"mocks": [{"state": "A"}]}, "BadRequest"),
        ({"mocks": [{"state": "A", "result": 1, "error": "E"}]}, "BadRequest"),
        ({"mocks": [{"state": "A", "result": 1, "visit": -1}]}, "BadRequest"),
        ({"mocks": [{"state": "A", "result": 1, "iteration": "0"}]}, "BadRequest"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_words(server, fine, wrong, error):
    found = posted(server, "what-if", arn=fine, **wrong)
    assert (found["httpStatus"], found["error"]) == (400, error)


def test_an_execution_that_runs_is_not_judged(server, orders):
    text = json.dumps({"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": 3600, "End": True}}})
    sfn = orders.sfn
    machine = sfn.create_state_machine(name="what-if-waits", definition=text, roleArn=ROLE)["stateMachineArn"]
    arn = sfn.start_execution(stateMachineArn=machine)["executionArn"]
    found = posted(server, "what-if", arn=arn)
    assert (found["verdict"], found["reason"], found["run"]) == ("unjudged", "It is still running.", None)
    sfn.stop_execution(executionArn=arn)
    ended(sfn, arn)
    assert posted(server, "what-if", arn=arn)["verdict"] == "same"


def test_a_definition_without_end_is_given_up(server, fine):
    never = [{"Variable": "$.order", "NumericEquals": 0, "Next": "C"}]
    states = {
        "A": {"Type": "Pass", "Next": "B"}, "B": {"Type": "Choice", "Choices": never, "Default": "A"},
        "C": {"Type": "Succeed"},
    }  # fmt: skip
    found = posted(server, "what-if", arn=fine, definition=json.dumps({"StartAt": "A", "States": states}))
    assert found["verdict"] == "changed"
    assert (found["replayed"]["status"], found["replayed"]["error"]) == ("FAILED", "States.Runtime")


def test_the_last_executions_are_checked_one_by_one(server, orders, busy, fine):
    other = json.dumps(orders.definition(attempts=3, caught="Declined"))
    status, lines = asked(server, "POST", "what-if/batch", {"machineArn": orders.machine, "definition": other})
    assert (status, lines[0], lines[-1]) == (200, {"total": 2}, {"done": True, "same": 1, "changed": 1, "unjudged": 0})
    verdicts = {line["name"]: (line["verdict"], [one["kind"] for one in line["changes"]]) for line in lines[1:-1]}
    assert verdicts == {"fine": ("same", []), "busy": ("changed", ["path", "answer"])}
    status, [refusal] = asked(server, "POST", "what-if/batch", {"machineArn": orders.machine, "definition": "{}"})
    assert (status, refusal["error"]) == (400, "InvalidDefinition")
    status, [refusal] = asked(server, "POST", "what-if/batch", {"machineArn": orders.machine, "last": 0})
    assert (status, refusal["error"]) == (400, "BadRequest")


# ------------------------------------------------------------------ compare, evaluated


def test_two_runs_are_aligned_and_their_first_differences_named(server, busy, fine):
    found = read(server, "compare", a=fine, b=busy)
    assert [(pair["state"], pair["a"] is None, pair["b"] is None) for pair in found["pairs"]] == [
        ("Check", False, False), ("In stock?", False, False), ("Charge card", False, False), ("Ship", False, True),
    ]  # fmt: skip
    value = found["value"]
    assert (value["state"], value["member"], value["pointer"], value["a"]) == ("Check", "input", "$.order", '"fine"')
    assert (found["answer"]["state"], found["answer"]["pointer"]) == ("Charge card", "$.id")
    assert {name: found["parting"][name] for name in ("after", "a", "b", "pair")} == {
        "after": "Charge card", "a": "Ship", "b": None, "pair": 3,
    }  # fmt: skip
    assert found["sameDefinition"] is True
    same = read(server, "compare", a=fine, b=fine)
    assert (same["httpStatus"], same["error"]) == (400, "BadRequest")
    assert read(server, "compare", a=fine, b=f"{fine}-none")["error"] == "ExecutionDoesNotExist"


def test_a_state_explains_its_steps(server, fine):
    pairs = read(server, "compare", a=fine, b=fine.replace("fine", "busy"))["pairs"]
    events = {pair["state"]: pair["a"]["event"] for pair in pairs}
    charge = read(server, "run/explain", arn=fine, event=events["Charge card"])
    steps = {step["name"]: step for step in charge["steps"]}
    assert json.loads(steps["afterParameters"]["value"]) == {"order": "fine", "cents": 700}
    assert (steps["afterParameters"]["isRecorded"], steps["output"]["isRecorded"]) == (True, True)
    assert json.loads(steps["result"]["value"]) == {"id": "c-1"}
    retry = charge["attempts"][0]["retry"]
    assert (retry["index"], retry["isExhausted"], retry["backoffSeconds"]) == (0, False, 1)
    assert charge["next"] == "Ship"
    choice = read(server, "run/explain", arn=fine, event=events["In stock?"])["choice"]
    assert (choice["index"], choice["rule"]["Next"], choice["next"]) == (1, "Charge card", "Charge card")
    assert read(server, "run/explain", arn=fine, event=1)["httpStatus"] == 404


def test_items_variables_and_chance_are_explained(server, orders):
    inner = {
        "Type": "Pass",
        "Output": "{% {'n': $states.context.Map.Item.Value.n + $base, 'id': $uuid()} %}",
        "End": True,
    }
    each = {
        "Type": "Map", "Items": "{% $states.input.items %}",
        "ItemSelector": {"only": "{% $states.context.Map.Item.Index %}"},
        "ItemProcessor": {"StartAt": "Add", "States": {"Add": inner}}, "End": True,
    }  # fmt: skip
    states = {"Base": {"Type": "Pass", "Assign": {"base": 10}, "Next": "Each"}, "Each": each}
    text = json.dumps({"QueryLanguage": "JSONata", "StartAt": "Base", "States": states})
    sfn = orders.sfn
    machine = sfn.create_state_machine(name="what-if-items", definition=text, roleArn=ROLE)["stateMachineArn"]
    given = json.dumps({"items": [{"n": 1}, {"n": 2}]})
    arn = sfn.start_execution(stateMachineArn=machine, input=given)["executionArn"]
    output = json.loads(ended(sfn, arn)["output"])
    entered = [
        one["id"]
        for one in sfn.get_execution_history(executionArn=arn)["events"]
        if one.get("stateEnteredEventDetails", {}).get("name") == "Add"
    ]
    found = [read(server, "run/explain", arn=arn, event=event) for event in entered]
    last = [one["steps"][-1] for one in found]
    assert sorted(json.loads(step["value"])["n"] for step in last) == [11, 12]
    assert sorted(json.loads(step["recorded"])["id"] for step in last) == sorted(one["id"] for one in output)
    assert {(one["chance"][0], one["variables"][0]["name"], one["variables"][0]["state"]) for one in found} == {
        ("$uuid", "base", "Base")
    }
    # What chance has made is no change of a definition.
    assert posted(server, "what-if", arn=arn)["verdict"] == "same"


def test_a_value_is_followed_back_over_states(server, fine):
    pairs = read(server, "compare", a=fine, b=fine.replace("fine", "busy"))["pairs"]
    events = {pair["state"]: pair["a"]["event"] for pair in pairs}
    found = read(server, "run/why", arn=fine, event=events["Ship"], where="input", path="/cents")
    assert [(one["state"], one["where"], one["event"]) for one in found["links"]] == [
        ("Ship", "input", events["Ship"]), ("Charge card", "output", events["Charge card"]),
        ("In stock?", "output", events["In stock?"]), ("Check", "output", events["Check"]),
        ("Check", "input", events["Check"]),
    ]  # fmt: skip
    assert ({one["value"] for one in found["links"]}, found["end"]["kind"]) == ({"700"}, "start")
    answer = read(server, "run/why", arn=fine, event=events["Ship"], where="input", path="/charge/id")["end"]
    assert (answer["kind"], answer["path"]) == ("result", "/id")
    assert answer["resource"].endswith(":what-if-orders-charge")
    for given, status in (
        ({"event": 1}, 404), ({"path": "/none"}, 404), ({"path": "cents"}, 400), ({"where": "assigned"}, 400),
    ):  # fmt: skip
        query = {"arn": fine, "event": events["Ship"], "where": "input", "path": "/cents", **given}
        assert read(server, "run/why", **query)["httpStatus"] == status


# ------------------------------------------------------------------ the command line


def test_machine_check_tells_which_executions_change(statewright, orders, busy, fine, tmp_path: Path):
    file = tmp_path / "what-if-orders.asl.json"
    file.write_text(json.dumps(orders.definition()))
    same = statewright("machine", "check", str(file))
    assert (same.code, same.out) == (0, "2 executions replayed: 0 change, 2 the same\n")
    file.write_text(json.dumps(orders.definition(caught="Declined")))
    changes = statewright("machine", "check", str(file), "-o", "json")
    document = json.loads(changes.out)
    assert changes.code == 1
    assert {row["name"]: row["verdict"] for row in document["executions"]} == {"busy": "changed", "fine": "same"}
    table = statewright("machine", "check", str(file), "--against-last", "5")
    assert "busy       FAILED    changes  After Charge card it goes on to Release stock" in table.out
    assert statewright("machine", "check", "what-if-orders").code == 0
    assert statewright("machine", "check", "none.json").code == 3
    assert statewright("machine", "check", "none").code == 3
    assert statewright("machine", "check", str(file), "--against-last", "0").code == 2
    assert statewright("machine", "check", str(file), "--endpoint", "http://127.0.0.1:1").code == 4


def test_machine_check_never_counts_what_it_cannot_judge_as_unchanged(statewright, orders):
    text = json.dumps({"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": 3600, "End": True}}})
    sfn = orders.sfn
    machine = sfn.create_state_machine(name="what-if-open", definition=text, roleArn=ROLE)["stateMachineArn"]
    sfn.start_execution(stateMachineArn=machine, name="open")
    found = statewright("machine", "check", "what-if-open")
    assert found.code == 1
    assert "It is still running." in found.out
    assert "1 execution replayed: 0 change, 0 the same, 1 not judged" in found.out


def test_machine_check_judges_under_the_limits_of_the_server(statewright, tmp_path: Path):
    server = Server(tmp_path / "data", "--limits", "open")
    try:
        sfn = server.client("stepfunctions")
        text = json.dumps({"StartAt": "P", "States": {"P": {"Type": "Pass", "End": True}}})
        machine = sfn.create_state_machine(name="what-if-large", definition=text, roleArn=ROLE)["stateMachineArn"]
        # Longer than the service accepts.
        started = sfn.start_execution(stateMachineArn=machine, name="large", input=json.dumps({"text": "x" * 300_000}))
        assert ended(sfn, started["executionArn"])["status"] == "SUCCEEDED"
        found = statewright("machine", "check", "what-if-large", "--endpoint", f"http://127.0.0.1:{server.port}")
        assert (found.code, found.out) == (0, "1 execution replayed: 0 change, 1 the same\n")
    finally:
        server.stop()
