"""The guards of a stage: from the settings of authorizers to what checks requests.

Owns which authorization types lead to which guard. A route whose authorizer is missing or cannot be asked here stays
closed.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from statewright.apis.authorizers.identity import http_sources, rest_sources
from statewright.apis.authorizers.issuers import Issuers
from statewright.apis.authorizers.jwt_authorizers import CognitoGuard, JwtGuard, issuers_of_pools
from statewright.apis.authorizers.lambda_authorizers import REQUEST, TOKEN, Invoke, LambdaAuthorizer, LambdaGuard
from statewright.apis.authorizers.results import Results
from statewright.apis.authorizers.signatures import SignatureGuard, Verify
from statewright.apis.authorizers.verdicts import DENIED, Guard, Refusal
from statewright.apis.calls import CallContext, Request
from statewright.apis.integrations.mapping import selection_pattern
from statewright.apis.records import AUTHORIZER, Snapshot
from statewright.clock import Clock
from statewright.payload import JsonMapping, dump_json

log = logging.getLogger("statewright.apis")

NONE: Final = "NONE"
CUSTOM: Final = "CUSTOM"
JWT: Final = "JWT"
AWS_IAM: Final = "AWS_IAM"
COGNITO: Final = "COGNITO_USER_POOLS"
REST_TTL_SECONDS: Final = 300
"""Default of REST APIs. Source: API reference, CreateAuthorizer."""


@dataclass(frozen=True, slots=True)
class Guards:
    """Makes the guards of one region's stages."""

    invoke: Invoke
    results: Results
    clock: Clock
    issuers: Issuers
    verify: Verify

    def of_route(self, route: JsonMapping, snapshot: Snapshot) -> Guard | None:
        """The guard of a route of an HTTP API; `None` for an open one."""
        scopes = tuple(route.get("AuthorizationScopes") or ())
        return self._of(route.get("AuthorizationType"), route.get("AuthorizerId"), snapshot, {
            (CUSTOM, REQUEST): lambda key, settings: self._asks(http_authorizer(key, settings)),
            (JWT, JWT): lambda _, settings: self._asks_issuer(settings, scopes),
        })  # fmt: skip

    def of_method(self, method: JsonMapping, snapshot: Snapshot) -> Guard | None:
        """The guard of a method of a REST API; `None` for an open one."""
        scopes = tuple(method.get("authorizationScopes") or ())

        def of_function(key: str, settings: JsonMapping) -> Guard:
            return self._asks(rest_authorizer(key, settings))

        return self._of(method.get("authorizationType"), method.get("authorizerId"), snapshot, {
            (CUSTOM, TOKEN): of_function, (CUSTOM, REQUEST): of_function,
            (COGNITO, COGNITO): lambda _, settings: self._asks_pool(settings, scopes),
        })  # fmt: skip

    def _of(
        self, authorization: str | None, authorizer_id: str | None, snapshot: Snapshot,
        makers: Mapping[tuple[str, str], Callable[[str, JsonMapping], Guard]],
    ) -> Guard | None:  # fmt: skip
        """`makers` are by the types of authorization and authorizer: an update may have changed one of them."""
        if authorization in (None, NONE):
            return None
        if authorization == AWS_IAM:
            return SignatureGuard(self.verify)
        key = authorizer_id or ""
        settings = snapshot.get(AUTHORIZER, {}).get(key, {})
        make = makers.get((authorization or "", settings.get("AuthorizerType") or settings.get("type") or ""))
        return closed if make is None else make(key, settings)

    def _asks_issuer(self, settings: JsonMapping, scopes: tuple[str, ...]) -> Guard:
        given = settings["JwtConfiguration"]
        source = http_sources(settings["IdentitySource"])[0]
        return JwtGuard(source, given["Issuer"], tuple(given["Audience"]), scopes, self.issuers, self.clock)

    def _asks_pool(self, settings: JsonMapping, scopes: tuple[str, ...]) -> Guard:
        pools = [one for one in issuers_of_pools(settings["providerARNs"]) if self.issuers.is_given(one)]
        pattern = settings.get("identityValidationExpression")
        return CognitoGuard(
            rest_sources(settings["identitySource"])[0], tuple(pools), scopes,
            selection_pattern(pattern) if pattern else None, self.issuers, self.clock,
        )  # fmt: skip

    def _asks(self, authorizer: LambdaAuthorizer) -> Guard:
        return LambdaGuard(authorizer, self.invoke, self.results, self.clock)


async def closed(_request: Request, context: CallContext) -> Refusal | None:
    """See `Guard`: refuses every request to a route that asks for what is not here."""
    where = context.resource_path, context.api_id
    log.warning("%s of the API %s is closed: its authorizer is missing, or cannot be asked here", *where)
    return Refusal(DENIED)


def _identity(authorizer_id: str, settings: JsonMapping) -> str:
    digest = hashlib.sha256(dump_json(dict(sorted(settings.items()))).encode())
    return f"{authorizer_id}:{digest.hexdigest()}"


def http_authorizer(authorizer_id: str, settings: JsonMapping) -> LambdaAuthorizer:
    """The Lambda authorizer that a row of an HTTP API describes."""
    return LambdaAuthorizer(
        _identity(authorizer_id, settings), REQUEST, settings.get("AuthorizerUri") or "",
        http_sources(settings.get("IdentitySource") or ()), 1000 * (settings.get("AuthorizerResultTtlInSeconds") or 0),
        settings.get("AuthorizerPayloadFormatVersion") or "2.0", bool(settings.get("EnableSimpleResponses")),
    )  # fmt: skip


def rest_authorizer(authorizer_id: str, settings: JsonMapping) -> LambdaAuthorizer:
    """The Lambda authorizer that a row of a REST API describes."""
    pattern = settings.get("identityValidationExpression")
    ttl_seconds = settings.get("authorizerResultTtlInSeconds")
    kind = settings["type"]
    return LambdaAuthorizer(
        _identity(authorizer_id, settings), kind, settings.get("authorizerUri") or "",
        rest_sources(settings.get("identitySource")),
        1000 * (REST_TTL_SECONDS if ttl_seconds is None else ttl_seconds),
        token_pattern=selection_pattern(pattern) if pattern and kind == TOKEN else None,
    )  # fmt: skip
