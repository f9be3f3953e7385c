"""The output of CDK applications: stacks, assets, exports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from statewright.projects.reading import read_project
from statewright.projects.resources import Project
from tests.unit.projects.reading import texts, write

HASH = "a" * 64
BUCKET = {"Fn::Sub": "cdk-hnb659fds-assets-${AWS::AccountId}-${AWS::Region}"}


def assembly(folder: Path, stacks: dict[str, dict[str, Any]], **needs: list[str]) -> Project:
    artifacts: dict[str, Any] = {"Tree": {"type": "cdk:tree", "properties": {"file": "tree.json"}}}
    out = "cdk.out"
    for name, template in stacks.items():
        write(folder, {f"{out}/{name}.template.json": json.dumps(template)})
        write(folder, {f"{out}/{name}.assets.json": json.dumps({"version": "1", "files": _assets()})})
        artifacts[f"{name}.assets"] = {"type": "cdk:asset-manifest", "properties": {"file": f"{name}.assets.json"}}
        artifacts[name] = {
            "type": "aws:cloudformation:stack",
            "environment": "aws://unknown-account/unknown-region",
            "properties": {"templateFile": f"{name}.template.json"},
            "dependencies": needs.get(name, []),
        }
    write(folder, {f"{out}/manifest.json": json.dumps({"version": "1", "artifacts": artifacts})})
    write(folder, {f"{out}/asset.{HASH}/index.py": "def handler(event, context): ..."})
    write(folder, {f"{out}/nested.template.json": json.dumps({"Resources": {"Inner": {"Type": "AWS::SQS::Queue"}}})})
    return read_project(folder, account="000000000000", region="us-east-1")


def _assets() -> dict[str, Any]:
    return {
        HASH: {
            "source": {"path": f"asset.{HASH}", "packaging": "zip"},
            "destinations": {"current": {"bucketName": BUCKET["Fn::Sub"], "objectKey": f"{HASH}.zip"}},
        },
        "b" * 64: {
            "source": {"path": "nested.template.json", "packaging": "file"},
            "destinations": {"current": {"bucketName": BUCKET["Fn::Sub"], "objectKey": "b" * 64 + ".json"}},
        },
    }


def function(**more: Any) -> dict[str, Any]:
    properties = {"Code": {"S3Bucket": BUCKET, "S3Key": f"{HASH}.zip"}, "Handler": "index.handler", **more}
    return {"Type": "AWS::Lambda::Function", "Properties": {"Runtime": "python3.12", **properties}}


def test_assets_are_found_by_their_key(tmp_path: Path) -> None:
    project = assembly(
        tmp_path,
        {"Shop": {"Resources": {"Work1A2B": function(), "Far": function(Code={"S3Bucket": "b", "S3Key": "k"})}}},
    )
    assert (project.name, project.kind) == ("Shop", "cdk")
    assert project.resources["Work1A2B"].code == tmp_path / "cdk.out" / f"asset.{HASH}"
    assert "Code" not in project.resources["Work1A2B"].properties
    assert len(texts(project)) == 1
    assert "Far: Code is not a local path" in texts(project)[0]


def test_exports_reach_other_stacks_whatever_their_order(tmp_path: Path) -> None:
    users = {
        "Resources": {
            "Topic": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": {"Fn::ImportValue": "Data:QueueArn"}}}
        }
    }
    data = {
        "Resources": {"Queue": {"Type": "AWS::SQS::Queue"}, "Meta": {"Type": "AWS::CDK::Metadata"}},
        "Outputs": {
            "ExportsOutputQueue": {"Value": {"Fn::GetAtt": ["Queue", "Arn"]}, "Export": {"Name": "Data:QueueArn"}},
            "Url": {"Value": {"Ref": "Queue"}},
        },
    }
    project = assembly(tmp_path, {"Users": users, "Data": data})
    assert texts(project) == []
    assert project.name == tmp_path.name.replace("_", "-")
    assert project.order == ("Queue", "Topic")
    assert project.resources["Topic"].properties == {"TopicName": {"Fn::GetAtt": ["Queue", "Arn"]}}
    assert project.resources["Topic"].stack == "Users"
    assert project.outputs == {"Url": {"Ref": "Queue"}}


def test_ids_that_two_stacks_have_are_told_apart(tmp_path: Path) -> None:
    template = {
        "Resources": {
            "Queue": {
                "Type": "AWS::SQS::Queue",
                "Properties": {"RedrivePolicy": {"deadLetterTargetArn": {"Fn::GetAtt": ["Dead", "Arn"]}}},
            },
            "Dead": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": {"Ref": "AWS::StackName"}}},
        },
        "Outputs": {"Out": {"Value": {"Ref": "Queue"}}},
    }
    project = assembly(tmp_path, {"One": template, "Two": template})
    assert set(project.order) == {"Queue", "Dead", "TwoQueue", "TwoDead"}
    assert project.resources["TwoQueue"].properties["RedrivePolicy"]["deadLetterTargetArn"] == {
        "Fn::GetAtt": ["TwoDead", "Arn"]
    }
    assert project.resources["TwoDead"].properties["QueueName"] == "Two"
    assert project.outputs == {"Out": {"Ref": "Queue"}, "Two.Out": {"Ref": "TwoQueue"}}


def test_nested_stacks_are_assets_too(tmp_path: Path) -> None:
    url = {
        "Fn::Join": ["", ["https://s3.", {"Ref": "AWS::Region"}, ".amazonaws.com/", BUCKET, "/" + "b" * 64 + ".json"]]
    }
    nested = {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": url}}
    project = assembly(tmp_path, {"Shop": {"Resources": {"Part": nested}}})
    assert texts(project) == []
    assert project.order == ("PartInner",)


def test_custom_resources_and_missing_imports_are_told(tmp_path: Path) -> None:
    project = assembly(
        tmp_path,
        {
            "Shop": {
                "Resources": {
                    "Deploy": {"Type": "Custom::CDKBucketDeployment"},
                    "Topic": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": {"Fn::ImportValue": "Data:X"}}},
                    "Fine": {"Type": "AWS::SNS::Topic"},
                }
            }
        },
    )
    assert project.order == ("Deploy", "Topic", "Fine")
    found = "\n".join(texts(project, "WARNING"))
    assert "nothing in this project exports Data:X" in found
    assert "Deploy (Custom::CDKBucketDeployment) is left out: its provider is not called" in found


def test_an_application_without_output(tmp_path: Path) -> None:
    write(tmp_path, {"cdk.json": '{"app": "python app.py"}'})
    project = read_project(tmp_path, account="000000000000", region="us-east-1")
    assert project.kind == "cdk"
    assert "run cdk synth" in texts(project)[0]


def test_output_elsewhere_and_stages(tmp_path: Path) -> None:
    inner = tmp_path / "stage"
    assembly(inner, {"Shop": {"Resources": {"Queue": {"Type": "AWS::SQS::Queue"}}}})
    outer = {
        "artifacts": {"Stage": {"type": "cdk:cloud-assembly", "properties": {"directoryName": "../stage/cdk.out"}}}
    }
    write(tmp_path, {"cdk.json": '{"output": "built"}', "built/manifest.json": json.dumps(outer)})
    project = read_project(tmp_path, account="000000000000", region="us-east-1")
    assert texts(project) == []
    assert project.order == ("Queue",)


def test_broken_manifests_are_told(tmp_path: Path) -> None:
    write(tmp_path, {"cdk.out/manifest.json": '{"artifacts": 3}'})
    project = read_project(tmp_path, account="000000000000", region="us-east-1")
    assert "has no artifacts" in texts(project)[0]
