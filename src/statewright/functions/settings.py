"""Settings of functions: checking them, and merging a change into a configuration.

Settings are given by the service's member names (`Runtime`, `Timeout`, ...), as the API has them.
Source: Lambda API reference, CreateFunction and UpdateFunctionConfiguration; quotas.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from statewright.functions.names import invalid
from statewright.functions.records import Configuration
from statewright.functions.workers.plans import RESERVED
from statewright.payload import Json, JsonMapping, JsonObject

SHOWN: Final = (
    "VpcConfig", "TracingConfig", "KMSKeyArn", "Architectures", "EphemeralStorage", "SnapStart", "LoggingConfig",
)  # fmt: skip
"""Members that are stored and returned, without effect on how a function runs."""
NOT_HERE: Final = {
    "FileSystemConfigs": "file systems",
    "ImageConfig": "container images",
    "CodeSigningConfigArn": "code signing",
    "TenancyConfig": "tenant isolation",
    "CapacityProviderConfig": "capacity providers",
    "DurableConfig": "durable functions",
    "RuntimeConfig": "runtime configurations",
    "AcceleratorConfig": "accelerators",
}
"""Members that would change how a function runs and that this version does not support."""
NO_LONGER: Final = frozenset({
    "java8", "dotnetcore1.0", "dotnetcore2.0", "dotnetcore2.1", "dotnetcore3.1", "ruby2.5", "ruby2.7",
})  # fmt: skip
"""Runtimes that the service has ended, of those that cannot run here anyway."""
ENVIRONMENT_BYTES: Final = 4_096
"""Source: Lambda quotas."""
MOST_LAYERS: Final = 5
"""Source: Lambda quotas."""
_ROLE: Final = re.compile(r"arn:aws[a-zA-Z-]*:iam::\d{12}:role/?[a-zA-Z_0-9+=,.@\-_/]+")
_VARIABLE: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9_]+")


def merged(before: Configuration, given: JsonMapping) -> Configuration:
    """A configuration with the given settings merged in and checked.

    Raises: ApiError (`InvalidParameterValueException`).
    """
    for member, what in NOT_HERE.items():
        if given.get(member):
            raise invalid(f"This version of Statewright does not have {what} ({member}).")
    if given.get("Runtime") in NO_LONGER:
        raise invalid(
            f"The runtime parameter of {given['Runtime']} is no longer supported for creating or updating AWS Lambda "
            "functions. We recommend you use a supported runtime while creating or updating functions."
        )
    changes: JsonObject = {}
    for member, field in (
        ("Runtime", "runtime"), ("Handler", "handler"), ("Description", "description"), ("Timeout", "timeout"),
        ("MemorySize", "memory"),
    ):  # fmt: skip
        if given.get(member) is not None:
            changes[field] = given[member]
    if given.get("Role") is not None:
        if not _ROLE.fullmatch(given["Role"]):
            raise invalid("The role defined for the function cannot be assumed by Lambda.")
        changes["role"] = given["Role"]
    if given.get("Environment") is not None:
        changes["environment"] = checked_environment(given["Environment"].get("Variables") or {})
    if given.get("DeadLetterConfig") is not None:
        changes["dead_letter"] = checked_dead_letter(given["DeadLetterConfig"].get("TargetArn"))
    shown = {member: given[member] for member in SHOWN if given.get(member) is not None}
    if shown:
        changes["shown"] = {**before.shown, **shown}
    after = replace(before, **changes)
    check_ranges(after)
    return after


def check_ranges(settings: Configuration) -> None:
    """Refuse numbers out of range. Raises: ApiError (`InvalidParameterValueException`)."""
    if not 1 <= settings.timeout <= 900:
        raise invalid(f"Timeout must be from 1 to 900 seconds, not {settings.timeout}.")
    if not 128 <= settings.memory <= 10_240:
        raise invalid(
            f"'MemorySize' value failed to satisfy constraint: Member must have value between 128 and 10240, "
            f"not {settings.memory}."
        )
    storage = (settings.shown.get("EphemeralStorage") or {}).get("Size", 512)
    if not 512 <= storage <= 10_240:
        raise invalid(f"EphemeralStorage must be from 512 to 10240 MB, not {storage}.")


def checked_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Check a function's environment variables. Raises: ApiError (`InvalidParameterValueException`)."""
    reserved = [name for name in variables if name in RESERVED]
    if reserved:
        raise invalid(
            "Lambda was unable to configure your environment variables because the environment variables you have "
            "provided contains reserved keys that are currently not supported for modification. Reserved keys used "
            f"in this request: {', '.join(reserved)}"
        )
    for name, value in variables.items():
        if not _VARIABLE.fullmatch(name) or "\0" in value:
            raise invalid(f"The environment variable {name[:100]!r} has a name or value that no process can be given.")
    size = sum(len(name.encode()) + len(value.encode()) for name, value in variables.items())
    if size > ENVIRONMENT_BYTES:
        raise invalid(
            "Lambda was unable to configure your environment variables because the environment variables you have "
            f"provided exceeded the 4KB limit. String measured: {size}"
        )
    return dict(variables)


