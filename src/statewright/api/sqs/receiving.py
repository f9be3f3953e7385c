"""Operations on received messages: receive, delete, change their visibility.

Source: API reference; texts observed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from statewright.api.operations import App, Call, operation
from statewright.api.sqs.addresses import queue_at
from statewright.api.sqs.batches import Failures, check_entries, outcome
from statewright.api.sqs.errors import invalid_value, missing
from statewright.api.sqs.sending import WRONG_KIND, check_identifier
from statewright.errors import ApiError
from statewright.payload import Json, JsonObject
from statewright.queues.message_attributes import attributes_md5, body_md5, chosen, decoded
from statewright.queues.messages import Received
from statewright.stores.completion import adapted

MOST_RECEIVED: Final = 10
MOST_PEEKED: Final = 1000
PEEK_HEADER: Final = "x-statewright-peek"
"""Statewright's own header: with it, messages are returned without being received."""
LONGEST_WAIT_SECONDS: Final = 20
LONGEST_VISIBILITY_SECONDS: Final = 43_200

_SYSTEM: Final[dict[str, Callable[[Received], str | None]]] = {
    "SenderId": lambda message: message.sender,
    "SentTimestamp": lambda message: str(message.sent_ms),
    "ApproximateReceiveCount": lambda message: str(message.receives),
    "ApproximateFirstReceiveTimestamp": lambda message: str(message.first_received_ms or "") or None,
    "SequenceNumber": lambda message: message.sequence_number,
    "MessageDeduplicationId": lambda message: message.dedup,
    "MessageGroupId": lambda message: message.group,
    "AWSTraceHeader": lambda message: message.trace_header,
    "DeadLetterQueueSourceArn": lambda message: message.source_arn,
}
"""System attributes by name; `None` for one that a message does not have."""


@operation("sqs", "ReceiveMessage", waits=True)
async def receive_message(app: App, call: Call, request: Json) -> Json:
    """Receive messages; a long poll waits for the first one."""
    queue = queue_at(app, request["QueueUrl"])
    most, wait_ms, visibility_ms = 1, None, None
    peeks = PEEK_HEADER in call.headers
    if "MaxNumberOfMessages" in request:
        most = request["MaxNumberOfMessages"]
        if not 1 <= most <= (MOST_PEEKED if peeks else MOST_RECEIVED):
            raise invalid_value(most, "MaxNumberOfMessages", f"Must be between 1 and {MOST_RECEIVED}, if provided.")
    if "WaitTimeSeconds" in request:
        wait_ms = 1000 * _within(request["WaitTimeSeconds"], "WaitTimeSeconds", LONGEST_WAIT_SECONDS)
    if "VisibilityTimeout" in request:
        visibility_ms = 1000 * _within(request["VisibilityTimeout"], "VisibilityTimeout", LONGEST_VISIBILITY_SECONDS)
    attempt = request.get("ReceiveRequestAttemptId")
    if attempt is not None:
        check_identifier("ReceiveRequestAttemptId", attempt)
        if not queue.settings.fifo:
            raise invalid_value(attempt, "ReceiveRequestAttemptId", WRONG_KIND)
    system = _system_names(request)
    named = request.get("MessageAttributeNames")
    if peeks:
        found = await app.services.queues.peek(queue, most)
        every = [_shown(app, message, system, named) for message in found]
        return {"Messages": [{**one, "ReceiptHandle": None} for one in every]} if every else {}
    found = await app.services.queues.receive(
        queue, most=most, wait_ms=wait_ms, visibility_ms=visibility_ms, attempt_id=attempt
    )
    if not found:
        return {}
    return {"Messages": [_shown(app, message, system, named) for message in found]}


def _within(value: int, name: str, most: int) -> int:
    if not 0 <= value <= most:
        raise invalid_value(value, name, f"Must be >= 0 and <= {most}, if provided.")
    return value


def _system_names(request: Json) -> Iterable[str]:
    """The system attributes that a request asks for, by either of the two parameters."""
    wanted = [*request.get("AttributeNames", ()), *request.get("MessageSystemAttributeNames", ())]
    if "All" in wanted:
        return _SYSTEM
    for name in wanted:
        if name not in _SYSTEM:
            raise ApiError("InvalidAttributeName", f"Unknown Attribute {name}.")
    return wanted


