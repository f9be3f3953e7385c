"""Sending messages to one queue: their rows in the store, and counting them once they are stored."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from statewright.errors import ApiError
from statewright.queues.attributes import INVALID_PARAMETER, QueueSettings
from statewright.queues.fair import ALONE
from statewright.queues.messages import Outgoing, Sent, encode_extra, message_id_of, sequence_number_of
from statewright.queues.state import QueueState
from statewright.stores.completion import Completion, adapted
from statewright.stores.queue_protocol import MessageRow

DEDUPLICATION_MS: Final = 5 * 60_000
"""Source: developer guide, exactly-once processing."""


async def send(
    queue: QueueState, entries: Sequence[Outgoing], completion: Completion[list[Sent]] | None = None
) -> list[Sent]:
    """See `Queues.send`."""
    await queue.known()
    now_ms = queue.site.clock.now_ms()
    numbers = queue.site.ids.several(len(entries)) if entries else ()
    rows = [row_of(queue, message, number, now_ms) for message, number in zip(entries, numbers, strict=True)]
    generation = queue.generation
    fifo = queue.settings.fifo

    def sent(ids: Sequence[int]) -> list[Sent]:
        return [Sent(message_id_of(number), sequence_number_of(number) if fifo else None) for number in ids]

    try:
        ids = await queue.site.store.send(rows, (), adapted(completion, sent))
    except BaseException:
        queue.lose_track()
        raise
    new = [row for row, number in zip(rows, ids, strict=True) if row.id == number]
    count_sent(queue, new, generation, now_ms)
    if len(new) < len(rows) and (meter := queue.meter) is not None:
        meter.repeated(len(rows) - len(new))
    return sent(ids)


def count_sent(queue: QueueState, rows: Sequence[MessageRow], generation: int, now_ms: int) -> None:
    """Count messages that were inserted at an instant, if the queue's state is still of that `generation`."""
    if generation != queue.generation or queue.visibility is None:
        return
    queue.visibility.total += len(rows)
    later = [row.visible_ms for row in rows if row.visible_ms > now_ms]
    if later:
        queue.visibility.delay(later)
    if (meter := queue.meter) is not None:
        meter.sent([row.body for row in rows], now_ms, alone=queue.visibility.total == len(rows))
    queue.arrived()


def row_of(queue: QueueState, message: Outgoing, number: int, now_ms: int) -> MessageRow:
    """The stored row of a message. Raises: ApiError for a FIFO message without a deduplication id."""
    settings = queue.settings
    if settings.fifo:
        dedup = _deduplication_id(settings, message)
        key = f"{message.group}\n{dedup}" if queue.entry.deduplication_scope == "messageGroup" else dedup
        visible_ms = queue.site.clock.pauses.due_ms(now_ms, now_ms + 1_000 * settings.delay_seconds)
        extra = encode_extra(message, dedup)
        until_ms = now_ms + DEDUPLICATION_MS
        # A purge, which renews the number of the rows, forgets deduplication ids with them (observed).
        of = queue.entry.rows
        group = message.group or ""
        return MessageRow(
            number, queue.entry.rows, visible_ms, now_ms, group, None, message.body, extra, of, key, until_ms
        )
    delay_ms = 1_000 * settings.delay_seconds if message.delay_ms is None else message.delay_ms
    tenant = message.group
    if tenant is not None:
        queue.tenants.sent(tenant, now_ms)
    elif queue.tenants.is_used:
        tenant = ALONE
    extra = encode_extra(message, message.dedup)
    visible_ms = queue.site.clock.pauses.due_ms(now_ms, now_ms + delay_ms)
    return MessageRow(number, queue.entry.rows, visible_ms, now_ms, None, tenant, message.body, extra)


def _deduplication_id(settings: QueueSettings, message: Outgoing) -> str:
    if message.dedup is not None:
        return message.dedup
    if settings.content_deduplication:
        return sha256(message.body.encode("utf-8", "surrogatepass")).hexdigest()
    raise ApiError(
        INVALID_PARAMETER,
        "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly",
    )
