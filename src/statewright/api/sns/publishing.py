"""Operations that publish messages.

Source: API reference, Publish and PublishBatch.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from statewright.api.operations import App, Call, operation
from statewright.errors import ApiError
from statewright.payload import Json, JsonObject
from statewright.stores.completion import adapted
from statewright.topics.endpoints import is_phone
from statewright.topics.messages import read_message
from statewright.topics.publishing import Receipt
from statewright.topics.refusals import invalid

MOST_ENTRIES: Final = 10
MOST_ID: Final = 80
_identifies: Final = re.compile(r"[A-Za-z0-9_-]+", re.ASCII).fullmatch


@operation("sns", "Publish")
async def publish(app: App, call: Call, request: Json) -> Json:
    """Publish one message to a topic."""
    named = [name for name in ("TopicArn", "TargetArn", "PhoneNumber") if request.get(name) is not None]
    given = [name for name in named if request[name]] or named[:1]
    if not given:
        raise invalid("TopicArn or TargetArn Reason: no value for required parameter")
    if len(given) > 1:
        raise invalid("TopicArn, TargetArn and PhoneNumber are mutually exclusive")  # The text is Statewright's own.
    if given == ["PhoneNumber"]:
        if not is_phone(request["PhoneNumber"]):
            raise invalid(f"PhoneNumber Reason: {request['PhoneNumber'][:100]} is not valid to publish to")
        raise invalid("PhoneNumber Reason: this version of Statewright sends no text messages")
    arn = request[given[0]]
    if ":endpoint/" in arn:
        raise invalid("TargetArn Reason: this version of Statewright does not reach mobile devices")
    topics = app.services.topics
    topics.find(arn)

    def answer(receipts: Sequence[Receipt | ApiError]) -> JsonObject:
        [receipt] = receipts
        if isinstance(receipt, ApiError):
            raise receipt
        return _shown(receipt)

    return answer(
        await topics.publish(arn, [read_message(request, call.trace_header)], adapted(call.completion, answer))
    )


@operation("sns", "PublishBatch")
async def publish_batch(app: App, call: Call, request: Json) -> Json:
    """Publish up to ten messages. One that is refused refuses all; one that is dear to filter fails alone."""
    topics = app.services.topics
    hub = topics.find(request["TopicArn"])
    entries = request["PublishBatchRequestEntries"]
    _check_entries(entries)
    messages = {entry["Id"]: read_message(entry, call.trace_header) for entry in entries}
    topics.publisher.check_batch(hub, list(messages.values()))

    def answer(receipts: Sequence[Receipt | ApiError]) -> JsonObject:
        every = dict(zip(messages, receipts, strict=True))
        return {
            "Successful": [{"Id": name, **_shown(one)} for name, one in every.items() if isinstance(one, Receipt)],
            "Failed": [
                {"Id": name, "Code": one.code, "Message": one.message, "SenderFault": True}
                for name, one in every.items()
                if isinstance(one, ApiError)
            ],
        }

    return answer(await topics.publish(hub.arn, list(messages.values()), adapted(call.completion, answer)))


def _shown(receipt: Receipt) -> JsonObject:
    sequence: JsonObject = {} if receipt.sequence is None else {"SequenceNumber": receipt.sequence}
    return {"MessageId": receipt.message_id, **sequence}


def _check_entries(entries: Json) -> None:
    if not entries:
        raise ApiError("EmptyBatchRequest", "The batch request doesn't contain any entries.")
    if len(entries) > MOST_ENTRIES:
        raise ApiError("TooManyEntriesInBatchRequest", "The batch request contains more entries than permissible.")
    names = [entry["Id"] for entry in entries]
    for name in names:
        if len(name) > MOST_ID:
            raise ApiError(
                "InvalidBatchEntryId", f"The Id of a batch entry in the batch request is too long: {name[:1000]}"
            )
        if _identifies(name) is None:
            raise ApiError(
                "InvalidBatchEntryId",
                f"The Id of a batch entry in the batch request contains an impermissible character: {name}",
            )
    if len(set(names)) < len(names):
        raise ApiError("BatchEntryIdsNotDistinct", "Two or more batch entries in the request have the same Id.")
