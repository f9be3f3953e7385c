"""APIs as rows: what a restart finds, deployments as snapshots, and changes that end what was compiled."""

from __future__ import annotations

from statewright.apis.apis import Apis
from statewright.apis.records import HTTP_API, KEY, ROUTE, STAGE
from statewright.config import Config
from statewright.stores.memory.store import MemoryStore
from statewright.virtual_clock import VirtualClock
from tests.unit.rigs import run_rig, started_again


class Rig(Apis):
    """APIs in virtual time."""

    def __init__(self, clock: VirtualClock, store: MemoryStore) -> None:
        super().__init__(store, clock, Config(), lambda: "http://127.0.0.1:4566")
        self.clock = clock
        self.store = store


def test_a_restart_finds_apis_members_and_entries() -> None:
    async def test(rig: Rig) -> None:
        route = rig.new(ROUTE, {"RouteKey": "GET /a"})
        held = await rig.create(HTTP_API, {"Name": "shop"}, {"t": "1"}, [route])
        deployment = rig.deployment(held, {})
        await rig.write(held, deployment, rig.new(STAGE, {"deployment": deployment.id}, "prod"))
        await rig.write(held, rig.new(ROUTE, {"RouteKey": "GET /later"}))
        await rig.put(KEY, "k", {"value": "v", "enabled": True})
        again = await started_again(rig, Rig)
        found = again.get(held.api.id, HTTP_API)
        assert (found.api.settings, found.api.tags) == ({"Name": "shop"}, {"t": "1"})
        assert {one.settings["RouteKey"] for one in found.of(ROUTE).values()} == {"GET /a", "GET /later"}
        served = again.deployed(found, found.of(STAGE)["prod"])
        assert served == {ROUTE: {route.id: {"RouteKey": "GET /a"}}}
        assert again.entries(KEY)["k"].settings["value"] == "v"
        await again.delete(found)
        last = await started_again(again, Rig)
        assert last.all(HTTP_API) == []

    run_rig(Rig, test)


def test_a_stage_with_automatic_deployment_serves_what_is_there() -> None:
    async def test(rig: Rig) -> None:
        held = await rig.create(HTTP_API, {"Name": "shop"}, {}, [rig.new(STAGE, {"auto": True}, "$default")])
        before = rig.versions.get(held.api.id, 0)
        await rig.write(held, rig.new(ROUTE, {"RouteKey": "GET /a"}))
        assert rig.versions[held.api.id] > before
        assert [one["RouteKey"] for one in rig.deployed(held, held.of(STAGE)["$default"])[ROUTE].values()] == ["GET /a"]
        assert rig.address(held.api.id) == f"http://{held.api.id}.execute-api.localhost:4566"

    run_rig(Rig, test)
