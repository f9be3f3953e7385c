"""Lifecycles of buckets: the rules that may be set, and the daily round that deletes expired objects.

Owns expiration by days and dates, of older versions and of delete markers, and aborting unfinished uploads. Transitions
are stored and returned only. Rounds begin at midnight UTC, when the service counts objects as expired; a
missed round runs at start. If no bucket has a rule, nothing is scheduled or read.

Source: user guide, "Managing the lifecycle of objects", "Lifecycle configuration elements"; service API reference,
PutBucketLifecycleConfiguration; texts of refusals observed.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from statewright.clock import Clock, Timer
from statewright.errors import ApiError, StoreError
from statewright.limits import LISTED_AT_ONCE
from statewright.objects import faults
from statewright.objects.notifications import EXPIRED
from statewright.objects.objects import Objects
from statewright.objects.records import Bucket, ObjectView
from statewright.objects.uploads import upload_text
from statewright.objects.versions.expiry import (
    EXPIRED_MARKER,
    VersionExpiry,
    VersionRule,
    check_noncurrent,
    expires_ms,
)
from statewright.objects.versions.lists import START, ListedVersion
from statewright.payload import JsonMapping, JsonObject
from statewright.stores.object_rows import Demand
from statewright.tags import tags_by_key

LIFECYCLE: Final = "lifecycle"
"""The subject among a bucket's settings."""
DAY_MS: Final = 86_400_000
MOST_RULES: Final = 1000
ID_LENGTH: Final = 255
_CONDITIONS: Final = ("Prefix", "Tag", "ObjectSizeGreaterThan", "ObjectSizeLessThan", "And")
_ACTIONS: Final = (
    "Expiration", "Transitions", "NoncurrentVersionTransitions", "NoncurrentVersionExpiration",
    "AbortIncompleteMultipartUpload",
)  # fmt: skip

log = logging.getLogger("statewright.objects")


def checked(given: JsonMapping) -> list[JsonObject]:
    """Rules as they are stored: with ids. Raises: ApiError (`MalformedXML`, `InvalidArgument`, `InvalidRequest`)."""
    rules = given["Rules"]
    if not 0 < len(rules) <= MOST_RULES:
        raise faults.malformed_xml()
    kept: list[JsonObject] = []
    for place, rule in enumerate(rules):
        _check_rule(rule)
        made = hashlib.blake2b(f"{place} {rule}".encode("utf-8", "replace"), digest_size=18).hexdigest()
        kept.append({**rule, "ID": rule.get("ID") or made})
    ids = [rule["ID"] for rule in kept]
    if len(set(ids)) != len(ids):
        twice = next(one for one in ids if ids.count(one) > 1)
        raise faults.invalid_argument("Rule ID must be unique. Found same ID for more than one rule", "ID", twice)
    return kept


def _check_rule(rule: JsonMapping) -> None:
    if len(rule.get("ID") or "") > ID_LENGTH:
        raise faults.invalid_argument("ID length should not exceed allowed limit of 255", "ID", rule["ID"])
    where = rule.get("Filter")
    if (where is None) == (rule.get("Prefix") is None):
        raise faults.malformed_xml()
    if where and len([name for name in _CONDITIONS if where.get(name) is not None]) > 1:
        raise faults.malformed_xml()
    if not any(rule.get(name) for name in _ACTIONS):
        raise faults.invalid_request("At least one action needs to be specified in a rule")
    expiration = rule.get("Expiration")
    if expiration is not None:
        if len([name for name in ("Days", "Date", "ExpiredObjectDeleteMarker") if name in expiration]) != 1:
            raise faults.malformed_xml()
        days, date_ms = expiration.get("Days"), expiration.get("Date")
        if days is not None and days <= 0:
            raise faults.invalid_argument("'Days' for Expiration action must be a positive integer", "Days", days)
        if date_ms is not None and date_ms % DAY_MS:
            raise faults.invalid_argument("'Date' must be at midnight GMT", "Date", date_ms)
        if expiration.get(EXPIRED_MARKER) and _Scope.of(rule).tags:
            raise faults.invalid_request(f"{EXPIRED_MARKER} cannot be specified with Tags")
    check_noncurrent(rule)
    abort = rule.get("AbortIncompleteMultipartUpload")
    if abort is not None:
        days = abort.get("DaysAfterInitiation")
        if days is None or days <= 0:
            raise faults.invalid_argument(
                "'DaysAfterInitiation' for AbortIncompleteMultipartUpload action must be a positive integer",
                "DaysAfterInitiation",
                days,
            )
        scope = _Scope.of(rule)
        if scope.tags:
            raise faults.invalid_request("AbortIncompleteMultipartUpload cannot be specified with Tags")
        if scope.above is not None or scope.below is not None:
            raise faults.invalid_request("AbortIncompleteMultipartUpload cannot be specified with Object Size")


