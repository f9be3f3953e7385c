"""Operations on API keys and on the usage of plans, on a store in memory: what they take, refuse and list."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from statewright.api.apigateway.keys import MOST_IMPORTED
from statewright.api.operations import find, load_all
from statewright.apis.records import KEY, PLAN, PLAN_KEY
from statewright.apis.usage_plans import UsagePlans
from statewright.errors import ApiError
from tests.unit.api.apps import app_of
from tests.unit.apis.test_apis import Rig
from tests.unit.rigs import run_rig

VALUE = "a-key-of-twenty-letters"
Called = Callable[..., Awaitable[Any]]


def run(test: Callable[[Rig, Called], Awaitable[None]]) -> None:
    """Run a test with a plan `p`, a key `k` and another `other`, and a call of operations."""
    load_all()
    nothing: Any = None

    async def with_plan(rig: Rig) -> None:
        app = app_of(apis=rig, data_plane=SimpleNamespace(plans=UsagePlans(rig, rig.clock)))
        await rig.put(PLAN, "p", {"name": "basic", "quota": {"limit": 5, "period": "WEEK"}})
        for key in ("k", "other"):
            await rig.put(KEY, key, {"name": key, "value": VALUE + key, "enabled": True, "customerId": key})
            await rig.put(PLAN_KEY, f"p/{key}", {"usagePlanId": "p", "keyId": key})

        async def called(name: str, **request: Any) -> Any:
            operation = find("apigateway", name)
            assert operation is not None, name
            return await operation(app, nothing, request)

        await test(rig, called)

    run_rig(Rig, with_plan)


def test_no_patch_gives_a_key_the_value_of_another() -> None:
    async def test(_rig: Rig, called: Called) -> None:
        patch = {"op": "replace", "path": "/value", "value": VALUE + "other"}
        with pytest.raises(ApiError, match="Invalid patch path  '/value'"):
            await called("UpdateApiKey", apiKey="k", patchOperations=[patch])
        shown = await called("GetApiKey", apiKey="k", includeValue=True)
        assert shown["value"] == VALUE + "k"

    run(test)


def test_a_wrong_patch_of_usage_changes_nothing() -> None:
    async def test(_rig: Rig, called: Called) -> None:
        first = {"op": "replace", "path": "/remaining", "value": "1"}
        with pytest.raises(ApiError, match="Invalid patch"):
            await called("UpdateUsage", usagePlanId="p", keyId="k", patchOperations=[first, {**first, "value": "x"}])
        days = {"startDate": "2026-01-01", "endDate": "2026-01-01"}
        assert (await called("GetUsage", usagePlanId="p", **days))["items"]["k"] == [[0, 5]]

    run(test)


def test_keys_are_listed_by_name_and_customer() -> None:
    async def test(_rig: Rig, called: Called) -> None:
        for name, request in (
            ("GetApiKeys", {"customerId": "other"}), ("GetApiKeys", {"nameQuery": "oth"}),
            ("GetUsagePlanKeys", {"usagePlanId": "p", "nameQuery": "oth"}),
        ):  # fmt: skip
            assert [one["id"] for one in (await called(name, **request))["items"]] == ["other"]
        with pytest.raises(ApiError, match="Invalid limit: -1"):
            await called("GetApiKeys", limit=-1)

    run(test)


def test_an_import_changes_what_its_file_names_and_is_bounded() -> None:
    async def test(rig: Rig, called: Called) -> None:
        done = await called("ImportApiKeys", body=f"name,key\nnew,{VALUE}k\n".encode())
        assert done["ids"] == ["k"]
        settings = rig.entries(KEY)["k"].settings
        assert (settings["name"], settings["customerId"]) == ("new", "k")
        with pytest.raises(ApiError, match="more than 10000 keys"):
            await called("ImportApiKeys", body=b"name,key\n" + b"a,b\n" * (MOST_IMPORTED + 1))

    run(test)
