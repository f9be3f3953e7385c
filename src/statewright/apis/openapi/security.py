"""Security of a document: its schemes as authorizers, and what an operation asks for.

Owns the meaning of schemes for both kinds of APIs. A scheme that API Gateway cannot check closes the operations that
ask for it. Authorizers themselves are rows like any other; requests meet them in `apis/authorizers/`.

Source: API Gateway developer guide, "x-amazon-apigateway-authorizer object", "x-amazon-apigateway-authtype property".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from statewright.apis.errors import bad_request
from statewright.apis.openapi.documents import INVALID, OpenApi, list_of, number_of, table_of
from statewright.payload import Json, JsonMapping, JsonObject

AUTHORIZER: Final = "x-amazon-apigateway-authorizer"
AUTH_TYPE: Final = "x-amazon-apigateway-authtype"
_IAM: Final = "awssigv4"
_KEY_HEADER: Final = "x-api-key"


@dataclass(frozen=True, slots=True)
class Guard:
    """The check that an operation asks for. `authorizer` is the name of a scheme; `is_key` asks for an API key."""

    authorization: str = "NONE"
    authorizer: str = ""
    scopes: tuple[str, ...] = ()
    is_key: bool = False


def guard_of(document: OpenApi, asked: Json, auth: Json = None) -> Guard:
    """The check of an operation, by its `security` and its `x-amazon-apigateway-auth`. Raises: ApiError."""
    kind = str(table_of(auth, "x-amazon-apigateway-auth").get("type") or "NONE").upper()
    if kind not in ("NONE", "AWS_IAM"):
        raise bad_request(f"{INVALID} x-amazon-apigateway-auth is of type {kind[:50]}, not NONE or AWS_IAM.")
    if asked is not None and not isinstance(asked, list):
        raise bad_request(f"{INVALID} security must be a list.")
    guard = Guard(kind)
    for one in asked or ():
        for name, scopes in table_of(one, "security").items():
            scheme = document.security_schemes.get(name)
            if scheme is None:
                raise bad_request(f"{INVALID} The security scheme {name[:200]} does not exist.")
            guard = _with_scheme(document, guard, name, table_of(document.followed(scheme), name), scopes)
    return guard


def _with_scheme(document: OpenApi, guard: Guard, name: str, scheme: JsonMapping, scopes: Json) -> Guard:
    if AUTHORIZER not in scheme and is_key(scheme):
        return Guard(guard.authorization, guard.authorizer, guard.scopes, is_key=True)
    if str(scheme.get(AUTH_TYPE) or "").lower() == _IAM:
        found = Guard("AWS_IAM", is_key=guard.is_key)
    elif AUTHORIZER in scheme:
        kind = kind_of(scheme)
        own = {"COGNITO_USER_POOLS": kind, "JWT": kind}.get(kind, "CUSTOM")
        wanted = tuple(str(one) for one in scopes) if isinstance(scopes, list) else ()
        found = Guard(own, name, wanted if own != "CUSTOM" else (), guard.is_key)
    else:
        document.warnings.append(f"The security scheme {name} has no authorizer: operations that ask for it are closed")
        found = Guard("CUSTOM", is_key=guard.is_key)
    known = guard.authorization, guard.authorizer
    if guard.authorization != "NONE" and known != (found.authorization, found.authorizer):
        raise bad_request(f"{INVALID} An operation can have only one authorizer: {name[:200]} is a second one.")
    return found


def is_key(scheme: JsonMapping) -> bool:
    """True for the scheme of API keys."""
    return scheme.get("type") == "apiKey" and str(scheme.get("name") or "").lower() == _KEY_HEADER


def kind_of(scheme: JsonMapping) -> str:
    """The type of a scheme's authorizer in upper case."""
    return str(table_of(scheme.get(AUTHORIZER), AUTHORIZER).get("type") or "").upper()


def authorizers_of(document: OpenApi) -> dict[str, tuple[JsonMapping, JsonMapping]]:
    """The authorizers by the name of their scheme: the authorizer and the scheme. Raises: ApiError."""
    found = {}
    for name, given in document.security_schemes.items():
        scheme = table_of(document.followed(given), name)
        if AUTHORIZER in scheme:
            found[name] = (table_of(scheme[AUTHORIZER], AUTHORIZER), scheme)
    return found


def rest_authorizer(name: str, given: JsonMapping, scheme: JsonMapping) -> JsonObject:
    """The settings of an authorizer of a REST API. Raises: ApiError."""
    kind = kind_of(scheme)
    made: JsonObject = {"name": name, "type": kind}
    if scheme.get(AUTH_TYPE):
        made["authType"] = scheme[AUTH_TYPE]
    for member in ("authorizerUri", "authorizerCredentials", "identitySource", "identityValidationExpression"):
        if given.get(member) is not None:
            made[member] = str(given[member])
    if given.get("providerARNs"):
        made["providerARNs"] = list_of(given["providerARNs"])
    if given.get("authorizerResultTtlInSeconds") is not None:
        made["authorizerResultTtlInSeconds"] = number_of(given, "authorizerResultTtlInSeconds")
    if "identitySource" not in made and kind != "REQUEST":
        made["identitySource"] = f"method.request.header.{scheme.get('name') or 'Authorization'}"
    return made
