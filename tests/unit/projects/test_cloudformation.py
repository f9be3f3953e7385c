"""Templates: sections, findings with their lines, order, nested stacks, loops and includes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.projects.reading import read, resolved, texts, write

PARAMETERS = """\
Parameters:
  Stage: {Type: String, Default: dev, AllowedValues: [dev, prod]}
  Size: {Type: Number, Default: 3, MinValue: 1, MaxValue: 9}
  Names: {Type: CommaDelimitedList, Default: "a, b"}
  Ports: {Type: List<Number>, Default: "80,443"}
  Image: {Type: "AWS::SSM::Parameter::Value<String>", Default: /images/latest}
Resources:
  Queue:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: !Sub ${Stage}-${Size}
      Tags: [{Key: names, Value: !Join ["+", !Ref Names]}, {Key: image, Value: !Ref Image}]
"""


def test_parameters_have_their_defaults(tmp_path: Path) -> None:
    project = read(tmp_path, PARAMETERS)
    assert texts(project) == []
    assert project.resources["Queue"].properties == {
        "QueueName": "dev-3",
        "Tags": [{"Key": "names", "Value": "a+b"}, {"Key": "image", "Value": "{{resolve:ssm:/images/latest}}"}],
    }
    assert project.parameters["Names"] == "a,b"


def test_parameters_are_replaced_and_checked(tmp_path: Path) -> None:
    given = {"Stage": "test", "Size": "12", "Ports": "a", "Sice": "1", "Image": "/images/old"}
    project = read(tmp_path, PARAMETERS, parameters=given)
    assert texts(project) == [
        "2: the parameter Stage is 'test', but must be one of dev, prod",
        "3: the parameter Size is '12', but must be at most 9",
        "5: the parameter Ports is 'a', but must be numbers, separated by commas",
        '0: there is no parameter Sice to set; did you mean "Size"?',
    ]
    assert project.resources["Queue"].properties["QueueName"] == "test-12"


def test_a_parameter_without_a_value_keeps_its_users_out(tmp_path: Path) -> None:
    project = read(
        tmp_path,
        """\
        Parameters:
          Name: {Type: String}
        Resources:
          Queue: {Type: AWS::SQS::Queue, Properties: {QueueName: !Ref Name}}
          Other: {Type: AWS::SQS::Queue}
        """,
    )
    assert project.order == ("Other",)
    assert texts(project, "ERROR") == [
        "2: the parameter Name has no Default, and no value was given: --parameter Name=VALUE",
        "4: the parameter Name has no value",
    ]


def test_pseudo_parameters(tmp_path: Path) -> None:
    names = ("AccountId", "Region", "Partition", "StackName", "URLSuffix")
    text = "/".join(f"${{AWS::{name}}}" for name in names)
    template = {"Resources": {"Q": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": {"Fn::Sub": text}}}}}
    found = read(tmp_path / "my_shop", json.dumps(template), name="template.json")
    assert found.name == "my-shop"
    assert found.resources["Q"].properties == {"QueueName": "000000000000/eu-central-1/aws/my-shop/amazonaws.com"}


CONDITIONS = """\
Parameters:
  Stage: {Type: String, Default: dev}
Conditions:
  IsProd: !Equals [!Ref Stage, prod]
  IsSmall: !Not [!Condition IsProd]
  Round: !Or [!Condition Trip, !Condition IsProd]
  Trip: !And [!Condition Round, !Condition IsProd]
Resources:
  Big:
    Type: AWS::SQS::Queue
    Condition: IsProd
  Small:
    Type: AWS::SQS::Queue
    Condition: IsSmall
    DependsOn: Big
    Properties:
      VisibilityTimeout: !If [IsProd, 300, 30]
      DelaySeconds: !If [IsProd, 5, !Ref AWS::NoValue]
Outputs:
  Url: {Value: !Ref Small}
  BigUrl: {Value: !Ref Big, Condition: IsProd}
