"""Notifications of buckets with versions: a whole system in virtual time."""

from __future__ import annotations

import json
from typing import Any

from statewright.virtual import VirtualSystem

ACCOUNT = "000000000000"
EMPTY_MD5 = "d41d8cd98f00b204e9800998ecf8427e"


class Place:
    """A bucket with versions, and a queue that is notified of it directly, or by a rule of the bus."""

    def __init__(self, system: VirtualSystem, *, by_bus: bool = False) -> None:
        self.system = system
        self.s3, self.sqs = system.client("s3"), system.client("sqs")
        self.s3.create_bucket(Bucket="bucket")
        self.s3.put_bucket_versioning(Bucket="bucket", VersioningConfiguration={"Status": "Enabled"})
        self.url = self.sqs.create_queue(QueueName="q")["QueueUrl"]
        arn = f"arn:aws:sqs:us-east-1:{ACCOUNT}:q"
        events = [f"s3:{name}" for name in ("ObjectCreated:*", "ObjectRemoved:*", "ObjectTagging:*")]
        config: dict[str, Any] = {"QueueConfigurations": [{"QueueArn": arn, "Events": events}]}
        if by_bus:
            config = {"EventBridgeConfiguration": {}}
            bus = system.client("events")
            bus.put_rule(Name="r", EventPattern=json.dumps({"source": ["aws.s3"]}))
            bus.put_targets(Rule="r", Targets=[{"Id": "1", "Arn": arn}])
        self.s3.put_bucket_notification_configuration(Bucket="bucket", NotificationConfiguration=config)
        self.taken()

    def taken(self) -> list[dict[str, Any]]:
        self.system.advance("1s")
        found: list[dict[str, Any]] = []
        while messages := self.sqs.receive_message(QueueUrl=self.url, MaxNumberOfMessages=10).get("Messages"):
            found += [json.loads(one["Body"]) for one in messages]
        return found

    def objects(self) -> list[tuple[str, dict[str, Any]]]:
        """Events, each with the members of its object except the sequencer."""
        records = [record for one in self.taken() for record in one["Records"]]
        assert all(record["s3"]["object"].pop("sequencer", None) for record in records)
        return [(record["eventName"], record["s3"]["object"]) for record in records]


def test_messages_name_the_version():
    with VirtualSystem() as system:
        place = Place(system)
        s3, at = place.s3, {"Bucket": "bucket", "Key": "a"}
        put = s3.put_object(**at, Body=b"one")
        marker = s3.delete_object(**at)["VersionId"]
        s3.delete_object(**at, VersionId=marker)
        s3.delete_object(**at, VersionId=put["VersionId"])
        (other,) = s3.delete_objects(Bucket="bucket", Delete={"Objects": [{"Key": "b"}]})["Deleted"]
        etag = put["ETag"].strip('"')
        assert place.objects() == [
            ("ObjectCreated:Put", {"key": "a", "size": 3, "eTag": etag, "versionId": put["VersionId"]}),
            ("ObjectRemoved:DeleteMarkerCreated", {"key": "a", "eTag": EMPTY_MD5, "versionId": marker}),
            ("ObjectRemoved:Delete", {"key": "a", "versionId": marker}),
            ("ObjectRemoved:Delete", {"key": "a", "versionId": put["VersionId"]}),
            (
                "ObjectRemoved:DeleteMarkerCreated",
                {"key": "b", "eTag": EMPTY_MD5, "versionId": other["DeleteMarkerVersionId"]},
            ),
        ]


def test_messages_of_the_null_version_name_none():
    with VirtualSystem() as system:
        place = Place(system)
        s3, at = place.s3, {"Bucket": "bucket", "Key": "a"}
        s3.put_bucket_versioning(Bucket="bucket", VersioningConfiguration={"Status": "Suspended"})
        s3.put_object(**at, Body=b"one")
        s3.delete_object(**at)
        s3.delete_object(**at, VersionId="null")
        told = place.objects()
        assert [name for name, _ in told] == [
            "ObjectCreated:Put", "ObjectRemoved:DeleteMarkerCreated", "ObjectRemoved:Delete",
        ]  # fmt: skip
        assert not any("versionId" in one for _, one in told)


def test_a_version_that_is_not_there_is_not_notified():
    with VirtualSystem() as system:
        place = Place(system)
        version = place.s3.put_object(Bucket="bucket", Key="a")["VersionId"]
        gone = {"Objects": [{"Key": "other", "VersionId": version}]}
        assert place.s3.delete_objects(Bucket="bucket", Delete=gone)["Errors"][0]["Code"] == "NoSuchVersion"
        assert [name for name, _ in place.objects()] == ["ObjectCreated:Put"]


def test_events_of_the_bus_name_the_version():
    with VirtualSystem() as system:
        place = Place(system, by_bus=True)
        s3, at = place.s3, {"Bucket": "bucket", "Key": "a"}
        version = s3.put_object(**at, Body=b"one")["VersionId"]
        marker = s3.delete_object(**at)["VersionId"]
        s3.delete_object(**at, VersionId=version)
        told = [(one["detail-type"], one["detail"]) for one in place.taken()]
        assert [(kind, detail["object"]["version-id"], detail.get("deletion-type")) for kind, detail in told] == [
            ("Object Created", version, None),
            ("Object Deleted", marker, "Delete Marker Created"),
            ("Object Deleted", version, "Permanently Deleted"),
        ]
