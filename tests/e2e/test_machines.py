from __future__ import annotations

import json
from uuid import uuid4

from tests.deadlines import until
from tests.e2e.conftest import ROLE, ended, machine
from tests.e2e.test_executions import refused

PASS = {"Type": "Pass"}


def definition(result: object) -> str:
    return json.dumps({"StartAt": "A", "States": {"A": {"Type": "Pass", "Result": result, "End": True}}})


def test_a_machine_through_its_life(sfn):
    arn = machine(sfn, PASS)
    shown = sfn.describe_state_machine(stateMachineArn=arn)
    assert (shown["status"], shown["type"], shown["roleArn"]) == ("ACTIVE", "STANDARD", ROLE)
    listed = sfn.get_paginator("list_state_machines").paginate(PaginationConfig={"PageSize": 5})
    assert arn in [one["stateMachineArn"] for page in listed for one in page["stateMachines"]]
    assert sfn.update_state_machine(stateMachineArn=arn, definition=definition(2))["revisionId"]
    assert json.loads(sfn.describe_state_machine(stateMachineArn=arn)["definition"]) == json.loads(definition(2))
    sfn.delete_state_machine(stateMachineArn=arn)
    gone = until(lambda: refused(sfn.describe_state_machine, stateMachineArn=arn))
    assert gone == ("StateMachineDoesNotExist", f"State Machine Does Not Exist: '{arn}'")


def test_executions_keep_the_definition_that_they_began_with(sfn):
    activity = sfn.create_activity(name=f"a-{uuid4()}")["activityArn"]
    arn = machine(sfn, {"Type": "Task", "Resource": activity}, {"Type": "Pass", "Result": "old"})
    execution = sfn.start_execution(stateMachineArn=arn)["executionArn"]
    sfn.update_state_machine(stateMachineArn=arn, definition=definition("new"))
    sfn.send_task_success(taskToken=sfn.get_activity_task(activityArn=activity)["taskToken"], output="{}")
    assert ended(sfn, execution)["output"] == '"old"'
    assert ended(sfn, sfn.start_execution(stateMachineArn=arn)["executionArn"])["output"] == '"new"'
    for_execution = sfn.describe_state_machine_for_execution(executionArn=execution)
    assert json.loads(for_execution["definition"])["StartAt"] == "S1"


def test_versions_and_aliases(sfn):
    arn = machine(sfn, {"Type": "Pass", "Result": 1})
    first = sfn.publish_state_machine_version(stateMachineArn=arn)["stateMachineVersionArn"]
    assert first == f"{arn}:1"
    sfn.update_state_machine(stateMachineArn=arn, definition=definition(2), publish=True)
    alias = sfn.create_state_machine_alias(
        name="live", routingConfiguration=[{"stateMachineVersionArn": first, "weight": 100}]
    )["stateMachineAliasArn"]
    execution = sfn.start_execution(stateMachineArn=alias)["executionArn"]
    shown = ended(sfn, execution)
    assert (shown["output"], shown["stateMachineArn"]) == ("1", arn)
    assert (shown["stateMachineAliasArn"], shown["stateMachineVersionArn"]) == (alias, first)
    assert ended(sfn, sfn.start_execution(stateMachineArn=arn)["executionArn"])["output"] == "2"
    listed = sfn.list_executions(stateMachineArn=alias)["executions"]
    assert [one["executionArn"] for one in listed] == [execution]


def test_tags(sfn):
    arn = machine(sfn, PASS)
    sfn.tag_resource(resourceArn=arn, tags=[{"key": "team", "value": "blue"}, {"key": "tier", "value": ""}])
    sfn.untag_resource(resourceArn=arn, tagKeys=["tier"])
    assert sfn.list_tags_for_resource(resourceArn=arn)["tags"] == [{"key": "team", "value": "blue"}]


def test_definitions_are_judged(sfn):
    broken = json.dumps({"StartAt": "A", "States": {"A": {"Type": "Pass", "Next": "B"}}})
    code, message = refused(sfn.create_state_machine, name=f"m-{uuid4()}", definition=broken, roleArn=ROLE)
    assert code == "InvalidDefinition"
    assert message.startswith("Invalid State Machine Definition: '")
    found = sfn.validate_state_machine_definition(definition=broken)
    assert found["result"] == "FAIL"
    assert {one["code"] for one in found["diagnostics"]} >= {"MISSING_TRANSITION_TARGET"}


def test_a_state_is_tried_out(sfn):
    state = {"Type": "Pass", "Result": {"n": 1}, "ResultPath": "$.r", "Next": "B"}
    tried = sfn.test_state(definition=json.dumps(state), input='{"a": 1}', roleArn=ROLE, inspectionLevel="DEBUG")
    assert (tried["status"], tried["nextState"]) == ("SUCCEEDED", "B")
    assert json.loads(tried["output"]) == {"a": 1, "r": {"n": 1}}
