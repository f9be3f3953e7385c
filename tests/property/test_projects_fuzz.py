"""Whatever a project's file holds, reading it ends, with findings where something is wrong."""

from __future__ import annotations

import contextlib
import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from statewright.projects.evaluation import Unresolved
from statewright.projects.intrinsics import resolve
from statewright.projects.reading import read_project
from statewright.projects.resources import Project
from tests.thoroughness import examples

EXAMPLES = settings(max_examples=examples(120))

NAMES = st.sampled_from(["A", "B", "Queue", "Work", "Stage", "AWS::Region", "AWS::NoValue", "Yes", "a.b", "", "Fn::X"])
TEXTS = NAMES | st.sampled_from(
    ["${A}", "${A.Arn}", "${!x}", "${}", "${AWS::Region}", "{{resolve:ssm:/a}}", "src", "app.handler", "python3.12",
     "10.0.0.0/16", "${self:a.b}", "${opt:stage, 'x'}", "${file(template.yaml)}", "${self:}", "${file(serverless.yml)}",
     "rate(1 day)", "s3://a/b", "1", "-1", "é", "${self:functions}"]
)  # fmt: skip
SCALARS = st.none() | st.booleans() | st.integers(-3, 70_000) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
FUNCTIONS = st.sampled_from(
    ["Ref", "Fn::GetAtt", "Fn::Sub", "Fn::Join", "Fn::Select", "Fn::Split", "Fn::If", "Fn::And", "Fn::Or", "Fn::Not",
     "Fn::Equals", "Fn::FindInMap", "Fn::ImportValue", "Fn::Base64", "Fn::Cidr", "Fn::GetAZs", "Fn::Length",
     "Fn::ToJsonString", "Fn::Transform", "Fn::ForEach::L", "Condition"]
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(TEXTS, inner, max_size=3)
        | st.builds(lambda name, part: {name: part}, FUNCTIONS, inner)
        | st.builds(lambda name, parts: {name: parts}, FUNCTIONS, st.lists(inner, max_size=4))
    ),
    max_leaves=14,
)
TYPES = st.sampled_from(
    ["AWS::SQS::Queue", "AWS::Lambda::Function", "AWS::Serverless::Function", "AWS::Serverless::StateMachine",
     "AWS::Serverless::SimpleTable", "AWS::Serverless::LayerVersion", "AWS::Serverless::Connector",
     "AWS::Serverless::Api", "AWS::Serverless::Application", "AWS::CloudFormation::Stack",
     "AWS::StepFunctions::StateMachine", "AWS::Lambda::LayerVersion", "Custom::X", "", "a"]
)  # fmt: skip
PROPERTIES = st.sampled_from(
    ["Code", "CodeUri", "InlineCode", "Handler", "Runtime", "Events", "Policies", "Environment", "AutoPublishAlias",
     "Definition", "DefinitionUri", "DefinitionString", "DefinitionS3Location", "TemplateURL", "Location", "Tags",
     "PrimaryKey", "Content", "ContentUri", "Parameters", "EventInvokeConfig", "DeadLetterQueue", "QueueName"]
)  # fmt: skip
SETTINGS = st.sampled_from(
    ["Queue", "Topic", "Schedule", "Pattern", "SqsSubscription", "DeadLetterConfig", "ScheduleExpression", "Target"]
)
EVENTS = st.dictionaries(
    NAMES,
    st.fixed_dictionaries(
        {"Type": st.sampled_from(["SQS", "SNS", "Schedule", "ScheduleV2", "EventBridgeRule", "Api"]) | VALUES},
        optional={"Properties": st.dictionaries(SETTINGS, VALUES)},
    ),
    max_size=3,
)
RESOURCES = st.dictionaries(
    NAMES,
    st.fixed_dictionaries(
        {"Type": TYPES | VALUES},
        optional={
            "Properties": st.dictionaries(PROPERTIES, VALUES | EVENTS, max_size=5) | VALUES,
            "DependsOn": VALUES | NAMES | st.lists(NAMES, max_size=3),
            "Condition": VALUES | NAMES,
            "Metadata": VALUES,
        },
    )
    | VALUES,
    max_size=5,
)
TEMPLATES = st.fixed_dictionaries(
    {"Resources": RESOURCES | VALUES},
    optional={
        "Transform": st.sampled_from(["AWS::Serverless-2016-10-31", ["AWS::LanguageExtensions"]]) | VALUES,
        "Parameters": st.dictionaries(
            NAMES, st.fixed_dictionaries({"Type": TEXTS}, optional={"Default": VALUES}) | VALUES
        ),
        "Conditions": st.dictionaries(NAMES, VALUES, max_size=3) | VALUES,
        "Mappings": VALUES,
        "Globals": st.dictionaries(st.sampled_from(["Function", "StateMachine", "X"]), VALUES) | VALUES,
        "Outputs": st.dictionaries(NAMES, st.builds(lambda value: {"Value": value}, VALUES)) | VALUES,
    },
)
SERVICES = st.fixed_dictionaries(
    {"service": TEXTS | VALUES, "provider": st.just("aws") | VALUES},
    optional={
        "functions": st.dictionaries(
            NAMES,
            st.dictionaries(
                st.sampled_from(
                    ["handler", "events", "environment", "destinations", "layers", "role", "tags", "onError"]
                ),
                VALUES | st.lists(st.dictionaries(st.sampled_from(["sqs", "sns", "schedule", "eventBridge"]), VALUES)),
            ),
            max_size=3,
        )
        | VALUES,
        "stepFunctions": st.builds(lambda value: {"stateMachines": {"m": value}}, VALUES) | VALUES,
        "custom": VALUES,
        "resources": st.builds(lambda value: {"Resources": value}, RESOURCES) | VALUES,
        "layers": VALUES,
        "params": VALUES,
        "package": VALUES,
        "plugins": VALUES,
    },
)


