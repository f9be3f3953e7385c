"""What targets get: paths into events, templates with variables within and without quotes, parameters from events."""

from __future__ import annotations

from typing import Any

import pytest

from statewright.events.inputs import InvalidInput, payload_of, value_at, variables_of, with_paths
from statewright.events.targets import call_of

EVENT = {
    "source": "shop", "time": "2026-01-02T03:04:05Z", "resources": ["a", "b"],
    "detail": {"id-1": "i", "a/b": 1, "items": [{"n": 1}, {"n": 2}], "text": 'say "x"', "none": None, "yes": True},
}  # fmt: skip


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("$", EVENT),
        ("$.source", "shop"),
        ("$.resources[1]", "b"),
        ("$.resources[9]", None),
        ("$.resources[*]", ["a", "b"]),
        ("$.detail.id-1", "i"),
        ("$.detail.a/b", 1),
        ("$.detail['a/b']", 1),
        ("$.detail.items[*].n", [1, 2]),
        ("$.detail.items[0]", {"n": 1}),
        ("$.nothing.here", None),
        ("$.source.deeper", None),
        ("source", None),
        ("$.", None),
        ("$..n", None),
        ("$[?(@.a)]", None),
    ],
)
def test_paths(path: str, value: Any) -> None:
    assert value_at(path, EVENT) == value


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ('"order <id> of <shop>"', '"order i of shop"'),
        ('{"id": <id>, "all": <items>, "yes": <yes>}', '{"id": "i", "all": [{"n":1},{"n":2}], "yes": true}'),
        ('{"id": "<id>", "s": "\\"<shop>\\" <yes>"}', '{"id": "i", "s": "\\"shop\\" true"}'),
        ('"<shop>: <items>, <one>"', '"shop: [{n:1},{n:2}], {n:1}"'),
        ("<items>", '[{"n":1},{"n":2}]'),
        (" <shop> ", ' "shop" '),
        ("<not known> and more", "<not known> and more"),
        ('{"gone": <gone>, "text": "<gone>"}', '{"gone": "", "text": ""}'),
        ('"<shop>"\n"<id>"', '"shop"\n"i"'),
        ('{"rule": <aws.events.rule-name>}', '{"rule": "r"}'),
        ('"<aws.events.rule-name> fired"', '"r fired"'),
        ('{"a < b": <yes>}', '{"a < b": true}'),
    ],
)
def test_templates(template: str, text: str) -> None:
    paths = {
        "id": "$.detail.id-1", "shop": "$.source", "items": "$.detail.items", "yes": "$.detail.yes",
        "gone": "$.detail.gone", "one": "$.detail.items[0]",
    }  # fmt: skip
    target = {"InputTransformer": {"InputPathsMap": paths, "InputTemplate": template}}
    assert payload_of(target, EVENT, {"aws.events.rule-name": "r"}) == text


@pytest.mark.parametrize(
    "template",
    [
        '{"all": "<items>"}',
        '["the first is <one>"]',
        ' {"a": "x <items>"}',
        "<shop> is open",
        "<one>, <items>",
        "<items>\n<shop>",
    ],
)
def test_templates_that_make_no_input(template: str) -> None:
    paths = {"shop": "$.source", "items": "$.detail.items", "one": "$.detail.items[0]"}
    target = {"InputTransformer": {"InputPathsMap": paths, "InputTemplate": template}}
    with pytest.raises(InvalidInput):
        payload_of(target, EVENT, {})


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ({"Input": '{"constant": 1}'}, '{"constant": 1}'),
        ({"InputPath": "$.detail.items"}, '[{"n":1},{"n":2}]'),
        ({"InputPath": "$.detail.none"}, "null"),
        ({"InputPath": "$.gone"}, "null"),
    ],
)
def test_constants_and_parts(target: dict[str, Any], text: str) -> None:
    assert payload_of(target, EVENT, {}) == text


def test_the_variables_of_a_template() -> None:
    assert variables_of('{"a": <one>, "b": "<two.three>", "c": "<not this>"}') == ["one", "two.three"]


def test_parameters_from_the_event() -> None:
    parameters = {"MessageGroupId": "$.detail.id-1", "n": ["$.detail.a/b", "$.gone", "$plain", {"x": "$.source"}]}
    found = with_paths({"Arn": "$.source", "SqsParameters": parameters}, EVENT)
    assert found == {
        "Arn": "$.source",
        "SqsParameters": {"MessageGroupId": "i", "n": ["1", "", "$plain", {"x": "shop"}]},
    }


@pytest.mark.parametrize(
    ("target", "payload", "action", "request_"),
    [
        (
            {"Arn": "arn:aws:batch:us-east-1:0:job-queue/q", "BatchParameters": {"JobName": "n", "JobDefinition": "d"}},
            '{"Parameters": {"a": "b"}, "other": 1}', "batch.submitJob",
            {"JobName": "n", "JobDefinition": "d", "Parameters": {"a": "b"},
             "JobQueue": "arn:aws:batch:us-east-1:0:job-queue/q"},
        ),
        (
            {"Arn": "arn:aws:logs:us-east-1:0:log-group:/aws/events/x:*"},
            '{"time": "2026-01-02T03:04:05Z"}', "cloudwatchlogs.putLogEvents",
            {"LogGroupName": "/aws/events/x", "LogStreamName": "events", "LogEvents": [
                {"timestamp": 1767323045000, "message": '{"time": "2026-01-02T03:04:05Z"}'}]},
        ),
        (
            {"Arn": "arn:aws:logs:us-east-1:0:log-group:g"},
            '{"timestamp": 5, "message": {"a": 1}}', "cloudwatchlogs.putLogEvents",
            {"LogGroupName": "g", "LogStreamName": "events", "LogEvents": [{"timestamp": 5, "message": '{"a":1}'}]},
        ),
        (
            {"Arn": "arn:aws:sns:us-east-1:0:t"}, "x", "sns.publish",
            {"TopicArn": "arn:aws:sns:us-east-1:0:t", "Message": "x"},
        ),
    ],
)  # fmt: skip
def test_calls_of_targets(target: dict[str, Any], payload: str, action: str, request_: dict[str, Any]) -> None:
    call = call_of(target, payload, "id")
    assert (f"{call.service}.{call.action}", call.request) == (action, request_)
