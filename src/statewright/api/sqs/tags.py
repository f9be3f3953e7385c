"""Operations on the tags of queues."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from statewright.api.operations import App, Call, operation
from statewright.api.sqs.addresses import queue_at
from statewright.api.sqs.errors import invalid, missing
from statewright.payload import Json

MOST_TAGS: Final = 50
"""Source: developer guide, "Amazon SQS cost allocation tags"; the words of refusals are ours."""
KEY_CHARACTERS: Final = 128
VALUE_CHARACTERS: Final = 256


@operation("sqs", "TagQueue")
async def tag_queue(app: App, _call: Call, request: Json) -> Json:
    """Put tags on a queue."""
    queue = queue_at(app, request["QueueUrl"])
    if not request["Tags"]:
        raise missing("Tags")
    check_tags(queue.name, queue.tags, request["Tags"])
    await app.queues.tag(queue, request["Tags"])
    return {}


@operation("sqs", "UntagQueue")
async def untag_queue(app: App, _call: Call, request: Json) -> Json:
    """Take tags away from a queue."""
    queue = queue_at(app, request["QueueUrl"])
    if not request["TagKeys"]:
        raise missing("TagKeys")
    await app.queues.untag(queue, request["TagKeys"])
    return {}


@operation("sqs", "ListQueueTags")
async def list_queue_tags(app: App, _call: Call, request: Json) -> Json:
    """The tags of a queue."""
    tags = queue_at(app, request["QueueUrl"]).tags
    return {"Tags": dict(tags)} if tags else {}


def check_tags(queue_name: str, there: Mapping[str, str], added: Mapping[str, str]) -> None:
    """Refuse tags that a queue cannot have. Raises: ApiError (`InvalidParameterValueException`)."""
    for key, value in added.items():
        if not 1 <= len(key) <= KEY_CHARACTERS:
            raise invalid(f"Tag keys must be between 1 and {KEY_CHARACTERS} characters in length.")
        if len(value) > VALUE_CHARACTERS:
            raise invalid(f"Tag values must be between 0 and {VALUE_CHARACTERS} characters in length.")
        if key.lower().startswith("aws:"):
            raise invalid("Tag keys must not start with aws:.")
    if len({**there, **added}) > MOST_TAGS:
        raise invalid(f"Too many tags added for queue {queue_name}.")
