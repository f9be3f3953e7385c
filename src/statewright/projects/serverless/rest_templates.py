"""Mapping templates of events `http` that give none: the events of functions without a proxy, the inputs of executions.

Those of state machines are texts of `Fn::Sub` with `StateMachineArn` and `AccountId`.

Source: Serverless Framework guide, "REST API (API Gateway v1)", "Default Request Templates"; documentation of
serverless-step-functions, "Customizing request body mapping templates".
"""

from __future__ import annotations

from typing import Final

from statewright.payload import Json

JSON: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"


def _escaped(value: str) -> str:
    """An expression for a value as the inside of a text in JSON."""
    return rf"""$util.escapeJavaScript({value}).replaceAll("\\'", "'")"""


_TEXTS: Final = (
    "#define($texts){#foreach($key in $map.keySet())"
    f'"{_escaped("$key")}": "{_escaped("$map.get($key)")}"#if($foreach.hasNext), #end#end}}#end'
)
"""`$texts` writes the members of `$map`."""
_TEXTS_OR_NULL: Final = (
    f"#define($texts){{#foreach($key in $map.keySet())#set($value = {_escaped('$map.get($key)')})"
    f'"{_escaped("$key")}": #if("$value" == "")null#else"$value"#end#if($foreach.hasNext), #end#end}}#end'
)
_FIELDS: Final = (
    "#define($body){#foreach($token in $input.body.split('&'))#set($pair = $token.split('='))#set($value = '')"
    f"#if($pair.size() > 1)#set($value = {_escaped('$util.urlDecode($pair[1])')})#end"
    f'"{_escaped("$util.urlDecode($pair[0])")}": "$value"#if($foreach.hasNext), #end#end}}#end'
)
"""`$body` is the fields of a form as an object."""


def _member(name: str, values: str) -> str:
    return f'#set($map = {values})"{name}": $texts, '


def _member_or_null(name: str, values: str) -> str:
    return f'#set($map = {values})"{name}": #if($map.size() == 0)null#{{else}}$texts#end, '


def function_event(claims: list[Json]) -> dict[str, str]:
    """The templates of the event of a function, with these claims of a user pool, by content type."""
    pool = "".join(
        f'"{name.partition(":")[2] or name}": "$context.authorizer.claims[\'{name}\']", ' for name in map(str, claims)
    )
    event = (
        f'{_TEXTS}{{"body": $body, "method": "$context.httpMethod", '
        '"principalId": "$context.authorizer.principalId", "stage": "$context.stage", '
        f'"cognitoPoolClaims": {{{pool}"sub": "$context.authorizer.claims.sub"}}, '
        + _member("enhancedAuthContext", "$context.authorizer")
        + _member("headers", "$input.params().header")
        + _member("query", "$input.params().querystring")
        + _member("path", "$input.params().path")
        + _member("identity", "$context.identity")
        + _member("stageVariables", "$stageVariables")
        + '"requestPath": "$context.resourcePath"}'
    )
    return {JSON: f'#set($body = $input.json("$")){event}', FORM: _FIELDS + event}


def machine_start() -> dict[str, str]:
    """The templates of `StartExecution` with the body as input, by content type."""
    start = (
        "#set($body = " + _escaped("$input.json('$')") + ")"
        '{"input": "$body", "name": "$context.requestId", "stateMachineArn": "${StateMachineArn}"}'
    )
    return {JSON: start, FORM: start}


_CONTEXT: Final = (
    "apiId", "domainName", "domainPrefix", "extendedRequestId", "httpMethod", "path", "protocol", "requestId",
    "requestTime", "resourceId", "resourcePath", "stage",
)  # fmt: skip


def machine_event() -> dict[str, str]:
    """The templates of `StartExecution` with the event of a function's proxy as input, by content type."""
    context = "".join(f'"{name}": "$context.{name}", ' for name in _CONTEXT)
    event = (
        '#define($event){"resource": "$context.resourcePath", "path": "$context.path", '
        '"httpMethod": "$context.httpMethod", '
        + _member("headers", "$input.params().header")
        + _member_or_null("queryStringParameters", "$input.params().querystring")
        + _member_or_null("pathParameters", "$input.params().path")
        + _member_or_null("stageVariables", "$stageVariables")
        + f'"requestContext": {{{context}'
        + _member("identity", "$context.identity")
        + _member("authorizer", "$context.authorizer")
        + '"accountId": "${AccountId}", "requestTimeEpoch": $context.requestTimeEpoch}, '
        + f'"body": "{_escaped(_BODY)}", "isBase64Encoded": false}}#end'
    )
    start = (
        f'{{"input": "{_escaped(_EVENT)}", "name": "$context.requestId", "stateMachineArn": "${{StateMachineArn}}"}}'
    )
    whole = _TEXTS_OR_NULL + event + start
    return {JSON: f"#set($body = $input.body){whole}", FORM: _FIELDS + whole}


_BODY: Final = '"$body"'
_EVENT: Final = '"$event"'