"""


def test_conditions(tmp_path: Path) -> None:
    project = read(tmp_path, CONDITIONS)
    assert texts(project) == []
    assert project.order == ("Small",)
    assert project.resources["Small"].properties == {"VisibilityTimeout": 30}
    assert project.outputs == {"Url": {"Ref": "Small"}}
    assert set(read(tmp_path, CONDITIONS, parameters={"Stage": "prod"}).resources) == {"Big"}


@pytest.mark.parametrize(
    ("resource", "words"),
    [
        ("{Type: AWS::SQS::Queue, Condition: Round}", "Queue: the condition Round depends on itself"),
        ("{Type: AWS::SQS::Queue, Condition: IsPro}", 'there is no condition IsPro; did you mean "IsProd"?'),
        ("{Type: AWS::SNS::Topic, Properties: {TopicName: !Ref Small2}}", "Queue refers to Small2, which is neither"),
        ("{Type: AWS::SNS::Topic, Properties: {TopicName: !Ref Big}}", "which the condition IsProd leaves out"),
        ("{Type: AWS::SNS::Topic, Properties: {TopicName: !Ref AWS::Regoin}}", 'did you mean "AWS::Region"?'),
        ("{Type: AWS::SNS::Topic, DependsOn: Smal}", "refers to Smal, which is neither a resource nor"),
        ("{Type: AWS::SNS::Topic, Properties: [1]}", "the properties of Queue must be an object"),
        ("{Properties: {}}", "the resource Queue must be an object with a Type"),
        ("AWS::SQS::Queue", "the resource Queue must be an object with a Type"),
        ("{Type: AWS::SNS::Topic, Properties: {TopicName: !Ref Queue}}", "Queue refers to itself"),
        ("{Type: AWS::SNS::Topic, Properties: {TopicName: !FindInMap [A, b, c]}}", "there is no mapping A"),
    ],
)
def test_what_is_wrong_with_one_keeps_only_that_out(tmp_path: Path, resource: str, words: str) -> None:
    template = CONDITIONS.replace("Outputs:", f"  Queue: {resource}\n  Fine: {{Type: AWS::SNS::Topic}}\nOutputs:")
    project = read(tmp_path, template)
    found = texts(project, "ERROR")
    assert len(found) == 1, found
    assert words in found[0]
    assert found[0].startswith("19: ")
    assert project.order == ("Small", "Fine")


def test_references_that_lead_nowhere_name_their_own_line(tmp_path: Path) -> None:
    project = read(
        tmp_path,
        """\
        Resources:
          Orders: {Type: AWS::SQS::Queue}
          Worker:
            Type: AWS::SNS::Topic
            Properties:
              DisplayName: x
              TopicName: !Sub "t-${Order.QueueName}"
        """,
    )
    assert texts(project) == [
        '7: Worker refers to Order, which is neither a resource nor a parameter here; did you mean "Orders"?'
    ]


def test_cycles_are_named_and_left_out(tmp_path: Path) -> None:
    project = read(
        tmp_path,
        """\
        Resources:
          A: {Type: AWS::SQS::Queue, Properties: {QueueName: !Ref B}}
          B: {Type: AWS::SQS::Queue, Properties: {QueueName: !GetAtt C.Arn}}
          C: {Type: AWS::SQS::Queue, DependsOn: [A]}
          After: {Type: AWS::SQS::Queue, DependsOn: C}
          D: {Type: AWS::SQS::Queue, DependsOn: E}
          E: {Type: AWS::SQS::Queue, DependsOn: D}
          Free: {Type: AWS::SQS::Queue}
        """,
    )
    assert project.order == ("Free",)
    assert texts(project, "ERROR") == [
        "2: these resources depend on each other, so none can be created: A -> B -> C -> A",
        "6: these resources depend on each other, so none can be created: D -> E -> D",
        "5: After is left out, because it needs C, which is",
    ]
    assert set(project.resources) == {"A", "B", "C", "After", "D", "E", "Free"}


def test_order_follows_needs_and_otherwise_the_file(tmp_path: Path) -> None:
    project = read(
        tmp_path,
        """\
        Resources:
          Z: {Type: AWS::SQS::Queue}
          Y: {Type: AWS::SQS::Queue, Properties: {RedrivePolicy: {deadLetterTargetArn: !GetAtt X.Arn}}}
          X: {Type: AWS::SQS::Queue, DeletionPolicy: Retain}
        """,
    )
    assert project.order == ("Z", "X", "Y")
    assert project.resources["Y"].depends_on == ("X",)
    assert project.resources["X"].retain
    assert not project.resources["Y"].retain


BAD_TEXTS = [
    ("Resources:\n  A: {Type: [}\n", 2),
    ("Resources:\n  A:\n\tType: x\n", 3),
    ("Resources: *nowhere\n", 1),
    ("", 1),
    ("- 1\n", 1),
    ("Resources:\n  A: {Type: !Nope x}\n", 2),
]


@pytest.mark.parametrize(("text", "line"), BAD_TEXTS, ids=lambda case: repr(case)[:30])
def test_bad_texts_are_told_with_their_line(tmp_path: Path, text: str, line: int) -> None:
    (tmp_path / "template.yaml").write_text(text)
    from statewright.projects.reading import read_project

    project = read_project(tmp_path / "template.yaml", account="000000000000", region="us-east-1")
    assert project.order == ()
    assert project.findings[0].severity == "ERROR"
    assert project.findings[0].place.line == line


def test_what_is_not_deployed_is_listed_with_what_is_lost(tmp_path: Path) -> None:
    project = read(
        tmp_path,
        """\
        Resources:
          Pool: {Type: AWS::Cognito::UserPool}
          Job: {Type: Custom::Seed, Properties: {ServiceToken: x}}
          Thing: {Type: AWS::Braket::Thing}
          Policy: {Type: AWS::SQS::QueuePolicy, Properties: {Queues: []}}
        """,
    )
    found = texts(project, "WARNING")
    assert (
        found[0]
        == "2: Pool (AWS::Cognito::UserPool) is left out: user pools are not supported, so users cannot sign in"
    )
    assert found[1].startswith("3: Job (Custom::Seed) is left out: its provider is not called")
    assert found[2].startswith("4: Thing (AWS::Braket::Thing) is left out")
    assert len(found) == 3


def test_unknown_attributes_and_transforms_are_told(tmp_path: Path) -> None:
    project = read(
        tmp_path,
        """\
        Transform: [MyMacro, AWS::LanguageExtensions]
        Resources:
          Queue:
            Type: AWS::SQS::Queue
            Propertys: {QueueName: x}
            DeletionPolicy: Delete
            Metadata: {a: b}
        """,
    )
    assert texts(project) == [
        "1: the transform MyMacro is not applied: what it would add is missing",
        '5: Propertys is not an attribute of a resource and is ignored; did you mean "Properties"?',
    ]


def test_loops_are_written_out(tmp_path: Path) -> None:
    project = read(
        tmp_path,
        """\
        Transform: AWS::LanguageExtensions
        Parameters:
          Kinds: {Type: CommaDelimitedList, Default: "tea,coffee"}
        Resources:
          Fn::ForEach::Queues:
            - Kind
            - !Ref Kinds
            - Queue${Kind}:
                Type: AWS::SQS::Queue
                Properties:
                  QueueName: !Sub "${Kind}-queue"
                  Tags: [{Key: kind, Value: !Ref Kind}]
              "Fn::ForEach::Topics":
                - Level
                - [a-1, b-2]
                - "Topic&{Level}${Kind}":
                    Type: AWS::SNS::Topic
        Outputs:
          Fn::ForEach::Urls:
            - Kind
            - !Ref Kinds
            - "Url${Kind}": {Value: !Ref "Queue${Kind}"}
        """,
    )
    assert texts(project) == []
    assert project.order == ("Queuetea", "Topica1tea", "Topicb2tea", "Queuecoffee", "Topica1coffee", "Topicb2coffee")
    assert project.resources["Queuecoffee"].properties == {
        "QueueName": "coffee-queue",
        "Tags": [{"Key": "kind", "Value": "coffee"}],
    }
    assert project.resources["Queuetea"].place.line == 5
    assert project.outputs == {"Urltea": {"Ref": "Queuetea"}, "Urlcoffee": {"Ref": "Queuecoffee"}}


def test_includes_are_read_from_local_files(tmp_path: Path) -> None:
    write(tmp_path, {"parts/queue.yaml": "Type: AWS::SQS::Queue\nProperties: {QueueName: inside}\n"})
    project = read(
        tmp_path,
        """\
        Resources:
          Queue:
            Fn::Transform: {Name: AWS::Include, Parameters: {Location: parts/queue.yaml}}
          Other:
            Fn::Transform: {Name: AWS::Include, Parameters: {Location: "s3://there/queue.yaml"}}
          Third:
            Fn::Transform: {Name: AWS::Include, Parameters: {Location: parts/queu.yaml}}
        """,
    )
    assert project.order == ("Queue",)
    assert texts(project, "ERROR")[:2] == [
        "5: AWS::Include needs the Location of a local file; what it would add is missing",
        '7: there is no file parts/queu.yaml; did you mean "queue.yaml"?',
    ]
    assert tmp_path / "parts" / "queue.yaml" in project.files


def test_nested_stacks_become_part_of_the_project(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "inner/queues.yaml": """\
                Parameters:
                  Prefix: {Type: String}
                  Target: {Type: String}
                Resources:
                  Dead: {Type: AWS::SQS::Queue}
                  Live:
                    Type: AWS::SQS::Queue
                    DependsOn: Dead
                    Properties:
                      QueueName: !Sub "${Prefix}-live"
                      RedrivePolicy: {deadLetterTargetArn: !GetAtt Dead.Arn}
                      Tags: [{Key: to, Value: !Ref Target}]
                Outputs:
                  LiveArn: {Value: !GetAtt Live.Arn}
                """
        },
    )
    project = read(
        tmp_path,
        """\
        Resources:
          Topic: {Type: AWS::SNS::Topic}
          Queues:
            Type: AWS::CloudFormation::Stack
            Properties:
              TemplateURL: inner/queues.yaml
              Parameters: {Prefix: shop, Target: !Ref Topic}
          Subscription:
            Type: AWS::SNS::Subscription
            Properties: {TopicArn: !Ref Topic, Protocol: sqs, Endpoint: !GetAtt Queues.Outputs.LiveArn}
          Later:
            Type: AWS::SQS::Queue
            DependsOn: Queues
        """,
    )
    assert texts(project) == []
    assert project.order == ("Topic", "QueuesDead", "QueuesLive", "Subscription", "Later")
    live = project.resources["QueuesLive"]
    assert live.properties == {
        "QueueName": "shop-live",
        "RedrivePolicy": {"deadLetterTargetArn": {"Fn::GetAtt": ["QueuesDead", "Arn"]}},
        "Tags": [{"Key": "to", "Value": {"Ref": "Topic"}}],
    }
    assert live.place.path.name == "queues.yaml"
    assert project.resources["Subscription"].properties["Endpoint"] == {"Fn::GetAtt": ["QueuesLive", "Arn"]}
    assert project.resources["Later"].depends_on == ("QueuesDead", "QueuesLive")


def test_nested_stacks_that_are_not_at_hand(tmp_path: Path) -> None:
    project = read(
        tmp_path,
        """\
        Resources:
          Far:
            Type: AWS::CloudFormation::Stack
            Properties: {TemplateURL: "https://s3.amazonaws.com/b/t.yaml"}
          Self:
            Type: AWS::CloudFormation::Stack
            Properties: {TemplateURL: template.yaml}
          Queue: {Type: AWS::SQS::Queue, Properties: {QueueName: !GetAtt Far.Outputs.Name}}
          Free: {Type: AWS::SQS::Queue}
        """,
    )
    assert "Free" in project.order
    assert resolved(project.resources["Queue"].properties) == {"QueueName": "<Far.Outputs.Name>"}
    found = texts(project)
    assert "4: the nested stack Far has no local template: its resources are missing" in "\n".join(found)
    assert any("stacks are nested more than 5 deep" in text for text in found)


def test_code_and_definitions_are_found_beside_the_template(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "src/app.py": "def handler(event, context): ...",
            "src/requirements.txt": "requests\n",
            "machine.asl.json": '{"StartAt": "A", "States": {"A": {"Type": "Succeed"}}}',
        },
    )
    project = read(
        tmp_path,
        """\
        Resources:
          Good:
            Type: AWS::Lambda::Function
            Properties: {Code: src, Handler: app.handler, Runtime: python3.12}
          NoModule:
            Type: AWS::Lambda::Function
            Properties: {Code: src, Handler: apps.handler, Runtime: python3.12}
          NoFolder:
            Type: AWS::Lambda::Function
            Properties: {Code: srx, Handler: app.handler, Runtime: python3.12}
          Inline:
            Type: AWS::Lambda::Function
            Properties: {Code: {ZipFile: "def handler(e, c): ..."}, Handler: index.handler, Runtime: python3.12}
          Java:
            Type: AWS::Lambda::Function
            Properties: {Code: src, Handler: app.handler, Runtime: java21}
          Far:
            Type: AWS::Lambda::Function
            Properties: {Code: {S3Bucket: b, S3Key: k}, Handler: app.handler, Runtime: python3.12}
          Machine:
            Type: AWS::StepFunctions::StateMachine
            Properties: {DefinitionS3Location: machine.asl.json}
          Whole:
            Type: AWS::StepFunctions::StateMachine
            Properties:
              Definition: {StartAt: A, States: {A: {Type: Task, Resource: !GetAtt Good.Arn, End: true}}}
          Nothing:
            Type: AWS::StepFunctions::StateMachine
        """,
    )
    assert project.resources["Good"].code == tmp_path / "src"
    assert project.resources["Inline"].code is None
    assert project.resources["Machine"].definition == tmp_path / "machine.asl.json"
    assert tmp_path / "machine.asl.json" in project.files
    whole = resolved(project.resources["Whole"].properties)["DefinitionString"]
    assert json.loads(whole)["States"]["A"]["Resource"] == "<Good.Arn>"
    found = "\n".join(texts(project))
    for words in (
        '7: NoModule: the handler apps.handler needs src/apps.py, which does not exist; did you mean "app.py"?',
        '10: NoFolder: there is no srx; did you mean "src"?',
        "needs the runtime java21, which cannot run here",
        "19: Far: Code is not a local path",
        "27: the state machine Nothing has no definition",
        "2: src/requirements.txt is not installed for Good",
    ):
        assert words in found
    assert {"NoFolder", "Nothing"}.isdisjoint(project.order)


def test_a_template_of_a_megabyte_is_read(tmp_path: Path) -> None:
    state = {"Type": "Pass", "Comment": "x" * 60, "Next": "B"}
    resources = {}
    for index in range(1_500):
        needs = f"Queue{index - 1}" if index else "Start"
        resources[f"Queue{index}"] = {
            "Type": "AWS::SQS::Queue",
            "Properties": {"QueueName": {"Fn::Sub": f"q-${{AWS::Region}}-${{{needs}}}"}, "Tags": [state] * 4},
        }
    resources["Start"] = {"Type": "AWS::SQS::Queue"}
    text = json.dumps({"Resources": resources}, indent=1)
    assert 1_000_000 < len(text) < 1_300_000
    project = read(tmp_path, text, name="template.json")
    assert project.order[:3] == ("Start", "Queue0", "Queue1")
    assert len(project.order) == 1_501