@dataclass(frozen=True, slots=True)
class _Scope:
    """The objects to which a rule applies."""

    prefix: str
    tags: Mapping[str, str]
    above: int | None
    below: int | None

    @classmethod
    def of(cls, rule: JsonMapping) -> _Scope:
        where = rule.get("Filter") or {}
        both = where.get("And") or {}
        tags = [*(both.get("Tags") or ()), *([where["Tag"]] if where.get("Tag") else ())]
        found = {**where, **both}
        return cls(
            found.get("Prefix") or rule.get("Prefix") or "",
            tags_by_key(tags),
            found.get("ObjectSizeGreaterThan"),
            found.get("ObjectSizeLessThan"),
        )

    def covers(self, view: ObjectView) -> bool:
        """True if the rule applies to an object with its prefix."""
        return (
            (self.above is None or view.size > self.above)
            and (self.below is None or view.size < self.below)
            and self.tags.items() <= view.settings.tags.items()
        )


def is_applied(rule: JsonMapping) -> bool:
    """True if a rule is enabled and has an action that Statewright carries out."""
    expiration = rule.get("Expiration") or {}
    acts = "Date" in expiration or rule.get("AbortIncompleteMultipartUpload") or VersionRule.of(rule).acts()
    return rule["Status"] == "Enabled" and bool(acts)


def expiration_of(view: ObjectView, settings: JsonMapping) -> tuple[int, str] | None:
    """When an object expires first by the rules of its bucket, and the id of that rule; `None` if none covers it."""
    found: list[tuple[int, str]] = []
    for rule in (settings.get(LIFECYCLE) or {}).get("Rules", ()):
        expiration, scope = rule.get("Expiration") or {}, _Scope.of(rule)
        if rule["Status"] == "Enabled" and view.key.startswith(scope.prefix) and scope.covers(view):
            if "Days" in expiration:
                found.append((expires_ms(view.modified_ms, expiration["Days"]), rule["ID"]))
            if "Date" in expiration:
                found.append((expiration["Date"], rule["ID"]))
    return min(found, default=None)


