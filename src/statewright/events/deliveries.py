"""Deliveries: invocations of targets, from the decision to make one until the target accepts it or it is given up.

A delivery is an entry of the catalogue, written in the transaction that decides it, so that a killed server delivers it
after its next start. It is retried with growing pauses until the target accepts it; one that is given up goes to the
dead-letter queue, or to the log. The calls that reach targets are in `targets.py`.

Source: EventBridge Scheduler user guide, "Configuring a dead-letter queue"; EventBridge user guide, "Retry policy" and
"Using dead-letter queues".
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import orjson

from statewright.clock import Clock
from statewright.engine.catalogue_timers import timer_key
from statewright.errors import ApiError, StoreError, shortage
from statewright.events.delivery_records import DELIVERY, Delivery
from statewright.events.due_work import DueWork
from statewright.events.meter import DeliveryMeter
from statewright.events.outcomes import DELIVERED, GIVEN_UP, RETRIED, Outcomes
from statewright.events.retry_phases import pause_ms as phased_pause_ms
from statewright.events.targets import (
    CallService,
    TargetCall,
    Unsupported,
    call_of,
    carry_out,
    is_permanent,
    rule_error_code,
)
from statewright.metrics.recorder import Recorder
from statewright.payload import JsonMapping
from statewright.stores.completion import Completion, if_made
from statewright.stores.entries import Entries, EntryKind
from statewright.stores.ids import SHARD, IdSource
from statewright.stores.protocol import CatalogueStore, EntryRow

MOST_AGE_SECONDS: Final = 86_400
MOST_RETRIES: Final = 185
"""Source: API reference, RetryPolicy."""
NO_AGE_MS: Final = 1 << 62
"""The age limit of deliveries with retry phases, which end by themselves."""
BACK_OFF_MS: Final = (1_000, 480_000)
"""First and longest pause. Ours: doubled each time, so that 185 retries take the 24 hours that are the default."""
ATTEMPT: Final = "<aws.scheduler.attempt-number>"
DEAD_BODY_BYTES: Final = 262_144
"""How much of an undeliverable payload a dead letter carries. Statewright's own limit."""

log = logging.getLogger("statewright.events")


OnSettled = Callable[[JsonMapping, str], None]
"""Called with a target and the outcome of a delivery to it: delivered; or failed, and then redriven or lost."""


