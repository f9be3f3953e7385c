"""Operations on machines, versions, aliases, tags and definitions: requests checked, answers as they go out."""

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest

from statewright.api.operations import Call, find
from statewright.api.shapes import validator, writer
from statewright.arn import execution_arn
from statewright.engine.machines.machines import Machines
from statewright.errors import ApiError
from statewright.virtual_clock import VirtualClock
from tests.unit.api.apps import app_of
from tests.unit.engine.machines.catalogue import ARN, GROUP, OTHER_ROLE, ROLE, definition, on_catalogue


class Executions:
    """Stands in for the engine: it knows executions by ARN."""

    def __init__(self, machines: Machines) -> None:
        self.machines = machines
        self.views: dict[str, Any] = {}

    async def describe(self, arn: Any) -> Any:
        return self.views[arn]


class NoGroups:
    async def find(self, _name: str) -> None:
        return None


class Client:
    """Calls operations the way the server does, without HTTP."""

    def __init__(self, machines: Machines, clock: VirtualClock) -> None:
        self.engine = cast("Any", Executions(machines))
        self.machines = machines
        self.clock = clock
        self.app = app_of(clock=clock, engine=self.engine, log_groups=NoGroups())

    async def call(self, what: str, /, **request: Any) -> Any:
        operation = find("states", what)
        assert operation is not None, what
        answer = await operation(self.app, Call("states", what, "r"), validator("states", what)(request))
        return json.loads(json.dumps(writer("states", what)(answer or {})))

    async def refused(self, what: str, /, **request: Any) -> Any:
        with pytest.raises(ApiError) as caught:
            await self.call(what, **request)
        return caught.value.code, caught.value.message

    async def create(self, **changes: Any) -> Any:
        request = {"name": "orders", "definition": definition(), "roleArn": ROLE, **changes}
        return await self.call("CreateStateMachine", **request)

    @property
    def now(self) -> Any:
        return self.clock.now_ms() / 1000


def with_client(test: Any) -> None:
    async def run(machines: Machines, clock: VirtualClock) -> None:
        await test(Client(machines, clock))

    on_catalogue(run)


def test_create_and_describe() -> None:
    async def test(client: Client) -> None:
        assert await client.create() == {"stateMachineArn": ARN, "creationDate": client.now}
        assert await client.call("DescribeStateMachine", stateMachineArn=ARN) == {
            "stateMachineArn": ARN,
            "name": "orders",
            "status": "ACTIVE",
            "type": "STANDARD",
            "creationDate": client.now,
            "definition": definition(),
            "roleArn": ROLE,
            "loggingConfiguration": {"level": "OFF", "includeExecutionData": False},
            "tracingConfiguration": {"enabled": False},
            "encryptionConfiguration": {"type": "AWS_OWNED_KEY"},
        }

    with_client(test)


def test_create_takes_everything() -> None:
    async def test(client: Client) -> None:
        logging = {"level": "ERROR", "includeExecutionData": True, "destinations": [GROUP]}
        key = {"type": "CUSTOMER_MANAGED_KMS_KEY", "kmsKeyId": "k", "kmsDataKeyReusePeriodSeconds": 60}
        created = await client.create(
            type="EXPRESS",
            loggingConfiguration=logging,
            tracingConfiguration={"enabled": True},
            encryptionConfiguration=key,
            tags=[{"key": "a", "value": "b"}],
            publish=True,
            versionDescription="first",
        )
        assert created["stateMachineVersionArn"] == f"{ARN}:1"
        shown = await client.call("DescribeStateMachine", stateMachineArn=f"{ARN}:1")
        assert (shown["stateMachineArn"], shown["description"], shown["type"]) == (f"{ARN}:1", "first", "EXPRESS")
        assert shown["loggingConfiguration"] == logging
        assert shown["tracingConfiguration"] == {"enabled": True}
        assert shown["encryptionConfiguration"] == key
        tags = await client.call("ListTagsForResource", resourceArn=ARN)
        assert tags == {"tags": [{"key": "a", "value": "b"}]}

    with_client(test)


