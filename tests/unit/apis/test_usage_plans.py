"""Usage plans in virtual time: keys at stages, throttles of plans and their methods, quotas by period and restart."""

from __future__ import annotations

from datetime import date

import pytest

from statewright.apis.quotas import WRITE_AFTER_MS, period_of
from statewright.apis.records import KEY, PLAN, PLAN_KEY, USAGE, Loose
from statewright.apis.usage_plans import UsagePlans
from statewright.payload import Json
from statewright.stores.memory.store import MemoryStore
from statewright.virtual_clock import VirtualClock
from tests.unit.apis.test_apis import Rig as Apis
from tests.unit.rigs import run_rig, started_again

VALUE = "a-key-of-twenty-letters"
DAY_MS = 86_400_000


class Rig(Apis):
    """APIs with their usage plans. Virtual time begins on Thursday, 2026-01-01."""

    def __init__(self, clock: VirtualClock, store: MemoryStore) -> None:
        super().__init__(clock, store)
        self.plans = UsagePlans(self, clock)

    async def stop(self) -> None:
        await self.plans.stop()
        await super().stop()

    async def planned(self, **settings: Json) -> tuple[Loose, Loose]:
        """A plan of the stage `prod` of the API `a` with one key."""
        stages = [{"apiId": "a", "stage": "prod", "throttle": settings.pop("by_method", {})}]
        plan = await self.put(PLAN, "p", {"name": "basic", "apiStages": stages, **settings})
        await self.put(KEY, "k", {"value": VALUE, "enabled": True})
        return plan, await self.put(PLAN_KEY, "p/k", {"usagePlanId": "p", "keyId": "k"})

    def outcomes(self, times: int, method: str = "/pets/GET", value: str = VALUE, stage: str = "prod") -> list[str]:
        """What requests get: the id of the key, or the type of a refusal."""
        found = [self.plans.admit(value, "a", stage, method) for _ in range(times)]
        return [one.refusal or one.key_id for one in found]


def test_a_key_is_let_in_to_the_stages_of_its_plans() -> None:
    async def test(rig: Rig) -> None:
        await rig.planned()
        assert rig.outcomes(2) == ["k", "k"]
        assert rig.outcomes(1, value=VALUE + "x") == rig.outcomes(1, stage="test") == ["INVALID_API_KEY"]
        await rig.put(KEY, "k", {"value": VALUE, "enabled": False})
        assert rig.outcomes(1) == ["INVALID_API_KEY"]
        await rig.put(KEY, "k", {"value": VALUE, "enabled": True})
        assert rig.outcomes(1) == ["k"]
        await rig.drop((PLAN_KEY, "p/k"))
        assert rig.outcomes(1) == ["INVALID_API_KEY"]

    run_rig(Rig, test)


def test_a_plan_throttles_each_key_and_methods_of_a_stage() -> None:
    async def test(rig: Rig) -> None:
        await rig.planned(throttle={"rateLimit": 1.0, "burstLimit": 3}, by_method={"/pets/GET": {"burstLimit": 1}})
        await rig.put(KEY, "other", {"value": VALUE + "2", "enabled": True})
        await rig.put(PLAN_KEY, "p/other", {"usagePlanId": "p", "keyId": "other"})
        assert rig.outcomes(2) == ["k", "THROTTLED"]
        assert rig.outcomes(3, "/pets/POST") == ["k", "k", "THROTTLED"]
        assert rig.outcomes(1, value=VALUE + "2") == ["other"]
        await rig.clock.sleep_until(rig.clock.now_ms() + 1_000)
        assert rig.outcomes(2, "/pets/POST") == ["k", "THROTTLED"]

    run_rig(Rig, test)


@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [("DAY", DAY_MS, DAY_MS), ("WEEK", 3 * DAY_MS, 7 * DAY_MS), ("MONTH", 31 * DAY_MS, 28 * DAY_MS)],
)
def test_a_quota_begins_again_with_its_period(kind: str, first: int, second: int) -> None:
    async def test(rig: Rig) -> None:
        await rig.planned(quota={"limit": 3, "offset": 1, "period": kind})
        assert rig.outcomes(3) == ["k", "k", "QUOTA_EXCEEDED"]
        began_ms = rig.clock.now_ms()
        await rig.clock.sleep_until(began_ms + first - 1)
        assert rig.outcomes(1) == ["QUOTA_EXCEEDED"]
        await rig.clock.sleep_until(began_ms + first)
        assert rig.outcomes(4) == ["k", "k", "k", "QUOTA_EXCEEDED"]
        await rig.clock.sleep_until(began_ms + first + second)
        assert rig.outcomes(1) == ["k"]

    run_rig(Rig, test)


def test_a_restart_goes_on_with_what_is_left_and_shows_it_by_day() -> None:
    async def test(rig: Rig) -> None:
        plan, link = await rig.planned(quota={"limit": 5, "period": "WEEK"})
        assert rig.outcomes(2) == ["k", "k"]
        await rig.clock.sleep_until(rig.clock.now_ms() + DAY_MS)
        assert rig.outcomes(1) == ["k"]
        again = await started_again(rig, Rig)
        usage = again.plans.quotas.usage(plan, link, date(2025, 12, 31), date(2026, 1, 5))
        assert usage == [[0, 5], [2, 3], [1, 2], [0, 2], [0, 5], [0, 5]]
        assert again.outcomes(3) == ["k", "k", "QUOTA_EXCEEDED"]
        again.plans.quotas.grant(plan, link, 1)
        assert again.outcomes(2) == ["k", "QUOTA_EXCEEDED"]
        larger = await again.put(PLAN, "p", {**plan.settings, "quota": {"limit": 7, "period": "WEEK"}})
        assert again.outcomes(3) == ["k", "k", "QUOTA_EXCEEDED"]
        assert again.plans.quotas.usage(larger, link, date(2026, 1, 2), date(2026, 1, 2)) == [[6, 0]]
        await again.stop()

    run_rig(Rig, test)


def test_counts_are_written_together() -> None:
    async def test(rig: Rig) -> None:
        await rig.planned(quota={"limit": 1_000, "period": "DAY"})
        rig.outcomes(200)
        assert rig.entries(USAGE) == {}
        await rig.clock.sleep_until(rig.clock.now_ms() + WRITE_AFTER_MS + 1)
        row = rig.entries(USAGE)["p/k"]
        assert (row.stored, row.settings["left"], row.settings["days"]) == (1, 800, {"2026-01-01": [200, 800]})
        rig.outcomes(1)
        await rig.drop((PLAN_KEY, "p/k"))
        await rig.drop((USAGE, "p/k"))
        await rig.clock.sleep_until(rig.clock.now_ms() + WRITE_AFTER_MS + 1)
        assert rig.entries(USAGE) == {}

    run_rig(Rig, test)


def test_weeks_begin_on_sunday() -> None:
    assert period_of("WEEK", date(2026, 11, 28)) == date(2026, 11, 22)
    assert period_of("WEEK", date(2026, 11, 29)) == date(2026, 11, 29)
    assert period_of("MONTH", date(2026, 2, 28)) == date(2026, 2, 1)
    assert period_of("DAY", date(2026, 2, 28)) == date(2026, 2, 28)
