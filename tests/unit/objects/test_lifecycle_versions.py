"""Lifecycles of buckets with versions: a whole system in virtual time."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from statewright.virtual import VirtualSystem

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ENABLED = {"Status": "Enabled"}


def set_rules(s3: Any, *rules: dict[str, Any]) -> None:
    kept = [{"ID": str(place), "Status": "Enabled", **rule} for place, rule in enumerate(rules)]
    s3.put_bucket_lifecycle_configuration(Bucket="bucket", LifecycleConfiguration={"Rules": kept})


def stand(system: VirtualSystem) -> Any:
    s3 = system.client("s3")
    s3.create_bucket(Bucket="bucket")
    s3.put_bucket_versioning(Bucket="bucket", VersioningConfiguration=ENABLED)
    return s3


def put(s3: Any, key: str, count: int = 1, **more: Any) -> list[str]:
    return [s3.put_object(Bucket="bucket", Key=key, Body=b"x" * 10, **more)["VersionId"] for _ in range(count)]


def delete(s3: Any, key: str, **more: Any) -> str:
    marker: str = s3.delete_object(Bucket="bucket", Key=key, **more)["VersionId"]
    return marker


def ids(s3: Any, key: str = "", kind: str = "Versions") -> list[str]:
    page = s3.list_object_versions(Bucket="bucket", Prefix=key)
    return [one["VersionId"] for one in page.get(kind, ())]


def markers(s3: Any, key: str = "") -> list[str]:
    return ids(s3, key, "DeleteMarkers")


def noncurrent(days: int, kept: int | None = None, **more: Any) -> dict[str, Any]:
    given = {"NoncurrentDays": days} if kept is None else {"NoncurrentDays": days, "NewerNoncurrentVersions": kept}
    return {"Filter": {}, "NoncurrentVersionExpiration": given, **more}


def test_older_versions_expire_by_when_their_successor_was_made():
    with VirtualSystem(start=NOON) as system:
        s3 = stand(system)
        (first,) = put(s3, "a")
        system.advance("10d")
        second, third = put(s3, "a", 2)
        set_rules(s3, noncurrent(2))
        system.advance("59h59m")
        assert ids(s3) == [third, second, first]
        system.advance("2m")
        assert ids(s3) == [third]
        # The object stays, at whatever age.
        system.advance("30d")
        assert ids(s3) == [third]


def test_some_newer_versions_are_kept():
    with VirtualSystem(start=NOON) as system:
        s3 = stand(system)
        versions = put(s3, "a", 5)
        other = put(s3, "b", 2)
        set_rules(s3, noncurrent(1, 2))
        system.advance("3d")
        assert ids(s3, "a") == versions[:1:-1]
        assert ids(s3, "b") == other[::-1]


@pytest.mark.parametrize(
    ("where", "gone"),
    [
        ({"Prefix": "a"}, {"a"}),
        ({"Tag": {"Key": "k", "Value": "v"}}, {"b"}),
        ({"ObjectSizeGreaterThan": 10}, set()),
        ({"ObjectSizeLessThan": 11}, {"a", "b"}),
    ],
)
def test_filters_hold_for_older_versions(where: dict[str, Any], gone: set[str]):
    with VirtualSystem(start=NOON) as system:
        s3 = stand(system)
        put(s3, "a", 2)
        put(s3, "b", 2, Tagging="k=v")
        set_rules(s3, noncurrent(1, Filter=where))
        system.advance("3d")
        assert {key for key in ("a", "b") if len(ids(s3, key)) == 1} == gone


def test_more_versions_than_a_page_has_expire():
    with VirtualSystem(start=NOON) as system:
        s3 = stand(system)
        last = put(s3, "a", 1100)[-1]
        set_rules(s3, noncurrent(1))
        system.advance("3d")
        assert ids(s3) == [last]


def test_objects_expire_behind_a_marker_and_then_their_versions_and_the_marker():
    with VirtualSystem(start=NOON) as system:
        s3 = stand(system)
        (version,) = put(s3, "a")
        set_rules(s3, noncurrent(3, Expiration={"Days": 1}))
        system.advance("2d")
        assert ids(s3) == [version]
        (marker,) = markers(s3)
        system.advance("2d")
        assert (ids(s3), markers(s3)) == ([version], [marker])
        system.advance("1d")
        assert (ids(s3), markers(s3)) == ([], [marker])
        system.advance("1d")
        assert (ids(s3), markers(s3)) == ([], [])


def test_markers_without_versions_are_deleted():
    with VirtualSystem(start=NOON) as system:
        s3 = stand(system)
        put(s3, "behind")
        kept = delete(s3, "behind")
        delete(s3, "alone")
        twice = [delete(s3, "twice") for _ in range(2)]
        set_rules(s3, {"Filter": {}, "Expiration": {"ExpiredObjectDeleteMarker": True}})
        system.advance("13h")
        assert markers(s3) == [kept, *twice[::-1]]


def test_while_versions_are_suspended_the_null_version_expires():
    with VirtualSystem(start=NOON) as system:
        s3 = stand(system)
        (version,) = put(s3, "a")
        s3.put_bucket_versioning(Bucket="bucket", VersioningConfiguration={"Status": "Suspended"})
        s3.put_object(Bucket="bucket", Key="a", Body=b"null")
        set_rules(s3, {"Filter": {}, "Expiration": {"Days": 1}})
        system.advance("2d")
        assert ids(s3) == [version]
        assert markers(s3) == ["null"]


def test_a_bucket_without_versions_has_none_to_expire():
    with VirtualSystem(start=NOON) as system:
        s3 = system.client("s3")
        s3.create_bucket(Bucket="bucket")
        s3.put_object(Bucket="bucket", Key="a", Body=b"x")
        set_rules(s3, noncurrent(1), {"Filter": {}, "Expiration": {"ExpiredObjectDeleteMarker": True}})
        system.advance("9d")
        assert ids(s3) == ["null"]


def test_expirations_of_versions_are_notified():
    with VirtualSystem(start=NOON) as system:
        s3, sqs = stand(system), system.client("sqs")
        url = sqs.create_queue(QueueName="q")["QueueUrl"]
        arn = "arn:aws:sqs:us-east-1:000000000000:q"
        told = {"QueueConfigurations": [{"QueueArn": arn, "Events": ["s3:LifecycleExpiration:*"]}]}
        s3.put_bucket_notification_configuration(Bucket="bucket", NotificationConfiguration=told)
        first, _ = put(s3, "a", 2)
        set_rules(s3, noncurrent(1), {"Filter": {}, "Expiration": {"Days": 1}})
        system.advance("2d")
        received = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
        records = [record for one in received for record in json.loads(one["Body"]).get("Records", ())]
        assert [(one["eventName"], one["s3"]["object"]["versionId"]) for one in records] == [
            ("LifecycleExpiration:Delete", first),
            ("LifecycleExpiration:DeleteMarkerCreated", markers(s3)[0]),
        ]


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        (noncurrent(0), "InvalidArgument"),
        (noncurrent(1, 0), "InvalidArgument"),
        (noncurrent(1, 101), "InvalidArgument"),
        ({"Filter": {}, "NoncurrentVersionExpiration": {"NewerNoncurrentVersions": 1}}, "MalformedXML"),
        ({"Prefix": "", "NoncurrentVersionExpiration": {"NoncurrentDays": 1, "NewerNoncurrentVersions": 1}},
         "InvalidRequest"),
        ({"Filter": {"Tag": {"Key": "a", "Value": "b"}}, "Expiration": {"ExpiredObjectDeleteMarker": True}},
         "InvalidRequest"),
    ],
)  # fmt: skip
def test_rules_on_versions_that_are_refused(rule: dict[str, Any], code: str):
    with VirtualSystem(start=NOON) as system:
        s3 = stand(system)
        with pytest.raises(ClientError) as caught:
            set_rules(s3, rule)
        assert caught.value.response["Error"]["Code"] == code


def test_a_locked_version_stays_until_its_retention_has_ended():
    with VirtualSystem(start=NOON) as system:
        s3 = system.client("s3")
        s3.create_bucket(Bucket="bucket", ObjectLockEnabledForBucket=True)
        until: dict[str, Any] = {"ObjectLockMode": "COMPLIANCE", "ObjectLockRetainUntilDate": NOON + timedelta(days=6)}
        (locked,) = put(s3, "a", **until)
        free, newest = put(s3, "a", 2)
        set_rules(s3, noncurrent(1))
        system.advance("4d")
        assert ids(s3) == [newest, locked]
        assert free not in ids(s3)
        system.advance("4d")
        assert ids(s3) == [newest]