def test_update_and_its_refusal() -> None:
    async def test(client: Client) -> None:
        await client.create()
        code, _ = await client.refused("UpdateStateMachine", stateMachineArn=ARN)
        assert code == "MissingRequiredParameter"
        same = await client.call("UpdateStateMachine", stateMachineArn=ARN, roleArn=ROLE)
        assert same == {"updateDate": client.now}
        changed = await client.call(
            "UpdateStateMachine", stateMachineArn=ARN, roleArn=OTHER_ROLE, publish=True, versionDescription="v"
        )
        assert changed["stateMachineVersionArn"] == f"{ARN}:1"
        shown = await client.call("DescribeStateMachine", stateMachineArn=ARN)
        assert (shown["revisionId"], shown["roleArn"]) == (changed["revisionId"], OTHER_ROLE)
        assert "description" not in shown

    with_client(test)


def test_metadata_only_leaves_the_definition_out() -> None:
    async def test(client: Client) -> None:
        await client.create()
        shown = await client.call("DescribeStateMachine", stateMachineArn=ARN, includedData="METADATA_ONLY")
        assert "definition" not in shown
        assert shown["name"] == "orders"

    with_client(test)


def test_the_definition_of_an_execution_is_the_one_that_it_runs() -> None:
    async def test(client: Client) -> None:
        text = json.dumps(
            {
                "StartAt": "A",
                "States": {
                    "A": {"Type": "Pass", "Assign": {"x": 1}, "Next": "B"},
                    "B": {"Type": "Pass", "OutputPath": "$x", "End": True},
                },
            }
        )
        await client.create(definition=text)
        began = client.now
        target = await client.machines.resolve(ARN)
        arn = execution_arn(ARN, "e")
        client.engine.views[arn] = SimpleNamespace(
            machine_arn=ARN, map_run_arn=None, machine_id=target.machine_id, revision_id=target.revision_id
        )
        await client.clock.sleep_until(client.clock.now_ms() + 1_000)
        await client.call("UpdateStateMachine", stateMachineArn=ARN, definition=definition("two"))
        await client.call("DeleteStateMachine", stateMachineArn=ARN)
        shown = await client.call("DescribeStateMachineForExecution", executionArn=arn)
        assert shown == {
            "stateMachineArn": ARN,
            "name": "orders",
            "definition": text,
            "variableReferences": {"B": ["x"]},
            "roleArn": ROLE,
            "updateDate": began,
            "loggingConfiguration": {"level": "OFF", "includeExecutionData": False},
            "tracingConfiguration": {"enabled": False},
            "encryptionConfiguration": {"type": "AWS_OWNED_KEY"},
        }
        express = ARN.replace("stateMachine", "express") + ":e:1"
        assert await client.refused("DescribeStateMachineForExecution", executionArn=express) == (
            "InvalidArn",
            "Invalid Arn: 'Resource type not valid in this context: express'",
        )

    with_client(test)


def test_the_definition_of_a_child_execution_is_its_map_s() -> None:
    async def test(client: Client) -> None:
        processor = {
            "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
            "StartAt": "I",
            "States": {"I": {"Type": "Pass", "End": True}},
        }
        states = {"M": {"Type": "Map", "Label": "files", "ItemProcessor": processor, "End": True}}
        await client.create(definition=json.dumps({"StartAt": "M", "States": states}))
        target = await client.machines.resolve(ARN)
        arn = execution_arn(f"{ARN}/files", "e")
        run = ARN.replace("stateMachine", "mapRun") + "/files:run"
        client.engine.views[arn] = SimpleNamespace(
            machine_arn=f"{ARN}/files",
            map_run_arn=run,
            machine_id=target.machine_id,
            revision_id=target.revision_id,
        )
        shown = await client.call("DescribeStateMachineForExecution", executionArn=arn)
        assert (shown["stateMachineArn"], shown["label"], shown["mapRunArn"]) == (f"{ARN}/files", "files", run)
        assert json.loads(shown["definition"]) == processor
        shown = await client.call("DescribeStateMachine", stateMachineArn=f"{ARN}/files")
        assert (shown["stateMachineArn"], shown["label"]) == (f"{ARN}/files", "files")

    with_client(test)


