"""`statewright topic` against a server."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import uuid4

from tests.e2e.conftest import Command, Server


def test_topics_are_listed_and_published_to(statewright: Command, server: Server, tmp_path: Path) -> None:
    sns, sqs = server.client("sns"), server.client("sqs")
    name = f"cli-{uuid4()}"
    arn = sns.create_topic(Name=name)["TopicArn"]
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    endpoint = f"arn:aws:sqs:us-east-1:000000000000:{name}"
    sns.subscribe(TopicArn=arn, Protocol="sqs", Endpoint=endpoint, Attributes={"RawMessageDelivery": "true"})
    sns.subscribe(TopicArn=arn, Protocol="email", Endpoint="a@example.com")
    [line] = [line for line in statewright("topic", "list").out.splitlines() if name in line]
    assert line.split() == [name, "1", "1", "standard"]
    listed = statewright("topic", "subscriptions", name, "-o", "json").json["subscriptions"]
    assert [(one["Protocol"], one["Endpoint"]) for one in listed] == [("sqs", endpoint), ("email", "a@example.com")]
    assert "pending" in statewright("topic", "subscriptions").out
    (tmp_path / "message.json").write_text('{"order": 7}')
    file = f"@{tmp_path / 'message.json'}"
    sent = statewright("topic", "publish", name, file, "--attribute", "kind=order", "-o", "json").json
    [message] = sqs.receive_message(QueueUrl=url, MessageAttributeNames=["All"])["Messages"]
    assert json.loads(message["Body"]) == {"order": 7}
    assert message["MessageAttributes"]["kind"]["StringValue"] == "order"
    assert len(sent["MessageId"]) == 36


def test_what_is_wrong_has_an_exit_code(statewright: Command, server: Server) -> None:
    server.client("sns").create_topic(Name="cli")
    assert statewright("topic", "publish", "nobody", "m").code == 3
    assert statewright("topic", "publish", "cli", "m", "--attribute", "x").code == 2
    assert statewright("topic", "publish", "cli", "").code == 2