def _shown(app: App, message: Received, system: Iterable[str], named: list[str] | None) -> JsonObject:
    shown: JsonObject = {
        "MessageId": message.message_id,
        "ReceiptHandle": message.handle,
        "MD5OfBody": body_md5(message.body.encode()),
        "Body": message.body,
    }
    if system:
        values = {name: _SYSTEM[name](message) for name in system}
        if "SenderId" in values and message.sender is None:
            values["SenderId"] = app.config.account
        attributes = {name: value for name, value in values.items() if value is not None}
        if attributes:
            shown["Attributes"] = attributes
    if named and message.attributes:
        picked = decoded(chosen(message.attributes, named))
        if picked:
            shown["MD5OfMessageAttributes"] = attributes_md5(picked)
            shown["MessageAttributes"] = picked
    return shown


# ------------------------------------------------------------------ deleting


@operation("sqs", "DeleteMessage")
async def delete_message(app: App, _call: Call, request: Json) -> None:
    """Delete a message by a receipt handle."""
    [wrong] = await app.services.queues.delete(queue_at(app, request["QueueUrl"]), [request["ReceiptHandle"]])
    if wrong is not None:
        raise wrong


@operation("sqs", "DeleteMessageBatch")
async def delete_message_batch(app: App, _call: Call, request: Json) -> Json:
    """Delete up to ten messages."""
    queue = queue_at(app, request["QueueUrl"])
    ids = check_entries(request["Entries"], "DeleteMessageBatchRequestEntry")
    wrongs = await app.services.queues.delete(queue, [entry["ReceiptHandle"] for entry in request["Entries"]])
    return _batch_answer(zip(ids, wrongs, strict=True))


# ------------------------------------------------------------------ visibility


@operation("sqs", "ChangeMessageVisibility")
async def change_message_visibility(app: App, call: Call, request: Json) -> None:
    """Change how long a message stays hidden."""
    queue = queue_at(app, request["QueueUrl"])
    seconds = _within(request["VisibilityTimeout"], "VisibilityTimeout", LONGEST_VISIBILITY_SECONDS)
    change = (request["ReceiptHandle"], 1000 * seconds)
    [wrong] = await app.services.queues.change_visibility(queue, [change], adapted(call.completion, lambda _: {}))
    if wrong is not None:
        raise wrong


@operation("sqs", "ChangeMessageVisibilityBatch")
async def change_message_visibility_batch(app: App, call: Call, request: Json) -> Json:
    """Change how long up to ten messages stay hidden."""
    queue = queue_at(app, request["QueueUrl"])
    ids = check_entries(request["Entries"], "ChangeMessageVisibilityBatchRequestEntry")
    changes: list[tuple[str, int]] = []
    changed: list[str] = []
    failed: Failures = []
    for number, (name, entry) in enumerate(zip(ids, request["Entries"], strict=True), 1):
        if "VisibilityTimeout" not in entry:
            raise missing(f"ChangeMessageVisibilityBatchRequestEntry.{number}.VisibilityTimeout")
        try:
            seconds = _within(entry["VisibilityTimeout"], "VisibilityTimeout", LONGEST_VISIBILITY_SECONDS)
        except ApiError as error:
            failed.append((name, error))
            continue
        changed.append(name)
        changes.append((entry["ReceiptHandle"], 1000 * seconds))

    def answer(wrongs: Sequence[ApiError | None]) -> Json:
        return _batch_answer(zip(changed, wrongs, strict=True), failed)

    if not changes:
        return answer([])
    return answer(await app.services.queues.change_visibility(queue, changes, adapted(call.completion, answer)))


def _batch_answer(results: Iterable[tuple[str, ApiError | None]], failed: Iterable[tuple[str, ApiError]] = ()) -> Json:
    successful = []
    failures = list(failed)
    for name, wrong in results:
        if wrong is None:
            successful.append({"Id": name})
        else:
            failures.append((name, wrong))
    return outcome(successful, failures)
