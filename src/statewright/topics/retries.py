"""Delivery policies: their checks, and the policy that is in effect for a subscription.

Only HTTP endpoints have policies of their own; functions have the service's. The pauses that a policy means are
computed in `events/retry_phases.py`.

Source: SNS developer guide, "Message delivery retries".
"""

from __future__ import annotations

from typing import Final

import orjson

from statewright.events.retry_phases import pause_ms
from statewright.payload import JsonMapping, JsonObject
from statewright.topics.refusals import invalid

DEFAULT: Final[JsonMapping] = {
    "minDelayTarget": 20,
    "maxDelayTarget": 20,
    "numRetries": 3,
    "numMaxDelayRetries": 0,
    "numNoDelayRetries": 0,
    "numMinDelayRetries": 0,
    "backoffFunction": "linear",
}
"""The policy of HTTP endpoints for which none is set."""
MANAGED: Final[JsonMapping] = {
    "minDelayTarget": 1,
    "maxDelayTarget": 20,
    "numRetries": 100_015,
    "numMaxDelayRetries": 100_000,
    "numNoDelayRetries": 3,
    "numMinDelayRetries": 2,
    "backoffFunction": "exponential",
}
"""The policy of functions and queues: 100,015 retries in 23 days."""
CONTENT_TYPE: Final = "text/plain; charset=UTF-8"
LONGEST_SECONDS: Final = 3600
MOST_RETRIES: Final = 100
_FUNCTIONS: Final = ("arithmetic", "exponential", "geometric", "linear")


def read_topic_policy(text: str) -> None:
    """Check the DeliveryPolicy of a topic. Raises: ApiError (`InvalidParameter`)."""
    http = _object(_parsed(text), "http")
    _check_retries(_object(http, "defaultHealthyRetryPolicy"))
    _check_request(_object(http, "defaultRequestPolicy"))


def read_subscription_policy(text: str) -> None:
    """Check the DeliveryPolicy of a subscription. Raises: ApiError (`InvalidParameter`)."""
    given = _parsed(text)
    _check_retries(_object(given, "healthyRetryPolicy"))
    _check_request(_object(given, "requestPolicy"))


def effective_topic(text: str | None) -> JsonObject:
    """A topic's policy, completed with the defaults."""
    http = dict(_object(_parsed(text), "http")) if text else {}
    return {
        "http": {
            "defaultHealthyRetryPolicy": {**DEFAULT, **_object(http, "defaultHealthyRetryPolicy")},
            "disableSubscriptionOverrides": bool(http.get("disableSubscriptionOverrides", False)),
            **({"defaultThrottlePolicy": http["defaultThrottlePolicy"]} if "defaultThrottlePolicy" in http else {}),
            "defaultRequestPolicy": {
                "headerContentType": _object(http, "defaultRequestPolicy").get("headerContentType") or CONTENT_TYPE
            },
        }
    }


def effective(topic: str | None, subscription: str | None) -> JsonObject:
    """A subscription's policy, completed from its topic's and with the defaults."""
    above = effective_topic(topic)["http"]
    own = _parsed(subscription) if subscription and not above["disableSubscriptionOverrides"] else {}
    return {
        "healthyRetryPolicy": {**above["defaultHealthyRetryPolicy"], **_object(own, "healthyRetryPolicy")},
        "sicklyRetryPolicy": None,
        "throttlePolicy": own.get("throttlePolicy") or above.get("defaultThrottlePolicy"),
        "requestPolicy": {
            "headerContentType": _object(own, "requestPolicy").get("headerContentType")
            or above["defaultRequestPolicy"]["headerContentType"]
        },
        "guaranteed": False,
    }


def _parsed(text: str) -> JsonObject:
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise invalid("DeliveryPolicy: failed to parse JSON.") from None
    if not isinstance(found, dict):
        raise invalid("DeliveryPolicy: must be a JSON object.")
    return found


def _object(given: JsonMapping, name: str) -> JsonMapping:
    found = given.get(name)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise invalid(f"DeliveryPolicy: {name} must be a JSON object.")
    return found


def _check_retries(given: JsonMapping) -> None:
    full = {**DEFAULT, **given}
    for name in DEFAULT:
        value = full[name]
        if name != "backoffFunction" and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
            raise invalid(f"DeliveryPolicy: {name} must be a whole number, 0 or greater.")
    if full["backoffFunction"] not in _FUNCTIONS:
        raise invalid(f"DeliveryPolicy: backoffFunction must be one of {', '.join(_FUNCTIONS)}.")
    least, most = full["minDelayTarget"], full["maxDelayTarget"]
    if not 1 <= least <= most <= LONGEST_SECONDS:
        raise invalid(f"DeliveryPolicy: 1 <= minDelayTarget <= maxDelayTarget <= {LONGEST_SECONDS} must hold.")
    if full["numRetries"] > MOST_RETRIES:
        raise invalid(f"DeliveryPolicy: numRetries must be less than or equal to {MOST_RETRIES}.")
    if full["numNoDelayRetries"] + full["numMinDelayRetries"] + full["numMaxDelayRetries"] > full["numRetries"]:
        raise invalid("DeliveryPolicy: the retries of the phases must not be more than numRetries.")
    total = sum(pause_ms(full, retry) or 0 for retry in range(1, full["numRetries"] + 1))
    if total > 1000 * LONGEST_SECONDS:
        raise invalid(f"DeliveryPolicy: all retries together must take {LONGEST_SECONDS} seconds at most.")


def _check_request(given: JsonMapping) -> None:
    kind = given.get("headerContentType")
    if kind is not None and (not isinstance(kind, str) or not kind.isprintable() or "/" not in kind):
        raise invalid("DeliveryPolicy: headerContentType must be a media type.")
