"""Authorizers by tokens: JWT authorizers of HTTP APIs, and Cognito user pools of REST APIs.

Owns where a token is taken from, what a route asks of it, and what an integration sees of it.

Source: API Gateway developer guide, "Control access to HTTP APIs with JWT authorizers", "Troubleshooting issues with
HTTP API JWT authorizers" and "Control access to REST APIs using Amazon Cognito user pools".
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from statewright.apis.authorizers.identity import IdentitySource
from statewright.apis.authorizers.issuers import Issuers
from statewright.apis.authorizers.tokens import (
    LibraryMissing,
    Token,
    TokenRefused,
    check_claims,
    check_signature,
    check_times,
    claims_as_texts,
    scopes_of,
)
from statewright.apis.authorizers.verdicts import DENIED, MISCONFIGURED, UNAUTHORIZED, Refusal
from statewright.apis.calls import CallContext, Request
from statewright.clock import Clock
from statewright.query.linear_regex import LinearRegex

log = logging.getLogger("statewright.apis")

_BEARER: Final = re.compile(r"(?i:Bearer +)?(\S+)")
_POOL: Final = re.compile(r"arn:[^:]+:cognito-idp:(?P<region>[a-z0-9-]+):[^:]*:userpool/(?P<pool>[A-Za-z0-9_-]+)")
_MISSING: Final = "a token cannot be checked: the package joserfc is not installed; run pip install 'statewright[jwt]'"


def _token_of(source: IdentitySource, request: Request, context: CallContext) -> Token | None:
    """The token of a request; `None` without one. Raises: TokenRefused, also for several of them."""
    values = source.values(request, context)
    if not values:
        return None
    found = _BEARER.fullmatch(values[0].strip())
    if found is None or len(values) > 1:
        raise TokenRefused("the request has no single bearer token")
    return Token.of(found[1])


@dataclass(frozen=True, slots=True)
class JwtGuard:
    """Asks for a token of one issuer."""

    source: IdentitySource
    issuer: str
    audience: tuple[str, ...]
    scopes: tuple[str, ...]
    issuers: Issuers
    clock: Clock

    async def __call__(self, request: Request, context: CallContext) -> Refusal | None:
        """See `Guard`."""
        try:
            token = _token_of(self.source, request, context)
            if token is None:
                return Refusal(UNAUTHORIZED, headers=(("www-authenticate", "Bearer"),))
            check_signature(token, await self.issuers.key(self.issuer, token.key_id))
            check_claims(token, self.issuer, self.audience, self.clock.now_ms())
        except TokenRefused as problem:
            return self._refusal(UNAUTHORIZED, "invalid_token", str(problem))
        except LibraryMissing:
            log.error(_MISSING)
            return Refusal(MISCONFIGURED)
        granted = [one for one in scopes_of(token.claims) if one in self.scopes]
        if self.scopes and not granted:
            return self._refusal(DENIED, "insufficient_scope", "the token does not have any of the required scopes")
        context.authorizer = {"claims": claims_as_texts(token.claims), "scopes": granted or None}
        context.authorizer_2 = {"jwt": context.authorizer}
        return None

    def _refusal(self, kind: str, error: str, why: str) -> Refusal:
        text = f'Bearer scope="{" ".join(self.scopes)}" error="{error}" error_description="{why}"'
        return Refusal(kind, headers=(("www-authenticate", text),))


@dataclass(frozen=True, slots=True)
class CognitoGuard:
    """Asks for a token of a user pool: its ID token, or an access token where the method has scopes.

    `pools` are the issuers of the authorizer's user pools whose keys the settings name.
    """

    source: IdentitySource
    pools: tuple[str, ...]
    scopes: tuple[str, ...]
    audience_pattern: LinearRegex | None
    issuers: Issuers
    clock: Clock

    async def __call__(self, request: Request, context: CallContext) -> Refusal | None:
        """See `Guard`."""
        if not self.pools:
            log.warning(
                "%s of the API %s is closed: name the keys of its user pool in [issuers] of statewright.toml",
                context.resource_path, context.api_id,
            )  # fmt: skip
            return Refusal(MISCONFIGURED)
        try:
            token = _token_of(self.source, request, context)
            if token is None or token.claims.get("iss") not in self.pools:
                return Refusal(UNAUTHORIZED)
            check_signature(token, await self.issuers.key(str(token.claims["iss"]), token.key_id))
            check_times(token, self.clock.now_ms())
        except TokenRefused as problem:
            expired = str(problem) == "the token has expired"
            return Refusal(UNAUTHORIZED, "The incoming token has expired" if expired else None)
        except LibraryMissing:
            log.error(_MISSING)
            return Refusal(MISCONFIGURED)
        if not self._is_meant(token):
            return Refusal(UNAUTHORIZED)
        context.authorizer = {"claims": claims_as_texts(token.claims)}
        return None

    def _is_meant(self, token: Token) -> bool:
        """True if a genuine token is of the kind that the method asks for."""
        if self.scopes:
            return token.claims.get("token_use") == "access" and bool(set(scopes_of(token.claims)) & set(self.scopes))
        audience = token.claims.get("aud")
        if self.audience_pattern is not None and not (
            isinstance(audience, str) and self.audience_pattern.fullmatch(audience)
        ):
            return False
        return token.claims.get("token_use") == "id"


def issuers_of_pools(arns: Sequence[str]) -> list[str]:
    """The issuers of tokens of user pools, by their ARNs; an ARN that names no pool has none."""
    found = [_POOL.fullmatch(one) for one in arns]
    return [f"https://cognito-idp.{one['region']}.amazonaws.com/{one['pool']}" for one in found if one is not None]