def checked_layers(arns: Sequence[str]) -> list[str]:
    """Check ARNs of layer versions, no two of one layer. Raises: ApiError (`InvalidParameterValueException`)."""
    if len(arns) > MOST_LAYERS:
        raise invalid(f"Cannot reference more than {MOST_LAYERS} layers.")
    layers = [arn.rpartition(":")[0] for arn in arns]
    for layer in layers:
        if layers.count(layer) > 1:
            raise invalid(
                f"Two different versions of the same layer are not allowed to be referenced in one function. {layer}"
            )
    return list(arns)


def checked_dead_letter(arn: str | None) -> str | None:
    """Check a dead-letter target; an empty one removes it. Raises: ApiError (`InvalidParameterValueException`)."""
    if not arn:
        return None
    service = arn.split(":")[2] if arn.count(":") >= 5 else ""
    if service not in ("sqs", "sns") or arn.endswith(".fifo"):
        raise invalid(f"The provided target {arn} is not a standard queue or topic.")
    return arn


def same_but_for_stamps(one: Configuration, other: Configuration) -> bool:
    """True if two configurations differ only in their time of change and revision id."""
    return replace(one, modified_ms=0, revision_id="") == replace(other, modified_ms=0, revision_id="")


def shown_settings(settings: Configuration) -> dict[str, Json]:
    """Members of `FunctionConfiguration` for a configuration."""
    shown = settings.shown
    found: dict[str, Json] = {
        "Role": settings.role,
        "CodeSize": settings.code_size,
        "Description": settings.description,
        "Timeout": settings.timeout,
        "MemorySize": settings.memory,
        "CodeSha256": settings.code_sha256,
        "RevisionId": settings.revision_id,
        "State": "Active",
        "LastUpdateStatus": "Successful",
        "PackageType": "Zip",
        "Architectures": shown.get("Architectures") or ["x86_64"],
        "EphemeralStorage": shown.get("EphemeralStorage") or {"Size": 512},
        "SnapStart": {"ApplyOn": (shown.get("SnapStart") or {}).get("ApplyOn", "None"), "OptimizationStatus": "Off"},
        "TracingConfig": shown.get("TracingConfig") or {"Mode": "PassThrough"},
    }
    if settings.runtime is not None:
        found["Runtime"] = settings.runtime
    if settings.handler is not None:
        found["Handler"] = settings.handler
    if settings.environment is not None:
        found["Environment"] = {"Variables": dict(settings.environment)}
    if settings.dead_letter is not None:
        found["DeadLetterConfig"] = {"TargetArn": settings.dead_letter}
    if shown.get("KMSKeyArn"):
        found["KMSKeyArn"] = shown["KMSKeyArn"]
    vpc = shown.get("VpcConfig")
    if vpc is not None:
        found["VpcConfig"] = {"SubnetIds": [], "SecurityGroupIds": [], **vpc, "VpcId": ""}
    return found
