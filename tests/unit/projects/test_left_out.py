"""Resources without a handler: nothing about them fails, and nothing that is made fails because of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.projects.reading import read, resolved, texts

FINE = """\
Parameters:
  VpcId: {Type: "AWS::EC2::VPC::Id"}
Conditions:
  HasVpc: !Not [!Equals [!Ref VpcId, ""]]
Resources:
  Queue: {Type: AWS::SQS::Queue}
"""


@pytest.mark.parametrize(
    "resource",
    [
        "{Type: AWS::EC2::Subnet, Properties: {CidrBlock: !Select [1, !Cidr [!GetAtt Vpc.CidrBlock, x, 8]]}}",
        "{Type: AWS::EC2::Subnet, Properties: {CidrBlock: !Select [9, !Cidr [10.0.0.0/30, 4, 8]]}}",
        "{Type: AWS::EC2::SecurityGroup, Properties: {VpcId: !Ref VpcId}}",
        "{Type: AWS::EC2::SecurityGroup, Condition: HasVpc, Properties: {VpcId: !If [HasVpc, 1, 2]}}",
        "{Type: AWS::KMS::Key, Properties: {KeyPolicy: {Fn::Nothing: 1}}}",
        "{Type: AWS::KMS::Key, Properties: {KeyPolicy: !Ref Nowhere}, DependsOn: Nowhere}",
        "{Type: AWS::EC2::Instance, Properties: {ImageId: !FindInMap [Images, !Ref AWS::Region, arm]}}",
        "{Type: AWS::CloudWatch::Dashboard, Properties: [1, !ImportValue far]}",
        "{Type: AWS::Lambda::Permission, Properties: {FunctionName: !GetAtt Nowhere.Arn}}",
        "{Type: Custom::Seed, Properties: {ServiceToken: !ImportValue tokens}}",
        "{Type: AWS::AppSync::GraphQLSchema, Properties: {Definition: {Fn::Transform: {Name: AWS::Include, "
        "Parameters: {Location: missing.yaml}}}}}",
        "{Type: AWS::CloudFormation::Stack, Properties: {TemplateURL: s3://far/a.yaml, Parameters: {A: !Ref VpcId}}}",
    ],
)
def test_nothing_about_it_fails(tmp_path: Path, resource: str) -> None:
    project = read(tmp_path, f"{FINE}  Other: {resource}\n")
    assert texts(project, "ERROR") == []
    assert set(project.order) == {"Queue", "Other"}


def test_no_cycle_leads_through_it(tmp_path: Path) -> None:
    project = read(
        tmp_path,
        """\
        Resources:
          Bucket: {Type: AWS::S3::Bucket, DependsOn: Permission, Properties: {BucketName: !Ref Stream}}
          Permission: {Type: AWS::Lambda::Permission, Properties: {SourceArn: !GetAtt Bucket.Arn}}
          Stream: {Type: AWS::Kinesis::Stream, Properties: {Name: events, Tags: [{Value: !Ref Bucket}]}}
        """,
    )
    assert texts(project, "ERROR") == []
    assert set(project.order) == {"Bucket", "Permission", "Stream"}
    assert project.resources["Stream"].properties == {"Name": "events"}, "its name is what Ref gives"


def test_a_parameter_without_a_value_fails_only_what_uses_it(tmp_path: Path) -> None:
    template = """\
        Parameters:
          Name: {Type: String}
        Conditions:
          IsNamed: !Not [!Equals [!Ref Name, ""]]
        Resources:
          One: {Type: AWS::SQS::Queue, Condition: IsNamed}
          Two: {Type: AWS::SQS::Queue, Properties: {QueueName: !If [IsNamed, a, b]}}
          Three: {Type: AWS::SQS::Queue}
        Outputs:
          Named: {Value: !If [IsNamed, a, b]}
        """
    project = read(tmp_path, template)
    assert project.order == ("Three",)
    assert texts(project, "ERROR") == [
        "2: the parameter Name has no Default, and no value was given: --parameter Name=VALUE",
        "6: One: the condition IsNamed cannot be evaluated: the parameter Name has no value",
        "7: the condition IsNamed cannot be evaluated: the parameter Name has no value",
        "10: the condition IsNamed cannot be evaluated: the parameter Name has no value",
    ]
    assert set(read(tmp_path, template, parameters={"Name": "x"}).order) == {"One", "Two", "Three"}


def test_an_export_of_another_stack_stands_for_itself_until_it_is_given(tmp_path: Path) -> None:
    template = """\
        Resources:
          Queue: {Type: AWS::SQS::Queue, Properties: {QueueName: !ImportValue net-Queue}}
        """
    project = read(tmp_path, template)
    assert project.resources["Queue"].properties == {"QueueName": "net-Queue"}
    assert texts(project) == [
        "2: net-Queue is exported by another stack, which is not part of this project: its name stands for its value; "
        "--parameter net-Queue=VALUE sets it"
    ]
    project = read(tmp_path, template, parameters={"net-Queue": "orders"})
    assert project.resources["Queue"].properties == {"QueueName": "orders"}
    assert texts(project) == []


def test_a_name_written_twice_is_a_warning_and_the_last_one_counts(tmp_path: Path) -> None:
    project = read(
        tmp_path,
        """\
        Resources:
          Queue: {Type: AWS::SNS::Topic}
          Queue:
            Type: AWS::SQS::Queue
            Properties: {QueueName: a, QueueName: b}
        """,
    )
    assert project.resources["Queue"].type == "AWS::SQS::Queue"
    assert project.resources["Queue"].properties == {"QueueName": "b"}
    assert texts(project) == [
        "3: Queue is written twice in the same object: the last one counts",
        "5: QueueName is written twice in the same object: the last one counts",
    ]
    text = '{"Resources": {"Queue": 1,\n"Queue": {"Type": "AWS::SQS::Queue"}}}'
    project = read(tmp_path / "json", text, name="template.json")
    assert (project.order, texts(project)) == (
        ("Queue",),
        ["2: Queue is written twice in the same object: the last one counts"],
    )


def test_names_and_accounts_are_texts(tmp_path: Path) -> None:
    project = read(
        tmp_path,
        """\
        Mappings:
          Sizes: {012345678901: {true: large}, 222222222222: {true: small}}
        Resources:
          Topic:
            Type: AWS::SNS::Topic
            Properties: {DisplayName: !FindInMap [Sizes, 012345678901, true]}
        """,
    )
    assert texts(project) == []
    assert project.resources["Topic"].properties == {"DisplayName": "large"}


SERVERLESS = """\
Transform: AWS::Serverless-2016-10-31
Globals:
  Api: {Auth: !ImportValue far}
  Function: {DeploymentPreference: !ImportValue far}
Resources:
  Web: {Type: AWS::Serverless::Api, Properties: {StageName: live}}
  Work:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: python3.12
      Handler: index.handler
      InlineCode: "def handler(event, context): ..."
      Policies: [!Ref Nowhere, {Statement: {Fn::Nothing: 1}}]
      Environment: {Variables: {URL: !Sub "https://${Web}.execute-api/${Web.Stage}"}}
      Events:
        Get: {Type: Api, Properties: {RestApiId: !Ref Web, Path: /, Method: get}}
Outputs:
  Stage: {Value: !Ref Web.Stage}
"""


def test_what_sam_has_without_effect_cannot_fail(tmp_path: Path) -> None:
    project = read(tmp_path, SERVERLESS)
    assert texts(project, "ERROR") == []
    assert set(project.order) == {"Web", "Work", "WebStage"}
    assert project.resources["WebStage"].properties == {"StageName": "live"}
    assert resolved(project.outputs["Stage"]) == "<WebStage>"
    assert any("Policies are ignored" in text for text in texts(project, "INFO"))
    assert any("DeploymentPreference changes nothing" in text for text in texts(project, "WARNING"))
