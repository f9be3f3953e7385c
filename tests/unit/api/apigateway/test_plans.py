"""Usage plans below their operations: which rows a deletion leaves, and how much of a usage is reckoned."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from statewright.api.apigateway.keys import delete_api_key
from statewright.api.apigateway.plans import delete_usage_plan, get_usage
from statewright.apis.records import KEY, PLAN, PLAN_KEY, USAGE
from tests.unit.api.apps import app_of
from tests.unit.apis.test_apis import Rig
from tests.unit.rigs import run_rig

CALL: Any = None


async def planned(rig: Rig, *keys: str) -> None:
    """A plan with a quota and some keys."""
    await rig.put(PLAN, "p", {"name": "basic", "quota": {"limit": 5, "period": "DAY"}})
    for key in keys:
        await rig.put(KEY, key, {"value": key * 20, "enabled": True})
        await rig.put(PLAN_KEY, f"p/{key}", {"usagePlanId": "p", "keyId": key})


@pytest.mark.parametrize(
    ("operation", "request_"), [(delete_usage_plan, {"usagePlanId": "p"}), (delete_api_key, {"apiKey": "k"})]
)
def test_a_plan_or_key_leaves_no_usage_of_a_link_that_was_deleted_before(operation: Any, request_: Any) -> None:
    async def test(rig: Rig) -> None:
        await planned(rig, "k")
        await rig.put(USAGE, "p/k", {"period": "2026-01-01", "limit": 5, "left": 3, "days": {}})
        await rig.drop((PLAN_KEY, "p/k"))
        await operation(app_of(apis=rig), CALL, request_)
        assert rig.entries(USAGE) == {}

    run_rig(Rig, test)


def test_only_the_usage_of_a_page_is_reckoned() -> None:
    async def test(rig: Rig) -> None:
        await planned(rig, "a", "b", "c")
        reckoned: list[str] = []

        def usage(_plan: Any, link: Any, *_days: Any) -> list[list[int]]:
            reckoned.append(link.id)
            return [[0, 5]]

        quotas = SimpleNamespace(usage=usage)
        app = app_of(apis=rig, data_plane=SimpleNamespace(plans=SimpleNamespace(quotas=quotas)))
        days = {"startDate": "2026-01-01", "endDate": "2026-01-01"}
        found = await get_usage(app, CALL, {"usagePlanId": "p", "limit": 2, **days})
        assert (found["items"], reckoned) == ({"a": [[0, 5]], "b": [[0, 5]]}, ["p/a", "p/b"])
        found = await get_usage(app, CALL, {"usagePlanId": "p", "position": found["position"], **days})
        assert (found["items"], found["position"]) == ({"c": [[0, 5]]}, None)

    run_rig(Rig, test)
