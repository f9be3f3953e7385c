"""Operations on queues: create, find, list, delete and purge them, and their attributes.

Attributes are checked and shown by `queues.attributes`; `queues.queues` keeps the queues.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from statewright.api.operations import App, Call, operation
from statewright.api.sqs.addresses import queue_at, url_of
from statewright.api.sqs.errors import invalid, invalid_value, missing, no_such_queue
from statewright.api.sqs.tags import check_tags
from statewright.errors import ApiError
from statewright.pages import PageTokens
from statewright.payload import Json, JsonObject
from statewright.queues import attributes
from statewright.queues.queues import Queue
from statewright.stores.completion import adapted

TOKENS: Final = PageTokens[str]("sqs", lambda _: invalid("Invalid or expired next token."))
MOST_LISTED: Final = 1000


@operation("sqs", "CreateQueue")
async def create_queue(app: App, call: Call, request: Json) -> Json:
    """Create a queue; for an existing one, answer as the first time."""
    name, given = request["QueueName"], request.get("Attributes", {})
    tags = request.get("tags", {})
    check_tags(name, {}, tags)
    queue = await app.services.queues.create(name, given, tags)
    return {"QueueUrl": url_of(app, call, queue)}


@operation("sqs", "DeleteQueue")
async def delete_queue(app: App, call: Call, request: Json) -> None:
    """Delete a queue with its messages."""
    queue = queue_at(app, request["QueueUrl"])
    await app.services.queues.delete_queue(queue, adapted(call.completion, lambda _: {}))


@operation("sqs", "PurgeQueue")
async def purge_queue(app: App, call: Call, request: Json) -> None:
    """Delete every message of a queue."""
    await app.services.queues.purge(queue_at(app, request["QueueUrl"]), adapted(call.completion, lambda _: {}))


@operation("sqs", "GetQueueUrl")
async def get_queue_url(app: App, call: Call, request: Json) -> Json:
    """Return the URL of a queue by its name."""
    if request.get("QueueOwnerAWSAccountId", app.config.account) != app.config.account:
        raise no_such_queue()
    name = request["QueueName"]
    attributes.check_name(name, fifo=name.endswith(attributes.FIFO_SUFFIX))
    return {"QueueUrl": url_of(app, call, app.services.queues.find(name))}


@operation("sqs", "ListQueues")
async def list_queues(app: App, call: Call, request: Json) -> Json:
    """List URLs of queues, by name."""
    prefix = request.get("QueueNamePrefix", "")
    found, token = _page(request, lambda after, limit: app.services.queues.list_queues(prefix, after, limit))
    return _present({"QueueUrls": [url_of(app, call, queue) for queue in found], "NextToken": token})


@operation("sqs", "ListDeadLetterSourceQueues")
async def list_dead_letter_source_queues(app: App, call: Call, request: Json) -> Json:
    """List URLs of the queues whose dead letters go to a queue."""
    queue = queue_at(app, request["QueueUrl"])
    found, token = _page(request, lambda after, limit: app.services.queues.dead_letter_sources(queue, after, limit))
    answer: JsonObject = {"queueUrls": [url_of(app, call, source) for source in found]}
    return {**answer, "NextToken": token} if token else answer


def _page(
    request: Json, listed: Callable[[str | None, int], tuple[list[Queue], str | None]]
) -> tuple[list[Queue], str | None]:
    """One page, and the token of the next. Without MaxResults there is no next page: the service stops at 1,000."""
    most = request.get("MaxResults")
    if most is not None and not 1 <= most <= MOST_LISTED:
        raise invalid_value(most, "MaxResults", f"Must be between 1 and {MOST_LISTED}, if provided.")
    token = request.get("NextToken")
    if token is not None and most is None:
        # Source: API reference, ListQueues: "you must set MaxResults to receive a value for NextToken".
        raise missing("MaxResults")
    found, last = listed(TOKENS.read(token or None), MOST_LISTED if most is None else most)
    return found, TOKENS.write(last) if most is not None else None


# ------------------------------------------------------------------ attributes


@operation("sqs", "SetQueueAttributes")
async def set_queue_attributes(app: App, _call: Call, request: Json) -> None:
    """Change some attributes of a queue."""
    queue = queue_at(app, request["QueueUrl"])
    given = request["Attributes"]
    if not given:
        raise missing("Attribute.Name")
    await app.services.queues.set_attributes(queue, given)


@operation("sqs", "GetQueueAttributes")
async def get_queue_attributes(app: App, _call: Call, request: Json) -> Json:
    """Return the requested attributes of a queue."""
    queue = queue_at(app, request["QueueUrl"])
    wanted = request.get("AttributeNames") or ()
    for name in wanted:
        if name != "All" and name not in attributes.READABLE:
            raise ApiError(attributes.INVALID_NAME, f"Unknown Attribute {name}.")
    if not wanted:
        return {}
    names = attributes.READABLE if "All" in wanted else frozenset(wanted)
    found = attributes.shown(queue.settings)
    found["QueueArn"] = queue.arn
    found["CreatedTimestamp"] = str(queue.created_ms // 1000)
    found["LastModifiedTimestamp"] = str(queue.modified_ms // 1000)
    if not names.isdisjoint(attributes.COUNTED):
        counts = await app.services.queues.counts(queue)
        found.update(zip(attributes.COUNTED, map(str, (counts.visible, counts.in_flight, counts.delayed)), strict=True))
    shown = {name: text for name, text in found.items() if name in names}
    return {"Attributes": shown} if shown else {}


def _present(answer: JsonObject) -> JsonObject:
    """The answer without empty members: the service leaves out empty lists here."""
    return {name: value for name, value in answer.items() if value}
