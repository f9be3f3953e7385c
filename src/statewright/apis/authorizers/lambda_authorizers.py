"""Lambda authorizers: a function says who may call.

Owns the events that authorizers get, when a function is asked and when a remembered result counts, and what becomes of
its answer. Source: API Gateway developer guide, "Use API Gateway Lambda authorizers" and "Control access to HTTP APIs
with AWS Lambda authorizers".
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from statewright.apis.authorizers.answers import NoVerdict, verdict_of
from statewright.apis.authorizers.identity import IdentitySource, method_arn
from statewright.apis.authorizers.policies import Facts
from statewright.apis.authorizers.results import Results, key_of
from statewright.apis.authorizers.verdicts import (
    DENIED,
    EXPLICIT_DENY,
    MISCONFIGURED,
    UNAUTHORIZED,
    Refusal,
    Verdict,
)
from statewright.apis.calls import CallContext, IntegrationFailed, Request
from statewright.apis.integrations.lambda_events import event_1, event_2
from statewright.apis.integrations.lambda_proxy import function_in, with_variables
from statewright.clock import Clock
from statewright.functions.outcomes import Invoked
from statewright.payload import JsonObject
from statewright.query.linear_regex import LinearRegex

log = logging.getLogger("statewright.apis")

TOKEN: Final = "TOKEN"
REQUEST: Final = "REQUEST"
REST_TIMEOUT_MS: Final = 29_000
HTTP_TIMEOUT_MS: Final = 10_000
"""Time of a function. Source: quotas of REST APIs (integration timeout) and HTTP APIs (authorizer timeout)."""

Invoke = Callable[[str, bytes, int], Awaitable[Invoked]]
"""Invokes a function by its name within milliseconds. Raises: IntegrationFailed."""


@dataclass(frozen=True, slots=True)
class LambdaAuthorizer:
    """The settings of a Lambda authorizer, read.

    `identity` names its id and all of its settings: what was remembered under others is not used. `version` is the
    payload format of an HTTP API; empty for REST APIs.
    """

    identity: str
    type: str
    uri: str
    sources: tuple[IdentitySource, ...]
    ttl_ms: int
    version: str = ""
    is_simple: bool = False
    token_pattern: LinearRegex | None = None

    @property
    def is_rest(self) -> bool:
        """True for an authorizer of a REST API."""
        return not self.version


class LambdaGuard:
    """Asks one Lambda authorizer."""

    def __init__(self, authorizer: LambdaAuthorizer, invoke: Invoke, results: Results, clock: Clock) -> None:
        self._authorizer = authorizer
        self._invoke = invoke
        self._results = results
        self._clock = clock

    async def __call__(self, request: Request, context: CallContext) -> Refusal | None:
        """See `Guard`."""
        authorizer = self._authorizer
        identity = [one.values(request, context) for one in authorizer.sources]
        caches = authorizer.ttl_ms > 0 and bool(identity)
        if not all(identity) and (caches or authorizer.type == TOKEN or not authorizer.is_rest):
            return Refusal(UNAUTHORIZED)
        pattern = authorizer.token_pattern
        if pattern is not None and not pattern.fullmatch(identity[0][-1]):
            return Refusal(UNAUTHORIZED)
        arn = method_arn(request, context, is_rest=authorizer.is_rest)
        key = key_of(context.api_id, context.stage, authorizer.identity, identity)
        verdict = self._results.get(key) if caches else None
        began_ms = self._clock.now_ms()
        if verdict is None:
            try:
                verdict = await self._asked(request, context, identity, arn)
            except NoVerdict as problem:
                if problem.kind != UNAUTHORIZED:
                    log.warning(
                        "the authorizer %s of the API %s: %s", authorizer.identity[:10], context.api_id, problem
                    )
                return Refusal(problem.kind)
            if caches:
                self._results.put(key, verdict, authorizer.ttl_ms)
        return self._judged(verdict, arn, request, context, self._clock.now_ms() - began_ms)

    async def _asked(
        self, request: Request, context: CallContext, identity: Sequence[Sequence[str]], arn: str
    ) -> Verdict:
        authorizer = self._authorizer
        event = self._event(request, context, identity, arn)
        timeout_ms = REST_TIMEOUT_MS if authorizer.is_rest else HTTP_TIMEOUT_MS
        try:
            name = with_variables(function_in(authorizer.uri), context)
            done = await self._invoke(name, orjson.dumps(event), timeout_ms)
        except IntegrationFailed as problem:
            raise NoVerdict(MISCONFIGURED, f"its function was not invoked: {problem.why}") from None
        return verdict_of(done, is_rest=authorizer.is_rest, is_simple=authorizer.is_simple)

    def _event(self, request: Request, context: CallContext, identity: Sequence[Sequence[str]], arn: str) -> JsonObject:
        authorizer = self._authorizer
        if authorizer.type == TOKEN:
            return {"type": TOKEN, "methodArn": arn, "authorizationToken": identity[0][-1]}
        if authorizer.version == "2.0":
            event = event_2(request, context, with_body=False)
            sources = [",".join(values) for values in identity] or None
            return {"version": "2.0", "type": REQUEST, "routeArn": arn, "identitySource": sources, **event}
        event = event_1(request, context, with_body=False)
        for name in _TABLES:
            event[name] = event[name] or {}
        if authorizer.is_rest:
            return {"type": REQUEST, "methodArn": arn, **event}
        joined = ",".join(",".join(values) for values in identity)
        return {
            "version": "1.0", "type": REQUEST, "methodArn": arn, "identitySource": joined,
            "authorizationToken": joined, **event,
        }  # fmt: skip

    def _judged(
        self, verdict: Verdict, arn: str, request: Request, context: CallContext, latency_ms: int
    ) -> Refusal | None:
        """Refuse a request, or put what the function said into its context."""
        if verdict.policy is not None:
            decision = verdict.policy.decide(arn, _facts(request, self._clock.now_ms()))
            if decision != "allow":
                return Refusal(DENIED, EXPLICIT_DENY if decision == "deny" else None)
        elif not verdict.is_allowed:
            return Refusal(DENIED)
        shown: JsonObject = dict(verdict.context)
        context.authorizer_2 = {"lambda": shown or None}
        if verdict.principal is not None:
            shown = {**shown, "principalId": verdict.principal}
        if self._authorizer.is_rest:
            shown["integrationLatency"] = latency_ms
        context.authorizer = shown
        context.usage_key = verdict.usage_key
        return None


_TABLES: Final = (
    "queryStringParameters", "multiValueQueryStringParameters", "pathParameters", "stageVariables",
)  # fmt: skip
"""Members that are empty in the event of an authorizer, where that of an integration has null."""


def _facts(request: Request, now_ms: int) -> Facts:
    return Facts(request.source_ip, request.header("user-agent") or "", request.header("referer") or "", now_ms)
