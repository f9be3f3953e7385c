"""Names of services: the API that a resource ARN means, and the names of its members and errors.

The same API has three vocabularies: botocore's model, the optimised integrations (names of the Java SDK, version 1)
and `aws-sdk:*` (names of version 2). This module translates names; it loads models at first use and makes no calls.

Source: developer guide, "Learning to use AWS service SDK integrations"; naming rules of the two Java SDKs; error
names as observed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from botocore.loaders import Loader, create_loader
from botocore.model import OperationModel, ServiceModel, StructureShape

from statewright.asl.resources import Resource
from statewright.queues.legacy_codes import LEGACY

Dialect = Literal["optimised", "aws-sdk"]


class UnknownApi(Exception):
    """No such service or no such action; the text says which."""


@dataclass(frozen=True, slots=True)
class Optimised:
    """An optimised integration's API. `prefix` starts its error names.

    `client` is the SDK's class, which names errors that the model does not have; `service` is what causes show.
    """

    model: str
    prefix: str
    client: str
    service: str


OPTIMISED: Final[Mapping[str, Optimised]] = {
    "athena": Optimised("athena", "Athena", "AmazonAthena", "AmazonAthena"),
    "batch": Optimised("batch", "Batch", "AWSBatch", "AWSBatch"),
    "bedrock": Optimised("bedrock-runtime", "Bedrock", "AmazonBedrockRuntime", "AmazonBedrockRuntime"),
    "codebuild": Optimised("codebuild", "CodeBuild", "AWSCodeBuild", "AWSCodeBuild"),
    "databrew": Optimised("databrew", "DataBrew", "AWSGlueDataBrew", "AWSGlueDataBrew"),
    "dynamodb": Optimised("dynamodb", "DynamoDB", "AmazonDynamoDB", "AmazonDynamoDBv2"),
    "ecs": Optimised("ecs", "ECS", "AmazonECS", "AmazonECS"),
    "eks": Optimised("eks", "EKS", "AmazonEKS", "AmazonEKS"),
    "elasticmapreduce": Optimised("emr", "ElasticMapReduce", "AmazonElasticMapReduce", "AmazonElasticMapReduce"),
    "emr-containers": Optimised("emr-containers", "EMRContainers", "AmazonEMRContainers", "AmazonEMRContainers"),
    "emr-serverless": Optimised("emr-serverless", "EMRServerless", "AWSEMRServerless", "AWSEMRServerless"),
    "events": Optimised("events", "EventBridge", "AmazonEventBridge", "AmazonEventBridge"),
    "glue": Optimised("glue", "Glue", "AWSGlue", "AWSGlue"),
    "lambda": Optimised("lambda", "Lambda", "AWSLambda", "AWSLambda"),
    "mediaconvert": Optimised("mediaconvert", "MediaConvert", "AWSMediaConvert", "AWSMediaConvert"),
    "sagemaker": Optimised("sagemaker", "SageMaker", "AmazonSageMaker", "AmazonSageMaker"),
    "sns": Optimised("sns", "SNS", "AmazonSNS", "AmazonSNS"),
    "sqs": Optimised("sqs", "SQS", "AmazonSQS", "AmazonSQS"),
    "states": Optimised("stepfunctions", "StepFunctions", "AWSStepFunctions", "AWSStepFunctions"),
}
"""By service segment. Observed for DynamoDB, SQS, SNS, Step Functions and Lambda; the others by the same rule."""

_OTHER_MODELS: Final = {("bedrock", "createModelCustomizationJob"): "bedrock"}
"""Actions of an optimised integration that belong to another API than its first."""

_SDK_MODELS: Final = {
    "applicationdiscovery": "discovery",
    "cloudwatchevents": "events",
    "cloudwatchlogs": "logs",
    "cognitoidentityprovider": "cognito-idp",
    "config": "config",
    "costandusagereport": "cur",
    "costexplorer": "ce",
    "databasemigration": "dms",
    "directory": "ds",
    "directoryservicedata": "ds-data",
    "elasticloadbalancing": "elb",
    "elasticloadbalancingv2": "elbv2",
    "elasticsearch": "es",
    "eventbridge": "events",
    "iotdataplane": "iot-data",
    "iotjobsdataplane": "iot-jobs-data",
    "lexmodelbuilding": "lex-models",
    "lexmodelsv2": "lexv2-models",
    "lexruntime": "lex-runtime",
    "lexruntimev2": "lexv2-runtime",
    "marketplaceentitlement": "marketplace-entitlement",
    "marketplacemetering": "meteringmarketplace",
    "migrationhub": "mgh",
    "pinpointsmsvoice": "sms-voice",
    "serverlessapplicationrepository": "serverlessrepo",
    "sfn": "stepfunctions",
    "simpledb": "sdb",
}
"""Service segments whose botocore name is a different word; all others are botocore's without hyphens."""


@dataclass(frozen=True, slots=True)
class Api:
    """One operation of one service, in one dialect.

    `service` is its name in resource ARNs, `prefix` starts its error names, `shown` is its name in causes.
    """

    service: str
    dialect: Dialect
    model: ServiceModel
    operation: OperationModel
    prefix: str
    shown: str
    client: str

    def error_name(self, code: str) -> str:
        """The error name of a code that the service answered.

        `DynamoDB.ConditionalCheckFailedException`; what the model does not have is the client's general exception.
        """
        shape = _error_shape(self.model, code)
        if self.dialect == "optimised":
            return f"{self.prefix}.{_exception(shape) if shape is not None else self.client + 'Exception'}"
        return f"{self.prefix}.{_exception(pascal(shape)) if shape is not None else self.prefix + 'Exception'}"

    def cause(self, code: str, message: str, status: int, request_id: str, extended_id: str | None = None) -> str:
        """The cause text of an error: what each SDK makes of it (observed)."""
        if self.dialect == "optimised":
            if self.service == "sqs":
                code = LEGACY.get(code, code)
            return (
                f"{message} (Service: {self.shown}; Status Code: {status}; Error Code: {code}; "
                f"Request ID: {request_id}; Proxy: null)"
            )
        extended = f", Extended Request ID: {extended_id}" if extended_id else ""
        return (
            f"{message} (Service: {self.shown}, Status Code: {status}, Request ID: {request_id}{extended}) "
            "(SDK Attempt Count: 1)"
        )


