"""Reads of queues: the list with numbers of messages, the messages of one queue without receiving them, one message's
history. What changes a queue are the service's own operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from statewright.api.operations import App
from statewright.background import in_thread
from statewright.console.asked import Asked, needed, number
from statewright.console.context import Console
from statewright.console.redaction import Redactor
from statewright.console.services.service_figures import values
from statewright.console.services.shown_data import named
from statewright.errors import ApiError
from statewright.metrics.series import MetricId
from statewright.payload import JsonObject
from statewright.queues.messages import Received
from statewright.queues.meter import NAMESPACE
from statewright.queues.queues import Queue

PAGE_ROWS: Final = 50
MOST_PEEKED: Final = 200
BODY_CHARACTERS: Final = 20_000
"""Characters of a body that a list of messages has."""
READ_CHARACTERS: Final = 1_000_000
"""Characters of bodies that one list reads whole for what is to be hidden in them."""
_HOUR_MS: Final = 3_600_000
_LISTED_AT_ONCE: Final = 1_000


async def queues(console: Console, asked: Asked) -> JsonObject:
    """`{queues, next}` by name; `q` is a part of a name."""
    app = console.app_of(asked)
    wanted = asked.given.get("q", "").casefold()
    found: list[Queue] = []
    after: str | None = asked.given.get("cursor") or None
    while True:
        page, after = app.services.queues.list_queues("", after, _LISTED_AT_ONCE)
        found += [one for one in page if wanted in one.name.casefold()]
        if len(found) > PAGE_ROWS or after is None:
            break
    shown = found[:PAGE_ROWS]
    return {
        "queues": [await _listed(app, one) for one in shown],
        "next": shown[-1].name if len(found) > PAGE_ROWS else None,
        "nowMs": app.clock.now_ms(),
    }


async def _listed(app: App, queue: Queue) -> JsonObject:
    counts = await app.services.queues.counts(queue)
    oldest = await app.services.queues.peek(queue, 1) if counts.visible or counts.in_flight else []
    metric = MetricId.of(NAMESPACE, "ApproximateNumberOfMessagesVisible", {"QueueName": queue.name})
    return {
        "name": queue.name,
        "arn": queue.arn,
        "fifo": queue.settings.fifo,
        "visible": counts.visible,
        "inFlight": counts.in_flight,
        "delayed": counts.delayed,
        "oldestMs": oldest[0].sent_ms if oldest else None,
        "deadLetters": await _dead_letters(app, queue),
        "sources": len(app.services.queues.dead_letter_sources(queue, None, _LISTED_AT_ONCE)[0]),
        "line": await values(app, metric, "Maximum", length_ms=_HOUR_MS, period=60, fresh_ms=10_000),
    }


async def _dead_letters(app: App, queue: Queue) -> JsonObject | None:
    redrive = queue.settings.redrive
    if redrive is None:
        return None
    found = app.services.queues.find_arn(redrive.target_arn)
    if found is None:
        return {"name": redrive.target_arn.rsplit(":", 1)[-1], "visible": None, "receives": redrive.max_receives}
    counts = await app.services.queues.counts(found)
    return {"name": found.name, "visible": counts.visible + counts.in_flight, "receives": redrive.max_receives}


async def queue(console: Console, asked: Asked) -> JsonObject:
    """One queue of the list, by name, with its attributes and the names of queues whose dead letters it gets.

    Raises: ApiError (`QueueDoesNotExist`).
    """
    app = console.app_of(asked)
    found = app.services.queues.find(needed(asked.given, "name"))
    sources, _ = app.services.queues.dead_letter_sources(found, None, PAGE_ROWS)
    return {
        **await _listed(app, found),
        "attributes": dict(found.attributes),
        "tags": dict(found.tags),
        "createdMs": found.created_ms,
        "modifiedMs": found.modified_ms,
        "sourceNames": [one.name for one in sources],
        "nowMs": app.clock.now_ms(),
    }


async def peek(console: Console, asked: Asked) -> JsonObject:
    """`{messages, more}` of a queue, those first that are, were or will be visible first; nothing is received."""
    app = console.app_of(asked)
    found = app.services.queues.find(needed(asked.given, "name"))
    most = max(1, min(number(asked.given, "limit", 20), MOST_PEEKED))
    messages = await app.services.queues.peek(found, most + 1)
    rows = await in_thread(app.clock, lambda: _all_shown(messages[:most], console.redactor))
    return {"messages": rows, "more": len(messages) > most}


def _all_shown(messages: Sequence[Received], redactor: Redactor) -> list[JsonObject]:
    rows: list[JsonObject] = []
    read = 0
    for message in messages:
        read += len(message.body)
        # Beyond the bound, the beginning of a long body is shown if it has no name of a pattern.
        body = message.body if read <= READ_CHARACTERS else message.body[:BODY_CHARACTERS]
        rows.append(_shown(message, redactor.text(body)[:BODY_CHARACTERS], redactor))
    return rows


def _shown(message: Received, body: str, redactor: Redactor) -> JsonObject:
    return {
        "id": message.message_id,
        "body": body,
        "length": len(message.body),
        "sentMs": message.sent_ms,
        "receives": message.receives,
        "firstReceivedMs": message.first_received_ms or None,
        "group": message.group,
        "dedup": message.dedup,
        "sequence": message.sequence_number,
        "sender": message.sender,
        "sourceArn": message.source_arn,
        "attributes": _attributes(message, redactor),
    }


def _attributes(message: Received, redactor: Redactor) -> list[JsonObject]:
    """Message attributes as rows; what is no text is named by its type."""
    from statewright.queues.message_attributes import decoded

    found = decoded(message.attributes) if message.attributes else {}
    return [
        {
            "name": name, "type": one.get("DataType", ""),
            "value": named(redactor, name, one["StringValue"]) if "StringValue" in one
            else f"{len(one.get('BinaryValue', b''))} bytes",
        }
        for name, one in found.items()
    ]  # fmt: skip


async def trail(console: Console, asked: Asked) -> JsonObject:
    """`{entries: [{atMs, kind, detail}]}`: the history of a message that was not simply sent, received and deleted."""
    app = console.app_of(asked)
    message = needed(asked.given, "message")
    if len(message) > 100:
        raise ApiError("BadRequest", "This is no id of a message.")
    entries = await app.services.queues.history(message)
    return {"entries": [{"atMs": one.at_ms, "kind": one.kind, "detail": one.detail} for one in entries]}


READS: Final = {"queues": queues, "queue": queue, "queue/peek": peek, "queue/trail": trail}
