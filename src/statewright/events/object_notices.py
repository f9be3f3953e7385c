"""Notifications of buckets: turns changes of objects into deliveries to queues, topics, functions and rules.

A notification is a delivery like any other, written with the change that it reports (`objects.notifications`). It is
retried until its destination accepts it; if its destination no longer exists, it is dropped with a warning.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from statewright.clock import Clock
from statewright.config import Config
from statewright.events.bus_records import DEFAULT_BUS
from statewright.events.buses import Buses
from statewright.events.deliveries import Deliveries
from statewright.events.delivery_records import DELIVERY, Delivery, execution_id
from statewright.events.due_work import STORE_PAUSE_MS
from statewright.events.targets import TRACE_HEADER
from statewright.objects.notifications import (
    EVENT_BRIDGE,
    NOTIFICATION,
    Change,
    Rule,
    bus_detail,
    configured_message,
    messages,
    rules_of,
)
from statewright.objects.records import Bucket
from statewright.payload import JsonMapping
from statewright.query.matching import Matching
from statewright.stores.protocol import EntryRow
from statewright.stores.regional import RegionalCatalogue

SOURCE: Final = "aws.s3"
SUBJECT: Final = "Amazon S3 Notification"


class NoticesByRegion:
    """See `objects.notifications.Outbox`: the notices of all buckets, each by the components of the bucket's region.

    Their entries are in the namespace of that region.
    """

    def __init__(self, default: ObjectNotices) -> None:
        self._default = default
        self._others: dict[tuple[str, str], tuple[ObjectNotices, RegionalCatalogue]] = {}

    def add(self, account: str, region: str, notices: ObjectNotices, catalogue: RegionalCatalogue) -> None:
        """Register the components of a region; `account` is empty for the default one."""
        self._others[account, region] = notices, catalogue

    def prepare(self, bucket: Bucket, changes: Sequence[Change]) -> list[list[EntryRow]]:
        """See `Outbox.prepare`."""
        other = self._others.get((bucket.account, bucket.place))
        if other is None:
            # A region that has not begun has no destinations.
            return [[] for _ in changes] if bucket.account else self._default.prepare(bucket, changes)
        notices, catalogue = other
        return [catalogue.stored(rows) for rows in notices.prepare(bucket, changes)]

    def written(self, rows: Sequence[EntryRow]) -> None:
        """See `Outbox.written`."""
        for notices, own in self._by_region(rows):
            notices.written(own)

    def unsure(self, rows: Sequence[EntryRow]) -> None:
        """See `Outbox.unsure`."""
        for notices, own in self._by_region(rows):
            notices.unsure(own)

    def _by_region(self, rows: Sequence[EntryRow]) -> Iterator[tuple[ObjectNotices, Sequence[EntryRow]]]:
        """The entries of each region, as it has them."""
        left = rows
        for notices, catalogue in self._others.values():
            own = [row for row in left if catalogue.has(row)]
            if own:
                left = [row for row in left if not catalogue.has(row)]
                yield notices, catalogue.seen(own)
        if left:
            yield self._default, left


class ObjectNotices:
    """The notices of one region's buckets. See `objects.notifications.Outbox`."""

    def __init__(self, clock: Clock, config: Config, deliveries: Deliveries, buses: Buses) -> None:
        self._clock = clock
        self._config = config
        self._deliveries = deliveries
        self._buses = buses
        self._owner = hashlib.sha256(config.account.encode()).hexdigest()
        self._rules: dict[int, tuple[JsonMapping, list[Rule]]] = {}
        """By bucket id: a configuration, and the rules compiled from it."""

    def prepare(self, bucket: Bucket, changes: Sequence[Change]) -> list[list[EntryRow]]:
        """See `Outbox.prepare`."""
        config = bucket.settings.get(NOTIFICATION)
        if config is None:
            return [[] for _ in changes]
        return [[DELIVERY.row(one) for one in self._deliveries_for(bucket, config, change)] for change in changes]

    def written(self, rows: Sequence[EntryRow]) -> None:
        """See `Outbox.written`."""
        self._deliveries.arm(rows)

    def unsure(self, rows: Sequence[EntryRow]) -> None:
        """See `Outbox.unsure`."""
        later_ms = self._clock.now_ms() + STORE_PAUSE_MS
        self._deliveries.arm([replace(one, sort=later_ms) for one in rows])

    async def try_out(self, bucket: str, arns: Sequence[str]) -> None:
        """Send queues and topics the test message of a new configuration; it is durable when this returns."""
        now_ms = self._clock.now_ms()
        numbers = [self._deliveries.next_number() for _ in arns]
        await self._deliveries.accept(
            [
                self._delivery(number, arn, configured_message(bucket, now_ms, execution_id(number).upper()), now_ms)
                for number, arn in zip(numbers, arns, strict=True)
            ]
        )

    def _deliveries_for(self, bucket: Bucket, config: JsonMapping, change: Change) -> list[Delivery]:
        number = self._deliveries.next_number()
        named = {
            "account": self._config.account,
            "sequencer": f"{number:018X}",
            "request_id": execution_id(number).upper(),
        }
        rules = self._rules_of(bucket, config)
        found = [
            self._delivery(self._deliveries.next_number(), rule.arn, text, change.at_ms, change.trace)
            for rule, text in messages(bucket, rules, change, owner=self._owner, **named)
        ]
        if EVENT_BRIDGE in config and self._buses.rules.expects(DEFAULT_BUS, SOURCE):
            kind, detail = bus_detail(bucket, change, **named)
            event = self._buses.event(SOURCE, kind, detail, [f"arn:aws:s3:::{bucket.name}"], change.at_ms)
            # The event is small: keys are its longest texts, and it has no arrays.
            matches = self._buses.rules.matched(DEFAULT_BUS, event, Matching())
            found += self._buses.rules.deliveries_of(event, matches)
        return found

    def _rules_of(self, bucket: Bucket, config: JsonMapping) -> list[Rule]:
        known = self._rules.get(bucket.id)
        if known is None or known[0] is not config:
            known = self._rules[bucket.id] = config, rules_of(config)
        return known[1]

    def _delivery(self, number: int, arn: str, text: str, at_ms: int, trace: str | None = None) -> Delivery:
        target = {"Arn": arn, "Subject": SUBJECT}
        if trace is not None:
            target[TRACE_HEADER] = trace
        return Delivery(number, target, text, at_ms, self._clock.now_ms())
