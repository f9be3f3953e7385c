"""Patch operations of usage plans, and the checks of their limits.

Source: API Gateway REST API reference, "Patch Operations" of UsagePlan; developer guide, "Maintain a usage plan".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from statewright.api.apigateway.patches import patched
from statewright.apis.errors import bad_request, not_found
from statewright.apis.quotas import PERIODS
from statewright.apis.throttling import MOST, check_throttle
from statewright.payload import Json, JsonMapping, JsonObject, JsonTextError, parse_json

_OWN: Final = ("name", "description", "productCode", "throttle", "quota", "tags")
_STAGE: Final = re.compile(r"/apiStages/(?P<api>[^:/]+):(?P<stage>[^/]+)/throttle(?P<rest>/.*)?")
_METHOD: Final = re.compile(r"(?P<key>/.*?/[A-Z]+)(?:/(?P<name>rateLimit|burstLimit))?")


def check_limits(settings: JsonMapping) -> None:
    """Check the throttles and the quota of a plan. Raises: ApiError (`BadRequestException`)."""
    throttles = [settings.get("throttle") or {}]
    for one in settings.get("apiStages") or ():
        throttles += (one.get("throttle") or {}).values()
    for one in throttles:
        check_throttle(one.get("rateLimit"), one.get("burstLimit"))
    quota = settings.get("quota")
    if quota is None:
        return
    limit, offset = quota.get("limit"), quota.get("offset") or 0
    if quota.get("period") not in PERIODS:
        raise bad_request(f"Usage Plan quota period must be one of {', '.join(PERIODS)}")
    if not isinstance(limit, int) or not 0 <= limit <= MOST:
        raise bad_request(f"Usage Plan quota limit must be a number from 0 to {MOST}")
    if not isinstance(offset, int) or not 0 <= offset <= limit:
        raise bad_request("Usage Plan quota offset must be a number from 0 to the limit")


def replanned(settings: JsonMapping, operations: Sequence[JsonMapping]) -> JsonObject:
    """The settings of a plan after patch operations. Raises: ApiError."""
    found: JsonObject = {**settings}
    for one in operations:
        path = one.get("path") or ""
        stage = _STAGE.fullmatch(path)
        if path == "/apiStages":
            found["apiStages"] = _stages(found, one)
        elif stage is not None:
            found["apiStages"] = _throttled(found, stage, one)
        else:
            found = patched(found, [one], _OWN, "UsagePlan")
    return found


def _stages(settings: JsonMapping, patch: JsonMapping) -> list[JsonObject]:
    """The stages of a plan after one was added or removed: `API:STAGE`."""
    api, _, stage = str(patch.get("value") or "").partition(":")
    there = list(settings.get("apiStages") or ())
    rest = [one for one in there if (one["apiId"], one["stage"]) != (api, stage)]
    if patch.get("op") == "remove":
        return rest
    if patch.get("op") != "add" or not api or not stage:
        raise bad_request("Invalid patch of /apiStages: add or remove a value of the form API:STAGE")
    return there if len(rest) < len(there) else [*rest, {"apiId": api, "stage": stage}]


def _throttled(settings: JsonMapping, where: re.Match[str], patch: JsonMapping) -> list[JsonObject]:
    """The stages of a plan after a change of the throttles of one."""
    stages = [dict(one) for one in settings.get("apiStages") or ()]
    stage = next((one for one in stages if (one["apiId"], one["stage"]) == (where["api"], where["stage"])), None)
    if stage is None:
        raise not_found(f"API Stage not found: {where['api']}:{where['stage']}")
    throttles = dict(stage.get("throttle") or {})
    if not (where["rest"] or "").strip("/ "):
        throttles = {} if patch.get("op") == "remove" else _table(patch.get("value"))
    else:
        # The path of a resource begins with a slash of its own.
        written = where["rest"].replace("~1", "/")
        method = _METHOD.fullmatch(written.removeprefix("/") if written.startswith("//") else written)
        if method is None:
            raise bad_request(f"Invalid patch path {patch.get('path')}")
        own = dict(throttles.get(method["key"]) or {})
        if patch.get("op") != "remove":
            if not method["name"]:
                raise bad_request(f"Invalid patch path {patch.get('path')}")
            own[method["name"]] = _number(method["name"], patch.get("value"))
        elif method["name"]:
            own.pop(method["name"], None)
        else:
            own = {}
        throttles[method["key"]] = own
        throttles = {key: one for key, one in throttles.items() if one}
    stage["throttle"] = throttles
    return stages


def _table(value: Json) -> dict[str, JsonObject]:
    """Throttles by method, from JSON in a text; the guide's example has it in quotes once more."""
    found: Json = value
    for _ in range(2):
        if isinstance(found, str):
            try:
                found = parse_json(found)
            except JsonTextError:
                break
    if not isinstance(found, dict) or not all(isinstance(one, dict) for one in found.values()):
        raise bad_request("Invalid throttle: it must be a JSON object of throttles by path and method")
    return {
        key: {name: _number(name, one[name]) for name in ("rateLimit", "burstLimit") if name in one}
        for key, one in found.items()
    }


def _number(name: str, value: Json) -> Json:
    try:
        return float(value) if name == "rateLimit" else int(value)
    except (TypeError, ValueError, OverflowError):
        raise bad_request(f"Invalid value for {name}: it must be a number") from None
