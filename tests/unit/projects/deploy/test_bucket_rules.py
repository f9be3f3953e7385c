"""Notifications and lifecycles of buckets, from templates to calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from statewright.payload import Json
from statewright.projects.deploy.bucket_rules import of_template
from statewright.projects.deploy.record import Record
from tests.unit.projects.deploy.test_deployment import Server, deployed, outcomes, project

OTHERS = {"Id": "made-by-hand", "QueueArn": "arn:q", "Events": ["s3:ObjectRemoved:*"]}
TOLD: dict[str, Any] = {
    "BucketName": "files",
    "NotificationConfiguration": {
        "LambdaFunctionConfigurations": [{"Events": ["s3:ObjectCreated:*"], "LambdaFunctionArn": "arn:f"}]
    },
}
OWN = {"Id": "shop-Told-L0", "Events": ["s3:ObjectCreated:*"], "LambdaFunctionArn": "arn:f"}
RESOURCES: dict[str, tuple[str, Json]] = {"Told": ("Custom::S3BucketNotifications", TOLD)}


def test_a_resource_has_its_own_entries_and_leaves_others_alone(tmp_path: Path):
    server = Server(
        GetBucketNotificationConfiguration={"QueueConfigurations": [OTHERS], "EventBridgeConfiguration": {}}
    )
    assert outcomes(deployed(server, project(tmp_path, RESOURCES))) == {"Told": "created"}
    assert server.last("PutBucketNotificationConfiguration")["NotificationConfiguration"] == {
        "QueueConfigurations": [OTHERS],
        "LambdaFunctionConfigurations": [OWN],
        "EventBridgeConfiguration": {},
    }


def test_entries_that_are_there_are_left(tmp_path: Path):
    server = Server(GetBucketNotificationConfiguration={"LambdaFunctionConfigurations": [OWN]})
    assert outcomes(deployed(server, project(tmp_path, RESOURCES))) == {"Told": "unchanged"}
    assert server.changes() == []


def test_entries_that_are_asked_for_no_more_go(tmp_path: Path):
    shown = {"LambdaFunctionConfigurations": [OWN, {**OWN, "Id": "shop-Told-L1"}], "QueueConfigurations": [OTHERS]}
    server = Server(GetBucketNotificationConfiguration=shown)
    deployed(server, project(tmp_path, RESOURCES))
    put = server.last("PutBucketNotificationConfiguration")["NotificationConfiguration"]
    assert put == {"LambdaFunctionConfigurations": [OWN], "QueueConfigurations": [OTHERS]}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {}),
        ({"EventBridgeConfiguration": {}}, {"EventBridgeConfiguration": {}}),
        ({"EventBridgeConfiguration": {"EventBridgeEnabled": False}}, {}),
        (
            {
                "QueueConfigurations": [{"Event": "e", "Queue": "q"}],
                "TopicConfigurations": [
                    {"Event": "e", "Topic": "t", "Filter": {"S3Key": {"Rules": [{"Name": "prefix", "Value": "a"}]}}}
                ],
            },
            {
                "TopicConfigurations": [
                    {
                        "Events": ["e"],
                        "TopicArn": "t",
                        "Filter": {"Key": {"FilterRules": [{"Name": "prefix", "Value": "a"}]}},
                    }
                ],
                "QueueConfigurations": [{"Events": ["e"], "QueueArn": "q"}],
            },
        ),
    ],
)
def test_configurations_of_templates(given: dict[str, Json], expected: dict[str, Json]):
    assert of_template(given) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"ExpirationInDays": "7"}, {"Filter": {}, "Expiration": {"Days": 7}}),
        ({"Prefix": "a/", "ExpirationInDays": 7}, {"Filter": {"Prefix": "a/"}, "Expiration": {"Days": 7}}),
        (
            {"TagFilters": [{"Key": "a", "Value": "b"}], "ExpirationDate": "2030-01-01T00:00:00Z"},
            {"Filter": {"Tag": {"Key": "a", "Value": "b"}}, "Expiration": {"Date": "2030-01-01T00:00:00Z"}},
        ),
        (
            {"Prefix": "a/", "ObjectSizeLessThan": "9", "Transition": {"StorageClass": "GLACIER",
                                                                       "TransitionInDays": "3"}},
            {
                "Filter": {"And": {"Prefix": "a/", "ObjectSizeLessThan": 9}},
                "Transitions": [{"StorageClass": "GLACIER", "Days": 3}],
            },
        ),
        (
            {"AbortIncompleteMultipartUpload": {"DaysAfterInitiation": "1"}},
            {"Filter": {}, "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 1}},
        ),
        (
            {"NoncurrentVersionExpiration": {"NoncurrentDays": "3", "NewerNoncurrentVersions": "2"},
             "ExpiredObjectDeleteMarker": "true"},
            {
                "Filter": {},
                "NoncurrentVersionExpiration": {"NoncurrentDays": 3, "NewerNoncurrentVersions": 2},
                "Expiration": {"ExpiredObjectDeleteMarker": True},
            },
        ),
        (
            {"NoncurrentVersionExpirationInDays": "3",
             "NoncurrentVersionTransitions": [{"StorageClass": "GLACIER", "TransitionInDays": "1"}]},
            {
                "Filter": {},
                "NoncurrentVersionExpiration": {"NoncurrentDays": 3},
                "NoncurrentVersionTransitions": [{"StorageClass": "GLACIER", "NoncurrentDays": 1}],
            },
        ),
    ],
)  # fmt: skip
def test_rules_of_templates(tmp_path: Path, given: dict[str, Json], expected: dict[str, Json]):
    server = Server()
    rules = {"Rules": [{"Id": "r", "Status": "Enabled", **given}]}
    bucket: tuple[str, Json] = ("AWS::S3::Bucket", {"BucketName": "files", "LifecycleConfiguration": rules})
    deployed(server, project(tmp_path, {"Bucket": bucket}))
    put = server.last("PutBucketLifecycleConfiguration")["LifecycleConfiguration"]
    assert put == {"Rules": [{"ID": "r", "Status": "Enabled", **expected}]}


def versioned(status: str | None) -> dict[str, tuple[str, Json]]:
    asked = {} if status is None else {"VersioningConfiguration": {"Status": status}}
    return {"Bucket": ("AWS::S3::Bucket", {"BucketName": "files", **asked})}


def test_a_bucket_of_a_template_keeps_versions(tmp_path: Path):
    server, record = Server(), Record("shop")
    assert outcomes(deployed(server, project(tmp_path, versioned("Enabled")), record)) == {"Bucket": "created"}
    put = server.last("PutBucketVersioning")
    assert (put["Bucket"], put["VersioningConfiguration"]) == ("files", {"Status": "Enabled"})
    # It is left as it is, until the template asks for something else, or for nothing.
    server.answers |= {"GetBucketLocation": {}, "GetBucketVersioning": {"Status": "Enabled"}}
    server.calls.clear()
    assert outcomes(deployed(server, project(tmp_path, versioned("Enabled")), record)) == {"Bucket": "unchanged"}
    assert "PutBucketVersioning" not in server.changes()
    assert outcomes(deployed(server, project(tmp_path, versioned(None)), record)) == {"Bucket": "updated"}
    assert server.last("PutBucketVersioning")["VersioningConfiguration"] == {"Status": "Suspended"}


@pytest.mark.parametrize("there", [{}, {"Status": "Enabled"}])
def test_versions_that_the_template_never_asked_for_are_left(tmp_path: Path, there: dict[str, Json]):
    server, record = Server(GetBucketLocation={}, GetBucketVersioning=there), Record("shop")
    for _ in range(2):
        deployed(server, project(tmp_path, versioned(None)), record)
    assert "PutBucketVersioning" not in server.changes()


def test_a_bucket_of_a_template_is_locked(tmp_path: Path):
    rule = {"DefaultRetention": {"Mode": "GOVERNANCE", "Days": "7"}}
    asked: Json = {
        "BucketName": "files", "ObjectLockEnabled": True, "VersioningConfiguration": {"Status": "Enabled"},
        "ObjectLockConfiguration": {"ObjectLockEnabled": "Enabled", "Rule": rule},
    }  # fmt: skip
    server, record = Server(), Record("shop")
    deployed(server, project(tmp_path, {"Bucket": ("AWS::S3::Bucket", asked)}), record)
    assert server.last("CreateBucket")["ObjectLockEnabledForBucket"] is True
    put = server.last("PutObjectLockConfiguration")["ObjectLockConfiguration"]
    rule["DefaultRetention"]["Days"] = 7  # type: ignore[assignment]
    assert put == {"ObjectLockEnabled": "Enabled", "Rule": rule}
    server.answers |= {
        "GetBucketLocation": {}, "GetBucketVersioning": {"Status": "Enabled"},
        "GetObjectLockConfiguration": {"ObjectLockConfiguration": put},
    }  # fmt: skip
    server.calls.clear()
    deployed(server, project(tmp_path, {"Bucket": ("AWS::S3::Bucket", asked)}), record)
    assert "PutObjectLockConfiguration" not in server.changes()
    # Versions of a locked bucket cannot end.
    unversioned: Json = {name: value for name, value in asked.items() if name != "VersioningConfiguration"}
    deployed(server, project(tmp_path, {"Bucket": ("AWS::S3::Bucket", unversioned)}), record)
    assert "PutBucketVersioning" not in server.changes()
