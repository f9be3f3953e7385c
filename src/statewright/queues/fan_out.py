"""Sending to several queues at once: one transaction, whatever queues its messages go to.

Topics fan out through here. Who gets which message is theirs; how a queue keeps it is the queue's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from statewright.queues.messages import Outgoing
from statewright.queues.queue import Queue
from statewright.queues.sending import count_sent, row_of
from statewright.queues.state import QueueState, Site
from statewright.stores.queue_protocol import MessageRow, Once


class Letter(NamedTuple):
    """A message and the queue that it goes to. `once` is the id of the `Once` that it hangs on, 0 for none."""

    queue: Queue
    message: Outgoing
    once: int = 0


async def send_letters(site: Site, letters: Sequence[Letter], onces: Sequence[Once]) -> list[int]:
    """Send messages, returns once they are durable: for each of `onces` the id of the first that has its key.

    Whoever has made sure that the queues are `known` sends in the order of the calls: nothing waits before the store
    has the rows. Nothing of a call is sent unless all of it is.

    Raises: ApiError (`QueueDoesNotExist`), StoreError.
    """
    for letter in letters:
        await letter.queue.state.known()
    now_ms = site.clock.now_ms()
    numbers = site.ids.several(len(letters)) if letters else range(0)
    rows = [
        row_of(letter.queue.state, letter.message, number, now_ms)._replace(once=letter.once)
        for letter, number in zip(letters, numbers, strict=True)
    ]
    generations = {letter.queue.state: letter.queue.state.generation for letter in letters}
    try:
        answers = await site.store.send(rows, onces)
    except BaseException:
        for queue in generations:
            queue.lose_track()
        raise
    inserted: dict[QueueState, list[MessageRow]] = {}
    for letter, row, answer in zip(letters, rows, answers[: len(rows)], strict=True):
        if answer == row.id:
            inserted.setdefault(letter.queue.state, []).append(row)
    for queue, new in inserted.items():
        count_sent(queue, new, generations[queue], now_ms)
    return answers[len(rows) :]
