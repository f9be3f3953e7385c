"""Checks of integrations of REST APIs when they are put: what this version cannot serve is refused here.

Source: texts are recorded; those about features that are not here are ours.
"""

from __future__ import annotations

import asyncio
import re
from typing import Final

from statewright.apis.calls import AWS, HTTP, HTTP_PROXY, LAMBDA_PROXY, MOCK
from statewright.apis.errors import bad_request
from statewright.apis.integrations.mapping import selection_pattern
from statewright.apis.templates.failures import TemplateSyntaxError
from statewright.apis.templates.template import LONG_TEMPLATE, compile_template
from statewright.payload import JsonMapping, JsonObject
from statewright.query.linear_regex import RegexSyntaxError

SHORTEST_MS: Final = 50
LONGEST_MS: Final = 900_000
"""Bounds of the time limit of an integration. Source of the first: quotas. In the cloud, the second is the account's
quota, 29 seconds unless it was raised; ours is the longest time limit of a function."""
_ARN: Final = re.compile(r"arn:[^:]+:apigateway:[^:]+:(?P<service>[^:]+):(?:path/.*|action/.+)")


def checked_integration(given: JsonObject, resource_id: str) -> JsonObject:
    """The settings of an integration, with their defaults. Raises: ApiError (`BadRequestException`)."""
    kind, uri = given["type"], given.get("uri") or ""
    if given.get("connectionType") == "VPC_LINK":
        raise bad_request("This version of Statewright has no VPC links: give the address of the server as an INTERNET "
                          "integration.")  # fmt: skip
    if kind != MOCK and not given.get("httpMethod"):
        raise bad_request("Enumeration value for HttpMethod must be non-empty")
    if kind in (HTTP, HTTP_PROXY) and not re.match(r"https?://[^/]|\$\{stageVariables\.|https?://\$", uri):
        raise bad_request("Invalid HTTP endpoint specified for URI")
    if kind in (AWS, LAMBDA_PROXY):
        found = _ARN.fullmatch(uri)
        if found is None:
            raise bad_request("AWS ARN for integration must contain path or action")
        if kind == LAMBDA_PROXY and found["service"] != "lambda":
            raise bad_request("Integrations of type 'AWS_PROXY' currently only supports Lambda function and Firehose "
                              "stream invocations.")  # fmt: skip
    if not SHORTEST_MS <= given.get("timeoutInMillis", SHORTEST_MS) <= LONGEST_MS:
        raise bad_request(f"Timeout should be between {SHORTEST_MS} ms and {LONGEST_MS} ms")
    for text in (given.get("requestTemplates") or {}).values():
        check_template(text)
    made: JsonObject = {
        "passthroughBehavior": "WHEN_NO_MATCH", "timeoutInMillis": 29_000, "cacheNamespace": resource_id,
        "cacheKeyParameters": [], **given,
    }  # fmt: skip
    if kind in (HTTP, HTTP_PROXY):
        made.setdefault("connectionType", "INTERNET")
    return made


def check_template(text: str) -> None:
    """Refuse a mapping template that cannot be compiled. Raises: ApiError (`BadRequestException`)."""
    try:
        compile_template(text or "")
    except TemplateSyntaxError as problem:
        raise bad_request(f"Invalid mapping template: {problem}") from None


async def compile_long_templates(*given: JsonMapping) -> None:
    """Compile long templates in a thread: the checks that follow find them compiled.

    `given` are requests and settings: templates by content type, and values of patches. Raises: ApiError.
    """
    for one in given:
        templates = [*(one.get("requestTemplates") or {}).values(), *(one.get("responseTemplates") or {}).values()]
        changes = [change.get("value") for change in one.get("patchOperations") or () if "emplates/" in change["path"]]
        for text in (*templates, *changes):
            if text and len(text) > LONG_TEMPLATE:
                await asyncio.to_thread(check_template, text)


def checked_response(given: JsonObject, method: JsonMapping) -> JsonObject:
    """The settings of an integration response. Raises: ApiError (`BadRequestException`)."""
    pattern = given.get("selectionPattern")
    if pattern:
        try:
            selection_pattern(pattern)
        except RegexSyntaxError as problem:
            raise bad_request(f"Invalid selection pattern specified: {problem}") from None
    if not re.fullmatch(r"[1-5][0-9][0-9]", given["statusCode"]):
        raise bad_request("Invalid status code specified")
    declared = (method.get("methodResponses") or {}).get(given["statusCode"]) or {}
    named = declared.get("responseParameters") or {}
    for target in given.get("responseParameters") or {}:
        if target not in named:
            raise bad_request(
                "Invalid mapping expression specified: Validation Result: warnings : [], errors : [Invalid mapping "
                f"expression parameter specified: {target}]"
            )
    for text in (given.get("responseTemplates") or {}).values():
        check_template(text)
    return given
