"""Operations that roles, users and groups share: their policies and tags, listing and deleting them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from statewright.api.iam.answers import (
    cut,
    document_text,
    name_member,
    paged,
    shown,
    start_of,
)
from statewright.api.operations import App, Call, operation
from statewright.payload import Json
from statewright.records.identities import GROUP, KINDS, Kind
from statewright.tags import tag_list, tags_by_key

Answering = Callable[[App, str, Json], Awaitable[Json]]
"""Runs an operation; its arguments are the application, the name of an entity, and the request."""


def _register(kind: Kind, name: str, answer: Answering) -> None:
    member = name_member(kind)

    @operation("iam", name)
    async def perform(app: App, _call: Call, request: Json) -> Json:
        return await answer(app, request[member], request)


def _entity_operations(kind: Kind) -> None:
    title = kind.title

    async def delete(app: App, name: str, _request: Json) -> None:
        await app.services.identities.delete(kind, name)

    async def put_policy(app: App, name: str, request: Json) -> None:
        await app.services.identities.put_inline(kind, name, request["PolicyName"], request["PolicyDocument"])

    async def get_policy(app: App, name: str, request: Json) -> Json:
        found, document = await app.services.identities.inline(kind, name, request["PolicyName"])
        named = {name_member(kind): found.name, "PolicyName": request["PolicyName"]}
        return {**named, "PolicyDocument": document_text(document)}

    async def list_policies(app: App, name: str, request: Json) -> Json:
        found = await app.services.identities.get(kind, name)
        names, more = cut(sorted(found.inline), request)
        return {"PolicyNames": names, **more}

    async def delete_policy(app: App, name: str, request: Json) -> None:
        await app.services.identities.delete_inline(kind, name, request["PolicyName"])

    async def attach(app: App, name: str, request: Json) -> None:
        await app.services.identities.attach(kind, name, request["PolicyArn"])

    async def detach(app: App, name: str, request: Json) -> None:
        await app.services.identities.detach(kind, name, request["PolicyArn"])

    async def list_attached(app: App, name: str, request: Json) -> Json:
        found = await app.services.identities.get(kind, name)
        prefix = request.get("PathPrefix", "/")
        attached = [arn for arn in found.attached if arn.partition(":policy")[2].startswith(prefix)]
        arns, more = cut(attached, request)
        views = [{"PolicyName": arn.rpartition("/")[2], "PolicyArn": arn} for arn in arns]
        return {"AttachedPolicies": views, **more}

    _register(kind, f"Delete{title}", delete)
    _register(kind, f"Put{title}Policy", put_policy)
    _register(kind, f"Get{title}Policy", get_policy)
    _register(kind, f"List{title}Policies", list_policies)
    _register(kind, f"Delete{title}Policy", delete_policy)
    _register(kind, f"Attach{title}Policy", attach)
    _register(kind, f"Detach{title}Policy", detach)
    _register(kind, f"ListAttached{title}Policies", list_attached)


def _tag_operations(kind: Kind) -> None:
    title = kind.title

    async def tag(app: App, name: str, request: Json) -> None:
        await app.services.identities.tag(kind, name, tags_by_key(request.get("Tags")))

    async def untag(app: App, name: str, request: Json) -> None:
        await app.services.identities.tag(kind, name, {}, request["TagKeys"])

    async def list_tags(app: App, name: str, request: Json) -> Json:
        found = await app.services.identities.get(kind, name)
        tags, more = cut(tag_list(found.tags), request)
        return {"Tags": tags, **more}

    async def put_boundary(app: App, name: str, request: Json) -> None:
        await app.services.identities.policies.check_attachable(request["PermissionsBoundary"])
        await app.services.identities.set(kind, name, boundary=request["PermissionsBoundary"])

    async def delete_boundary(app: App, name: str, _request: Json) -> None:
        await app.services.identities.set(kind, name, boundary=None)

    _register(kind, f"Tag{title}", tag)
    _register(kind, f"Untag{title}", untag)
    _register(kind, f"List{title}Tags", list_tags)
    _register(kind, f"Put{title}PermissionsBoundary", put_boundary)
    _register(kind, f"Delete{title}PermissionsBoundary", delete_boundary)


def _list_operation(kind: Kind) -> None:
    @operation("iam", f"List{kind.title}s")
    async def listed(app: App, _call: Call, request: Json) -> Json:
        after, limit = start_of(request)
        found, place = await app.services.identities.page(kind, request.get("PathPrefix", "/"), after, limit)
        return {f"{kind.title}s": [shown(app, kind, one, in_list=True) for one in found], **paged(place)}


for _kind in KINDS:
    _entity_operations(_kind)
    _list_operation(_kind)
    if _kind is not GROUP:
        _tag_operations(_kind)