class Anything:
    def ref(self, id: str) -> Any:
        return f"ref:{id}"

    def attribute(self, id: str, name: str) -> Any:
        return f"{id}.{name}"


def read(name: str, text: str) -> Project:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, name)
        path.write_text(text, "utf-8", "replace")
        return read_project(path, account="000000000000", region="us-east-1")


def check(project: Project) -> None:
    assert set(project.order) <= set(project.resources)
    made: set[str] = set()
    for id_ in project.order:
        resource = project.resources[id_]
        assert set(resource.depends_on) <= made
        made.add(id_)
        with contextlib.suppress(Unresolved):
            resolve(resource.properties, Anything())
    left_out = set(project.resources) - made
    assert not left_out or any(found.severity == "ERROR" for found in project.findings)
    for found in project.findings:
        assert found.message
        assert found.place.line >= 0


@EXAMPLES
@given(TEMPLATES)
def test_templates_never_crash_the_reader(template: Any) -> None:
    check(read("template.json", json.dumps(template)))


@EXAMPLES
@given(SERVICES)
def test_services_never_crash_the_reader(service: Any) -> None:
    check(read("serverless.yml", json.dumps(service)))


@EXAMPLES
@given(
    st.text(max_size=80)
    | st.lists(TEXTS | st.sampled_from(["\n", ": ", "- ", "  ", "!Ref ", "!Sub", "["]), max_size=20).map("".join)
)
def test_texts_never_crash_the_reader(text: str) -> None:
    for name in ("template.yaml", "template.json", "serverless.yml", "manifest.json"):
        check(read(name, text))


@EXAMPLES
@given(VALUES)
def test_manifests_never_crash_the_reader(value: Any) -> None:
    check(read("manifest.json", json.dumps({"artifacts": value})))
    check(
        read(
            "manifest.json", json.dumps({"artifacts": {"S": {"type": "aws:cloudformation:stack", "properties": value}}})
        )
    )
