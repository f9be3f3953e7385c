"""What a definition changes in a REST API: what stays, what goes, and ids that do not change."""

from __future__ import annotations

from typing import Any

import pytest

from statewright.apis.apis import Apis
from statewright.apis.openapi.rest import RestDefinition
from statewright.apis.openapi.rest_members import RestMembers
from statewright.apis.records import MODEL, RESOURCE, REST_API, VALIDATOR
from statewright.errors import ApiError
from tests.unit.apis.test_apis import Rig
from tests.unit.rigs import run_rig, started_again


def definition(*paths: str, **parts: Any) -> RestDefinition:
    return RestDefinition({"name": "t"}, {path: {"GET": {"httpMethod": "GET"}} for path in paths}, **parts)


async def applied(rig: Rig, api: str, wanted: RestDefinition, *, overwrites: bool) -> None:
    held = rig.get(api, REST_API)
    members = RestMembers(rig.new, held, overwrites=overwrites)
    members.apply(wanted)
    await rig.redefine(held, members.settings(wanted), {}, members.written, members.deleted)


async def created(rig: Rig, wanted: RestDefinition) -> str:
    members = RestMembers(rig.new, None, overwrites=True)
    members.apply(wanted)
    return (await rig.create(REST_API, members.settings(wanted), {}, members.written)).api.id


def paths_of(rig: Apis, api: str) -> dict[str, str]:
    return {one.settings["path"]: one.id for one in rig.get(api, REST_API).of(RESOURCE).values()}


def test_members_that_stay_keep_their_ids_and_a_restart_finds_the_rest_gone() -> None:
    async def test(rig: Rig) -> None:
        validators = {"body": {"name": "body"}}
        api = await created(rig, definition("/a/b", "/c", validators=validators, models={"Pet": {"name": "Pet"}}))
        before = paths_of(rig, api)
        assert sorted(before) == ["/", "/a", "/a/b", "/c"]
        await applied(rig, api, definition("/a/d"), overwrites=False)
        assert paths_of(rig, api).items() >= before.items()
        await applied(rig, api, definition("/a/d", validators=validators), overwrites=True)
        again = await started_again(rig, Rig)
        found = paths_of(again, api)
        assert sorted(found) == ["/", "/a", "/a/d"]
        assert (found["/"], found["/a"]) == (before["/"], before["/a"])
        held = again.get(api, REST_API)
        assert (len(held.of(VALIDATOR)), len(held.of(MODEL))) == (1, 0)

    run_rig(Rig, test)


def test_the_root_loses_its_methods_and_paths_with_a_slash_at_their_end_are_the_same() -> None:
    async def test(rig: Rig) -> None:
        api = await created(rig, definition("/", "/a"))
        wanted = RestDefinition({"name": "t"}, {"/": {}, "/a": {"GET": {}}, "/a/": {"PUT": {}}})
        await applied(rig, api, wanted, overwrites=True)
        of = rig.get(api, REST_API).of(RESOURCE).values()
        assert {one.settings["path"]: sorted(one.settings["methods"]) for one in of} == {"/": [], "/a": ["GET", "PUT"]}

    run_rig(Rig, test)


def test_binary_media_types_are_united_or_replaced() -> None:
    async def test(rig: Rig) -> None:
        def typed(*types: str) -> RestDefinition:
            return RestDefinition({"name": "t", "binaryMediaTypes": [*types]})

        api = await created(rig, typed("a/a"))
        await applied(rig, api, typed("b/b", "a/a"), overwrites=False)
        assert rig.get(api, REST_API).api.settings["binaryMediaTypes"] == ["a/a", "b/b"]
        await applied(rig, api, typed("c/c"), overwrites=True)
        assert rig.get(api, REST_API).api.settings["binaryMediaTypes"] == ["c/c"]

    run_rig(Rig, test)


@pytest.mark.parametrize(
    ("paths", "reason"),
    [
        (("/a/{x}", "/a/{y}/b"), "'/a/{y}': A sibling ({x}) of this resource already has a variable path part"),
        (("/{p+}", "/{p+}/b"), "Cannot create a child of a resource with a greedy path variable"),
        (("/a b",), "path part only allow"),
    ],
)
def test_colliding_paths_are_refused(paths: tuple[str, ...], reason: str) -> None:
    async def test(rig: Rig) -> None:
        with pytest.raises(ApiError) as refused:
            await created(rig, definition(*paths))
        assert reason in refused.value.message
        assert rig.all(REST_API) == []

    run_rig(Rig, test)
