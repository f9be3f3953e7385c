"""Operations that send messages.

Owns the rules for messages: sizes, delays, groups and deduplication ids, batches. Bodies and attributes themselves are
checked by `queues.message_attributes`. Messages without attributes take a shorter path.

Source: API reference, SendMessage and SendMessageBatch; texts observed.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from statewright.api.operations import App, Call, operation
from statewright.api.sqs.addresses import queue_at
from statewright.api.sqs.batches import Failures, check_entries, outcome
from statewright.api.sqs.errors import invalid, invalid_value
from statewright.errors import ApiError
from statewright.payload import Json, JsonObject
from statewright.queues.message_attributes import (
    attributes_md5,
    body_bytes,
    body_md5,
    encoded,
    trace_header,
)
from statewright.queues.messages import Outgoing, Sent
from statewright.queues.queues import Queue
from statewright.stores.completion import adapted

WRONG_KIND: Final = "The request include parameter that is not valid for this queue type."

_identifies: Final = re.compile(r"[!-~]{1,128}", re.ASCII).fullmatch
"""Matches letters, digits and punctuation of ASCII."""


class _Ready(NamedTuple):
    """A checked message, and the digests for the answer to its sender."""

    message: Outgoing
    body_md5: str
    attributes_md5: str | None
    system_md5: str | None
    size_bytes: int


@operation("sqs", "SendMessage")
async def send_message(app: App, call: Call, request: Json) -> Json:
    """Send one message."""
    queue = queue_at(app, request["QueueUrl"])
    ready = _ready(app, call, queue, request)
    _check_size(queue, ready, "are invalid")
    _check_group(queue, request, "MissingRequiredParameterException")

    def answer(sent: list[Sent]) -> JsonObject:
        return _receipt(ready, *sent)

    return answer(await app.services.queues.send(queue, [ready.message], adapted(call.completion, answer)))


@operation("sqs", "SendMessageBatch")
async def send_message_batch(app: App, call: Call, request: Json) -> Json:
    """Send up to ten messages; each of them succeeds or fails."""
    queue = queue_at(app, request["QueueUrl"])
    entries = request["Entries"]
    ids = check_entries(entries, "SendMessageBatchRequestEntry")
    ready: list[tuple[str, _Ready]] = []
    failed: Failures = []
    size = 0
    for name, entry in zip(ids, entries, strict=True):
        if queue.settings.fifo:
            _check_group(queue, entry, "InvalidParameterValueException")
        try:
            one = _ready(app, call, queue, entry)
            size += one.size_bytes
            _check_size(queue, one, "cannot be validated")
            ready.append((name, one))
        except ApiError as error:
            failed.append((name, error))
    most = app.config.limits.message_bytes
    if most is not None and size > most:
        raise ApiError(
            "BatchRequestTooLong", f"Batch requests cannot be longer than {most} bytes. You have sent {size} bytes."
        )
    if not ready:
        return outcome([], failed)

    def answer(sent: list[Sent]) -> Json:
        entries = zip(ready, sent, strict=True)
        return outcome([{"Id": name, **_receipt(one, made)} for (name, one), made in entries], failed)

    messages = [one.message for _, one in ready]
    return answer(await app.services.queues.send(queue, messages, adapted(call.completion, answer)))


def _receipt(ready: _Ready, sent: Sent) -> JsonObject:
    receipt: JsonObject = {"MessageId": sent.message_id, "MD5OfMessageBody": ready.body_md5}
    if ready.attributes_md5 is not None:
        receipt["MD5OfMessageAttributes"] = ready.attributes_md5
    if ready.system_md5 is not None:
        receipt["MD5OfMessageSystemAttributes"] = ready.system_md5
    if sent.sequence_number is not None:
        receipt["SequenceNumber"] = sent.sequence_number
    return receipt


# ------------------------------------------------------------------ one message


def _check_size(queue: Queue, ready: _Ready, words: str) -> None:
    most = queue.settings.message_bytes
    if ready.size_bytes > most:
        raise invalid(f"One or more parameters {words}. Reason: Message must be shorter than {most} bytes.")


def _ready(app: App, call: Call, queue: Queue, given: Json) -> _Ready:
    """Check one message.

    Raises: ApiError (`InvalidParameterValueException`, `InvalidMessageContents`).
    """
    body: str = given["MessageBody"]
    raw = body_bytes(body)
    size = len(raw)
    attributes: JsonObject | None = None
    attributes_sum = system_sum = trace = None
    if given.get("MessageAttributes"):
        made = encoded(given["MessageAttributes"])
        attributes, attributes_sum = made.value, made.md5
        size += made.size_bytes
    if given.get("MessageSystemAttributes"):
        trace = trace_header(given["MessageSystemAttributes"])
        system_sum = attributes_md5(given["MessageSystemAttributes"])
    if trace is None:
        # Stored verbatim (observed); SDKs in functions send the header by themselves.
        trace = call.trace_header
    delay = given.get("DelaySeconds")
    if delay is not None:
        _check_delay(app, queue, delay)
    group, deduplication = given.get("MessageGroupId"), given.get("MessageDeduplicationId")
    if group is not None or deduplication is not None:
        _check_identifiers(queue, group, deduplication)
    message = Outgoing(
        body,
        attributes,
        # A FIFO queue has only its own delay.
        None if delay is None or queue.settings.fifo else delay * 1000,
        group,
        deduplication,
        trace,
        call.access_key,
    )
    return _Ready(message, body_md5(raw), attributes_sum, system_sum, size)


def _check_delay(app: App, queue: Queue, delay: int) -> None:
    most = app.config.limits.message_delay_seconds
    if delay < 0 or (most is not None and delay > most):
        highest = "" if most is None else f" and <= {most}"
        raise invalid_value(delay, "DelaySeconds", f"DelaySeconds must be >= 0{highest}.")
    if delay and queue.settings.fifo:
        raise invalid_value(delay, "DelaySeconds", WRONG_KIND)


def _check_identifiers(queue: Queue, group: str | None, deduplication: str | None) -> None:
    for name, value in (("MessageGroupId", group), ("MessageDeduplicationId", deduplication)):
        if value is not None:
            check_identifier(name, value)
    if deduplication is not None and not queue.settings.fifo:
        raise invalid_value(deduplication, "MessageDeduplicationId", WRONG_KIND)


def check_identifier(name: str, value: str) -> None:
    """Refuse an id that the service refuses. Raises: ApiError (`InvalidParameterValueException`)."""
    if _identifies(value) is None:
        raise invalid_value(
            value, name, f"{name} can only include alphanumeric and punctuation characters. 1 to 128 in length."
        )


def _check_group(queue: Queue, given: Json, code: str) -> None:
    """Check the members that a FIFO queue requires of every message; a batch is refused as a whole."""
    if not queue.settings.fifo:
        return
    if not given.get("MessageGroupId"):
        raise ApiError(code, "The request must contain the parameter MessageGroupId.")
    if not given.get("MessageDeduplicationId") and not queue.settings.content_deduplication:
        raise invalid(
            "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided "
            "explicitly"
        )
