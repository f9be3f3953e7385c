"""The filters of log groups: what they are, and how new events reach them.

1. Writers of a group announce that it has new events. A group without filters is not followed, and costs one look-up.
2. New events are read from the group's files, from the place behind the last ones seen. That place and the deliveries
   to subscribed functions are one transaction, so that a killed server delivers each event; after a start, groups with
   filters are read from their places on.
3. Metrics are added once that transaction is durable, under the instants of the events.

Source: CloudWatch Logs API reference and user guide, "Metric filters", "Subscriptions".
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from statewright.background import Background
from statewright.clock import Clock
from statewright.config import Config
from statewright.errors import ApiError, StoreError
from statewright.events.deliveries import Deliveries
from statewright.events.delivery_records import Delivery, call_id_of
from statewright.log_filters.delivering import Delivering
from statewright.log_filters.records import (
    LOG_PLACES,
    METRIC_FILTER,
    SUBSCRIPTION,
    LogPlaces,
    MetricFilter,
    Subscription,
)
from statewright.log_filters.transformations import Counting, Observation, check, invalid
from statewright.metrics.recorder import Recorder
from statewright.payload import JsonMapping
from statewright.records.log_files import Line
from statewright.records.log_following import announcement, ends, new_lines
from statewright.records.log_groups import OF_FUNCTIONS, LogGroups
from statewright.stores.entries import Entries
from statewright.stores.protocol import CatalogueStore, EntryRow

MOST_METRIC_FILTERS: Final = 100
MOST_SUBSCRIPTIONS: Final = 2
"""Of one group, as the line above. Source: CloudWatch Logs quotas."""
READ_BYTES: Final = 1024 * 1024
"""Bytes of events that one transaction takes in."""
RETRY_MS: Final = 1_000

log = logging.getLogger("statewright.logs")


@dataclass(slots=True)
class _Followed:
    """A group that has filters."""

    places: LogPlaces
    counting: dict[str, Counting] = field(default_factory=dict)
    delivering: dict[str, Delivering] = field(default_factory=dict)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    is_reading: bool = False
    has_more: bool = False


class LogFilters:
    """The filters of all log groups of one store."""

    def __init__(
        self,
        catalogue: CatalogueStore,
        clock: Clock,
        config: Config,
        groups: LogGroups,
        deliveries: Deliveries,
        recorder: Recorder,
    ) -> None:
        self._catalogue = catalogue
        self._clock = clock
        self._config = config
        self._log_groups = groups
        self._deliveries = deliveries
        self._recorder = recorder
        self._followed: dict[str, _Followed] = {}
        self._background = Background("filtering log events")
        groups.subscribe(self.written)

    async def start(self) -> None:
        """Read the filters, and the events that came after the last ones that they saw."""
        async for places in Entries(self._catalogue, LOG_PLACES).walk():
            found = self._followed[places.group] = _Followed(places)
            for one in await Entries(self._catalogue, METRIC_FILTER).all(places.group):
                found.counting[one.name] = Counting.of(one)
            for other in await Entries(self._catalogue, SUBSCRIPTION).all(places.group):
                found.delivering[other.name] = Delivering.of(other)
            await self._forget_if_empty(found)
            self.written(places.group)

    async def stop(self) -> None:
        """Stop reading; the next process continues."""
        await self._background.stop()

    # ------------------------------------------------------------------ the catalogue

    def metric_filters(self, group: str | None = None) -> list[MetricFilter]:
        """Metric filters, of a group or of all, by name."""
        found = [one.filter for of in self._of(group) for one in of.counting.values()]
        return sorted(found, key=lambda one: (one.name, one.group))

    def subscriptions(self, group: str) -> list[Subscription]:
        """The subscription filters of a group by name."""
        found = [one.subscription for of in self._of(group) for one in of.delivering.values()]
        return sorted(found, key=lambda one: one.name)

    def _of(self, group: str | None) -> Iterable[_Followed]:
        if group is None:
            return self._followed.values()
        return [self._followed[group]] if group in self._followed else ()

    async def put_metric_filter(
        self, group: str, name: str, pattern: str, transformations: Sequence[JsonMapping]
    ) -> None:
        """Create a metric filter, or replace the one of its name. Raises: ApiError."""
        await self._log_groups.get(group)
        made = Counting.of(MetricFilter(group, name, pattern, transformations, self._clock.now_ms()))
        for one in transformations:
            check(one, made.pattern)
        async with self._changing(group) as followed:
            former = followed.counting.get(name)
            if former is None and len(followed.counting) >= MOST_METRIC_FILTERS:
                raise _too_many()
            kept = former.filter if former is not None else None
            made.filter = replace(made.filter, stored=kept.stored if kept is not None else 0)
            await self._commit([METRIC_FILTER.row(made.filter)], followed)
            made.filter = replace(made.filter, stored=made.filter.stored + 1)
            followed.counting[name] = made

    async def put_subscription(self, wanted: Subscription) -> None:
        """Create a subscription filter, or replace the one of its name. Raises: ApiError."""
        await self._log_groups.get(wanted.group)
        await self._check_destination(wanted)
        made = Delivering.of(replace(wanted, created_ms=self._clock.now_ms()))
        async with self._changing(wanted.group) as followed:
            former = followed.delivering.get(wanted.name)
            if former is None and len(followed.delivering) >= MOST_SUBSCRIPTIONS:
                raise _too_many()
            stored = former.subscription.stored if former is not None else 0
            entry = replace(made.subscription, stored=stored)
            await self._commit([SUBSCRIPTION.row(entry)], followed)
            followed.delivering[wanted.name] = Delivering(replace(entry, stored=stored + 1), made.pattern)

    async def _check_destination(self, wanted: Subscription) -> None:
        arn = wanted.destination
        vendor = arn.split(":")[2] if arn.count(":") >= 5 else arn
        if vendor in ("kinesis", "firehose") and not wanted.role:
            raise invalid(f"destinationArn for vendor {vendor} cannot be used without roleArn")
        if vendor != "lambda":
            raise invalid(f"Statewright delivers log events to functions only, not to {arn}.")
        name = arn.split(":")[6] if arn.count(":") >= 6 else ""
        if wanted.group == f"{OF_FUNCTIONS}{name}":
            raise invalid(f"The function {name} writes to this log group itself, so that it would never rest.")
        request_id = call_id_of(self._deliveries.next_number())
        try:
            await self._deliveries.calls("lambda", "getFunction", {"FunctionName": arn}, request_id=request_id)
        except ApiError:
            raise invalid(
                "Could not execute the lambda function. Make sure you have given CloudWatch Logs permission to execute "
                "your function."
            ) from None

    async def delete_metric_filter(self, group: str, name: str) -> None:
        """Delete a metric filter. Raises: ApiError (`ResourceNotFoundException`)."""
        await self._log_groups.get(group)
        async with self._changing(group) as followed:
            there = followed.counting.get(name)
            if there is None:
                raise _missing("metric")
            await self._catalogue.write([], [METRIC_FILTER.name_of(there.filter)])
            del followed.counting[name]

    async def delete_subscription(self, group: str, name: str) -> None:
        """Delete a subscription filter. Raises: ApiError (`ResourceNotFoundException`)."""
        await self._log_groups.get(group)
        async with self._changing(group) as followed:
            there = followed.delivering.get(name)
            if there is None:
                raise _missing("subscription")
            await self._catalogue.write([], [SUBSCRIPTION.name_of(there.subscription)])
            del followed.delivering[name]

    async def forget(self, group: str) -> None:
        """Delete all filters of a group, which is about to be deleted."""
        if group not in self._followed:
            return
        async with self._changing(group, catches_up=False) as followed:
            gone = [METRIC_FILTER.name_of(one.filter) for one in followed.counting.values()]
            gone += [SUBSCRIPTION.name_of(one.subscription) for one in followed.delivering.values()]
            await self._catalogue.write([], gone)
            followed.counting.clear()
            followed.delivering.clear()

    @contextlib.asynccontextmanager
    async def _changing(self, group: str, *, catches_up: bool = True) -> AsyncIterator[_Followed]:
        """Hold the lock of a group whose filters change.

        If it `catches_up`, its present filters get the events up to now: a new one sees later events only. A group that
        has no filters in the end is not followed any more.
        """
        while True:
            followed = await self._followed_group(group)
            await followed.lock.acquire()
            # While this waited for the lock, the last filter may have gone, and the group with it.
            if self._followed.get(group) is followed:
                break
            followed.lock.release()
        try:
            if catches_up:
                await self.catch_up(followed)
            yield followed
        finally:
            try:
                await self._forget_if_empty(followed)
            finally:
                followed.lock.release()

    async def _forget_if_empty(self, followed: _Followed) -> None:
        if not followed.counting and not followed.delivering:
            if followed.places.stored:
                await self._catalogue.write([], [LOG_PLACES.name_of(followed.places)])
            self._followed.pop(followed.places.group, None)

    async def _followed_group(self, group: str) -> _Followed:
        """A group's filters; without any, they begin behind the newest event."""
        found = self._followed.get(group)
        if found is None:
            lanes = await self._log_groups.lanes(group)
            found = _Followed(LogPlaces(group, await self._log_groups.work(ends, lanes)))
            found = self._followed.setdefault(group, found)
        return found

    async def _commit(self, rows: Sequence[EntryRow], followed: _Followed) -> None:
        """Write rows; the first filter of a group also writes the place from which it is followed."""
        first = [LOG_PLACES.row(followed.places)] if not followed.places.stored else []
        if not await self._catalogue.write([*rows, *first]):
            raise ApiError("OperationAbortedException", "The log group was changed concurrently; try again.")
        if first:
            followed.places = replace(followed.places, stored=1)

    # ------------------------------------------------------------------ events

    def written(self, group: str) -> None:
        """Take note that a group may have new events."""
        followed = self._followed.get(group)
        if followed is None:
            return
        followed.has_more = True
        if not followed.is_reading:
            followed.is_reading = True
            self._background.spawn(self._follow(followed))

    def writing(self, group: str) -> Callable[[], None] | None:
        """Announce that a thread will write to a group; it calls the result when it has. None if nothing follows."""
        if group not in self._followed:
            return None
        return announcement(self._clock, lambda: self.written(group))

    async def _follow(self, followed: _Followed) -> None:
        try:
            while followed.has_more:
                followed.has_more = False
                async with followed.lock:
                    await self.catch_up(followed)
        except StoreError as problem:
            log.warning("events of %s are filtered later: %s", followed.places.group, problem)
            self._clock.call_at(self._clock.now_ms() + RETRY_MS, lambda: self.written(followed.places.group))
        finally:
            followed.is_reading = False

    async def catch_up(self, followed: _Followed) -> None:
        """Give new events to the filters of a group, whose lock is held. Raises: StoreError."""
        while followed.counting or followed.delivering:
            lanes = await self._log_groups.lanes(followed.places.group)
            news = await self._log_groups.work(new_lines, lanes, followed.places.places, READ_BYTES)
            if not news.lines:
                return
            found, payloads = await self._log_groups.work(self._filtered, followed, news.lines)
            now_ms = self._clock.now_ms()
            deliveries = [
                Delivery(self._deliveries.next_number(), {"Arn": arn}, payload, now_ms, now_ms)
                for arn, payload in payloads
            ]
            moved = replace(followed.places, places=news.places)
            if not await self._deliveries.accept(deliveries, [LOG_PLACES.row(moved)]):
                log.warning("another process reads the events of %s", followed.places.group)
                return
            followed.places = replace(moved, stored=moved.stored + 1)
            for metric, unit, point in found:
                self._recorder.put(metric, unit, [point])

    def _filtered(self, followed: _Followed, lines: Sequence[Line]) -> tuple[list[Observation], list[tuple[str, str]]]:
        events = [line.event for line in lines]
        found = [one for counting in followed.counting.values() for one in counting.observations(events)]
        payloads = [
            (one.subscription.destination, payload)
            for one in followed.delivering.values() for payload in one.payloads(lines, self._config.account)
        ]  # fmt: skip
        return found, payloads


def _too_many() -> ApiError:
    return ApiError("LimitExceededException", "Resource limit exceeded.")


def _missing(kind: str) -> ApiError:
    return ApiError("ResourceNotFoundException", f"The specified {kind} filter does not exist.")
