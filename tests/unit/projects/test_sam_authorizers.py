"""Authorizers of the Serverless Application Model: what `Auth` of APIs and events becomes."""

from __future__ import annotations

from pathlib import Path

import pytest

from statewright.projects.resources import Project
from tests.unit.projects.reading import texts
from tests.unit.projects.test_sam import serverless

POOL = "arn:aws:cognito-idp:us-east-1:000000000000:userpool/us-east-1_Pool"


def api(folder: Path, kind: str, auth: str, event: str = "") -> Project:
    """A project with an API, its `Auth`, and an event with its own."""
    named = "ApiId" if kind == "HttpApi" else "RestApiId"
    stage = "" if kind == "HttpApi" else "StageName: live, "
    return serverless(
        folder,
        f"""\
        Web: {{Type: AWS::Serverless::{kind}, Properties: {{{stage}Auth: {{{auth}}}}}}}
        Work:
          Type: AWS::Serverless::Function
          Properties:
            Runtime: python3.12
            Handler: index.handler
            InlineCode: x
            Events: {{Get: {{Type: {kind}, Properties: {{{named}: !Ref Web, Path: /a, Method: get, {event}}}}}}}
        """,
    )


def guarding(project: Project, kind: str) -> tuple[dict[str, object], dict[str, object]]:
    """What a route or method says of its authorization, and the properties of the authorizer."""
    version = "ApiGatewayV2::Route" if kind == "HttpApi" else "ApiGateway::Method"
    [route] = [one for one in project.resources.values() if one.type == f"AWS::{version}"]
    authorizers = [one for one in project.resources.values() if one.type.endswith("::Authorizer")]
    names = ("AuthorizationType", "AuthorizerId", "AuthorizationScopes", "ApiKeyRequired")
    shown = {name: route.properties[name] for name in names if name in route.properties}
    return shown, dict(authorizers[0].properties) if authorizers else {}


def test_tokens_of_an_issuer(tmp_path: Path) -> None:
    auth = (
        "DefaultAuthorizer: Tokens, Authorizers: {Tokens: {IdentitySource: $request.header.Authorization, "
        "AuthorizationScopes: [read], JwtConfiguration: {issuer: 'https://issuer.example', audience: [shop]}}}"
    )
    route, made = guarding(api(tmp_path, "HttpApi", auth), "HttpApi")
    assert route == {
        "AuthorizationType": "JWT", "AuthorizerId": {"Ref": "WebTokensAuthorizer"}, "AuthorizationScopes": ["read"],
    }  # fmt: skip
    assert made == {
        "ApiId": {"Ref": "Web"}, "Name": "Tokens", "AuthorizerType": "JWT",
        "IdentitySource": ["$request.header.Authorization"],
        "JwtConfiguration": {"Issuer": "https://issuer.example", "Audience": ["shop"]},
    }  # fmt: skip
    route, _ = guarding(api(tmp_path, "HttpApi", auth, "Auth: {AuthorizationScopes: [write]}"), "HttpApi")
    assert route["AuthorizationScopes"] == ["write"]
    route, made = guarding(api(tmp_path, "HttpApi", auth, "Auth: {Authorizer: NONE}"), "HttpApi")
    assert (route, made) == ({"AuthorizationType": "NONE"}, {})


def test_a_user_pool(tmp_path: Path) -> None:
    auth = f"Authorizers: {{Users: {{UserPoolArn: '{POOL}', Identity: {{Header: X-Token, ReauthorizeEvery: 30}}}}}}"
    route, made = guarding(api(tmp_path, "Api", auth, "Auth: {Authorizer: Users}"), "Api")
    assert route == {"AuthorizationType": "COGNITO_USER_POOLS", "AuthorizerId": {"Ref": "WebUsersAuthorizer"}}
    assert made == {
        "RestApiId": {"Ref": "Web"}, "Name": "Users", "Type": "COGNITO_USER_POOLS", "ProviderARNs": [POOL],
        "IdentitySource": "method.request.header.X-Token", "AuthorizerResultTtlInSeconds": 30,
    }  # fmt: skip


