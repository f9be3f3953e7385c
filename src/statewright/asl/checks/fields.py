"""Which fields each state type and each object inside a state takes, in which query language, with which values.

Data only: the checks read these tables, as may anything that lists the language.
Source, unless said otherwise: the open specification and the developer guide's page of each state type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from statewright.asl.choice_rules import OPERATORS
from statewright.limits import CAUSE_CHARACTERS, ERROR_CHARACTERS, TASK_TIMEOUT_SECONDS

Language = Literal["JSONPath", "JSONata"]
JSONPATH: Final = "JSONPath"
JSONATA: Final = "JSONata"

Kind = Literal[
    "anything",
    "array of strings",
    "boolean",
    "catchers",
    "choices",
    "credentials",
    "enumeration",
    "error names",
    "integer",
    "items",
    "json pointer",
    "label",
    "literal",
    "number",
    "object",
    "path",
    "processor",
    "branches",
    "reference",
    "reference or call",
    "resource",
    "retriers",
    "rule",
    "rules",
    "string",
    "target",
    "template",
    "template object",
    "timestamp",
]


@dataclass(frozen=True, slots=True)
class Field:
    """One field's kind of value.

    `language` is the only query language that has it, `None` for both. `expression`: in JSONata a whole `{% %}` may
    stand for the value. `context`: a reference path may begin with `$$`. `path_field`: its sibling that takes a path.
    `shape` names the table of an "object".
    """

    kind: Kind
    language: Language | None = None
    minimum: int | float | None = None
    maximum: int | float | None = None
    choices: tuple[str, ...] = ()
    nullable: bool = False
    context: bool = True
    variables: bool = True
    expression: bool = False
    path_field: str | None = None
    shape: str | None = None


@dataclass(frozen=True, slots=True)
class Shape:
    """An object: its fields, the required ones, and the groups of which exactly, at most or at least one is allowed."""

    fields: Mapping[str, Field]
    required: tuple[str, ...] = ()
    exactly_one: tuple[tuple[str, ...], ...] = ()
    at_most_one: tuple[tuple[str, ...], ...] = ()
    at_least_one: tuple[tuple[str, ...], ...] = ()


MAX_ATTEMPTS: Final = 99_999_998
MAX_DELAY_SECONDS: Final = 31_622_400
MAX_ITEMS: Final = 100_000_000
MAX_BATCH_BYTES: Final = 262_144
LABEL_CHARACTERS: Final = 40
VARIABLE_CHARACTERS: Final = 80
TEXT_CHARACTERS: Final = {"Error": ERROR_CHARACTERS, "Cause": CAUSE_CHARACTERS}

_COMMENT = Field("anything")
_STRING = Field("string")
_TEMPLATE_PATH = Field("template", JSONPATH)
_TEMPLATE_OBJECT = Field("template object")
_ARGUMENTS = Field("template", JSONATA)
_OUTPUT = Field("template", JSONATA)
_PATH = Field("path", JSONPATH, nullable=True)
_REFERENCE = Field("reference", JSONPATH)
_MAP_REFERENCE = Field("reference", JSONPATH, context=False)
_TARGET = Field("target")


def _count(minimum: int | float | None, maximum: int | float | None = None, path_field: str | None = None) -> Field:
    return Field("integer", minimum=minimum, maximum=maximum, expression=True, path_field=path_field)


_COMMON: Final[dict[str, Field]] = {
    "Type": Field("anything"),
    "Comment": _COMMENT,
    "QueryLanguage": Field("enumeration", choices=(JSONPATH, JSONATA)),
}
_TRANSITION: Final[dict[str, Field]] = {"Next": _TARGET, "End": Field("boolean")}
_PATHS: Final[dict[str, Field]] = {"InputPath": _PATH, "OutputPath": _PATH}
_DATA: Final[dict[str, Field]] = {"Output": _OUTPUT, "Assign": _TEMPLATE_OBJECT}
_RESULT: Final[dict[str, Field]] = {
    "ResultPath": Field("reference", JSONPATH, nullable=True, context=False, variables=False)
}
_WORK: Final[dict[str, Field]] = {
    **_COMMON,
    **_TRANSITION,
    **_PATHS,
    **_DATA,
    **_RESULT,
    "ResultSelector": _TEMPLATE_PATH,
    "Retry": Field("retriers"),
    "Catch": Field("catchers"),
}
_NEXT_OR_END: Final = ("Next", "End")


def _with_path(name: str) -> tuple[str, str]:
    return (name, name + "Path")


STATE_SHAPES: Final[dict[str, Shape]] = {
    "Task": Shape(
        {
            **_WORK,
            "Resource": Field("resource"),
            "Parameters": _TEMPLATE_PATH,
            "Arguments": _ARGUMENTS,
            "TimeoutSeconds": _count(1, TASK_TIMEOUT_SECONDS, "TimeoutSecondsPath"),
            "TimeoutSecondsPath": _REFERENCE,
            "HeartbeatSeconds": _count(1, TASK_TIMEOUT_SECONDS, "HeartbeatSecondsPath"),
            "HeartbeatSecondsPath": _REFERENCE,
            "Credentials": Field("credentials"),
        },
        required=("Resource",),
        exactly_one=(_NEXT_OR_END,),
        at_most_one=(_with_path("TimeoutSeconds"), _with_path("HeartbeatSeconds")),
    ),
    "Parallel": Shape(
        {**_WORK, "Branches": Field("branches"), "Parameters": _TEMPLATE_PATH, "Arguments": _ARGUMENTS},
        required=("Branches",),
        exactly_one=(_NEXT_OR_END,),
    ),
    "Map": Shape(
        {
            **_WORK,
            "Parameters": _TEMPLATE_PATH,
            "ItemProcessor": Field("processor"),
            "Iterator": Field("processor"),
            "ItemsPath": _REFERENCE,
            "Items": Field("items", JSONATA, expression=True),
            "ItemSelector": Field("template"),
            "MaxConcurrency": _count(0, path_field="MaxConcurrencyPath"),
            "MaxConcurrencyPath": _MAP_REFERENCE,
            "ToleratedFailureCount": _count(0, path_field="ToleratedFailureCountPath"),
            "ToleratedFailureCountPath": _MAP_REFERENCE,
            "ToleratedFailurePercentage": Field(
                "number", minimum=0.0, maximum=100.0, expression=True, path_field="ToleratedFailurePercentagePath"
            ),
            "ToleratedFailurePercentagePath": _MAP_REFERENCE,
            "Label": Field("label"),
            "ItemReader": Field("object", shape="ItemReader"),
            "ItemBatcher": Field("object", shape="ItemBatcher"),
            "ResultWriter": Field("object", shape="ResultWriter"),
        },
        exactly_one=(("ItemProcessor", "Iterator"), _NEXT_OR_END),
        at_most_one=(
            ("Parameters", "ItemSelector"),
            _with_path("MaxConcurrency"),
            _with_path("ToleratedFailureCount"),
            _with_path("ToleratedFailurePercentage"),
        ),
    ),
    "Pass": Shape(
        {
            **_COMMON,
            **_TRANSITION,
            **_PATHS,
            **_DATA,
            **_RESULT,
            "Parameters": _TEMPLATE_PATH,
            "Result": Field("literal", JSONPATH),
        },
        exactly_one=(_NEXT_OR_END,),
    ),
    "Wait": Shape(
        {
            **_COMMON,
            **_TRANSITION,
            **_PATHS,
            **_DATA,
            "Seconds": _count(0, TASK_TIMEOUT_SECONDS, "SecondsPath"),
            "SecondsPath": _REFERENCE,
            "Timestamp": Field("timestamp", expression=True, path_field="TimestampPath"),
            "TimestampPath": _REFERENCE,
        },
        exactly_one=(("Seconds", "SecondsPath", "Timestamp", "TimestampPath"), _NEXT_OR_END),
    ),
    "Choice": Shape(
        {**_COMMON, **_PATHS, **_DATA, "Choices": Field("choices"), "Default": _TARGET},
        required=("Choices",),
    ),
    "Succeed": Shape({**_COMMON, **_PATHS, "Output": _OUTPUT}),
    "Fail": Shape(
        {
            **_COMMON,
            "Error": Field("string", expression=True, path_field="ErrorPath"),
            "ErrorPath": Field("reference or call", JSONPATH),
            "Cause": Field("string", expression=True, path_field="CausePath"),
            "CausePath": Field("reference or call", JSONPATH),
        },
        at_most_one=(_with_path("Error"), _with_path("Cause")),
    ),
}

LOOP_SHAPE: Final = replace(
    STATE_SHAPES["Parallel"],
    fields={
        **STATE_SHAPES["Parallel"].fields,
        "TimeoutSeconds": _count(1, TASK_TIMEOUT_SECONDS, "TimeoutSecondsPath"),
        "TimeoutSecondsPath": _REFERENCE,
        "MaxTurns": Field("integer", minimum=1),
    },
    at_most_one=(_with_path("TimeoutSeconds"),),
)
"""A Parallel with the fields of `extensions.py`."""
"""By state type. The order of the types is the order in which messages list them."""

MACHINE_SHAPE: Final = Shape(
    {
        "Comment": _COMMENT,
        "StartAt": _TARGET,
        "States": Field("anything"),
        "Version": _STRING,
        "TimeoutSeconds": Field("integer", minimum=1, maximum=TASK_TIMEOUT_SECONDS - 1),
        "QueryLanguage": _COMMON["QueryLanguage"],
    },
    required=("States", "StartAt"),
)
BRANCH_SHAPE: Final = Shape(
    {"Comment": _COMMENT, "StartAt": _TARGET, "States": Field("anything")}, required=("States", "StartAt")
)
PROCESSOR_SHAPE: Final = Shape(
    {**BRANCH_SHAPE.fields, "ProcessorConfig": Field("object", shape="ProcessorConfig")},
    required=("States", "StartAt"),
)

OBJECT_SHAPES: Final[dict[str, Shape]] = {
    "ProcessorConfig": Shape(
        {
            "Mode": Field("enumeration", choices=("INLINE", "DISTRIBUTED")),
            "ExecutionType": Field("enumeration", choices=("STANDARD", "EXPRESS")),
            "Comment": _COMMENT,
        },
    ),
    "ItemReader": Shape(
        {
            "Resource": Field("resource"),
            "Parameters": _TEMPLATE_PATH,
            "Arguments": _ARGUMENTS,
            "ReaderConfig": Field("object", shape="ReaderConfig"),
            "Comment": _COMMENT,
        },
        required=("Resource",),
    ),
    "ReaderConfig": Shape(
        {
            "InputType": Field("enumeration", choices=("CSV", "JSON", "JSONL", "PARQUET", "MANIFEST")),
            "Transformation": Field("enumeration", choices=("NONE", "LOAD_AND_FLATTEN")),
            "ManifestType": Field("enumeration", choices=("ATHENA_DATA", "S3_INVENTORY")),
            "CSVDelimiter": Field("enumeration", choices=("COMMA", "PIPE", "SEMICOLON", "SPACE", "TAB")),
            "CSVHeaderLocation": Field("enumeration", choices=("FIRST_ROW", "GIVEN")),
            "CSVHeaders": Field("array of strings"),
            "MaxItems": _count(0, MAX_ITEMS, "MaxItemsPath"),
            "MaxItemsPath": _MAP_REFERENCE,
            "ItemsPointer": Field("json pointer"),
            "Comment": _COMMENT,
        },
        at_most_one=(_with_path("MaxItems"),),
    ),
    "ItemBatcher": Shape(
        {
            "MaxItemsPerBatch": _count(0, path_field="MaxItemsPerBatchPath"),
            "MaxItemsPerBatchPath": _MAP_REFERENCE,
            "MaxInputBytesPerBatch": _count(0, path_field="MaxInputBytesPerBatchPath"),
            "MaxInputBytesPerBatchPath": _MAP_REFERENCE,
            "BatchInput": Field("template"),
            "Comment": _COMMENT,
        },
        at_most_one=(_with_path("MaxItemsPerBatch"), _with_path("MaxInputBytesPerBatch")),
        at_least_one=((*_with_path("MaxItemsPerBatch"), *_with_path("MaxInputBytesPerBatch")),),
    ),
    "ResultWriter": Shape(
        {
            "Resource": Field("resource"),
            "Parameters": _TEMPLATE_PATH,
            "Arguments": _ARGUMENTS,
            "WriterConfig": Field("object", shape="WriterConfig"),
            "Comment": _COMMENT,
        },
        at_least_one=(("Resource", "WriterConfig"),),
    ),
    "WriterConfig": Shape(
        {
            "Transformation": Field("enumeration", choices=("NONE", "COMPACT", "FLATTEN")),
            "OutputType": Field("enumeration", choices=("JSON", "JSONL")),
            "Comment": _COMMENT,
        },
    ),
    "Retrier": Shape(
        {
            "ErrorEquals": Field("error names"),
            "IntervalSeconds": Field("integer", minimum=1, maximum=TASK_TIMEOUT_SECONDS),
            "MaxAttempts": Field("integer", minimum=0, maximum=MAX_ATTEMPTS),
            "BackoffRate": Field("number", minimum=1.0),
            "MaxDelaySeconds": Field("integer", minimum=1, maximum=MAX_DELAY_SECONDS),
            "JitterStrategy": Field("enumeration", choices=("NONE", "FULL")),
            "Comment": _COMMENT,
        },
        required=("ErrorEquals",),
    ),
    "Catcher": Shape(
        {"ErrorEquals": Field("error names"), "Next": _TARGET, **_RESULT, **_DATA, "Comment": _COMMENT},
        required=("ErrorEquals", "Next"),
    ),
}
"""Objects inside a state, by the name that a `Field.shape` gives."""


# ------------------------------------------------------------------ Choice rules


def _operand(operator: str) -> Field:
    if operator.endswith("Path"):
        return _REFERENCE
    path_field = operator + "Path" if operator + "Path" in OPERATORS else None
    if operator.startswith(("Is", "Boolean")):
        return Field("boolean", path_field=path_field)
    if operator.startswith("Numeric"):
        return Field("number", path_field=path_field)
    return Field("timestamp" if operator.startswith("Timestamp") else "string", path_field=path_field)


_COMPARISONS: Final[dict[str, Field]] = {operator: _operand(operator) for operator in OPERATORS}
_COMBINATIONS: Final[dict[str, Field]] = {"And": Field("rules"), "Or": Field("rules"), "Not": Field("rule")}
COMBINATIONS: Final = tuple(_COMBINATIONS)
_NESTED_FIELDS: Final[dict[str, Field]] = {
    "Variable": _REFERENCE,
    **_COMPARISONS,
    **_COMBINATIONS,
    "Comment": _COMMENT,
}

NESTED_RULE_SHAPE: Final = Shape({name: replace(found, language=None) for name, found in _NESTED_FIELDS.items()})
"""A JSONPath rule inside And, Or and Not."""
RULE_SHAPES: Final[dict[str, Shape]] = {
    JSONPATH: Shape(
        {
            **NESTED_RULE_SHAPE.fields,
            "Next": _TARGET,
            "Assign": _TEMPLATE_OBJECT,
            "Condition": Field("anything", JSONATA),
            "Output": _OUTPUT,
        },
        required=("Next",),
    ),
    JSONATA: Shape(
        {
            **{name: replace(found, language=JSONPATH) for name, found in _NESTED_FIELDS.items() if name != "Comment"},
            "Condition": Field("boolean", expression=True),
            "Next": _TARGET,
            "Comment": _COMMENT,
            **_DATA,
        },
        required=("Condition", "Next"),
    ),
}
"""A rule of a Choice, by query language."""

# ------------------------------------------------------------------ resources


@dataclass(frozen=True, slots=True)
class Integration:
    """An optimised integration: its suffixes besides none, and its actions; `None` when the list is not complete."""

    suffixes: frozenset[str] = frozenset()
    actions: frozenset[str] | None = None


def _service(suffixes: str = "", actions: str = "") -> Integration:
    return Integration(frozenset(suffixes.split()), frozenset(actions.split()) or None)


INTEGRATIONS: Final[dict[str, Integration]] = {
    "lambda": _service("waitForTaskToken", "invoke"),
    "sqs": _service("waitForTaskToken", "sendMessage"),
    "sns": _service("waitForTaskToken", "publish"),
    "events": _service("waitForTaskToken", "putEvents"),
    "dynamodb": _service("", "getItem putItem updateItem deleteItem"),
    "states": _service("sync sync:2 waitForTaskToken", "startExecution"),
    "apigateway": _service("waitForTaskToken", "invoke"),
    "http": _service("", "invoke"),
    "ecs": _service("sync waitForTaskToken", "runTask"),
    "batch": _service("sync", "submitJob"),
    "glue": _service("sync", "startJobRun"),
    "athena": _service("sync"),
    "codebuild": _service("sync"),
    "databrew": _service("sync"),
    "eks": _service("sync waitForTaskToken"),
    "elasticmapreduce": _service("sync"),
    "emr-containers": _service("sync"),
    "emr-serverless": _service("sync"),
    "mediaconvert": _service("sync"),
    "sagemaker": _service("sync"),
    "bedrock": _service("sync waitForTaskToken"),
    "bedrockagentcore": _service(),
    "statewright": _service("", "acquire release poll"),
}
"""By the service segment of `arn:aws:states:::<service>:<action>`. `statewright` is ours."""

READER_ACTIONS: Final = frozenset({"getObject", "listObjectsV2"})
WRITER_ACTIONS: Final = frozenset({"putObject"})

# ------------------------------------------------------------------ errors

PREDEFINED_ERRORS: Final = frozenset(
    {
        "States.ALL",
        "States.BranchFailed",
        "States.DataLimitExceeded",
        "States.ExceedToleratedFailureThreshold",
        "States.HeartbeatTimeout",
        "States.Http.Socket",
        "States.IntrinsicFailure",
        "States.ItemReaderFailed",
        "States.NoChoiceMatched",
        "States.ParameterPathFailure",
        "States.Permissions",
        "States.QueryEvaluationError",
        "States.ResultPathMatchFailure",
        "States.ResultWriterFailed",
        "States.Runtime",
        "States.TaskFailed",
        "States.Timeout",
    }
)
NEVER_MATCHED: Final[dict[str, str]] = {
    "States.Runtime": "it always ends the execution, regardless of Retry and Catch",
    "States.NoChoiceMatched": "the service reports a Choice without a match as States.Runtime",
    "States.BranchFailed": "the service reports the error of the branch itself",
}
"""Error names that the service never offers to a retrier or catcher, with the reason."""

DISTRIBUTED_ONLY: Final = (
    "ItemReader",
    "ItemBatcher",
    "ResultWriter",
    "Label",
    "ToleratedFailureCount",
    "ToleratedFailureCountPath",
    "ToleratedFailurePercentage",
    "ToleratedFailurePercentagePath",
)
