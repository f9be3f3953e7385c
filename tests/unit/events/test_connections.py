"""Connections and API destinations through the API: shown without secrets, used by HTTP Tasks and by rules."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from statewright.config import Config, Connection
from statewright.errors import ApiError
from statewright.virtual.system import VirtualSystem
from tests.unit.integrations.stub import replied, serving

KEY = {"ApiKeyAuthParameters": {"ApiKeyName": "x-key", "ApiKeyValue": "k1"}}
MORE = {
    "HeaderParameters": [{"Key": "x-a", "Value": "1", "IsValueSecret": False}],
    "BodyParameters": [{"Key": "b", "Value": "2", "IsValueSecret": True}],
    "QueryStringParameters": [{"Key": "q", "Value": "3"}],
}


@pytest.fixture
def system() -> Iterator[VirtualSystem]:
    with VirtualSystem() as made:
        yield made


def events(system: VirtualSystem, operation: str, **request: Any) -> Any:
    return system.call("events", operation, request)


def created(system: VirtualSystem, name: str = "billing", **parameters: Any) -> str:
    arn: str = events(
        system, "CreateConnection", Name=name, AuthorizationType="API_KEY", AuthParameters={**KEY, **parameters}
    )["ConnectionArn"]
    return arn


def test_a_connection_is_shown_without_its_secrets(system: VirtualSystem) -> None:
    arn = created(system, InvocationHttpParameters=MORE)
    assert arn.startswith("arn:aws:events:us-east-1:000000000000:connection/billing/")
    shown = events(system, "DescribeConnection", Name="billing")
    assert (shown["ConnectionArn"], shown["ConnectionState"], shown["AuthorizationType"]) == (
        arn, "AUTHORIZED", "API_KEY",
    )  # fmt: skip
    assert shown["AuthParameters"] == {
        "ApiKeyAuthParameters": {"ApiKeyName": "x-key"},
        "InvocationHttpParameters": {**MORE, "BodyParameters": [{"Key": "b", "IsValueSecret": True}]},
    }
    with pytest.raises(ApiError, match="'billing' already exists"):
        created(system)
    assert [one["Name"] for one in events(system, "ListConnections")["Connections"]] == ["billing"]
    events(system, "DeleteConnection", Name="billing")
    with pytest.raises(ApiError, match="Connection 'billing' does not exist"):
        events(system, "DescribeConnection", Name="billing")


@pytest.mark.parametrize(
    ("kind", "parameters", "words"),
    [
        ("BASIC", {}, "BasicAuthParameters of BASIC needs Username, Password"),
        ("API_KEY", {"BasicAuthParameters": {"Username": "a", "Password": "b"}}, "needs ApiKeyName, ApiKeyValue"),
        ("OAUTH_CLIENT_CREDENTIALS", KEY, "needs ClientParameters, AuthorizationEndpoint, HttpMethod"),
    ],
)
def test_a_connection_needs_what_its_kind_has(system: VirtualSystem, kind: str, parameters: Any, words: str) -> None:
    with pytest.raises(ApiError, match=words):
        events(system, "CreateConnection", Name="a", AuthorizationType=kind, AuthParameters=parameters)


def paid(system: VirtualSystem, url: str, connection: str) -> Any:
    """Runs a machine with one HTTP Task, and returns its execution."""
    call = {
        "ApiEndpoint": url,
        "Method": "POST",
        "RequestBody": {"a": 1},
        "Authentication": {"ConnectionArn": connection},
    }
    state = {"Type": "Task", "Resource": "arn:aws:states:::http:invoke", "Parameters": call, "End": True}
    definition = json.dumps({"StartAt": "Pay", "States": {"Pay": state}})
    role = "arn:aws:iam::000000000000:role/r"
    machine = system.call("states", "CreateStateMachine", {"name": "pay", "definition": definition, "roleArn": role})
    arn = system.call("states", "StartExecution", {"stateMachineArn": machine["stateMachineArn"]})["executionArn"]
    system.run_until_idle()
    return system.call("states", "DescribeExecution", {"executionArn": arn})


def test_an_http_task_uses_a_connection_that_was_created(system: VirtualSystem) -> None:
    arn = created(system, InvocationHttpParameters=MORE)
    events(system, "UpdateConnection", Name="billing", AuthParameters={"ApiKeyAuthParameters": {"ApiKeyValue": "k2"}})
    with serving(lambda _: replied({"ok": True})) as stub:
        assert paid(system, f"{stub.url}/pay", arn)["status"] == "SUCCEEDED"
    (request,) = stub.asked
    assert (request.headers["x-key"], request.headers["x-a"], request.json) == ("k2", "1", {"a": 1, "b": "2"})
    assert request.path == "/pay?q=3"


def test_a_task_without_its_connection_says_where_one_comes_from(system: VirtualSystem) -> None:
    found = paid(system, "http://127.0.0.1:1/", "arn:aws:events:us-east-1:000000000000:connection/none/1")
    assert found["error"] == "Events.ConnectionResource.ResourceNotFound"
    assert "There is no connection none. Create it with events:CreateConnection" in found["cause"]


def test_a_connection_of_the_configuration_takes_precedence() -> None:
    config = Config(connections={"billing": Connection("billing", "api-key", header="x-key", value="own")})
    with VirtualSystem(config=config) as system, serving(lambda _: replied({})) as stub:
        paid(system, f"{stub.url}/pay", created(system))
    assert stub.asked[0].headers["x-key"] == "own"


def test_a_rule_reaches_an_api_destination(system: VirtualSystem) -> None:
    with serving(lambda _: replied({})) as stub:
        made = events(
            system, "CreateApiDestination", Name="shop", ConnectionArn=created(system), HttpMethod="PUT",
            InvocationEndpoint=f"{stub.url}/orders/*",
        )  # fmt: skip
        shown = events(system, "DescribeApiDestination", Name="shop")
        assert (shown["HttpMethod"], shown["InvocationRateLimitPerSecond"]) == ("PUT", 300)
        events(system, "PutRule", Name="all", EventPattern='{"source": ["shop"]}')
        http = {"PathParameterValues": ["a b"], "HeaderParameters": {"x-b": "2"}, "QueryStringParameters": {"p": "1"}}
        target = {"Id": "1", "Arn": made["ApiDestinationArn"], "InputPath": "$.detail", "HttpParameters": http}
        events(system, "PutTargets", Rule="all", Targets=[target])
        events(system, "PutEvents", Entries=[{"Source": "shop", "DetailType": "order", "Detail": '{"id": 7}'}])
        system.run_until_idle()
    (request,) = stub.asked
    assert (request.method, request.path, request.json) == ("PUT", "/orders/a%20b?p=1", {"id": 7})
    assert (request.headers["x-key"], request.headers["x-b"]) == ("k1", "2")
    assert request.headers["User-Agent"] == "Amazon/EventBridge/ApiDestinations"
    gone = "arn:aws:events:us-east-1:000000000000:connection/gone/1"
    with pytest.raises(ApiError, match="Connection 'gone' does not exist"):
        events(system, "UpdateApiDestination", Name="shop", ConnectionArn=gone)


def test_a_refused_event_is_retried_and_then_a_dead_letter(system: VirtualSystem) -> None:
    queue = system.call("sqs", "CreateQueue", {"QueueName": "dead"})["QueueUrl"]
    with serving(lambda _: replied({}, status=401)) as stub:
        made = events(
            system, "CreateApiDestination", Name="shop", ConnectionArn=created(system), HttpMethod="POST",
            InvocationEndpoint=f"{stub.url}/orders",
        )  # fmt: skip
        events(system, "PutRule", Name="all", EventPattern='{"source": ["shop"]}')
        dead = {"Arn": "arn:aws:sqs:us-east-1:000000000000:dead"}
        retries = {"MaximumRetryAttempts": 1}
        target = {"Id": "1", "Arn": made["ApiDestinationArn"], "DeadLetterConfig": dead, "RetryPolicy": retries}
        events(system, "PutTargets", Rule="all", Targets=[target])
        events(system, "PutEvents", Entries=[{"Source": "shop", "DetailType": "order", "Detail": "{}"}])
        system.run_until_idle()
    assert len(stub.asked) == 2
    assert len(system.call("sqs", "ReceiveMessage", {"QueueUrl": queue})["Messages"]) == 1
