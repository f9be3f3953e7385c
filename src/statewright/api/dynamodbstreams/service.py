"""DynamoDB Streams: the changes of items, read by shard iterators."""

from __future__ import annotations

from typing import Final

from statewright.api.service import APART, JSON, Service

SERVICE: Final = Service(
    name="dynamodbstreams",
    title="DynamoDB Streams",
    document="tables.md",
    package=__package__,
    regions=APART,
    operations=("streams",),
    protocols=(JSON,),
    wires="statewright.api.dynamodb.wires",
    target="DynamoDBStreams_20120810",
    signed_for="dynamodb",
    task_names=(),
    sdk_names=("dynamodbstreams",),
)
