"""Operations on the tags of queues."""

from __future__ import annotations

from collections.abc import Mapping

from statewright.api.operations import App, Call, operation
from statewright.api.sqs.addresses import queue_at
from statewright.api.sqs.errors import invalid, missing
from statewright.payload import Json
from statewright.tags import KEY_CHARACTERS, VALUE_CHARACTERS, TagRule


@operation("sqs", "TagQueue")
async def tag_queue(app: App, _call: Call, request: Json) -> None:
    """Add tags to a queue."""
    queue = queue_at(app, request["QueueUrl"])
    if not request["Tags"]:
        raise missing("Tags")
    check_tags(queue.name, queue.tags, request["Tags"])
    await app.services.queues.tag(queue, request["Tags"])


@operation("sqs", "UntagQueue")
async def untag_queue(app: App, _call: Call, request: Json) -> None:
    """Remove tags from a queue."""
    queue = queue_at(app, request["QueueUrl"])
    if not request["TagKeys"]:
        raise missing("TagKeys")
    await app.services.queues.untag(queue, request["TagKeys"])


@operation("sqs", "ListQueueTags")
async def list_queue_tags(app: App, _call: Call, request: Json) -> Json:
    """List the tags of a queue."""
    tags = queue_at(app, request["QueueUrl"]).tags
    return {"Tags": dict(tags)} if tags else {}


def check_tags(queue_name: str, there: Mapping[str, str], added: Mapping[str, str]) -> None:
    """Refuse tags that a queue cannot have. Raises: ApiError (`InvalidParameterValueException`).

    Source: developer guide, "Amazon SQS cost allocation tags"; the error texts are Statewright's own.
    """
    TagRule(
        lambda _: invalid(f"Too many tags added for queue {queue_name}."),
        lambda _: invalid(f"Tag keys must be between 1 and {KEY_CHARACTERS} characters in length."),
        lambda _: invalid(f"Tag values must be between 0 and {VALUE_CHARACTERS} characters in length."),
        lambda _: invalid("Tag keys must not start with aws:."),
    ).put(there, added)
