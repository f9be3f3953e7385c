"""Event invocations: stored before they are accepted, run when concurrency allows, retried, and reported at their end.

An event is a row of the catalogue from its acceptance to its end, so a killed server runs it again. The row says how
often the function has failed and, once the function has finished, the reports still to deliver: after that a crash
repeats a delivery, not the function. Events of one function wait in a lane, in order; a throttled one holds the lane.

Source: Lambda developer guide, "Asynchronous invocation", "Error handling for asynchronous invocations"; shapes of
destination records and dead letters observed.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

from statewright.background import Background
from statewright.clock import Clock, Timer
from statewright.errors import ApiError, Conflict
from statewright.functions.event_records import EVENT, Event
from statewright.functions.invoke import Invocation, Invoker, Target
from statewright.functions.invoke_settings import EventSettings
from statewright.functions.names import LATEST
from statewright.functions.records import InvokeSettings
from statewright.functions.reports import Ending, ending, reports_of
from statewright.payload import JsonObject
from statewright.stores.entries import Entries
from statewright.stores.protocol import CatalogueStore

RETRY_AFTER_MS: Final = (60_000, 120_000)
"""Source: developer guide: one minute between the first two attempts, two between the second and the third."""
MOST_AGE_SECONDS: Final = 21_600
MOST_RETRIES: Final = 2
BACK_OFF_MS: Final = (1_000, 300_000)
"""First and longest wait after a throttle. Source: developer guide."""
_IN_MEMORY: Final = 1_000
"""Payloads of waiting events that a lane keeps in memory; of the others it has the ids."""

log = logging.getLogger("statewright.functions")

Deliver = Callable[[str, bytes, dict[str, tuple[str, str]]], Awaitable[None]]
"""Delivers a payload to a target by its ARN, with attributes as (type, value). Raises any error of the delivery."""


class _Lane:
    """The due events of one function."""

    __slots__ = ("back_off_ms", "paused", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[Event | str] = deque()
        self.paused: Timer | None = None
        self.back_off_ms = BACK_OFF_MS[0]


class AsyncQueue:
    """The Event invocations of one store."""

    def __init__(
        self, catalogue: CatalogueStore, clock: Clock, invoker: Invoker, settings: EventSettings, deliver: Deliver
    ) -> None:
        self._deliver = deliver
        self._entries = Entries(catalogue, EVENT)
        self._clock = clock
        self._invoker = invoker
        self._settings = settings
        self._lanes: dict[str, _Lane] = {}
        self._background = Background("work on Event invocations")
        self._timers: dict[str, Timer] = {}
        self._stopped = False
        invoker.concurrency.subscribe(self._resume_early)

    async def start(self) -> None:
        """Recover every event that the previous process left."""
        async for event in self._entries.walk():
            self._schedule(event)

    async def stop(self) -> None:
        """Start no more invocations; the next process repeats those under way."""
        self._stopped = True
        for timer in self._timers.values():
            timer.cancel()
        for lane in self._lanes.values():
            if lane.paused is not None:
                lane.paused.cancel()
        await self._background.stop()

    @property
    def count(self) -> int:
        """Events that wait or run."""
        return len(self._timers) + len(self._background) + sum(len(lane.waiting) for lane in self._lanes.values())

    async def accept(
        self, function: str, qualifier: str | None, payload: bytes, *, request_id: str,
        context: JsonObject | None = None, trace: str | None = None,
    ) -> None:  # fmt: skip
        """Store an event to run; return once it is durable. A repeated request id means the same event."""
        now_ms = self._clock.now_ms()
        event = Event(request_id, function, qualifier, now_ms, now_ms, context=context, trace=trace, payload=payload)
        try:
            event = await self._entries.write(event)
        except Conflict:
            return
        self._count(function, "AsyncEventsReceived")
        self._schedule(event)

    def _count(self, function: str, metric: str, value: float = 1, unit: str = "Count") -> None:
        meter = self._invoker.meter
        if meter is not None:
            meter.event(function, metric, value, unit)

    # ------------------------------------------------------------------ when

    def _schedule(self, event: Event) -> None:
        if event.due_ms > self._clock.now_ms():
            # The payload stays in the store until the event is due.
            light = replace(event, payload=b"")
            self._timers[event.id] = self._clock.call_at(event.due_ms, lambda: self._due(light))
        else:
            self._enter_lane(event.function, event)

    def _due(self, event: Event) -> None:
        self._timers.pop(event.id, None)
        self._enter_lane(event.function, event.id)

    def _enter_lane(self, function: str, event: Event | str) -> None:
        lane = self._lanes.setdefault(function, _Lane())
        if isinstance(event, Event) and len(lane.waiting) >= _IN_MEMORY:
            event = event.id
        lane.waiting.append(event)
        if lane.paused is None:
            self._run_lane(function, lane)

    def _run_lane(self, function: str, lane: _Lane) -> None:
        while lane.waiting and not self._stopped:
            zero = self._invoker.concurrency.reserved.get(function) == 0
            if not zero and not self._invoker.concurrency.free(function):
                self._count(function, "Throttles")
                due_ms = self._clock.now_ms() + lane.back_off_ms
                lane.back_off_ms = min(2 * lane.back_off_ms, BACK_OFF_MS[1])
                lane.paused = self._clock.call_at(due_ms, lambda: self._resume(function))
                return
            lane.back_off_ms = BACK_OFF_MS[0]
            if not zero:
                self._invoker.concurrency.enter(function)
            self._background.spawn(self._take(lane.waiting.popleft(), entered=not zero))
        if not lane.waiting:
            self._lanes.pop(function, None)

    def _resume(self, function: str) -> None:
        lane = self._lanes.get(function)
        if lane is not None:
            lane.paused = None
            self._run_lane(function, lane)

    def _resume_early(self, function: str) -> None:
        """Resume a throttled lane before its back-off is over, because an invocation has ended."""
        for name in [function] if function in self._lanes else list(self._lanes)[:1]:
            lane = self._lanes[name]
            if lane.paused is not None and self._invoker.concurrency.free(name):
                lane.paused.cancel()
                self._resume(name)

    # ------------------------------------------------------------------ one event

    async def _take(self, found: Event | str, *, entered: bool) -> None:
        name = ""
        try:
            event = found if isinstance(found, Event) else await self._entries.get(found)
            if event is None:
                return
            name = event.function
            await self._advance(event, entered=entered)
        except asyncio.CancelledError:
            raise
        except Exception:
            log.exception("the event %s of function %s waits for the next start of the server", found, name)
        finally:
            if entered and name:
                self._invoker.concurrency.leave(name)

    async def _advance(self, event: Event, *, entered: bool) -> None:
        """Run an event once, or deliver its remaining reports, and store the result."""
        if event.deliveries is not None:
            await self._deliver_reports(event)
            return
        settings = await self._settings.find(event.function, event.qualifier or LATEST)
        settings = settings or InvokeSettings(event.function, event.qualifier or LATEST, 0)
        most_age_ms = 1000 * (settings.most_age_seconds or MOST_AGE_SECONDS)
        now_ms = self._clock.now_ms()
        try:
            target = await self._invoker.resolve(event.function, event.qualifier)
        except ApiError as problem:
            log.warning("the event %s of function %s is dropped: %s", event.id, event.function, problem)
            await self._entries.delete(event)
            return
        if not entered:
            await self._end(event, settings, target, ending("ZeroReservedConcurrency"))
            return
        if now_ms - event.accepted_ms > most_age_ms:
            await self._end(event, settings, target, ending("EventAgeExceeded"))
            return
        self._count(event.function, "AsyncEventAge", now_ms - event.accepted_ms, "Milliseconds")
        try:
            done = await self._invoker.run_admitted(
                target, Invocation(event.payload, event.id, event.context, event.trace)
            )
        except ApiError as problem:
            # Not the function's fault: retried until the event reaches its maximum age.
            log.warning("the event %s of function %s is postponed: %s", event.id, event.function, problem)
            await self._postpone(event, min(BACK_OFF_MS[0] << min(event.attempts, 8), BACK_OFF_MS[1]))
            return
        event = replace(event, attempts=event.attempts + 1)
        if done.function_error is None:
            await self._end(event, settings, target, ending("Success", done))
            return
        retries = MOST_RETRIES if settings.most_retries is None else settings.most_retries
        if event.attempts > retries:
            await self._end(event, settings, target, ending("RetriesExhausted", done))
        else:
            await self._postpone(event, RETRY_AFTER_MS[min(event.attempts, len(RETRY_AFTER_MS)) - 1])

    async def _postpone(self, event: Event, wait_ms: int) -> None:
        now_ms = self._clock.now_ms()
        later = replace(event, due_ms=self._clock.pauses.due_ms(now_ms, now_ms + wait_ms))
        self._schedule(await self._entries.write(later))

    async def _end(self, event: Event, settings: InvokeSettings, target: Target, end: Ending) -> None:
        self._count(event.function, "AsyncEventsDropped", 0 if end.condition == "Success" else 1)
        deliveries = reports_of(event, settings, target, end, self._clock.now_ms())
        if not deliveries:
            await self._entries.delete(event)
            return
        # The reports are stored before their delivery, so that a crash in between does not repeat the function.
        reported = replace(event, deliveries=tuple(deliveries), payload=b"")
        await self._deliver_reports(await self._entries.write(reported))

    async def _deliver_reports(self, event: Event) -> None:
        left = []
        for delivery in event.deliveries or ():
            try:
                await self._deliver(delivery.arn, delivery.body, delivery.attributes)
            except Exception as problem:
                log.warning("the report on event %s cannot be delivered to %s: %s", event.id, delivery.arn, problem)
                is_dead_letter = bool(delivery.attributes)
                self._count(event.function, "DeadLetterErrors" if is_dead_letter else "DestinationDeliveryFailures")
                left.append(delivery)
        now_ms = self._clock.now_ms()
        if not left or now_ms - event.accepted_ms > 2000 * MOST_AGE_SECONDS:
            await self._entries.delete(event)
            return
        later = replace(event, deliveries=tuple(left), delivery_attempts=event.delivery_attempts + 1)
        await self._postpone(later, min(BACK_OFF_MS[0] << min(event.delivery_attempts, 9), BACK_OFF_MS[1]))
