"""Authorizers of the Serverless Application Model: what `Auth` of APIs and of their events becomes.

Owns which authorizer an event has. What cannot be read leaves the event out: nothing is opened that was meant to be
closed.

Source: Serverless Application Model developer guide, "ApiAuth", "HttpApiAuth", "ApiFunctionAuth" and
"HttpApiFunctionAuth".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from statewright.payload import Json

NONE: Final = "NONE"
IAM: Final = "AWS_IAM"
_HEADER: Final = "$request.header.Authorization"
_NOT_HERE: Final = ("ResourcePolicy",)
_OF_REST: Final = (
    ("Headers", "method.request.header."), ("QueryStrings", "method.request.querystring."),
    ("StageVariables", "stageVariables."), ("Context", "context."),
)  # fmt: skip
_OF_HTTP: Final = (
    ("Headers", "$request.header."), ("QueryStrings", "$request.querystring."),
    ("StageVariables", "$stageVariables."), ("Context", "$context."),
)  # fmt: skip


class CannotGuard(Exception):
    """An authorizer that cannot be made; the text says why."""


@dataclass(frozen=True, slots=True)
class ApiAuth:
    """The `Auth` of one API, read. `uri` begins the invocation ARN of a function (`arn:…/functions/`)."""

    api: str
    is_http: bool
    uri: str
    authorizers: Mapping[str, Json] = field(default_factory=dict)
    default: str = NONE
    key_required: bool = False

    @classmethod
    def of(cls, api: str, is_http: bool, uri: str, given: Json) -> ApiAuth:
        """Read the `Auth` of an API. Raises: CannotGuard."""
        if not given:
            return cls(api, is_http, uri)
        if not isinstance(given, dict):
            raise CannotGuard("its Auth is no object")
        for name in _NOT_HERE:
            if given.get(name):
                raise CannotGuard(f"{name} is not supported")
        default = given.get("DefaultAuthorizer") or NONE
        if not isinstance(default, str):
            raise CannotGuard("its DefaultAuthorizer is no name")
        authorizers = given.get("Authorizers") or {}
        if not isinstance(authorizers, dict):
            raise CannotGuard("its Authorizers are no object")
        if default not in (NONE, IAM, *authorizers):
            raise CannotGuard(f"the API has no authorizer {default[:80]}")
        return cls(api, is_http, uri, authorizers, default, given.get("ApiKeyRequired") in (True, "true"))

    def id(self, name: str) -> str:
        """The id of an authorizer's resource."""
        return f"{self.api}{re.sub('[^A-Za-z0-9]', '', name)}Authorizer"

    def of_event(self, given: Json) -> tuple[dict[str, Json], str | None]:
        """The properties of the route or method of an event, and the name of its authorizer. Raises: CannotGuard."""
        own = given if isinstance(given, dict) else {}
        if given is not None and not isinstance(given, dict):
            raise CannotGuard("its Auth is no object")
        for name in _NOT_HERE:
            if own.get(name):
                raise CannotGuard(f"{name} is not supported")
        name = own.get("Authorizer") or self.default
        made: dict[str, Json] = {}
        if not self.is_http and own.get("ApiKeyRequired", self.key_required) in (True, "true"):
            made["ApiKeyRequired"] = True
        if name in (NONE, IAM):
            return {**made, "AuthorizationType": name}, None
        settings = self.authorizers.get(name) if isinstance(name, str) else None
        if not isinstance(settings, dict):
            raise CannotGuard(f"the API has no authorizer {str(name)[:80]}")
        scopes = own.get("AuthorizationScopes") or settings.get("AuthorizationScopes")
        kind = self._type(settings)
        made |= {"AuthorizationType": kind, "AuthorizerId": {"Ref": self.id(str(name))}}
        if scopes and kind != "CUSTOM":
            made["AuthorizationScopes"] = scopes
        return made, str(name)

    def _type(self, settings: Mapping[str, Json]) -> str:
        if self.is_http and settings.get("JwtConfiguration"):
            return "JWT"
        return "COGNITO_USER_POOLS" if settings.get("UserPoolArn") else "CUSTOM"

    def resource(self, name: str) -> tuple[str, dict[str, Json]]:
        """The type and the properties of an authorizer's resource. Raises: CannotGuard."""
        given = self.authorizers[name]
        assert isinstance(given, dict)
        identity = given.get("Identity")
        seen = identity if isinstance(identity, dict) else {}
        if self.is_http:
            return "AWS::ApiGatewayV2::Authorizer", _present({
                "ApiId": {"Ref": self.api}, "Name": name, **self._of_http_api(given, seen),
            })  # fmt: skip
        return "AWS::ApiGateway::Authorizer", _present({
            "RestApiId": {"Ref": self.api}, "Name": name, **self._of_rest_api(given, seen),
            "AuthorizerResultTtlInSeconds": seen.get("ReauthorizeEvery"),
        })  # fmt: skip

    def _of_http_api(self, given: Mapping[str, Json], seen: Mapping[str, Json]) -> dict[str, Json]:
        tokens = given.get("JwtConfiguration")
        if isinstance(tokens, dict):
            named = {key.lower(): value for key, value in tokens.items()}
            audience = named.get("audience")
            listed = audience if isinstance(audience, list) else [audience]
            return {
                "AuthorizerType": "JWT", "IdentitySource": [given.get("IdentitySource", _HEADER)],
                "JwtConfiguration": {"Issuer": named.get("issuer"), "Audience": listed},
            }  # fmt: skip
        return {
            "AuthorizerType": "REQUEST", "AuthorizerUri": self._invocation(given),
            "AuthorizerCredentialsArn": given.get("FunctionInvokeRole"),
            "AuthorizerPayloadFormatVersion": str(given.get("AuthorizerPayloadFormatVersion", "2.0")),
            "EnableSimpleResponses": given.get("EnableSimpleResponses"),
            "AuthorizerResultTtlInSeconds": seen.get("ReauthorizeEvery"),
            "IdentitySource": _sources(seen, _OF_HTTP) or ([] if seen else [_HEADER]),
        }  # fmt: skip

    def _of_rest_api(self, given: Mapping[str, Json], seen: Mapping[str, Json]) -> dict[str, Json]:
        header = f"method.request.header.{seen.get('Header', 'Authorization')}"
        pool = given.get("UserPoolArn")
        if pool:
            return {
                "Type": "COGNITO_USER_POOLS", "ProviderARNs": pool if isinstance(pool, list) else [pool],
                "IdentitySource": header, "IdentityValidationExpression": seen.get("ValidationExpression"),
            }  # fmt: skip
        made = {"AuthorizerUri": self._invocation(given), "AuthorizerCredentials": given.get("FunctionInvokeRole")}
        if given.get("FunctionPayloadType") == "REQUEST":
            return {**made, "Type": "REQUEST", "IdentitySource": ",".join(_sources(seen, _OF_REST)) or None}
        pattern = seen.get("ValidationExpression")
        return {**made, "Type": "TOKEN", "IdentitySource": header, "IdentityValidationExpression": pattern}

    def _invocation(self, given: Mapping[str, Json]) -> Json:
        if not given.get("FunctionArn"):
            raise CannotGuard("its authorizer has neither a function nor a user pool nor a JwtConfiguration")
        return {"Fn::Join": ["", [self.uri, given["FunctionArn"], "/invocations"]]}


def _sources(seen: Mapping[str, Json], prefixes: tuple[tuple[str, str], ...]) -> list[str]:
    found = []
    for name, prefix in prefixes:
        values = seen.get(name)
        found += [f"{prefix}{one}" for one in (values if isinstance(values, list) else [])]
    return found


def _present(given: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in given.items() if value is not None}