class Deliveries:
    """The deliveries of one kind of one store, made by `calls`.

    The number under way at a time is limited, so slow targets have a kind of their own and delay no others.
    """

    def __init__(
        self,
        catalogue: CatalogueStore,
        clock: Clock,
        calls: CallService,
        kind: EntryKind[Delivery] = DELIVERY,
        recorder: Recorder | None = None,
        shard: int = SHARD,
    ) -> None:
        self.calls: Final = calls
        self._subscribers: list[OnSettled] = []
        self.given_up = 0
        self.outcomes: Final = Outcomes()
        self._catalogue = catalogue
        self._kind = kind
        self._entries = Entries(catalogue, kind)
        self._meter = DeliveryMeter(recorder) if recorder is not None else None
        self._clock = clock
        self._ids = IdSource(clock.now_ms, shard=shard)
        self._is_loaded = False
        self._due = DueWork(catalogue, kind.name, clock, "delivery", self._resume)

    def subscribe(self, on_settled: OnSettled) -> None:
        """Register a listener for the outcomes of all deliveries."""
        self._subscribers.append(on_settled)

    def _announce(self, target: JsonMapping, outcome: str) -> None:
        for on_settled in self._subscribers:
            on_settled(target, outcome)

    async def load(self) -> None:
        """Find the number from which new ones continue; harmless when repeated."""
        if self._is_loaded:
            return
        newest = await self._catalogue.list_entries(self._kind.name, "", after=None, limit=1, newest_first=True)
        self._ids.pass_by(max((int(one.key) for one in newest), default=0))
        self._is_loaded = True

    async def start(self) -> None:
        """Recover the deliveries that an earlier process has left."""
        await self.load()
        await self._due.start()

    async def stop(self) -> None:
        """Stop; the next process repeats the deliveries that are under way."""
        await self._due.stop()

    def next_number(self) -> int:
        """The number of a new delivery."""
        return self._ids.next()

    async def accept(
        self,
        deliveries: Sequence[Delivery],
        put: Sequence[EntryRow] = (),
        delete: Sequence[tuple[str, str]] = (),
        completion: Completion[bool] | None = None,
    ) -> bool:
        """Write new deliveries in one transaction with other changes, and start them; False on a conflict."""
        rows = [*put, *(self._kind.row(one) for one in deliveries)]
        completes = if_made(completion, True)
        while (rows or delete) and not await self._catalogue.write(rows, delete, completes):
            if put or delete:
                return False
            # A number that is taken already: the clock has been set back.
            deliveries = [replace(one, number=self.next_number()) for one in deliveries]
            rows = [self._kind.row(one) for one in deliveries]
        for one in deliveries:
            self._due.arm(one.number, one.due_ms)
        return True

    def arm(self, rows: Sequence[EntryRow]) -> None:
        """Start deliveries whose entries another component has written; missing entries are skipped."""
        for row in rows:
            self._due.arm(int(row.key), row.sort)

    async def is_busy(self) -> bool:
        """True if a delivery is under way or waits for its retry."""
        return bool(await self._catalogue.list_entries(self._kind.name, "", after=None, limit=1, newest_first=False))

    # ------------------------------------------------------------------ one delivery

    async def _resume(self, number: int) -> None:
        delivery = await self._entries.get(timer_key(number))
        if delivery is not None:
            await self._deliver(delivery)

    async def _deliver(self, delivery: Delivery) -> None:
        if delivery.dead is not None:
            await self._dead_letter(delivery)
            return
        payload = delivery.payload
        if delivery.counts_attempts:
            payload = payload.replace(ATTEMPT, str(delivery.attempts + 1))
        try:
            call = call_of(delivery.target, payload, delivery.call_id)
        except Unsupported as reason:
            refused = ApiError(reason.code, str(reason), status=400)
            await self._give_up(delivery, None, refused, None)
            return
        problem = await self._attempt(call, delivery)
        if self._meter is not None:
            self._meter.attempted(delivery, problem, self._clock.now_ms())
        if problem is None:
            self._announce(delivery.target, "delivered")
            self.outcomes.note(delivery, DELIVERED, self._clock.now_ms())
            await self._entries.delete(delivery)
            return
        tried = replace(delivery, attempts=delivery.attempts + 1)
        if is_permanent(problem):
            await self._give_up(tried, call, problem, None)
            return
        most_age_ms, most_retries = policy_of(delivery.target)
        pause = _pause_ms(delivery.target, tried.attempts)
        due_ms = self._clock.now_ms() + (pause or 0)
        if tried.attempts > most_retries or pause is None:
            await self._give_up(tried, call, problem, "MaximumRetryAttempts")
        elif due_ms - delivery.event_ms > most_age_ms:
            await self._give_up(tried, call, problem, "MaximumEventAgeInSeconds")
        else:
            log.info("%s refused an invocation, which will be retried: %s", delivery.target["Arn"], problem)
            self.outcomes.note(tried, RETRIED, self._clock.now_ms(), problem)
            await self._postpone(replace(tried, due_ms=due_ms))

    async def _attempt(self, call: TargetCall, delivery: Delivery) -> ApiError | None:
        try:
            await carry_out(self.calls, call, delivery.call_id)
        except ApiError as problem:
            return problem
        except StoreError as problem:
            return ApiError("ServiceUnavailable", str(problem), status=503)
        except asyncio.CancelledError:
            raise
        except Exception as problem:
            lacking = shortage(problem)
            if lacking is not None:
                return ApiError("ServiceUnavailable", str(lacking), status=503)
            log.exception("calling %s failed because of a bug in Statewright", call.arn)
            return ApiError(
                "AWS.Scheduler.InternalServerError", "Unexpected error occurred while processing the request",
                status=500,
            )  # fmt: skip
        return None

    async def _postpone(self, delivery: Delivery) -> None:
        if await self._catalogue.write([self._kind.row(delivery)]):
            self._due.arm(delivery.number, delivery.due_ms)

    # ------------------------------------------------------------------ dead letters

    async def _give_up(
        self, delivery: Delivery, call: TargetCall | None, problem: ApiError, exhausted: str | None
    ) -> None:
        self.given_up += 1
        self._announce(delivery.target, "failed")
        self.outcomes.note(delivery, GIVEN_UP, self._clock.now_ms(), problem)
        if self._meter is not None:
            self._meter.given_up(delivery)
        arn = delivery.target["Arn"]
        if not (delivery.target.get("DeadLetterConfig") or {}).get("Arn"):
            log.warning("an invocation of %s is dropped after %d attempts: %s", arn, delivery.attempts, problem)
            await self._entries.delete(delivery)
            return
        of_subscription = bool(delivery.target.get("IsSubscription"))
        body = delivery.payload if of_subscription else delivery.dead_body
        if body is None:
            body = orjson.dumps(call.request).decode() if call is not None else delivery.payload
        raw = body.encode()
        truncated = len(raw) > DEAD_BODY_BYTES and not of_subscription
        dead = {
            "ERROR_CODE": problem.code if delivery.dead_body is None else rule_error_code(problem),
            "ERROR_MESSAGE": problem.message[:1024] or problem.code,
            "RETRY_ATTEMPTS": str(max(delivery.attempts - 1, 0)),
            "TARGET_ARN": arn if delivery.dead_body is not None or call is None else call.arn,
        }
        if delivery.dead_body is None:
            dead["IS_PAYLOAD_TRUNCATED"] = "true" if truncated else "false"
        if exhausted is not None:
            dead["EXHAUSTED_RETRY_CONDITION"] = exhausted
        text = raw[:DEAD_BODY_BYTES].decode(errors="ignore") if truncated else body
        if of_subscription:
            # Dead letters of subscriptions have no attributes (observed).
            dead = {}
        # The failure is stored before the dead letter goes out, so that a crash in between repeats no call.
        given_up = replace(delivery, dead=dead, payload=text, dead_body=None, attempts=0, due_ms=self._clock.now_ms())
        if await self._catalogue.write([self._kind.row(given_up)]):
            await self._dead_letter(replace(given_up, stored=given_up.stored + 1))

    async def _dead_letter(self, delivery: Delivery) -> None:
        queue = delivery.target["DeadLetterConfig"]["Arn"]
        named = {**delivery.origin, **(delivery.dead or {})}
        call = call_of({"Arn": queue}, delivery.payload or " ", delivery.call_id)
        attributes = {name: {"DataType": "String", "StringValue": text} for name, text in sorted(named.items())}
        problem = await self._attempt(
            replace(call, request={**call.request, "MessageAttributes": attributes}), delivery
        )
        if problem is not None and not is_permanent(problem) and delivery.attempts < MOST_RETRIES:
            later = replace(delivery, attempts=delivery.attempts + 1)
            await self._postpone(replace(later, due_ms=self._clock.now_ms() + pause_ms(later.attempts)))
            return
        if self._meter is not None:
            self._meter.dead_lettered(delivery, is_sent=problem is None)
        if problem is not None:
            log.warning("the dead letter of %s cannot be sent to %s: %s", delivery.target["Arn"], queue, problem)
        self._announce(delivery.target, "redriven" if problem is None else "lost")
        await self._entries.delete(delivery)


def policy_of(target: JsonMapping) -> tuple[int, int]:
    """The greatest age of an invocation of a target, in milliseconds, and the number of its retries."""
    if "Phases" in target:
        return NO_AGE_MS, target["Phases"]["numRetries"]
    policy = target.get("RetryPolicy") or {}
    age, retries = policy.get("MaximumEventAgeInSeconds"), policy.get("MaximumRetryAttempts")
    return 1000 * (MOST_AGE_SECONDS if age is None else age), MOST_RETRIES if retries is None else retries


def _pause_ms(target: JsonMapping, attempts: int) -> int | None:
    """The pause after so many attempts, in milliseconds; None if no retry is left."""
    return phased_pause_ms(target["Phases"], attempts) if "Phases" in target else pause_ms(attempts)


def pause_ms(attempts: int) -> int:
    """The pause after so many attempts, in milliseconds."""
    first, longest = BACK_OFF_MS
    return min(first << min(attempts - 1, 20), longest)
