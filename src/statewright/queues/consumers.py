"""Receiving from one queue: its waiting consumers, and the claims that serve them.

Receives that arrive together become one claim, whose messages are distributed in turn. A waiting consumer costs an
entry in a list; one timer per queue answers the long polls that are due. Messages past their retention period or
received too often are not delivered: `dead_letters.py` decides.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Final

from statewright import chance
from statewright.clock import Timer
from statewright.errors import ApiError
from statewright.queues import dead_letters
from statewright.queues.fair import ALONE
from statewright.queues.handles import change_visibility
from statewright.queues.messages import (
    Received,
    decode_extra,
    message_id_of,
    read_handle,
    sequence_number_of,
    write_handle,
)
from statewright.queues.state import QueueState
from statewright.queues.visibility import InFlight, Visibility
from statewright.stores.queue_protocol import Claim, Claimed, Note, Want

MOST_CLAIMED: Final = 10_000
"""Messages of one claim."""
REPLAY_MS: Final = 5 * 60_000
"""Time for which a ReceiveRequestAttemptId repeats its receive. Source: API reference, ReceiveMessage."""


class _Poller:
    """A receive that waits for messages until `until_ms`."""

    __slots__ = ("answer", "consumer", "most", "until_ms", "visibility_ms")

    def __init__(self, most: int, visibility_ms: int, until_ms: int, consumer: str) -> None:
        self.most = most
        self.visibility_ms = visibility_ms
        self.until_ms = until_ms
        self.consumer = consumer
        self.answer: asyncio.Future[list[Received]] = asyncio.get_running_loop().create_future()


class Consumers:
    """The consumers of one queue."""

    def __init__(self, queue: QueueState) -> None:
        """Serve waiting consumers from now on whenever messages arrive."""
        self._queue = queue
        queue.call_on_arrival(self.serve)
        self._pollers: deque[_Poller] = deque()
        self._first_ms = 0
        """No poller is due before this instant; meaningful only while pollers wait."""
        self._claiming: asyncio.Task[None] | None = None
        self._timer: Timer | None = None
        self._timer_ms = 0
        self._dry_at = -1
        """The queue's `news` at which a claim found fewer messages than wanted."""
        self._after_tenant = ""
        self._replays: dict[str, tuple[int, list[Received]]] = {}
        self._replays_of = queue.generation

    async def receive(
        self, most: int, wait_ms: int, visibility_ms: int, attempt_id: str | None, consumer: str
    ) -> list[Received]:
        """See `Queues.receive`."""
        visibility = await self._queue.known()
        now_ms = self._queue.advance(visibility)
        self._queue.expire_soon()
        if attempt_id is not None:
            again = await self._replay(attempt_id, visibility, visibility_ms, now_ms)
            if again:
                return again
        if wait_ms <= 0:
            if self._room(visibility) <= 0 and not self._queue.settings.fifo:
                raise ApiError("OverLimit", "Too many messages in flight.")
            if self._claiming is None and not self._may_claim(visibility):
                return self._counted([])
        poller = _Poller(most, visibility_ms, now_ms + max(wait_ms, 0), consumer)
        self._wait(poller)
        self.serve()
        try:
            received = await poller.answer
        except asyncio.CancelledError:
            self._withdraw(poller)
            raise
        if attempt_id is not None and received:
            self._remembered()[attempt_id] = now_ms + REPLAY_MS, received
        return self._counted(received)

    def _counted(self, received: list[Received]) -> list[Received]:
        if (meter := self._queue.meter) is not None:
            meter.received(len(received))
        return received

    def _wait(self, poller: _Poller) -> None:
        if not self._pollers or poller.until_ms < self._first_ms:
            self._first_ms = poller.until_ms
        self._pollers.append(poller)

    def _wait_again(self, pollers: Sequence[_Poller]) -> None:
        """Return pollers to the front of the line."""
        for poller in reversed(pollers):
            self._wait(poller)
            self._pollers.rotate(1)

    def _withdraw(self, poller: _Poller) -> None:
        """Remove a cancelled poller, and make messages that it was given visible again."""
        if poller in self._pollers:
            self._pollers.remove(poller)
        answer = poller.answer
        if answer.done() and not answer.cancelled() and answer.exception() is None:
            self._make_visible([received.handle for received in answer.result()])

    def _make_visible(self, handles: Sequence[str]) -> None:
        if handles:
            self._queue.site.spawn(change_visibility(self._queue, [(handle, 0) for handle in handles]))

    def _room(self, visibility: Visibility) -> int:
        cap = self._queue.site.limits.queue_in_flight
        return MOST_CLAIMED if cap is None else cap - len(visibility.in_flight)

    def _may_claim(self, visibility: Visibility) -> bool:
        return visibility.visible() > 0 and self._dry_at != self._queue.news and self._room(visibility) > 0

    def serve(self) -> None:
        """Claim for the waiting consumers if messages are visible; answer the long polls that are due with none."""
        if self._claiming is not None or not self._pollers:
            return
        visibility = self._queue.visibility
        if visibility is None:
            self._claiming = asyncio.create_task(self._claim())
            return
        now_ms = self._queue.advance(visibility)
        if self._may_claim(visibility):
            self._claiming = asyncio.create_task(self._claim())
            return
        if self._first_ms <= now_ms:
            self._answer_due(now_ms)
        if self._pollers:
            self._set_timer(visibility)

    def _answer_due(self, now_ms: int) -> None:
        stay: deque[_Poller] = deque()
        for poller in self._pollers:
            if poller.until_ms > now_ms:
                stay.append(poller)
            elif not poller.answer.done():
                poller.answer.set_result([])
        self._pollers = stay
        self._first_ms = min((poller.until_ms for poller in stay), default=0)

    def _set_timer(self, visibility: Visibility) -> None:
        """Serve again when the first poller is due, or when a message becomes visible by time."""
        due_ms = self._first_ms
        next_ms = visibility.next_ms()
        if next_ms is not None and next_ms < due_ms:
            due_ms = next_ms
        if self._timer is not None:
            if self._timer_ms == due_ms:
                return
            self._timer.cancel()
        self._timer_ms = due_ms
        self._timer = self._queue.site.clock.call_at(due_ms, self._ring)

    def _ring(self) -> None:
        self._timer = None
        self.serve()

    async def _claim(self) -> None:
        """Claim for all waiting consumers, until none waits or no message is left."""
        queue = self._queue
        try:
            visibility = await queue.known()
            queue.advance(visibility)
            while self._pollers and self._may_claim(visibility):
                await self._claim_once(visibility)
                visibility = await queue.known()
                queue.advance(visibility)
        except Exception as problem:
            # Waiting consumers get the error, of any kind.
            self.dismiss(problem)
        finally:
            self._claiming = None
        self.serve()

    async def _claim_once(self, visibility: Visibility) -> None:
        queue = self._queue
        now_ms = queue.site.clock.now_ms()
        room = min(self._room(visibility), MOST_CLAIMED, visibility.visible())
        served: list[_Poller] = []
        wants: list[Want] = []
        while self._pollers and room > 0:
            poller = self._pollers.popleft()
            if poller.answer.done():
                continue
            most = min(poller.most, room)
            room -= most
            served.append(poller)
            wants.append(Want(most, now_ms + poller.visibility_ms))
        if not served:
            return
        noisy = queue.tenants.noisy(visibility.by_tenant, len(visibility.in_flight), now_ms)
        receipt = chance.random_bits(63)
        overdue, queue.overdue = queue.overdue[:MOST_CLAIMED], queue.overdue[MOST_CLAIMED:]
        claim = Claim(queue.entry.rows, now_ms, receipt, wants, queue.settings.fifo, noisy, self._after_tenant, overdue)
        news, generation = queue.news, queue.generation
        try:
            found = await queue.site.store.claim(claim)
        except BaseException:
            self._wait_again(served)
            queue.lose_track()
            raise
        if generation != queue.generation:
            self._wait_again(served)
            return
        if sum(map(len, found)) < sum(want.most for want in wants):
            self._dry_at = news
        await self._deal(visibility, claim, served, found)

    async def _deal(
        self, visibility: Visibility, claim: Claim, served: list[_Poller], found: list[list[Claimed]]
    ) -> None:
        """Mark claimed messages as in flight, apply the dead-letter policy, and answer the receives."""
        queue = self._queue
        policy = dead_letters.DeadLetterPolicy(queue, claim.now_ms)
        notes: list[Note] = []
        for poller, want, rows in zip(served, claim.wants, found, strict=True):
            for row in rows:
                if row.receives > 1:
                    notes += _notes(row, visibility, claim.now_ms, poller.consumer)
                visibility.hold(
                    InFlight(
                        row.id,
                        claim.receipt,
                        want.visible_ms,
                        claim.now_ms,
                        row.receives,
                        row.sent_ms,
                        row.group,
                        row.tenant,
                        poller.consumer,
                    )
                )
        if visibility.visible() <= 0:
            queue.tenants.drained()
        if notes:
            queue.site.spawn(queue.site.store.note(notes))
        deliverable = [policy.deliverable(rows) for rows in found]
        try:
            await policy.apply(visibility)
        finally:
            # Consumers get their messages even if moving others to the dead-letter queue fails.
            self._deliver(claim, served, deliverable)

    def _deliver(self, claim: Claim, served: list[_Poller], found: list[list[Claimed]]) -> None:
        empty: list[_Poller] = []
        for poller, rows in zip(served, found, strict=True):
            if not rows:
                empty.append(poller)
            elif poller.answer.done():
                self._make_visible([write_handle(claim.queue, row.id, claim.receipt) for row in rows])
            else:
                poller.answer.set_result([_received(row, claim) for row in rows])
            if claim.noisy and rows:
                self._after_tenant = rows[-1].tenant or ""
        self._wait_again(empty)

    async def peek(self, most: int) -> list[Received]:
        """See `Queues.peek`."""
        queue = self._queue
        queue.check()
        found = await queue.site.store.peek(queue.entry.rows, most)
        claim = Claim(queue.entry.rows, 0, 0, (), queue.settings.fifo)
        return [_received(row, claim)._replace(handle="") for row in found]

    async def _replay(
        self, attempt_id: str, visibility: Visibility, visibility_ms: int, now_ms: int
    ) -> list[Received] | None:
        """Messages that the same attempt received before, if none has changed since; they are hidden anew."""
        replays = self._remembered()
        for kept in [kept for kept, (until_ms, _) in replays.items() if until_ms <= now_ms]:
            del replays[kept]
        _, received = replays.get(attempt_id, (0, []))
        for one in received:
            handle = read_handle(one.handle)
            message = visibility.in_flight.get(handle.message) if handle is not None else None
            if message is None or handle is None or message.receipt != handle.receipt:
                del replays[attempt_id]
                return None
        if received:
            await change_visibility(self._queue, [(one.handle, visibility_ms) for one in received])
        return received

    def _remembered(self) -> dict[str, tuple[int, list[Received]]]:
        """Receives by attempt id, each with the end of its replay; none from before the queue lost track."""
        if self._replays_of != self._queue.generation:
            self._replays.clear()
            self._replays_of = self._queue.generation
        return self._replays

    def dismiss(self, problem: Exception | None = None) -> None:
        """Answer all long polls with no messages or with an error."""
        pollers, self._pollers = self._pollers, deque()
        for poller in pollers:
            if poller.answer.done():
                continue
            if problem is None:
                poller.answer.set_result([])
            else:
                poller.answer.set_exception(problem)

    def stop(self) -> None:
        """Answer all long polls with no messages, and stop the timer."""
        self.dismiss()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _received(row: Claimed, claim: Claim) -> Received:
    attributes, dedup, trace, sender = decode_extra(row.extra)
    return Received(
        message_id_of(row.id),
        write_handle(claim.queue, row.id, claim.receipt),
        row.body,
        attributes,
        row.sent_ms,
        row.receives,
        row.first_received_ms,
        row.group if claim.is_fifo else None if row.tenant == ALONE else row.tenant,
        dedup,
        sequence_number_of(row.id) if claim.is_fifo else None,
        trace,
        sender,
        row.source,
    )


def _notes(row: Claimed, visibility: Visibility, now_ms: int, consumer: str) -> list[Note]:
    returned = visibility.returned.get(row.id)
    reason = returned.reason if returned is not None and returned.reason else "the reason is not known any more"
    by = f" by {consumer}" if consumer else ""
    return [
        Note(row.id, (returned.at_ms if returned is not None else 0) or row.was_visible_ms, "returned", reason),
        Note(row.id, now_ms, "received", f"receive {row.receives}{by}"),
    ]
