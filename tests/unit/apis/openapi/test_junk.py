"""Documents in which one part is something else: each is read, or refused as a bad request."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from itertools import count
from typing import Any, Final

import pytest

from statewright.apis.openapi.documents import Home, OpenApi, read_openapi
from statewright.apis.openapi.http import http_definition
from statewright.apis.openapi.rest import rest_definition
from statewright.apis.openapi.rest_members import RestMembers
from statewright.apis.records import Member
from statewright.errors import ApiError
from tests.unit.apis.openapi.test_documents import FUNCTION

JUNK: Final[tuple[Any, ...]] = (None, 1, 1.5, True, "text", "", [], [1], ["a"], [{}], {}, {"a": 1}, {"$ref": "#/a"})
X: Final = "x-amazon-apigateway-"
DOCUMENT: Final[dict[str, Any]] = {
    "openapi": "3.0.1", "info": {"title": "t", "description": "d"}, "tags": [{"name": "a", f"{X}tag-value": "b"}],
    "servers": [{"url": "/a", "variables": {"basePath": {"default": "x"}},
                 f"{X}endpoint-configuration": {"vpcEndpointIds": ["a"], "disableExecuteApiEndpoint": True}}],
    "paths": {
        "/a/{id}": {
            "parameters": [{"name": "id", "in": "path", "required": True}],
            "post": {
                "operationId": "o", "security": [{"token": ["s"]}], f"{X}auth": {"type": "NONE"},
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/A"}}}},
                "responses": {"200": {"headers": {"X-A": {}}, "content": {"application/json": {"schema": {}}}}},
                f"{X}request-validator": "v",
                f"{X}integration": {
                    "type": "aws_proxy", "uri": FUNCTION, "httpMethod": "POST", "payloadFormatVersion": "2.0",
                    "requestTemplates": {"application/json": "{}"}, "requestParameters": {},
                    "timeoutInMillis": 100, "cacheKeyParameters": ["a"], "tlsConfig": {"serverNameToVerify": "a"},
                    "responses": {"default": {
                        "statusCode": 200, "responseTemplates": {"a/b": ""}, "responseParameters": {"a": "b"},
                        "contentHandling": "convert_to_text",
                    }},
                },
            },
        },
    },
    "components": {
        "schemas": {"A": {"properties": {"b": {"$ref": "#/components/schemas/A"}}, "description": "d"}},
        "securitySchemes": {"token": {
            "type": "apiKey", "name": "a", "in": "header", f"{X}authtype": "custom",
            f"{X}authorizer": {
                "type": "request", "authorizerUri": FUNCTION, "identitySource": "$request.header.a",
                "authorizerResultTtlInSeconds": 10, "authorizerPayloadFormatVersion": "2.0",
                "enableSimpleResponses": True,
            },
        }},
    },
    f"{X}request-validators": {"v": {"validateRequestBody": True}},
    f"{X}gateway-responses": {"DEFAULT_4XX": {"statusCode": 400, "responseTemplates": {"a/b": ""}}},
    f"{X}binary-media-types": ["a/b"], f"{X}api-key-source": "HEADER", f"{X}minimum-compression-size": 1,
    f"{X}policy": {"Statement": []}, f"{X}cors": {"allowOrigins": ["*"], "maxAge": 1, "allowCredentials": False},
}  # fmt: skip
SWAGGER: Final[dict[str, Any]] = {
    "swagger": "2.0", "info": {"title": "t"}, "basePath": "/a", "consumes": ["a/b"], "produces": ["a/b"],
    "paths": {"/b": {"get": {
        "parameters": [{"in": "body", "name": "b", "schema": {"type": "object"}}],
        "responses": {"200": {"schema": {"$ref": "#/definitions/A"}}}, "security": [{"pool": ["s"]}],
    }}},
    "definitions": {"A": {"type": "object"}},
    "securityDefinitions": {"pool": {
        "type": "apiKey", "name": "Authorization", "in": "header",
        f"{X}authorizer": {"type": "cognito_user_pools", "providerARNs": ["arn:aws:cognito-idp:r:1:userpool/a"]},
    }},
}  # fmt: skip


def places(value: Any) -> Iterator[tuple[Any, ...]]:
    """The paths of all parts."""
    for key, part in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (key,)
        yield from ((key, *rest) for rest in places(part))


def with_junk(value: Any, place: tuple[Any, ...], junk: Any) -> bytes:
    made = copy.deepcopy(value)
    holder = made
    for step in place[:-1]:
        holder = holder[step]
    holder[place[-1]] = junk
    return json.dumps(made).encode()


def made(document: OpenApi) -> None:
    ids = count()
    members = RestMembers(
        lambda kind, given, key: Member("", kind, key or str(next(ids)), given, 0), None, overwrites=True
    )
    members.apply(rest_definition(document, "abc", "prepend"))


@pytest.mark.parametrize("whole", [DOCUMENT, SWAGGER], ids=["openapi", "swagger"])
def test_junk_is_read_or_refused(whole: dict[str, Any]) -> None:
    home, read, codes = Home("000000000000", "us-east-1"), 0, set()
    for place in places(whole):
        for junk in JUNK:
            for define in (made, http_definition):
                try:
                    define(read_openapi(with_junk(whole, place, junk), home))
                    read += 1
                except ApiError as refused:
                    codes.add(refused.code)
    assert codes == {"BadRequestException"}
    assert read > 100
