"""Usage plans: which API keys are let in to a stage, and how often.

Owns the index of keys and plans, made again after a change of either, and the buckets of their throttles. A plan's
throttle and quota hold for each of its keys, over all its stages; a stage of a plan may throttle methods besides.

Source: API Gateway developer guide, "Usage plans and API keys for REST APIs".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from statewright.apis.apis import Apis
from statewright.apis.quotas import Quotas
from statewright.apis.records import KEY, PLAN, PLAN_KEY, Loose
from statewright.apis.throttling import Bucket, Throttle, method_key, throttle_of
from statewright.clock import Clock

Place = tuple[str, str, str]
"""The value of a key, an API and a stage."""


@dataclass(frozen=True, slots=True)
class Admission:
    """The answer to a key: its id, or the type of the gateway response that refuses it."""

    key_id: str = ""
    refusal: str = ""


INVALID: Final = Admission(refusal="INVALID_API_KEY")
THROTTLED: Final = Admission(refusal="THROTTLED")
EXCEEDED: Final = Admission(refusal="QUOTA_EXCEEDED")


@dataclass(frozen=True, slots=True)
class _Access:
    """The access of a key to a stage."""

    plan: Loose
    link: Loose
    admission: Admission
    throttle: Throttle | None
    by_method: Mapping[str, Throttle | None]
    has_quota: bool


class UsagePlans:
    """The keys and plans of one region."""

    def __init__(self, apis: Apis, clock: Clock) -> None:
        self._apis = apis
        self._clock = clock
        self.quotas: Final = Quotas(apis, clock)
        self._version = -1
        self._accesses: dict[Place, _Access] = {}
        self._buckets: dict[tuple[str, str], Bucket] = {}
        """By the link of a key to a plan, and the method; the plan's own without one."""

    async def stop(self) -> None:
        """Write what is counted."""
        await self.quotas.stop()

    def admit(self, value: str, api_id: str, stage: str, method: str) -> Admission:
        """Let a request with a key in to a method (`/pets/GET`), or refuse it."""
        if self._version != self._apis.entries_version:
            self._index()
        access = self._accesses.get((value, api_id, stage))
        if access is None:
            return INVALID
        own = access.by_method.get(method)
        if own is not None and not self._bucket(access.link.id, f"{api_id}:{stage}{method}", own).take():
            return THROTTLED
        if access.throttle is not None and not self._bucket(access.link.id, "", access.throttle).take():
            return THROTTLED
        if access.has_quota and not self.quotas.take(access.plan, access.link):
            return EXCEEDED
        return access.admission

    def _bucket(self, link: str, method: str, throttle: Throttle) -> Bucket:
        found = self._buckets.get((link, method))
        if found is None or found.throttle != throttle:
            found = self._buckets[link, method] = Bucket(throttle, self._clock)
        return found

    def _index(self) -> None:
        self._version = self._apis.entries_version
        keys, plans = self._apis.entries(KEY), self._apis.entries(PLAN)
        links = self._apis.entries(PLAN_KEY)
        self._accesses = {}
        for _, link in sorted(links.items()):
            key, plan = keys.get(link.settings["keyId"]), plans.get(link.settings["usagePlanId"])
            if key is None or plan is None or not key.settings["enabled"]:
                continue
            throttle = _throttle(plan.settings.get("throttle"))
            admission, has_quota = Admission(key.id), bool(plan.settings.get("quota"))
            for one in plan.settings.get("apiStages") or ():
                by_method = {method_key(name): _throttle(own) for name, own in (one.get("throttle") or {}).items()}
                place = (key.settings["value"], one.get("apiId") or "", one.get("stage") or "")
                self._accesses.setdefault(place, _Access(plan, link, admission, throttle, by_method, has_quota))
        for found in [found for found in self._buckets if found[0] not in links]:
            del self._buckets[found]
        self.quotas.forget(links.keys())


def _throttle(given: Mapping[str, float] | None) -> Throttle | None:
    return throttle_of(given.get("rateLimit"), given.get("burstLimit")) if given else None
