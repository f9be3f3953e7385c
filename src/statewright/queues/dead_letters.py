"""Dead-letter policy of a queue, and messages past their retention period.

Owns the decision which claimed messages are delivered, and the move to the dead-letter queue. Source: developer
guide, "Using dead-letter queues".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import orjson

from statewright.queues.messages import decode_extra, message_id_of
from statewright.queues.state import QueueState
from statewright.queues.visibility import Returned, Visibility
from statewright.stores.queue_protocol import Claimed, GroupChange, Move, Note


class DeadLetterPolicy:
    """Separates the messages of one claim into those to deliver, those to expire and those to move."""

    def __init__(self, queue: QueueState, now_ms: int) -> None:
        settings = queue.settings
        self._queue = queue
        self._now_ms = now_ms
        self._sent_after_ms = now_ms - 1_000 * settings.retention_seconds
        redrive = settings.redrive
        self._target = queue.site.find_arn(redrive.target_arn) if redrive is not None else None
        # Messages stay in the queue while their dead-letter queue does not exist.
        self._most = redrive.max_receives if redrive is not None and self._target is not None else None
        self._outdated: list[Claimed] = []
        self._dead: list[Claimed] = []

    def deliverable(self, rows: Sequence[Claimed]) -> list[Claimed]:
        """Messages for the consumer; the others are kept here for `apply`."""
        found: list[Claimed] = []
        for row in rows:
            if row.sent_ms < self._sent_after_ms:
                self._outdated.append(row)
            elif self._most is not None and row.receives - row.base > self._most:
                self._dead.append(row)
            else:
                found.append(row)
        return found

    async def apply(self, visibility: Visibility) -> None:
        """Delete the expired messages and move the dead ones; until then they count as in flight."""
        queue = self._queue
        if self._outdated:
            held = [visibility.in_flight[row.id] for row in self._outdated if row.id in visibility.in_flight]
            gone = await queue.drop_proven(visibility, [(message.id, message.receipt) for message in held])
            # This receive reached no consumer, so it does not count.
            queue.note_expired([one._replace(receives=one.receives - 1) for one in gone], self._now_ms)
        if self._dead and self._target is not None:
            await self._move(visibility, self._target)
        if self._outdated or self._dead:
            queue.arrived()

    async def _move(self, visibility: Visibility, target: QueueState) -> None:
        queue, now_ms = self._queue, self._now_ms
        await target.known()
        rows = [row for row in self._dead if row.id in visibility.in_flight]
        moves: list[Move] = []
        groups: Counter[str] = Counter()
        for row in rows:
            visibility.release(visibility.in_flight[row.id])
            extra = None
            sent_ms = row.sent_ms
            if row.group is not None:
                # A FIFO message gets a new time of sending, and its id for a deduplication id.
                groups[row.group] += 1
                attributes, _, trace, sender = decode_extra(row.extra)
                extra = orjson.dumps((attributes, message_id_of(row.id), trace, sender)).decode()
                sent_ms = now_ms
            moves.append(
                Move(
                    row.id,
                    row.id,
                    queue.entry.rows,
                    target.entry.rows,
                    row.group,
                    now_ms,
                    sent_ms,
                    queue.arn,
                    extra=extra,
                )
            )
        visibility.total -= len(moves)
        await move(queue, target, moves, queue.group_changes(groups, now_ms))
        limit = queue.settings.redrive.max_receives if queue.settings.redrive is not None else 0
        detail = f"to {target.arn}: received {limit} times and not deleted"
        queue.site.spawn(queue.site.store.note([Note(one.id, now_ms, "moved", detail) for one in moves]))


async def move(source: QueueState, target: QueueState, moves: Sequence[Move], groups: Sequence[GroupChange]) -> None:
    """Move messages that the source no longer counts; the target counts them once they are stored."""
    generation = target.generation
    try:
        await source.site.store.move(moves, groups)
    except BaseException:
        source.lose_track()
        target.lose_track()
        raise
    if generation == target.generation and target.visibility is not None:
        target.visibility.total += len(moves)
        for one in moves:
            if not one.is_fresh:
                target.visibility.note_returned(one.new_id, Returned(one.sent_ms, 0, f"it came from {one.source}"))
    target.arrived()
