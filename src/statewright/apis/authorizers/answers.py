"""The answer of an authorizer's function: a policy, or whether the caller is allowed.

Owns which answers are valid. Source: API Gateway developer guide, "Output from a Lambda authorizer" and "Lambda
authorizer response format"; statuses of broken answers are those that users of the service report.
"""

from __future__ import annotations

from typing import Final

from statewright.apis.authorizers.policies import Policy, PolicyMalformed
from statewright.apis.authorizers.verdicts import FAILED, MISCONFIGURED, UNAUTHORIZED, Verdict
from statewright.functions.outcomes import Invoked
from statewright.payload import Json, JsonObject, JsonTextError, parse_json

LONGEST_ANSWER: Final = 256 * 1024
"""Bytes of an answer. Ours."""
_UNAUTHORIZED: Final = "Unauthorized"


class NoVerdict(Exception):
    """A function that gives no valid answer. `kind` is the type of the gateway response."""

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(why)
        self.kind = kind


def verdict_of(done: Invoked, *, is_rest: bool, is_simple: bool) -> Verdict:
    """The verdict that a function gave. Raises: NoVerdict."""
    if len(done.payload) > LONGEST_ANSWER:
        raise NoVerdict(MISCONFIGURED, f"its answer is longer than {LONGEST_ANSWER} bytes")
    given = _parsed(done.payload)
    error = given.get("errorMessage") if isinstance(given, dict) else None
    if error == _UNAUTHORIZED and (done.function_error is not None or not is_rest):
        raise NoVerdict(UNAUTHORIZED, "it answered Unauthorized")
    if done.function_error is not None:
        raise NoVerdict(FAILED, f"it failed: {str(error)[:200]}")
    if not isinstance(given, dict):
        raise NoVerdict(MISCONFIGURED, "its answer is no object")
    context = given.get("context")
    if context is not None and not isinstance(context, dict):
        raise NoVerdict(MISCONFIGURED, "context is no object")
    if is_simple:
        return _simple(given, context or {}, len(done.payload))
    principal, usage_key = given.get("principalId"), given.get("usageIdentifierKey")
    if is_rest and not (isinstance(principal, str) and principal):
        raise NoVerdict(MISCONFIGURED, "it gives no principalId")
    if principal is not None and not isinstance(principal, str):
        raise NoVerdict(MISCONFIGURED, "principalId is no text")
    try:
        policy = Policy.of(given.get("policyDocument"))
    except PolicyMalformed as problem:
        raise NoVerdict(MISCONFIGURED, str(problem)) from None
    shown = _flat(context or {}) if is_rest else context or {}
    return Verdict(
        policy=policy, context=shown, principal=principal, size_bytes=len(done.payload),
        usage_key=usage_key if isinstance(usage_key, str) else None,
    )  # fmt: skip


def _parsed(payload: bytes) -> Json:
    try:
        return parse_json(payload)
    except JsonTextError as problem:
        raise NoVerdict(MISCONFIGURED, f"its answer is no JSON: {problem}") from None


def _simple(given: JsonObject, context: JsonObject, size_bytes: int) -> Verdict:
    allowed = given.get("isAuthorized")
    if not isinstance(allowed, bool):
        raise NoVerdict(MISCONFIGURED, "isAuthorized is neither true nor false")
    return Verdict(is_allowed=allowed, context=context, size_bytes=size_bytes)


def _flat(context: JsonObject) -> JsonObject:
    """The context of a REST API: texts, numbers and truth values, all shown as texts."""
    found: JsonObject = {}
    for name, value in context.items():
        if name == "claims" or isinstance(value, dict | list):
            raise NoVerdict(MISCONFIGURED, f"context.{name[:80]} is no text, number or truth value")
        if value is not None:
            found[name] = value if isinstance(value, str) else str(value).lower()
    return found