def api_of(resource: Resource) -> Api:
    """The API that a service integration calls, its pattern aside.

    Raises: UnknownApi.
    """
    action = resource.action.partition(".")[0]
    name = resource.resource_type
    if name.startswith("aws-sdk:"):
        return _sdk_api(name.removeprefix("aws-sdk:"), action)
    return optimised_api(name, action)


@lru_cache(maxsize=256)
def optimised_api(service: str, action: str) -> Api:
    """The API of an optimised integration, or of the operation that its `.sync` form polls.

    Raises: UnknownApi.
    """
    known = OPTIMISED.get(service)
    if known is None:
        raise UnknownApi(f"{service} is no service with an API of its own")
    model = load_model(_OTHER_MODELS.get((service, action), known.model))
    operation = _operation(model, service, action)
    return Api(service, "optimised", model, operation, known.prefix, known.service, known.client)


@lru_cache(maxsize=256)
def _sdk_api(service: str, action: str) -> Api:
    model = load_model(_sdk_model_name(service))
    prefix = sdk_prefix(model.metadata.get("serviceId", service))
    return Api(service, "aws-sdk", model, _operation(model, service, action), prefix, prefix, prefix)


def _sdk_model_name(service: str) -> str:
    known = _SDK_MODELS.get(service)
    if known is not None:
        return known
    names: list[str] = model_loader().list_available_services("service-2")
    for name in names:
        if name.replace("-", "") == service:
            return name
    raise UnknownApi(f"there is no service aws-sdk:{service}")


def _operation(model: ServiceModel, service: str, action: str) -> OperationModel:
    wanted = action.casefold()
    for name in model.operation_names:
        if name.casefold() == wanted:
            return model.operation_model(name)
    raise UnknownApi(f"{service} has no action {action}")


@lru_cache(maxsize=1)
def model_loader() -> Loader:
    """The reader of botocore's files, which keeps what it has read."""
    return create_loader()


@lru_cache(maxsize=64)
def load_model(name: str) -> ServiceModel:
    """A service's model by botocore's name; the large ones take a third of a second to load."""
    return ServiceModel(model_loader().load_service_model(name, "service-2"), service_name=name)


# ------------------------------------------------------------------ names


def words(name: str) -> list[str]:
    """Split a name into words as version 2 of the Java SDK does."""
    text = re.sub(r"[^A-Za-z0-9]+", " ", name)
    text = re.sub(r"([^a-z]{2,})v([0-9]+)", r"\1 v\2 ", text)
    text = re.sub(r"([^A-Z]{2,})V([0-9]+)", r"\1 V\2 ", text)
    text = re.sub(r"(?<=[a-z])(?=[A-Z][a-zA-Z0-9])", " ", text)
    text = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1 \2", text)
    text = re.sub(r"([0-9])([a-zA-Z])", r"\1 \2", text)
    return text.split()


@lru_cache(maxsize=16_384)
def pascal(name: str) -> str:
    """A member's or shape's name in `aws-sdk:*`: `DBInstanceIdentifier` is `DbInstanceIdentifier`."""
    return "".join(word[:1].upper() + word[1:].lower() for word in words(name))


def sdk_prefix(service_id: str) -> str:
    """The prefix of error names of `aws-sdk:*`: `DynamoDb`, `Sfn`, `CloudWatchLogs`."""
    name: str = pascal(service_id)
    for prefix in ("Amazon", "Aws"):
        name = name.removeprefix(prefix) or name
    return str(name.removesuffix("Service") or name)


_SPELLED: Final = {
    "Equals": "EqualsValue",
    "NULL": "Nul",
    "Null": "Nul",
    **{
        name: name
        for name in ("ChecksumCRC32", "ChecksumCRC32C", "ChecksumCRC64NVME", "ChecksumSHA1", "ChecksumSHA256")
    },
}
"""Members whose name does not follow the rule: taken in Java, or left as they are.

Source: developer guide for the first, observed for ChecksumCRC32; the SDK's classes for the others.
"""


def shown_name(member: str, dialect: Dialect) -> str:
    """How results write a member of the model."""
    if dialect == "aws-sdk":
        return _SPELLED.get(member) or pascal(member)
    return member[:1].upper() + member[1:]


@lru_cache(maxsize=4096)
def _member_names(shape: StructureShape, dialect: Dialect) -> Mapping[str, str]:
    names: dict[str, str] = {}
    for member in shape.members:
        names.setdefault(member[:1].upper() + member[1:], member)
        names.setdefault(shown_name(member, dialect), member)
    return names


def member_names(shape: StructureShape, dialect: Dialect) -> Mapping[str, str]:
    """Names that callers may write for the members of a structure, with the model's own."""
    return _member_names(shape, dialect)


def _error_shape(model: ServiceModel, code: str) -> str | None:
    """The shape of an error, by its own name or by the code that the wire has."""
    by_code = None
    for shape in model.error_shapes:
        if shape.name == code:
            return code
        if by_code is None and shape.error_code == code:
            by_code = shape.name
    return by_code


def _exception(name: str) -> str:
    if name.endswith("Exception"):
        return name
    return name.removesuffix("Fault") + "Exception"
