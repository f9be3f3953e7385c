"""The answer of a REST API's method OPTIONS to the preflight of a browser, as frameworks write it."""

from __future__ import annotations

from collections.abc import Mapping

from statewright.payload import Json


def preflight(headers: Mapping[str, Json], template: str = "") -> dict[str, Json]:
    """Properties of an `AWS::ApiGateway::Method` that answers with these headers, which are expressions: `'*'`.

    `template` is that of the response; it may override headers.
    """
    named = {f"method.response.header.{name}": value for name, value in headers.items()}
    response: Json = {
        "StatusCode": "200", "ResponseParameters": named, "ResponseTemplates": {"application/json": template},
    }  # fmt: skip
    return {
        "HttpMethod": "OPTIONS", "AuthorizationType": "NONE",
        "MethodResponses": [{"StatusCode": "200", "ResponseParameters": dict.fromkeys(named, True)}],
        "Integration": {
            "Type": "MOCK", "RequestTemplates": {"application/json": "{statusCode:200}"},
            "ContentHandling": "CONVERT_TO_TEXT", "IntegrationResponses": [response],
        },
    }  # fmt: skip