def test_list_and_delete() -> None:
    async def test(client: Client) -> None:
        await client.create()
        await client.create(name="another", type="EXPRESS")
        listed = await client.call("ListStateMachines", maxResults=1)
        assert listed["stateMachines"] == [
            {
                "stateMachineArn": ARN.replace("orders", "another"),
                "name": "another",
                "type": "EXPRESS",
                "creationDate": client.now,
            }
        ]
        rest = await client.call("ListStateMachines", nextToken=listed["nextToken"])
        assert [one["name"] for one in rest["stateMachines"]] == ["orders"]
        assert "nextToken" not in rest
        for _ in range(2):
            assert await client.call("DeleteStateMachine", stateMachineArn=ARN) == {}
        code, _ = await client.refused("DescribeStateMachine", stateMachineArn=ARN)
        assert code == "StateMachineDoesNotExist"

    with_client(test)


def test_versions() -> None:
    async def test(client: Client) -> None:
        await client.create()
        published = await client.call("PublishStateMachineVersion", stateMachineArn=ARN, description="d")
        assert published == {"stateMachineVersionArn": f"{ARN}:1", "creationDate": client.now}
        code, _ = await client.refused("PublishStateMachineVersion", stateMachineArn=ARN, revisionId="x")
        assert code == "ConflictException"
        assert await client.call("ListStateMachineVersions", stateMachineArn=ARN) == {
            "stateMachineVersions": [{"stateMachineVersionArn": f"{ARN}:1", "creationDate": client.now}]
        }
        assert await client.call("DeleteStateMachineVersion", stateMachineVersionArn=f"{ARN}:1") == {}
        assert await client.call("ListStateMachineVersions", stateMachineArn=ARN) == {"stateMachineVersions": []}

    with_client(test)


def test_aliases() -> None:
    async def test(client: Client) -> None:
        await client.create(publish=True)
        routing = [{"stateMachineVersionArn": f"{ARN}:1", "weight": 100}]
        created = await client.call(
            "CreateStateMachineAlias", name="live", routingConfiguration=routing, description="d"
        )
        assert created == {"stateMachineAliasArn": f"{ARN}:live", "creationDate": client.now}
        began = client.now
        await client.clock.sleep_until(client.clock.now_ms() + 1_000)
        updated = await client.call("UpdateStateMachineAlias", stateMachineAliasArn=f"{ARN}:live", description="e")
        assert updated == {"updateDate": client.now}
        assert await client.call("DescribeStateMachineAlias", stateMachineAliasArn=f"{ARN}:live") == {
            "stateMachineAliasArn": f"{ARN}:live",
            "name": "live",
            "description": "e",
            "routingConfiguration": routing,
            "creationDate": began,
            "updateDate": client.now,
        }
        assert await client.call("ListStateMachineAliases", stateMachineArn=ARN) == {
            "stateMachineAliases": [{"stateMachineAliasArn": f"{ARN}:live", "creationDate": began}]
        }
        assert await client.call("DeleteStateMachineAlias", stateMachineAliasArn=f"{ARN}:live") == {}
        code, _ = await client.refused("DescribeStateMachineAlias", stateMachineAliasArn=f"{ARN}:live")
        assert code == "ResourceNotFound"

    with_client(test)


@pytest.mark.parametrize("name", ["7", "a b", "a:b", ""])
def test_aliases_of_other_names_are_refused_by_the_model(name: Any) -> None:
    async def test(client: Client) -> None:
        await client.create(publish=True)
        routing = [{"stateMachineVersionArn": f"{ARN}:1", "weight": 100}]
        code, message = await client.refused("CreateStateMachineAlias", name=name, routingConfiguration=routing)
        assert code == "ValidationException"
        assert "at 'name' failed to satisfy constraint" in message

    with_client(test)


