"""Sending to several queues in one transaction.

Topics and schedules send through this module. They choose the queues and messages; rows and counts are `sending.py`'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from statewright.queues.messages import Outgoing
from statewright.queues.queue import Queue
from statewright.queues.sending import count_sent, row_of
from statewright.queues.state import QueueState, Site
from statewright.stores.completion import Completion, adapted
from statewright.stores.queue_protocol import MessageRow, Once


class QueuedDelivery(NamedTuple):
    """A message and its queue. `once` is the id of the `Once` that it depends on, 0 for none."""

    queue: Queue
    message: Outgoing
    once: int = 0


async def send_deliveries(
    site: Site,
    deliveries: Sequence[QueuedDelivery],
    onces: Sequence[Once],
    completion: Completion[list[int]] | None = None,
) -> list[int]:
    """Send messages; once they are durable, return for each of `onces` the id of the first that has its key.

    Callers that have awaited `known` of the queues send in the order of their calls: nothing waits before the store
    has the rows. A call sends all of its messages or none.

    Raises: ApiError (`QueueDoesNotExist`), StoreError.
    """
    for delivery in deliveries:
        await delivery.queue.state.known()
    now_ms = site.clock.now_ms()
    numbers = site.ids.several(len(deliveries)) if deliveries else range(0)
    rows = [
        row_of(delivery.queue.state, delivery.message, number, now_ms)._replace(once=delivery.once)
        for delivery, number in zip(deliveries, numbers, strict=True)
    ]
    generations = {delivery.queue.state: delivery.queue.state.generation for delivery in deliveries}
    try:
        answers = await site.store.send(rows, onces, adapted(completion, lambda ids: ids[len(rows) :]))
    except BaseException:
        for queue in generations:
            queue.lose_track()
        raise
    inserted: dict[QueueState, list[MessageRow]] = {}
    for delivery, row, answer in zip(deliveries, rows, answers[: len(rows)], strict=True):
        if answer == row.id:
            inserted.setdefault(delivery.queue.state, []).append(row)
    for queue, new in inserted.items():
        count_sent(queue, new, generations[queue], now_ms)
    return answers[len(rows) :]