class Lifecycles:
    """The daily round over the buckets of one server."""

    def __init__(self, objects: Objects, clock: Clock) -> None:
        self._objects = objects
        self._clock = clock
        self._alarm: Timer | None = None
        self._round: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Run a round for one that may have been missed, and schedule the next."""
        if await self._buckets():
            self._begin()

    async def stop(self) -> None:
        """End the rounds; what a running one has not deleted is left to the next."""
        self._disarm()
        if self._round is not None:
            self._round.cancel()
            await asyncio.gather(self._round, return_exceptions=True)

    async def changed(self) -> None:
        """Schedule the next round, or none, after rules were set or deleted."""
        self._disarm()
        if await self._buckets():
            self._arm()

    async def sweep(self) -> None:
        """Run one round: delete what has expired. Raises: StoreError."""
        for bucket in await self._buckets():
            for rule in bucket.settings[LIFECYCLE]["Rules"]:
                if is_applied(rule):
                    await self._apply(bucket, rule)

    # ------------------------------------------------------------------ the alarm

    async def _buckets(self) -> list[Bucket]:
        return [
            bucket
            for bucket in await self._objects.list_buckets()
            if any(is_applied(rule) for rule in (bucket.settings.get(LIFECYCLE) or {}).get("Rules", ()))
        ]

    def _arm(self) -> None:
        midnight_ms = (self._clock.now_ms() // DAY_MS + 1) * DAY_MS
        self._alarm = self._clock.call_at(midnight_ms, self._begin)

    def _disarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _begin(self) -> None:
        self._disarm()
        self._arm()
        if self._round is None or self._round.done():
            self._round = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        try:
            await self.sweep()
        except (StoreError, ApiError) as problem:
            log.warning("the lifecycle round was interrupted; the next one continues: %s", problem)
        if not await self._buckets():
            self._disarm()

    # ------------------------------------------------------------------ one rule

    async def _apply(self, bucket: Bucket, rule: JsonMapping) -> None:
        scope = _Scope.of(rule)
        expiration = rule.get("Expiration") or {}
        if "Days" in expiration or expiration.get("Date", 1 << 62) <= self._clock.now_ms():
            await self._expire(bucket, scope, expiration.get("Days"))
        versions = VersionRule.of(rule)
        if bucket.is_versioned and versions.acts():
            await self._expire_versions(bucket, scope, versions)
        abort = rule.get("AbortIncompleteMultipartUpload")
        if abort:
            await self._abort_uploads(bucket, scope, abort["DaysAfterInitiation"])

    async def _expire(self, bucket: Bucket, scope: _Scope, days: int | None) -> None:
        now_ms = self._clock.now_ms()
        start: bytes | None = None
        while True:
            page = await self._objects.list_keys(bucket.name, prefix=scope.prefix, start=start, limit=LISTED_AT_ONCE)
            gone = [
                (view.key, Demand(etag=view.etag), None)
                for view in page.objects
                if scope.covers(view) and (days is None or expires_ms(view.modified_ms, days) <= now_ms)
            ]
            if gone:
                # An object that was overwritten meanwhile stays.
                await self._objects.deletions.delete_many(bucket.name, gone, EXPIRED)
            if page.next is None:
                return
            start = page.next

    async def _expire_versions(self, bucket: Bucket, scope: _Scope, rule: VersionRule) -> None:
        expiry = VersionExpiry(rule, scope.covers, self._clock.now_ms())
        after = START
        while True:
            page = await self._objects.list_versions(bucket.name, prefix=scope.prefix, after=after)
            older = [one for one in page.versions if expiry.is_older_expired(one)]
            ends: list[ListedVersion | None] = [] if page.next is not None else [None]
            markers = [expiry.expired_marker(one) for one in (*page.versions, *ends)]
            await self._delete_versions(bucket, older, older_only=True)
            await self._delete_versions(bucket, [one for one in markers if one is not None])
            if page.next is None:
                return
            after = page.next

    async def _delete_versions(self, bucket: Bucket, gone: list[ListedVersion], *, older_only: bool = False) -> None:
        if gone:
            wanted = [(one.view.key, Demand(), one.id) for one in gone]
            # A version that is the object again since it was listed stays.
            await self._objects.deletions.delete_many(bucket.name, wanted, EXPIRED, older_only=older_only)

    async def _abort_uploads(self, bucket: Bucket, scope: _Scope, days: int) -> None:
        now_ms = self._clock.now_ms()
        after: tuple[bytes, int] | None = None
        while True:
            rows = await self._objects.state.store.uploads.of_bucket(
                bucket.id, prefix=scope.prefix.encode(), after=after, limit=LISTED_AT_ONCE
            )
            for row in rows:
                after = row.key, row.id
                if expires_ms(row.created_ms, days) <= now_ms:
                    try:
                        await self._objects.uploads.abort(bucket.name, row.key.decode(), upload_text(row.id))
                    except ApiError as problem:
                        # Completed or aborted meanwhile.
                        log.debug("an expired upload had already ended: %s", problem)
            if len(rows) < LISTED_AT_ONCE:
                return