def test_tags() -> None:
    async def test(client: Client) -> None:
        await client.create()
        tags = [{"key": "a", "value": "1"}, {"key": "b", "value": ""}]
        assert await client.call("TagResource", resourceArn=ARN, tags=tags) == {}
        assert await client.call("ListTagsForResource", resourceArn=ARN) == {"tags": tags}
        assert await client.call("UntagResource", resourceArn=ARN, tagKeys=["a", "z"]) == {}
        assert await client.call("ListTagsForResource", resourceArn=ARN) == {"tags": tags[1:]}
        assert await client.refused("TagResource", resourceArn=f"{ARN}:1", tags=[]) == (
            "ResourceNotFound",
            f"Resource not found: '{ARN}:1'",
        )

    with_client(test)


def test_activities_in_the_catalogue() -> None:
    async def test(client: Client) -> None:
        arn = "arn:aws:states:us-east-1:000000000000:activity:pack"
        assert await client.call("CreateActivity", name="pack") == {"activityArn": arn, "creationDate": client.now}
        shown = await client.call("DescribeActivity", activityArn=arn)
        assert (shown["name"], shown["encryptionConfiguration"]) == ("pack", {"type": "AWS_OWNED_KEY"})
        listed = await client.call("ListActivities")
        assert listed == {"activities": [{"activityArn": arn, "name": "pack", "creationDate": client.now}]}
        assert await client.call("DeleteActivity", activityArn=arn) == {}
        assert await client.call("ListActivities") == {"activities": []}

    with_client(test)


# ------------------------------------------------------------------ definitions


def many_errors(count: Any) -> Any:
    states = {f"s{i}": {"Type": "Pass", "Next": "nowhere"} for i in range(count)}
    return json.dumps({"StartAt": "s0", "States": {**states, "end": {"Type": "Succeed"}}})


@pytest.mark.parametrize(
    ("request_", "result", "codes", "truncated"),
    [
        ({"definition": definition()}, "OK", [], False),
        ({"definition": " "}, "FAIL", ["SCHEMA_VALIDATION_FAILED"], False),
        ({"definition": "{"}, "FAIL", ["INVALID_JSON_DESCRIPTION"], False),
        ({"definition": many_errors(3), "maxResults": 2}, "FAIL", ["MISSING_TRANSITION_TARGET"] * 2, True),
        ({"definition": many_errors(150), "maxResults": 0}, "FAIL", ["MISSING_TRANSITION_TARGET"] * 100, True),
    ],
)
def test_validate(request_: Any, result: Any, codes: Any, truncated: Any) -> None:
    async def test(client: Client) -> None:
        answer = await client.call("ValidateStateMachineDefinition", **request_)
        assert (answer["result"], answer["truncated"]) == (result, truncated)
        assert [diagnostic["code"] for diagnostic in answer["diagnostics"]] == codes

    with_client(test)


def test_warnings_are_shown_on_request() -> None:
    text = json.dumps({"StartAt": "a", "States": {"a": {"Type": "Pass", "Parameters": {"x": "$.y"}, "End": True}}})

    async def test(client: Client) -> None:
        quiet = await client.call("ValidateStateMachineDefinition", definition=text)
        assert quiet == {"result": "OK", "diagnostics": [], "truncated": False}
        told = await client.call("ValidateStateMachineDefinition", definition=text, severity="WARNING")
        assert told["result"] == "OK"
        assert {(one["severity"], one["code"]) for one in told["diagnostics"]} == {("WARNING", "NO_DOLLAR")}
        assert all(one["location"].startswith("/States/a/Parameters") for one in told["diagnostics"])

    with_client(test)


def test_an_express_machine_is_validated_as_one() -> None:
    text = json.dumps(
        {
            "StartAt": "a",
            "States": {
                "a": {
                    "Type": "Task",
                    "Resource": "arn:aws:states:::states:startExecution.sync",
                    "Parameters": {"StateMachineArn": ARN},
                    "End": True,
                }
            },
        }
    )

    async def test(client: Client) -> None:
        assert (await client.call("ValidateStateMachineDefinition", definition=text))["result"] == "OK"
        told = await client.call("ValidateStateMachineDefinition", definition=text, type="EXPRESS")
        assert told["diagnostics"] == [
            {
                "severity": "ERROR",
                "code": "SCHEMA_VALIDATION_FAILED",
                "message": "Express state machine does not support '.sync' service integration",
                "location": "/States/a/Resource",
            }
        ]

    with_client(test)
