"""Events and messages that are dear to match: matched beside the event loop, or refused, never dropped in silence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.attack.holding import MOST_REFERENCES, Held, Holding
from tests.thoroughness import slow

pytestmark = slow
EVENTS = "AWSEvents."
TARGET = "arn:aws:sqs:us-east-1:000000000000:q"
TEXTS = [f"a{number:05}" for number in range(20_000)]
WILDCARDS = [{"wildcard": f"a*{number}x"} for number in range(30)]
NEGATIONS = [{"anything-but": {"prefix": "a"}}] * 30
ARN = "arn:aws:sns:us-east-1:000000000000:t"


@pytest.fixture(scope="module")
def holding(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Holding]:
    made = Holding(tmp_path_factory.mktemp("holding"))
    assert made.json("AmazonSQS.CreateQueue", b'{"QueueName":"q"}').status == 200
    for number in range(4):
        pattern = {"source": ["s"], "detail": {name: [*WILDCARDS, *NEGATIONS[:2]] for name in "ab"}}
        put(made, f"r{number}", pattern)
    put(made, "last", {"source": ["s"], "detail": {"a": [{"wildcard": "a*9999"}]}})
    assert made.form("sns", "Action=CreateTopic&Name=t").status == 200
    policy = json.dumps({"a": [*WILDCARDS, *NEGATIONS[:2]]})
    for number in range(10):
        text = f"Action=Subscribe&TopicArn={ARN}&Protocol=sqs&Endpoint={TARGET}{number}"
        attributes = f"&Attributes.entry.1.key=FilterPolicy&Attributes.entry.1.value={policy}"
        scope = "&Attributes.entry.2.key=FilterPolicyScope&Attributes.entry.2.value=MessageBody"
        assert made.form("sns", text + attributes + scope).status == 200
    yield made
    made.close()


def put(holding: Holding, name: str, pattern: Any) -> None:
    rule = {"Name": name, "EventPattern": json.dumps(pattern)}
    assert holding.json(EVENTS + "PutRule", json.dumps(rule).encode()).status == 200
    targets = {"Rule": name, "Targets": [{"Id": "1", "Arn": TARGET}]}
    assert holding.json(EVENTS + "PutTargets", json.dumps(targets).encode()).status == 200


def put_event(holding: Holding, detail: Any) -> tuple[Held, Any]:
    entry = {"Source": "s", "DetailType": "d", "Detail": json.dumps(detail)}
    held = holding.json(EVENTS + "PutEvents", json.dumps({"Entries": [entry]}).encode())
    return held, json.loads(held.body)["Entries"][0]


def test_an_event_is_matched_beside_the_loop(holding: Holding) -> None:
    held, entry = put_event(holding, {"a": TEXTS[:10_000], "b": TEXTS[:1_000]})
    assert held.status == 200
    assert "EventId" in entry
    assert held.references < MOST_REFERENCES


def test_an_event_beyond_the_bound_is_refused_alone(holding: Holding) -> None:
    # More work than anything may be: 4 rules with 32 operators each over 20,000 values.
    heavy = {"Source": "s", "DetailType": "d", "Detail": json.dumps({"a": TEXTS, "b": TEXTS})}
    light = {"Source": "s", "DetailType": "d", "Detail": '{"a":"a"}'}
    held = holding.json(EVENTS + "PutEvents", json.dumps({"Entries": [light, heavy, light]}).encode())
    entries = json.loads(held.body)["Entries"]
    assert held.references < MOST_REFERENCES
    assert ["EventId" in one for one in entries] == [True, False, True]
    assert entries[1]["ErrorCode"] == "InternalFailure"
    assert "too much work" in entries[1]["ErrorMessage"]


def test_a_pattern_is_tried_beside_the_loop(holding: Holding) -> None:
    event = dict.fromkeys(("id", "account", "source", "time", "region", "detail-type"), "x")
    for leaves, texts, answer in ((WILDCARDS, TEXTS, b'{"Result":false}'), (NEGATIONS, TEXTS * 5, b"too much work")):
        given = {
            "EventPattern": json.dumps({"detail": {"a": leaves}}),
            "Event": json.dumps({**event, "resources": [], "detail": {"a": texts}}),
        }
        held = holding.json(EVENTS + "TestEventPattern", json.dumps(given).encode())
        assert answer in held.body
        assert held.references < MOST_REFERENCES


def test_a_message_is_filtered_beside_the_loop_or_refused(holding: Holding) -> None:
    for count, answer in ((5_000, b"<MessageId>"), (20_000, b"too much work")):
        held = holding.form("sns", f"Action=Publish&TopicArn={ARN}&Message={json.dumps({'a': TEXTS[:count]})}")
        assert answer in held.body, held.body[:300]
        assert held.references < MOST_REFERENCES
