"""Queues and their policies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from statewright.payload import Json, JsonObject
from statewright.projects.deploy.kinds import CannotApply, Kind, Site, Wanted, holds, nothing, removal, text_of

SERVICE: Final = "sqs"
_DEFAULTS: Final[dict[str, str]] = {
    "DelaySeconds": "0", "MessageRetentionPeriod": "345600", "ReceiveMessageWaitTimeSeconds": "0",
    "VisibilityTimeout": "30",
}  # fmt: skip
"""Source: API reference, SetQueueAttributes."""
_ATTRIBUTES: Final = (
    *_DEFAULTS, "MaximumMessageSize", "ContentBasedDeduplication", "DeduplicationScope", "FifoThroughputLimit",
    "KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds", "SqsManagedSseEnabled", "RedrivePolicy", "RedriveAllowPolicy",
)  # fmt: skip


def queue(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create a queue, or change its attributes."""
    is_fifo = wanted.truth("FifoQueue")
    name = wanted.name
    if is_fifo != name.endswith(".fifo"):
        if wanted.properties.get("QueueName"):
            raise CannotApply("FifoQueue and a QueueName that ends in .fifo go together")
        name = f"{name[:75]}.fifo"
    arn = f"{wanted.arn.rpartition(':')[0]}:{name}"
    attributes = {**_DEFAULTS, **{key: text_of(value) for key, value in wanted.given(*_ATTRIBUTES).items()}}
    shown = site.found(SERVICE, "GetQueueUrl", QueueName=name)
    if shown is None:
        if is_fifo:
            attributes["FifoQueue"] = "true"
        made = site.create(SERVICE, "CreateQueue", QueueName=name, Attributes=attributes, tags=wanted.tags() or None)
        url = made.get("QueueUrl", f"http://127.0.0.1:4566/{site.account}/{name}")
        return _shown(url, arn, name)
    url = shown["QueueUrl"]
    there = site.asked(SERVICE, "GetQueueAttributes", QueueUrl=url, AttributeNames=["All"]).get("Attributes") or {}
    changed: JsonObject = {key: value for key, value in attributes.items() if not holds(there.get(key), value)}
    if there.get("RedrivePolicy") and "RedrivePolicy" not in attributes:
        changed["RedrivePolicy"] = ""
    if changed:
        site.change(SERVICE, "SetQueueAttributes", QueueUrl=url, Attributes=changed)
    _tag(site, wanted, url)
    return _shown(url, arn, name)


def _shown(url: str, arn: str, name: str) -> dict[str, Json]:
    return {"Ref": url, "QueueUrl": url, "Arn": arn, "QueueName": name}


def _tag(site: Site, wanted: Wanted, url: str) -> None:
    tags = wanted.tags()
    if not tags:
        return
    there = site.asked(SERVICE, "ListQueueTags", QueueUrl=url).get("Tags") or {}
    missing = {key: value for key, value in tags.items() if there.get(key) != value}
    if missing:
        site.change(SERVICE, "TagQueue", QueueUrl=url, Tags=missing)


def policy(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Give queues a policy, which is kept and shown but not enforced."""
    document = text_of(wanted.properties.get("PolicyDocument") or {})
    for url in wanted.items("Queues"):
        shown = site.found(SERVICE, "GetQueueAttributes", QueueUrl=url, AttributeNames=["Policy"]) or {}
        there = (shown.get("Attributes") or {}).get("Policy")
        if there is None or not holds(there, document):
            made = site.create if there is None else site.change
            made(SERVICE, "SetQueueAttributes", QueueUrl=url, Attributes={"Policy": document})
    return {"Ref": wanted.name}


KINDS: Final = {
    "AWS::SQS::Queue": Kind(
        "queue", queue, removal(SERVICE, "DeleteQueue", "QueueUrl"), "QueueName", 80, "sqs:{region}:{account}:{name}"
    ),
    "AWS::SQS::QueuePolicy": Kind("queue policy", policy, nothing),
}
