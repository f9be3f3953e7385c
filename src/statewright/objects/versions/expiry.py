"""Which older versions and delete markers a lifecycle rule deletes, decided while they are listed in order.

Days are counted from when a version became noncurrent, which is when its successor was made. A delete marker without
any version behind it is expired.

Source: user guide, "Lifecycle configuration elements".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from statewright.objects import faults
from statewright.objects.records import ObjectView
from statewright.objects.versions.lists import ListedVersion
from statewright.payload import JsonMapping

NONCURRENT: Final = "NoncurrentVersionExpiration"
EXPIRED_MARKER: Final = "ExpiredObjectDeleteMarker"
MOST_KEPT: Final = 100
_DAY_MS: Final = 86_400_000


def expires_ms(made_ms: int, days: int) -> int:
    """When something made at an instant expires: the first midnight UTC at which it is `days` days old."""
    return -(-(made_ms + days * _DAY_MS) // _DAY_MS) * _DAY_MS


def check_noncurrent(rule: JsonMapping) -> None:
    """Refuse a rule on older versions that the service refuses. Raises: ApiError."""
    given = rule.get(NONCURRENT)
    if given is None:
        return
    days, kept = given.get("NoncurrentDays"), given.get("NewerNoncurrentVersions")
    if days is None:
        raise faults.malformed_xml()
    if days <= 0:
        raise faults.invalid_argument(
            f"'NoncurrentDays' for {NONCURRENT} action must be a positive integer", "NoncurrentDays", days
        )
    if kept is not None and not 0 < kept <= MOST_KEPT:
        raise faults.invalid_argument(
            f"'NewerNoncurrentVersions' for {NONCURRENT} action must be between 1 and {MOST_KEPT}",
            "NewerNoncurrentVersions", kept,
        )  # fmt: skip
    if kept is not None and rule.get("Filter") is None:
        raise faults.invalid_request("NewerNoncurrentVersions can only be specified in a rule with a Filter")


@dataclass(frozen=True, slots=True)
class VersionRule:
    """The part of a rule about older versions and markers. `marker_days` is the age of an expired marker, or `None`."""

    days: int | None
    kept: int
    marker_days: int | None

    @classmethod
    def of(cls, rule: JsonMapping) -> VersionRule:
        """Read a rule."""
        older, expiration = rule.get(NONCURRENT) or {}, rule.get("Expiration") or {}
        marker_days = 0 if expiration.get(EXPIRED_MARKER) else expiration.get("Days")
        return cls(older.get("NoncurrentDays"), older.get("NewerNoncurrentVersions") or 0, marker_days)

    def acts(self) -> bool:
        """True if the rule deletes older versions or markers."""
        return self.days is not None or self.marker_days is not None


class VersionExpiry:
    """The choice of versions for one rule. `covers` says whether its filter holds for a version."""

    def __init__(self, rule: VersionRule, covers: Callable[[ObjectView], bool], now_ms: int) -> None:
        self._rule = rule
        self._covers = covers
        self._now_ms = now_ms
        self._newer: ListedVersion | None = None
        self._noncurrent = 0
        self._marker: ListedVersion | None = None

    def is_older_expired(self, one: ListedVersion) -> bool:
        """Take the next version of the listing; true if it is noncurrent and expired."""
        rule, newer = self._rule, self._newer
        self._newer = one
        if newer is None or newer.view.key != one.view.key:
            self._noncurrent = 0
            return False
        self._noncurrent += 1
        return (
            rule.days is not None
            and self._noncurrent > rule.kept
            and expires_ms(newer.view.modified_ms, rule.days) <= self._now_ms
            and self._covers(one.view)
        )

    def expired_marker(self, one: ListedVersion | None) -> ListedVersion | None:
        """Take the next version of the listing, or its end; the marker before it, if nothing is behind that one."""
        before, self._marker = self._marker, one if one is not None and one.is_marker and one.is_latest else None
        days = self._rule.marker_days
        if before is None or days is None or (one is not None and one.view.key == before.view.key):
            return None
        made_ms = before.view.modified_ms
        is_old = days == 0 or expires_ms(made_ms, days) <= self._now_ms
        return before if is_old and self._covers(before.view) else None
