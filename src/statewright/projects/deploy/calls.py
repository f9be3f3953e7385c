"""One call of an API, over HTTP or within the process.

Owns the protocol, which refusals mean that something is missing or not supported, and how the result of a creation is
found that was interrupted before it could be written down. That is for types whose ids the server gives: by the tags of
their stack, or by the members that no other one at its place has. Types with names of their own are found by these;
integrations, deployments and validators are made again, and go with their API.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

Answer = dict[str, Any]

_MISSING: Final = ("DoesNotExist", "NotFound", "NonExistent", "NoSuch", "ClusterNotFound")
_MISSING_WORDS: Final = ("does not exist", "doesn't exist", "not found", "Unable to describe")
_TAKEN: Final = ("Exist", "Conflict", "AlreadyOwned", "InUse")
_UNSERVED: Final = frozenset({"UnknownService", "UnknownOperationException", "NotImplemented", "InvalidAction"})


class Call(Protocol):
    """Carries out an operation."""

    def __call__(self, service: str, operation: str, request: Mapping[str, Any], /) -> Answer:
        """The answer; instants are epoch milliseconds, bodies are bytes.

        `service` is botocore's name of one (`stepfunctions`, `lambda`), `operation` the API's (`CreateQueue`).

        Raises: CallRefused.
        """
        ...


class CallRefused(Exception):
    """A service's refusal, in its own words."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}" if message else code)
        self.code = code
        self.message = message

    @property
    def is_missing(self) -> bool:
        """True if the resource does not exist."""
        if any(part in self.code for part in _MISSING):
            return not self.is_unserved
        # Client and validation errors of some services tell it in words alone.
        return self.code in ("ClientException", "ValidationError") and any(w in self.message for w in _MISSING_WORDS)

    @property
    def is_taken(self) -> bool:
        """True if the resource may exist already."""
        return any(part in self.code for part in _TAKEN) and not self.is_missing

    @property
    def is_unserved(self) -> bool:
        """True if the server does not support the service or the operation."""
        return self.code in _UNSERVED


Ask = Callable[..., Answer]
"""Asks an operation of a service: `ask(service, operation, **request)`. Raises: CallRefused."""


@dataclass(frozen=True, slots=True)
class _Listing:
    """An operation that lists resources of one type. `within` names their place, `same` what tells one of them."""

    operation: str
    same: tuple[str, ...]
    within: str = ""


_LISTINGS: Final = {
    ("apigateway", "CreateRestApi"): _Listing("GetRestApis", ("tags",)),
    ("apigateway", "CreateResource"): _Listing("GetResources", ("parentId", "pathPart"), "restApiId"),
    ("apigateway", "CreateAuthorizer"): _Listing("GetAuthorizers", ("name",), "restApiId"),
    ("apigateway", "CreateModel"): _Listing("GetModels", ("name",), "restApiId"),
    ("apigateway", "CreateApiKey"): _Listing("GetApiKeys", ("tags",)),
    ("apigateway", "CreateUsagePlan"): _Listing("GetUsagePlans", ("tags",)),
    ("apigatewayv2", "CreateApi"): _Listing("GetApis", ("Tags",)),
    ("apigatewayv2", "CreateRoute"): _Listing("GetRoutes", ("RouteKey",), "ApiId"),
    ("apigatewayv2", "CreateAuthorizer"): _Listing("GetAuthorizers", ("Name",), "ApiId"),
}


def made_before(ask: Ask, service: str, operation: str, request: Mapping[str, object]) -> Answer | None:
    """The resource that an interrupted creation with this request has made; `None` if none is found.

    Raises: CallRefused.
    """
    listing = _LISTINGS.get((service, operation))
    if listing is None or not all(request.get(name) for name in listing.same):
        return None
    after, items = ("NextToken", "Items") if service == "apigatewayv2" else ("position", "items")
    place = {listing.within: request[listing.within]} if listing.within else {}
    token: object = None
    while True:
        found = ask(service, listing.operation, **place, **({after: token} if token else {}))
        for one in found.get(items) or ():
            if all(one.get(name) == request[name] for name in listing.same):
                return dict(one)
        token = found.get(after)
        if not token:
            return None
