"""Settings that only mappings of streams have: where to start, retries, splitting, and where discarded records go.

Source: Lambda developer guide, "Lambda parameters for Amazon DynamoDB event source mappings"; refusals recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from statewright.functions.names import invalid
from statewright.payload import Json, JsonObject

DEFAULT_BATCH: Final = 100
TRIM_HORIZON: Final = "TRIM_HORIZON"
LATEST: Final = "LATEST"
USER_ACTION: Final = "User action"
_TARGETS: Final = ("sqs", "sns", "s3")
_OF_QUEUES: Final = ("ScalingConfig", "ProvisionedPollerConfig")


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """Settings of a mapping of a stream besides those of every mapping. -1 stands for no limit."""

    starting: str
    bisects: bool = False
    most_age_seconds: int = -1
    most_retries: int = -1
    parallel: int = 1
    """Shown, without effect: the batches of a stream run one after another."""
    on_failure: str = ""
    """ARN of a queue, topic or bucket that gets a report on discarded records; empty for none."""
    tumbling_seconds: int = 0
    """The length of tumbling windows; 0 for none."""

    def shown(self) -> JsonObject:
        """The members of a mapping that show them."""
        return {
            "StartingPosition": self.starting,
            "BisectBatchOnFunctionError": self.bisects,
            "MaximumRecordAgeInSeconds": self.most_age_seconds,
            "MaximumRetryAttempts": self.most_retries,
            "ParallelizationFactor": self.parallel,
            "TumblingWindowInSeconds": self.tumbling_seconds,
            "DestinationConfig": {"OnFailure": {"Destination": self.on_failure} if self.on_failure else {}},
        }


def new_settings(request: Mapping[str, Json], stream: str) -> StreamSettings:
    """The settings of a new mapping of a stream, by ARN.

    Raises: ApiError (`InvalidParameterValueException`).
    """
    starting = request.get("StartingPosition")
    if starting is None:
        raise invalid(
            "1 validation error detected: Value null at 'startingPosition' failed to satisfy constraint: "
            "Member must not be null."
        )
    if starting not in (TRIM_HORIZON, LATEST):
        raise invalid(f"Unsupported starting position for arn type: {stream}")
    return changed_settings(StreamSettings(starting), request)


def changed_settings(settings: StreamSettings, request: Mapping[str, Json]) -> StreamSettings:
    """Settings changed by a request. Raises: ApiError (`InvalidParameterValueException`)."""
    for name in _OF_QUEUES:
        if request.get(name):
            raise invalid(f"Unsupported parameter for a stream: {name}.")
    changes: JsonObject = {}
    for member, name in (
        ("BisectBatchOnFunctionError", "bisects"),
        ("MaximumRecordAgeInSeconds", "most_age_seconds"),
        ("MaximumRetryAttempts", "most_retries"),
        ("ParallelizationFactor", "parallel"),
        ("TumblingWindowInSeconds", "tumbling_seconds"),
    ):
        if request.get(member) is not None:
            changes[name] = request[member]
    if request.get("DestinationConfig") is not None:
        changes["on_failure"] = _destination(request["DestinationConfig"])
    changed = replace(settings, **changes)
    if changed.tumbling_seconds and changed.parallel > 1:
        raise invalid(
            "This version of Statewright has tumbling windows only with a ParallelizationFactor of 1: set it, or omit "
            "TumblingWindowInSeconds."
        )
    return changed


def _destination(config: Mapping[str, Json]) -> str:
    if config.get("OnSuccess"):
        raise invalid("Unsupported DestinationConfig parameter for given event source mapping type.")
    arn: str = (config.get("OnFailure") or {}).get("Destination") or ""
    service = arn.split(":")[2] if arn.count(":") >= 5 else ""
    if arn and service not in _TARGETS:
        raise invalid("The DestinationConfig of a stream names an SQS queue, an SNS topic or an S3 bucket by its ARN.")
    return arn
