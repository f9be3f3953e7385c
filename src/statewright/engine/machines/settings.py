"""Settings of a state machine or activity besides its definition: names, roles, configurations, tags.

Owns the rules and the service's words for breaking them; each check returns the value as the service would show it.
Lengths and types are checked before, from the service model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from statewright.errors import ApiError
from statewright.payload import Json, JsonMapping, JsonObject
from statewright.tags import MOST_TAGS, is_reserved

MOST_VERSIONS: Final = 1_000
"""Source: service quotas, published versions of one state machine."""
MOST_ALIASES: Final = 100
"""Source: service quotas, aliases of one state machine."""
DEFAULT_KEY_REUSE_SECONDS: Final = 300
"""Source: API reference, `kmsDataKeyReusePeriodSeconds`."""

_FORBIDDEN_IN_NAMES: Final = re.compile('[\\s<>{}\\[\\]?*"#%\\\\^|~`$&,;:/\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]')
_ROLE: Final = re.compile(r"arn:aws[a-z-]*:iam::\d{12}:role/\S+")
_LOG_GROUP: Final = re.compile(r"arn:aws[a-z-]*:logs:[a-z0-9-]+:\d+:log-group:[^:*]+:\*")
_TAG_CHARACTERS: Final = re.compile(r"[\w\s.:/=+\-@]*")


def check_name(name: str) -> None:
    """Refuse a machine's, activity's or execution's name. Raises: ApiError (`InvalidName`). Source: API reference."""
    if not 1 <= len(name) <= 80 or _FORBIDDEN_IN_NAMES.search(name):
        raise ApiError("InvalidName", f"Invalid Name: '{name}'")


def check_role(role_arn: str) -> None:
    """Refuse what is no ARN of an IAM role; whether the role exists is not checked here."""
    if not _ROLE.fullmatch(role_arn):
        raise ApiError("InvalidArn", f"Invalid Role Arn: '{role_arn}'")


def logging_of(given: JsonMapping | None) -> Json:
    """A LoggingConfiguration with its defaults.

    Raises: ApiError (`InvalidLoggingConfiguration`). Source: observed.
    """
    given = given or {}
    level = given.get("level", "OFF")
    shown: JsonObject = {"level": level, "includeExecutionData": given.get("includeExecutionData", False)}
    destinations = given.get("destinations")
    if destinations is not None:
        shown["destinations"] = destinations
    if len(destinations or ()) > 1 or (level != "OFF" and not destinations):
        raise _bad_logging("Must specify exactly one Log Destination.")
    for destination in destinations or ():
        group = destination.get("cloudWatchLogsLogGroup", {}).get("logGroupArn", "")
        if not _LOG_GROUP.fullmatch(group):
            raise _bad_logging("Log Destination not found.")
    return shown


def _bad_logging(reason: str) -> ApiError:
    return ApiError("InvalidLoggingConfiguration", f"Invalid Logging Configuration: {reason}")


def tracing_of(given: JsonMapping | None) -> Json:
    """A TracingConfiguration with its default."""
    return {"enabled": bool((given or {}).get("enabled", False))}


def encryption_of(given: JsonMapping | None) -> Json:
    """An EncryptionConfiguration with its defaults. It is kept and shown; the store does no encryption of its own.

    Raises: ApiError (`InvalidEncryptionConfiguration`), in our words: the service's are not known.
    """
    if given is None:
        return {"type": "AWS_OWNED_KEY"}
    key, period = given.get("kmsKeyId"), given.get("kmsDataKeyReusePeriodSeconds")
    if given["type"] == "AWS_OWNED_KEY":
        if key is not None or period is not None:
            raise _bad_encryption("kmsKeyId and kmsDataKeyReusePeriodSeconds need the type CUSTOMER_MANAGED_KMS_KEY.")
        return {"type": "AWS_OWNED_KEY"}
    if key is None:
        raise _bad_encryption("The type CUSTOMER_MANAGED_KMS_KEY needs kmsKeyId.")
    return {
        "type": "CUSTOMER_MANAGED_KMS_KEY",
        "kmsKeyId": key,
        "kmsDataKeyReusePeriodSeconds": DEFAULT_KEY_REUSE_SECONDS if period is None else period,
    }


def _bad_encryption(reason: str) -> ApiError:
    return ApiError("InvalidEncryptionConfiguration", f"Invalid Encryption Configuration: {reason}")


def tags_with(present: Mapping[str, str], given: Iterable[Mapping[str, str]], arn: str) -> dict[str, str]:
    """The tags of a resource after others are added; an existing key gets the new value.

    Raises: ApiError (`TooManyTags`, `ValidationException`). Source: API reference; the words are ours.
    """
    tags = dict(present)
    for tag in given:
        key, value = tag.get("key", ""), tag.get("value", "")
        if not key:
            raise _bad_tag("A tag needs a key.")
        if is_reserved(key):
            raise _bad_tag(f"The tag key '{key}' begins with 'aws:', which is reserved.")
        for text in (key, value):
            if not _TAG_CHARACTERS.fullmatch(text):
                raise _bad_tag(f"'{text}' is no tag: use letters, digits, white space and _ . : / = + - @")
        tags[key] = value
    if len(tags) > MOST_TAGS:
        raise ApiError("TooManyTags", f"'{arn}' would have {len(tags)} tags; the most are {MOST_TAGS}.")
    return tags


def _bad_tag(reason: str) -> ApiError:
    return ApiError("ValidationException", reason)
