"""The rows of APIs: one for each API, and one for each of its members.

Owns the kinds of rows. A member is a route, an integration, a resource with its methods, a stage, a deployment and so
on; its settings are the members of the service model, by the model's names. A deployment holds the settings of all
members that take part in routing, as they were when it was made: what changes later is served after the next one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from statewright.payload import Json, JsonMapping
from statewright.stores.entries import EntryKind

HTTP_API: Final = "HTTP"
REST_API: Final = "REST"

ROUTE: Final = "route"
INTEGRATION: Final = "integration"
RESOURCE: Final = "resource"
STAGE: Final = "stage"
DEPLOYMENT: Final = "deployment"
AUTHORIZER: Final = "authorizer"
MODEL: Final = "model"
VALIDATOR: Final = "validator"
GATEWAY_RESPONSE: Final = "gateway-response"

KEY: Final = "key"
PLAN: Final = "plan"
PLAN_KEY: Final = "plan-key"
USAGE: Final = "usage"
"""Requests of a key under a plan, by day; its id is that of the key's link to the plan."""
ACCOUNT: Final = "account"
LOOSE_KINDS: Final = (KEY, PLAN, PLAN_KEY, USAGE, ACCOUNT)
"""The kinds of entries of the account."""

ROUTED: Final = (ROUTE, INTEGRATION, RESOURCE, AUTHORIZER, MODEL, VALIDATOR, GATEWAY_RESPONSE)
"""The kinds of members that a deployment holds."""

Snapshot = Mapping[str, Mapping[str, JsonMapping]]
"""The settings of members by kind and id."""


@dataclass(frozen=True, slots=True)
class Api:
    """An API. `settings` has what its operations show besides the fields here."""

    id: str
    protocol: str
    settings: JsonMapping
    created_ms: int
    tags: Mapping[str, str] = field(default_factory=dict)
    stored: int = 0


@dataclass(frozen=True, slots=True)
class Member:
    """A part of an API, by its kind and id."""

    api: str
    kind: str
    id: str
    settings: JsonMapping
    created_ms: int
    updated_ms: int = 0
    stored: int = 0


@dataclass(frozen=True, slots=True)
class Loose:
    """An entry of the account: an API key, a usage plan, the link of a key to a plan, its usage, or the settings."""

    kind: str
    id: str
    settings: Mapping[str, Json]
    created_ms: int
    updated_ms: int = 0
    stored: int = 0


def member_key(api: str, kind: str, id: str) -> str:
    """The key of a member's row."""
    return f"{api}/{kind}/{id}"


API: Final = EntryKind("api", Api, lambda one: one.id)
MEMBER: Final = EntryKind(
    "api-member", Member, lambda one: member_key(one.api, one.kind, one.id), parent=lambda one: one.api
)
LOOSE: Final = EntryKind("api-entry", Loose, lambda one: f"{one.kind}/{one.id}", parent=lambda one: one.kind)
