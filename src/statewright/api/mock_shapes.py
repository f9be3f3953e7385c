"""Check of a mocked result against the service model: could the API that a Task calls answer it?

Owns the check and its error texts; names are translated by `integrations.service_names`. Members that the model does
not have are ignored, as the service does.

Source: API reference, `MockInput`; wording as observed, `must be an object`, `must be a boolean` and
`exceeds the maximum length` by analogy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final, Literal

from botocore.model import ListShape, MapShape, Shape, StructureShape

from statewright.asl.resources import Resource
from statewright.errors import ApiError
from statewright.integrations.service_names import Api, UnknownApi, api_of, member_names, optimised_api
from statewright.payload import Json, JsonMapping

Mode = Literal["STRICT", "PRESENT", "NONE"]
"""Checks required members and types; types of present members; nothing."""

_UNCHECKED: Final = frozenset({"http", "apigateway", "eks", "statewright", "bedrockagentcore"})
"""Integrations whose result no model describes."""

_POLLED: Final = {
    ("states", "startExecution"): "describeExecution",
    ("athena", "startQueryExecution"): "getQueryExecution",
    ("batch", "submitJob"): "describeJobs",
    ("codebuild", "startBuild"): "batchGetBuilds",
    ("codebuild", "startBuildBatch"): "batchGetBuildBatches",
    ("codebuild", "retryBuildBatch"): "batchGetBuildBatches",
    ("databrew", "startJobRun"): "describeJobRun",
    ("ecs", "runTask"): "describeTasks",
    ("elasticmapreduce", "createCluster"): "describeCluster",
    ("elasticmapreduce", "terminateCluster"): "describeCluster",
    ("elasticmapreduce", "addStep"): "describeStep",
    ("emr-containers", "createVirtualCluster"): "describeVirtualCluster",
    ("emr-containers", "deleteVirtualCluster"): "describeVirtualCluster",
    ("emr-containers", "startJobRun"): "describeJobRun",
    ("emr-serverless", "createApplication"): "getApplication",
    ("emr-serverless", "deleteApplication"): "getApplication",
    ("emr-serverless", "startApplication"): "getApplication",
    ("emr-serverless", "stopApplication"): "getApplication",
    ("emr-serverless", "startJobRun"): "getJobRun",
    ("glue", "startJobRun"): "getJobRun",
    ("mediaconvert", "createJob"): "getJob",
    ("sagemaker", "createLabelingJob"): "describeLabelingJob",
    ("sagemaker", "createProcessingJob"): "describeProcessingJob",
    ("sagemaker", "createTrainingJob"): "describeTrainingJob",
    ("sagemaker", "createTransformJob"): "describeTransformJob",
    ("sagemaker", "createHyperParameterTuningJob"): "describeHyperParameterTuningJob",
}
"""The operation whose answer is the result of a `.sync` call. Source: API reference, `MockInput`, for the rule."""

_REWRITTEN: Final = {
    ("lambda", "invoke"): frozenset({"Payload"}),
    ("bedrock", "invokeModel"): frozenset({"Body"}),
    ("states", "describeExecution"): frozenset({"Input", "Output"}),
}
"""Members that an optimised integration turns into JSON values of any kind."""


_MAXIMA: Final = {("lambda", "MemorySize"): 10_240}
"""Largest values by service and shape, if the service is stricter than the model that botocore ships (observed)."""


def check_mock(resource: Resource, result: Json, mode: Mode) -> None:
    """Check the mocked result of a service integration; functions and activities may return anything.

    A `.waitForTaskToken` task's result is the output of SendTaskSuccess, so that may be anything too.

    Raises: ApiError (`ValidationException`).
    """
    if mode == "NONE" or resource.kind != "task" or resource.waits_for_token:
        return
    if resource.resource_type in _UNCHECKED:
        return
    try:
        api = _answering_api(resource)
    except UnknownApi:
        return
    shape = api.operation.output_shape
    if shape is None:
        return
    free: frozenset[str] = frozenset()
    if api.dialect == "optimised" and not resource.action.endswith(".sync"):
        action = api.operation.name[:1].lower() + api.operation.name[1:]
        free = _REWRITTEN.get((api.service, action), free)
    _Check(api, mode == "STRICT", free).check(shape, result)


def _answering_api(resource: Resource) -> Api:
    if resource.pattern != "sync":
        return api_of(resource)
    action = resource.action.partition(".")[0]
    polled = _POLLED.get((resource.resource_type, action))
    return optimised_api(resource.resource_type, polled) if polled is not None else api_of(resource)


_TOO_LARGE: Final = "exceeds the maximum value"


def _refuse(reason: str) -> ApiError:
    return ApiError("ValidationException", f"Mock result schema validation error: {reason}")


class _Check:
    """One walk over a result. Its depth is bounded by that of the result, which has a limit."""

    def __init__(self, api: Api, strict: bool, free: frozenset[str]) -> None:
        self.api = api
        self.strict = strict
        self.free = free

    def check(self, shape: StructureShape, result: Json) -> None:
        if not isinstance(result, dict):
            # The service's text has no name for the result itself.
            raise ApiError("ValidationException", "Mocked result must be a JSON object.")
        pending: list[tuple[Shape, Json, str]] = self._members(shape, result, top=True)
        while pending:
            inner, value, field = pending.pop()
            pending += reversed(self._value(inner, value, field))

    def _members(self, shape: StructureShape, value: JsonMapping, *, top: bool = False) -> list[Json]:
        names = member_names(shape, self.api.dialect)
        present = {names[field]: field for field in value if field in names}
        if self.strict:
            for member in shape.required_members:
                if member not in present:
                    shown = next(name for name, of in names.items() if of == member)
                    raise _refuse(f"Required field '{shown}' is missing")
        found = []
        for member, field in present.items():
            if not (top and field in self.free):
                found.append((shape.members[member], value[field], field))
        return found if not top else found[::-1]

    def _value(self, shape: Shape, value: Json, field: str) -> list[Json]:
        if isinstance(shape, StructureShape):
            if getattr(shape, "is_document_type", False):
                return []
            if not isinstance(value, dict):
                raise _refuse(f"Field '{field}' must be an object")
            return self._members(shape, value)
        if isinstance(shape, ListShape):
            if not isinstance(value, list):
                raise _refuse(f"Field '{field}' must be an array")
            return [(shape.member, item, field) for item in value]
        if isinstance(shape, MapShape):
            if not isinstance(value, dict):
                raise _refuse(f"Field '{field}' must be an object")
            return [(shape.value, item, key) for key, item in value.items()]
        check = _SCALARS.get(shape.type_name)
        problem = check(shape, value) if check is not None else None
        maximum = _MAXIMA.get((self.api.model.service_name, shape.name))
        if problem is None and maximum is not None and value > maximum:
            problem = _TOO_LARGE
        if problem is not None:
            raise _refuse(f"Field '{field}' {problem}")
        return []


def _string(shape: Shape, value: Json) -> str | None:
    if not isinstance(value, str):
        return "must be a string"
    allowed = shape.metadata.get("enum")
    if allowed and value not in allowed:
        return "is not an expected value"
    if len(value) < shape.metadata.get("min", 0):
        return "is smaller than the minimum length"
    if len(value) > shape.metadata.get("max", math.inf):
        return "exceeds the maximum length"
    return None


def _number(shape: Shape, value: Json) -> str | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return "must be a number"
    if value < shape.metadata.get("min", -math.inf):
        return "is less than the minimum value"
    if value > shape.metadata.get("max", math.inf):
        return _TOO_LARGE
    return None


def _boolean(_: Shape, value: Json) -> str | None:
    return None if isinstance(value, bool) else "must be a boolean"


def _instant(_: Shape, value: Json) -> str | None:
    # Results show instants as texts or as numbers, depending on the integration.
    is_one = isinstance(value, (str, int, float)) and not isinstance(value, bool)
    return None if is_one else "must be a string"


def _blob(_: Shape, value: Json) -> str | None:
    return None if isinstance(value, str) else "must be a string"


_SCALARS: Final[Mapping[str, Callable[[Shape, Json], str | None]]] = {
    "string": _string,
    "character": _string,
    "integer": _number,
    "long": _number,
    "float": _number,
    "double": _number,
    "boolean": _boolean,
    "timestamp": _instant,
    "blob": _blob,
}
