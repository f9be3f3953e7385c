"""Names and ARNs of functions, versions, aliases and layers, and the errors common to this package.

Source: Lambda API reference (patterns of FunctionName and Qualifier); error texts observed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from statewright.config import Config
from statewright.errors import ApiError

LATEST: Final = "$LATEST"

_NAME: Final = re.compile(
    r"(?:(?:arn:(?P<partition>aws[a-z-]*):lambda:(?P<region>[a-z0-9-]+):)?(?P<account>\d{12}):)?"
    r"(?:function:)?(?P<name>[A-Za-z0-9_-]{1,64})(?::(?P<qualifier>\$LATEST|[A-Za-z0-9_-]{1,128}))?"
)


@dataclass(frozen=True, slots=True)
class FunctionName:
    """A function as a caller names it; `qualifier` is a version, an alias, `$LATEST`, or absent."""

    name: str
    qualifier: str | None


def parse_name(text: str, qualifier: str | None, config: Config) -> FunctionName:
    """Read a name, a partial ARN or an ARN, with a qualifier that may be given separately.

    Raises: ApiError (`ValidationException`, `InvalidParameterValueException`, `ResourceNotFoundException`,
        `AccessDeniedException`).
    """
    found = _NAME.fullmatch(text)
    if found is None:
        raise ApiError(
            "ValidationException",
            f"1 validation error detected: Value '{text}' at 'functionName' failed to satisfy constraint: Member must "
            "satisfy regular expression pattern: (arn:(aws[a-zA-Z-]*)?:lambda:)?([a-z]{2}((-gov)|(-iso([a-z]?)))?"
            "-[a-z]+-\\d{1}:)?(\\d{12}:)?(function:)?([a-zA-Z0-9-_\\.]+)(:(\\$LATEST(\\.PUBLISHED)?|[a-zA-Z0-9-_]+))?",
        )
    inner = found["qualifier"]
    if inner is not None and qualifier is not None and inner != qualifier:
        raise refusal(
            "InvalidParameterValueException",
            "The derived qualifier from the function name does not match the specified qualifier.",
        )
    if found["account"] not in (None, config.account):
        # Ours, but for the code: the service names the caller and the action.
        raise refusal("AccessDeniedException", f"{text} belongs to another account than {config.account}.", status=403)
    if found["region"] not in (None, config.region):
        raise refusal(
            "ResourceNotFoundException",
            f"Functions from '{found['region']}' are not reachable in this region ('{config.region}')",
        )
    return FunctionName(found["name"], qualifier or inner)


def function_arn(config: Config, name: str, qualifier: str | None = None) -> str:
    """ARN of a function, or of its version or alias."""
    tail = "" if qualifier is None else f":{qualifier}"
    return config.arn("lambda", f"function:{name}{tail}")


def layer_arn(config: Config, name: str, version: int | None = None) -> str:
    """ARN of a layer, or of one of its versions."""
    tail = "" if version is None else f":{version}"
    return config.arn("lambda", f"layer:{name}{tail}")


def is_version(qualifier: str) -> bool:
    """True if a qualifier is the number of a version."""
    return qualifier.isascii() and qualifier.isdigit()


def refusal(code: str, message: str, *, status: int | None = None, **details: object) -> ApiError:
    """A client error, marked as in the service."""
    return ApiError(code, message, status=status, details={"Type": "User", **details})


def invalid(message: str) -> ApiError:
    """`InvalidParameterValueException`."""
    return refusal("InvalidParameterValueException", message)


def not_found(arn: str) -> ApiError:
    """The error for a function, version or alias that does not exist (observed)."""
    return refusal("ResourceNotFoundException", f"Function not found: {arn}")
