"""Parts shared by the answers of IAM: pages, documents, tags, and views of roles, users and groups."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from statewright.api import shapes
from statewright.api.operations import App
from statewright.api.sts.callers import refusal
from statewright.errors import ApiError
from statewright.pages import PageTokens
from statewright.payload import Json, JsonObject
from statewright.records.entries import Identity
from statewright.records.identities import GROUP, ROLE, Kind
from statewright.stores.entries import Place
from statewright.tags import tag_list

TOKENS: Final = PageTokens[Place]("iam", lambda marker: ApiError("ValidationError", f"Invalid Marker: {marker}"))
LISTED: Final = 100
HOUR_SECONDS: Final = 3600

shapes.refuse_with("iam", refusal)


def name_member(kind: Kind) -> str:
    """The member with the name of an entity: `RoleName`."""
    return f"{kind.title}Name"


def shown(app: App, kind: Kind, entry: Identity, *, in_list: bool = False) -> JsonObject:
    """A role, user or group as answers show it. Lists leave out tags, boundaries and the last use."""
    view: JsonObject = {
        "Path": entry.path,
        name_member(kind): entry.name,
        f"{kind.title}Id": entry.id,
        "Arn": app.services.identities.arn(kind, entry),
        "CreateDate": entry.created_ms,
    }
    if kind is ROLE:
        view["AssumeRolePolicyDocument"] = document_text(entry.trust)
        view["Description"] = entry.description
        view["MaxSessionDuration"] = entry.longest_seconds
    if in_list or kind is GROUP:
        return view
    boundary = entry.boundary
    if boundary is not None:
        view["PermissionsBoundary"] = {"PermissionsBoundaryType": "Policy", "PermissionsBoundaryArn": boundary}
    if entry.tags:
        view["Tags"] = tag_list(entry.tags)
    if kind is ROLE:
        view["RoleLastUsed"] = {}
    return view


def document_text(document: str) -> str:
    """A policy document escaped as in answers. Source: RFC 3986, which the API reference names."""
    return quote(document, safe="-_.~")


def start_of(request: Json) -> tuple[Place | None, int]:
    """The start of a page and its length. Raises: ApiError (`ValidationError`)."""
    return TOKENS.read(request.get("Marker")), request.get("MaxItems", LISTED)


def paged(place: Place | None) -> JsonObject:
    """The members of an answer about the next page."""
    return {"IsTruncated": place is not None, "Marker": TOKENS.write(place)}


def cut(listed: list[Json], request: Json) -> tuple[list[Json], JsonObject]:
    """A page of a complete list, and the members about the next page."""
    place, limit = start_of(request)
    start = place[0] if place is not None else 0
    more = start + limit < len(listed)
    return listed[start : start + limit], paged((start + limit, "") if more else None)
