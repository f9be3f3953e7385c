"""A loop in a loop on a real server: how many users and rounds stands in a table, and the waits are a second long."""

from __future__ import annotations

import json

import pytest
from botocore.exceptions import ClientError

from tests.e2e.conftest import ROLE, Server
from tests.e2e.systems import EXAMPLES, System, ended, entered, history, system


@pytest.fixture(scope="module")
def loop(server: Server) -> tuple[System, str]:
    made = system(server, "nested-loop")
    table = made.table("settings", "id")
    for name in ("read-counts", "start-round", "notify"):
        made.function(name, variables={"SETTINGS_TABLE": table})
    return made, made.machine(seconds=1)


@pytest.mark.parametrize(
    ("rounds", "users", "sleeps", "transitions", "events"),
    [(3, 3, 2, 35, 111), (2, 0, 1, 12, 35), (0, 3, 0, 3, 11)],
    ids=["three rounds for three users", "nobody to alert", "no rounds"],
)
def test_everybody_is_alerted_in_every_round(loop, rounds, users, sleeps, transitions, events):
    made, machine = loop
    tables, name = made.client("dynamodb"), f"{rounds}-{users}"
    item = {"id": {"S": name}, "rounds": {"N": str(rounds)}, "users": {"N": str(users)}}
    tables.put_item(TableName=made.named("settings"), Item=item)
    execution = made.start(machine, {"id": name})
    shown = ended(made.client("stepfunctions"), execution)
    assert shown["status"] == "SUCCEEDED", shown
    found = history(made.client("stepfunctions"), execution)
    states = entered(found)
    assert (len(states), states.count("WaitFiveMinutes"), states.count("NotifyAlerts")) == (
        transitions, sleeps, rounds * users,
    )  # fmt: skip
    assert len(found) == events
    assert (shown["stopDate"] - shown["startDate"]).total_seconds() >= sleeps
    alerts = tables.get_item(TableName=made.named("settings"), Key={"id": {"S": name}})["Item"].get("alerts", {"N": 0})
    assert int(alerts["N"]) == rounds * users


def test_the_usual_mistakes_are_refused_together(server):
    definition = (EXAMPLES / "nested-loop" / "with-mistakes.asl.json").read_text()
    with pytest.raises(ClientError) as caught:
        server.client().create_state_machine(name=system(server).named("m"), definition=definition, roleArn=ROLE)
    error = caught.value.response["Error"]
    assert error["Code"] == "InvalidDefinition"
    for text in ("MISSING_TRANSITION_TARGET", "NotifyOverflow", "/States/NotifyAlerts", "SCHEMA_VALIDATION_FAILED"):
        assert text in error["Message"]
    found = server.client().validate_state_machine_definition(definition=definition)
    assert found["result"] == "FAIL"
    assert sorted((one["code"], one["location"]) for one in found["diagnostics"] if one["severity"] == "ERROR") == [
        ("MISSING_TRANSITION_TARGET", "/States/NotifyAlerts"),
        ("MISSING_TRANSITION_TARGET", "/States/UsersLeft/Choices[0]/Next"),
        *[("SCHEMA_VALIDATION_FAILED", f"/States/{name}/Resource")
          for name in ("NotifyAlerts", "ReadCounts", "StartRound")],
    ]  # fmt: skip


def test_a_default_below_choices_is_refused(server):
    rule = {"Variable": "$.a", "IsPresent": True, "Next": "S"}
    choice = {"Type": "Choice", "Choices": [rule, {"Default": "S"}]}
    definition = json.dumps({"StartAt": "C", "States": {"C": choice, "S": {"Type": "Succeed"}}})
    with pytest.raises(ClientError) as caught:
        server.client().create_state_machine(name=system(server).named("m"), definition=definition, roleArn=ROLE)
    error = caught.value.response["Error"]
    assert error["Code"] == "InvalidDefinition"
    assert "/States/C/Choices[1]" in error["Message"]
