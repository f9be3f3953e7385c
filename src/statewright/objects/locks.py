"""Object Lock: how long a version must not be deleted, and who may change that.

A retention lasts until its instant. One in the mode GOVERNANCE can be shortened, removed or ignored by callers that say
so; one in the mode COMPLIANCE only grows. A legal hold lasts until it is removed. Neither hinders a delete marker.

Source: user guide, "Locking objects with Object Lock"; some texts of refusals are observed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from statewright.errors import ApiError
from statewright.instants import iso_ms
from statewright.objects import faults
from statewright.objects.versions.ids import ENABLED, VERSIONING
from statewright.payload import JsonMapping, JsonObject

LOCK: Final = "objectLock"
"""The subject among a bucket's settings; its value is the bucket's ObjectLockConfiguration."""
ON: Final[JsonObject] = {"ObjectLockEnabled": ENABLED}
COMPLIANCE: Final = "COMPLIANCE"
_DAY_MS: Final = 86_400_000
_DAYS_OF_YEAR: Final = 365
_MOST_DAYS: Final = 36_500
_NO_CONFIGURATION: Final = "Bucket is missing Object Lock Configuration"


@dataclass(frozen=True, slots=True)
class Lock:
    """The lock of a version: the mode of its retention, `None` without one, when that ends, and its legal hold."""

    mode: str | None = None
    until_ms: int = 0
    is_held: bool = False

    def protects(self, now_ms: int, *, bypass: bool) -> bool:
        """True if the version must not be deleted; `bypass` ignores a retention in the mode GOVERNANCE."""
        return self.is_held or (self.is_retained(now_ms) and not (bypass and self.mode != COMPLIANCE))

    def is_retained(self, now_ms: int) -> bool:
        """True while a retention lasts."""
        return self.mode is not None and self.until_ms > now_ms

    def retained(self, mode: str | None, until_ms: int, now_ms: int, *, bypass: bool) -> Lock:
        """The lock with another retention.

        Raises: ApiError (`AccessDenied` if that would protect less, `InvalidArgument` for one that is past).
        """
        check_future(mode, until_ms, now_ms)
        if self.is_retained(now_ms):
            is_less = mode is None or until_ms < self.until_ms or (mode, self.mode) == ("GOVERNANCE", COMPLIANCE)
            if is_less and (self.mode == COMPLIANCE or not bypass):
                raise denied()
        return replace(self, mode=mode, until_ms=until_ms if mode is not None else 0)

    def json(self) -> JsonObject:
        """The members that are stored; those with their default value are left out."""
        found: JsonObject = {"mode": self.mode, "until": self.until_ms, "held": self.is_held}
        return {name: value for name, value in found.items() if value}


UNLOCKED: Final = Lock()


def lock_of(stored: JsonMapping) -> Lock:
    """A lock from its stored members."""
    return Lock(stored.get("mode"), stored.get("until", 0), stored.get("held", False))


def check_lock_of_new(lock: Lock, settings: JsonMapping, now_ms: int) -> None:
    """Refuse the lock that a request gives to a new version.

    Raises: ApiError (`InvalidRequest` in a bucket without Object Lock, `InvalidArgument` for a retention that is past).
    """
    if lock is not UNLOCKED:
        check_bucket(settings)
        check_future(lock.mode, lock.until_ms, now_ms)


def check_future(mode: str | None, until_ms: int, now_ms: int) -> None:
    """Refuse a retention that has ended. Raises: ApiError (`InvalidArgument`)."""
    if mode is not None and until_ms <= now_ms:
        said = "The retain until date must be in the future!"
        raise faults.invalid_argument(said, "x-amz-object-lock-retain-until-date", iso_ms(until_ms))


def with_default(lock: Lock, settings: JsonMapping, now_ms: int) -> Lock:
    """A lock with the default retention of a bucket with Object Lock, if it has none of its own."""
    rule = (settings[LOCK].get("Rule") or {}).get("DefaultRetention")
    if lock.mode is not None or rule is None:
        return lock
    days = rule.get("Days") or rule["Years"] * _DAYS_OF_YEAR
    return replace(lock, mode=rule["Mode"], until_ms=now_ms + days * _DAY_MS)


def check_bucket(settings: JsonMapping) -> None:
    """Refuse a bucket without Object Lock. Raises: ApiError (`InvalidRequest`)."""
    if LOCK not in settings:
        raise faults.invalid_request(_NO_CONFIGURATION)


def check_configuration(given: JsonMapping, settings: JsonMapping) -> None:
    """Refuse a configuration that a bucket with these settings cannot have.

    Raises: ApiError (`InvalidBucketState`, `MalformedXML`, `InvalidArgument`).
    """
    if settings.get(VERSIONING) != ENABLED:
        said = "Versioning must be 'Enabled' on the bucket to apply a Object Lock configuration"
        raise faults.invalid_bucket_state(said)
    rule = (given.get("Rule") or {}).get("DefaultRetention")
    if given.get("ObjectLockEnabled") is None or ("Rule" in given and rule is None):
        raise faults.malformed_xml()
    if rule is None:
        return
    periods = [name for name in ("Days", "Years") if rule.get(name) is not None]
    if rule.get("Mode") is None or len(periods) != 1:
        raise faults.malformed_xml()
    count = rule[periods[0]]
    if not 0 < count * (_DAYS_OF_YEAR if periods == ["Years"] else 1) <= _MOST_DAYS:
        raise faults.invalid_argument(f"Default retention period must be a positive integer value, up to {_MOST_DAYS} "
                                      "days.", periods[0], count)  # fmt: skip


def check_versioning(status: str, settings: Mapping[str, object]) -> None:
    """Refuse to suspend the versions of a locked bucket. Raises: ApiError (`InvalidBucketState`)."""
    if status != ENABLED and LOCK in settings:
        raise faults.invalid_bucket_state(
            "An Object Lock configuration is present on this bucket, so the versioning state cannot be changed."
        )


def denied() -> ApiError:
    """The error for a version that its lock protects."""
    return ApiError("AccessDenied", "Access Denied because object protected by object lock.", status=403)
