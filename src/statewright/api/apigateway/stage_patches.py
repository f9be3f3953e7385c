"""Patch operations of stages: method settings by path and method, and the stage's own members.

Source: API Gateway REST API reference, "Patch Operations" of Stage, and MethodSetting.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from statewright.api.apigateway.patches import patched
from statewright.apis.access_logs import check_settings
from statewright.apis.errors import bad_request
from statewright.apis.throttling import MOST, check_throttle
from statewright.payload import Json, JsonMapping, JsonObject

_OWN: Final = (
    "deploymentId", "description", "cacheClusterEnabled", "cacheClusterSize", "variables", "documentationVersion",
    "tracingEnabled", "accessLogSettings", "canarySettings", "clientCertificateId",
)  # fmt: skip
_METHODS: Final = "GET|PUT|POST|DELETE|PATCH|OPTIONS|HEAD|ANY|[*]"
_SETTING: Final = re.compile(rf"/(?P<key>.+/(?:{_METHODS}))/(?P<name>(?:logging|metrics|throttling|caching)/\w+)")
_WHOLE: Final = re.compile(rf"/(?P<key>.+/(?:{_METHODS}))")
_MEMBERS: Final = {
    "logging/loglevel": "loggingLevel", "logging/dataTrace": "dataTraceEnabled", "metrics/enabled": "metricsEnabled",
    "throttling/rateLimit": "throttlingRateLimit", "throttling/burstLimit": "throttlingBurstLimit",
    "caching/enabled": "cachingEnabled", "caching/ttlInSeconds": "cacheTtlInSeconds",
    "caching/dataEncrypted": "cacheDataEncrypted",
    "caching/requireAuthorizationForCacheControl": "requireAuthorizationForCacheControl",
    "caching/unauthorizedCacheControlHeaderStrategy": "unauthorizedCacheControlHeaderStrategy",
}  # fmt: skip
DEFAULTS: Final[JsonMapping] = {
    "metricsEnabled": False, "loggingLevel": "OFF", "dataTraceEnabled": False, "throttlingBurstLimit": 5_000,
    "throttlingRateLimit": 10_000.0, "cachingEnabled": False, "cacheTtlInSeconds": 300, "cacheDataEncrypted": False,
    "requireAuthorizationForCacheControl": True,
    "unauthorizedCacheControlHeaderStrategy": "SUCCEED_WITH_RESPONSE_HEADER",
}  # fmt: skip
"""Values that a method setting shows for members without one."""


def staged(settings: JsonMapping, operations: Sequence[JsonMapping]) -> JsonObject:
    """The settings of a stage after patch operations. Raises: ApiError."""
    others: list[JsonMapping] = []
    found: dict[str, Mapping[str, Json]] = dict(settings.get("methodSettings") or {})
    for one in operations:
        path = one.get("path") or ""
        setting, whole = _SETTING.fullmatch(path), _WHOLE.fullmatch(path)
        if setting is not None and setting["name"] in _MEMBERS:
            key, member = setting["key"], _MEMBERS[setting["name"]]
            own = dict(found.get(key) or {})
            if one.get("op") == "remove":
                own.pop(member, None)
            else:
                own[member] = _typed(member, one.get("value"))
            found[key] = own
        elif whole is not None and one.get("op") == "remove":
            found.pop(whole["key"], None)
        else:
            others.append(one)
    made = {**patched(settings, others, _OWN, "Stage"), "methodSettings": found}
    log = made.get("accessLogSettings") or {}
    check_settings(log.get("destinationArn"), log.get("format"), needs_id=True)
    return made


def _typed(member: str, value: Json) -> Json:
    """The value of a member of method settings, which a patch gives as text. Raises: ApiError."""
    kind, text = DEFAULTS[member], "" if value is None else str(value)
    if isinstance(kind, bool):
        if text.lower() not in ("true", "false"):
            raise bad_request(f"Invalid value for {member}: it must be true or false")
        return text.lower() == "true"
    if isinstance(kind, str):
        if member == "loggingLevel" and text not in ("OFF", "ERROR", "INFO"):
            raise bad_request("Invalid value for loggingLevel: it must be one of OFF, ERROR, INFO")
        return text
    try:
        number = float(text) if isinstance(kind, float) else int(text)
    except ValueError:
        raise bad_request(f"Invalid value for {member}: it must be a number") from None
    if member == "throttlingRateLimit":
        check_throttle(number, None)
    elif member == "throttlingBurstLimit":
        check_throttle(None, number)
    elif not 0 <= number <= MOST:
        raise bad_request(f"Invalid value for {member}: it must be a number from 0 to {MOST}")
    return number
