"""What comes of lifecycles of buckets: a whole system in virtual time."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from statewright.objects.lifecycle import DAY_MS
from statewright.objects.versions.expiry import expires_ms
from statewright.virtual import VirtualSystem

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
OBJECTS = {
    "log/small": (b"x", ""),
    "log/large": (b"x" * 100, ""),
    "log/tagged": (b"x", "keep=no"),
    "data/tagged": (b"x" * 100, "keep=no&a=b"),
    "data/plain": (b"x", "keep=yes"),
}


def set_rules(s3: Any, *rules: dict[str, Any]) -> None:
    kept = [{"ID": str(place), "Status": "Enabled", **rule} for place, rule in enumerate(rules)]
    s3.put_bucket_lifecycle_configuration(Bucket="bucket", LifecycleConfiguration={"Rules": kept})


def keys(s3: Any) -> set[str]:
    return {one["Key"] for one in s3.list_objects_v2(Bucket="bucket").get("Contents", ())}


def filled(system: VirtualSystem) -> Any:
    s3 = system.client("s3")
    s3.create_bucket(Bucket="bucket")
    for key, (body, tags) in OBJECTS.items():
        s3.put_object(Bucket="bucket", Key=key, Body=body, Tagging=tags)
    return s3


@pytest.mark.parametrize(
    ("made_ms", "days", "at_ms"), [(0, 1, DAY_MS), (1, 1, 2 * DAY_MS), (DAY_MS - 1, 3, 4 * DAY_MS)]
)
def test_an_age_ends_at_midnight(made_ms: int, days: int, at_ms: int):
    assert expires_ms(made_ms, days) == at_ms


DAYS = {"Expiration": {"Days": 2}}


@pytest.mark.parametrize(
    ("rule", "gone"),
    [
        ({"Filter": {}, **DAYS}, set(OBJECTS)),
        ({"Prefix": "log/", **DAYS}, {"log/small", "log/large", "log/tagged"}),
        ({"Filter": {"Prefix": "log/"}, **DAYS}, {"log/small", "log/large", "log/tagged"}),
        ({"Filter": {"Tag": {"Key": "keep", "Value": "no"}}, **DAYS}, {"log/tagged", "data/tagged"}),
        ({"Filter": {"ObjectSizeGreaterThan": 99}, **DAYS}, {"log/large", "data/tagged"}),
        ({"Filter": {"ObjectSizeLessThan": 100}, **DAYS}, {"log/small", "log/tagged", "data/plain"}),
        (
            {"Filter": {"And": {"Prefix": "data/", "Tags": [{"Key": "keep", "Value": "no"},
                                                            {"Key": "a", "Value": "b"}]}}, **DAYS},
            {"data/tagged"},
        ),
        ({"Filter": {}, "Status": "Disabled", **DAYS}, set()),
        ({"Filter": {}, "Transitions": [{"Days": 1, "StorageClass": "GLACIER"}]}, set()),
        ({"Filter": {}, "Expiration": {"Date": datetime(2026, 3, 4, tzinfo=UTC)}}, set(OBJECTS)),
    ],
)  # fmt: skip
def test_objects_expire_at_midnight_where_a_rule_says_so(rule: dict[str, Any], gone: set[str]):
    with VirtualSystem(start=NOON) as system:
        s3 = filled(system)
        set_rules(s3, rule)
        system.advance("59h59m")
        assert keys(s3) == set(OBJECTS)
        system.advance("2m")
        assert keys(s3) == set(OBJECTS) - gone


def test_an_overwritten_object_gets_a_new_age_and_rules_may_be_deleted():
    with VirtualSystem(start=NOON) as system:
        s3 = filled(system)
        set_rules(s3, {"Filter": {}, **DAYS})
        system.advance("2d")
        s3.put_object(Bucket="bucket", Key="log/small", Body=b"y")
        system.advance("1d")
        assert keys(s3) == {"log/small"}
        s3.delete_bucket_lifecycle(Bucket="bucket")
        system.advance("30d")
        assert keys(s3) == {"log/small"}


def test_a_missed_round_runs_at_start():
    with VirtualSystem(start=NOON) as system:
        s3 = filled(system)
        set_rules(s3, {"Filter": {}, "Expiration": {"Date": datetime(2026, 2, 1, tzinfo=UTC)}})
        system.restart()
        s3 = system.client("s3")
        system.advance("1s")
        assert keys(s3) == set()


def test_unfinished_uploads_are_aborted_and_expired_objects_are_notified():
    with VirtualSystem(start=NOON) as system:
        s3, sqs = filled(system), system.client("sqs")
        url = sqs.create_queue(QueueName="q")["QueueUrl"]
        arn = "arn:aws:sqs:us-east-1:000000000000:q"
        s3.put_bucket_notification_configuration(
            Bucket="bucket",
            NotificationConfiguration={
                "QueueConfigurations": [{"QueueArn": arn, "Events": ["s3:LifecycleExpiration:*"]}]
            },
        )
        for key in ("log/a", "data/a"):
            s3.create_multipart_upload(Bucket="bucket", Key=key)
        abort = {"AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 1}}
        set_rules(s3, {"Filter": {"Prefix": "log/"}, **abort}, {"Filter": {"Prefix": "data/p"}, **DAYS})
        system.advance("3d")
        assert [one["Key"] for one in s3.list_multipart_uploads(Bucket="bucket")["Uploads"]] == ["data/a"]
        bodies = [
            json.loads(one["Body"]) for one in sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
        ]
        told = [record for body in bodies for record in body.get("Records", ())]
        assert [(one["eventName"], one["s3"]["object"]["key"]) for one in told] == [
            ("LifecycleExpiration:Delete", "data/plain")
        ]


def test_a_system_with_rules_can_become_idle():
    with VirtualSystem(start=NOON) as system:
        set_rules(filled(system), {"Filter": {}, **DAYS})
        system.run_until_idle()
        assert system.now < datetime(2026, 3, 3, tzinfo=UTC)