def test_functions_of_both_kinds(tmp_path: Path) -> None:
    asked = (
        "Authorizers: {Door: {FunctionPayloadType: REQUEST, FunctionArn: 'arn:aws:lambda:us-east-1:1:function:f', "
        "Identity: {QueryStrings: [q], Headers: [X-A], StageVariables: [v], Context: [path]}}}"
    )
    _, made = guarding(api(tmp_path, "Api", asked, "Auth: {Authorizer: Door}"), "Api")
    assert (made["Type"], made["IdentitySource"]) == (
        "REQUEST", "method.request.header.X-A,method.request.querystring.q,stageVariables.v,context.path",
    )  # fmt: skip
    _, made = guarding(api(tmp_path, "HttpApi", asked, "Auth: {Authorizer: Door}"), "HttpApi")
    assert (made["AuthorizerType"], made["AuthorizerPayloadFormatVersion"]) == ("REQUEST", "2.0")
    assert made["IdentitySource"] == [
        "$request.header.X-A", "$request.querystring.q", "$stageVariables.v", "$context.path",
    ]  # fmt: skip


def test_signatures_and_keys(tmp_path: Path) -> None:
    route, _ = guarding(api(tmp_path, "Api", "DefaultAuthorizer: AWS_IAM, ApiKeyRequired: true"), "Api")
    assert route == {"AuthorizationType": "AWS_IAM", "ApiKeyRequired": True}
    route, _ = guarding(api(tmp_path, "Api", "ApiKeyRequired: true", "Auth: {ApiKeyRequired: false}"), "Api")
    assert route == {"AuthorizationType": "NONE"}


@pytest.mark.parametrize("kind", ["Api", "HttpApi"])
@pytest.mark.parametrize(
    ("auth", "event"),
    [
        ("DefaultAuthorizer: A", ""), ("DefaultAuthorizer: A, Authorizers: {B: {}}", ""), ("Authorizers: [A]", ""),
        ("DefaultAuthorizer: [A]", ""), ("Authorizers: {A: {}}, DefaultAuthorizer: A", ""),
        ("Authorizers: {A: x}, DefaultAuthorizer: A", ""), ("", "Auth: {Authorizer: A}"), ("", "Auth: AWS_IAM"),
        ("", "Auth: {ResourcePolicy: {IpRangeDenylist: [a]}}"), ("ResourcePolicy: {IpRangeDenylist: [a]}", ""),
    ],
)  # fmt: skip
def test_what_was_meant_to_be_closed_is_not_opened(tmp_path: Path, kind: str, auth: str, event: str) -> None:
    project = api(tmp_path, kind, auth, event)
    assert not [one for one in project.resources.values() if one.type.endswith(("::Method", "::Route"))]
    assert "so it stays closed" in "\n".join(texts(project, "WARNING"))


@pytest.mark.parametrize(
    ("auth", "event"),
    [("DefaultAuthorizer: AWS_IAM", ""), ("ApiKeyRequired: true", ""), ("", "Auth: {Authorizer: AWS_IAM}"),
     ("", "Auth: {ApiKeyRequired: true}")],
)  # fmt: skip
def test_a_document_is_not_opened_where_its_auth_would_guard_it(tmp_path: Path, auth: str, event: str) -> None:
    document = "{openapi: 3.0.1, info: {title: a, version: '1'}, paths: {}}"
    project = serverless(
        tmp_path,
        f"""\
        Web:
          Type: AWS::Serverless::Api
          Properties: {{StageName: live, MergeDefinitions: true, Auth: {{{auth}}}, DefinitionBody: {document}}}
        Work:
          Type: AWS::Serverless::Function
          Properties:
            Runtime: python3.12
            Handler: index.handler
            InlineCode: x
            Events: {{Get: {{Type: Api, Properties: {{RestApiId: !Ref Web, Path: /a, Method: get, {event}}}}}}}
        """,
    )
    assert "so it stays closed" in "\n".join(texts(project, "WARNING"))
    made = project.resources["Web"].properties.get("Body")
    assert project.resources["Web"].type == "AWS::Serverless::Api" or (isinstance(made, dict) and made["paths"] == {})
