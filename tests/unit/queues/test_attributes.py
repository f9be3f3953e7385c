"""Queue attributes: what the service accepts and refuses, in its words."""

from __future__ import annotations

import json

import pytest

from statewright.errors import ApiError
from statewright.limits import OPEN
from statewright.queues import attributes
from statewright.queues.attributes import QueueSettings, changed, first_difference, restored, settings_of_new, shown

DLQ = "arn:aws:sqs:us-east-1:000000000000:dlq"
FIFO = QueueSettings(fifo=True)
PLAIN = QueueSettings()


def refused(settings: QueueSettings, **given: str) -> tuple[str, str]:
    with pytest.raises(ApiError) as caught:
        changed(settings, given)
    return caught.value.code, caught.value.message


def test_defaults_are_the_services() -> None:
    assert shown(settings_of_new("plain", {})) == {
        "VisibilityTimeout": "30",
        "DelaySeconds": "0",
        "MessageRetentionPeriod": "345600",
        "MaximumMessageSize": "1048576",
        "ReceiveMessageWaitTimeSeconds": "0",
        "SqsManagedSseEnabled": "true",
    }


def test_a_fifo_queue_shows_its_own_attributes() -> None:
    found = shown(settings_of_new("orders.fifo", {"FifoQueue": "true", "ContentBasedDeduplication": "true"}))
    own = {name: found[name] for name in found if name in attributes.SETTABLE and name not in shown(PLAIN)}
    assert own == {
        "FifoQueue": "true",
        "ContentBasedDeduplication": "true",
        "DeduplicationScope": "queue",
        "FifoThroughputLimit": "perQueue",
    }


RANGES = {
    "VisibilityTimeout": (0, 43_200),
    "DelaySeconds": (0, 900),
    "MessageRetentionPeriod": (60, 1_209_600),
    "MaximumMessageSize": (1024, 1_048_576),
    "ReceiveMessageWaitTimeSeconds": (0, 20),
    "KmsDataKeyReusePeriodSeconds": (60, 86_400),
}


@pytest.mark.parametrize(("name", "bounds"), RANGES.items())
def test_numbers_have_ranges(name: str, bounds: tuple[int, int]) -> None:
    least, most = bounds
    for value in bounds:
        assert shown(changed(QueueSettings(kms_key="k", managed_sse=False), {name: str(value)}))[name] == str(value)
    for wrong in (str(least - 1), str(most + 1), "", "many", "1.5", "٣٠", "9" * 40):
        assert refused(PLAIN, **{name: wrong}) == (
            "InvalidAttributeValue",
            f"Invalid value for the parameter {name}.",
        )


def test_open_limits_lift_size_and_delay() -> None:
    given = {"MaximumMessageSize": "99999999", "DelaySeconds": "86400"}
    assert shown(changed(PLAIN, given, OPEN)).items() >= given.items()


@pytest.mark.parametrize(
    ("settings", "given", "code", "message"),
    [
        (PLAIN, {"Colour": "red"}, "InvalidAttributeName", "Unknown Attribute Colour."),
        (PLAIN, {"QueueArn": "x"}, "InvalidAttributeName", "Unknown Attribute QueueArn."),
        (PLAIN, {"FifoQueue": "true"}, "InvalidAttributeName", "Unknown Attribute FifoQueue."),
        (PLAIN, {"ContentBasedDeduplication": "true"}, "InvalidAttributeName",
         "Unknown Attribute ContentBasedDeduplication."),
        (PLAIN, {"DeduplicationScope": "queue"}, "InvalidAttributeName",
         "You can specify the DeduplicationScope only when FifoQueue is set to true."),
        (PLAIN, {"FifoThroughputLimit": "perQueue"}, "InvalidAttributeName",
         "You can specify the FifoThroughputLimit only when FifoQueue is set to true."),
        (FIFO, {"FifoQueue": "false"}, "InvalidAttributeValue",
         "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported."),
        (FIFO, {"DeduplicationScope": "message"}, "InvalidAttributeValue",
         "Invalid value for the parameter DeduplicationScope."),
        (FIFO, {"ContentBasedDeduplication": "yes"}, "InvalidAttributeValue",
         "Invalid value for the parameter ContentBasedDeduplication."),
        (FIFO, {"FifoThroughputLimit": "perMessageGroupId"}, "InvalidAttributeValue",
         "FifoThroughputLimit can be perMessageGroupId only when DeduplicationScope is messageGroup."),
        (PLAIN, {"Policy": "{"}, "InvalidAttributeValue", "Invalid value for the parameter Policy."),
        (PLAIN, {"Policy": "{}"}, "InvalidAttributeValue", "Invalid value for the parameter Policy."),
        (PLAIN, {"SqsManagedSseEnabled": "1"}, "InvalidAttributeValue",
         "Invalid value for the parameter SqsManagedSseEnabled."),
        (PLAIN, {"KmsMasterKeyId": "k", "SqsManagedSseEnabled": "true"}, "InvalidAttributeValue",
         "You can use one type of server-side encryption (SSE) at one time. "
         "You can either enable KMS SSE or SQS SSE."),
    ],
)  # fmt: skip
def test_what_is_refused(settings: QueueSettings, given: dict[str, str], code: str, message: str) -> None:
    assert refused(settings, **given) == (code, message)


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        ("no", "Redrive policy is not a valid JSON map."),
        ("[1]", "Redrive policy is not a valid JSON map."),
        ("{}", "Redrive policy does not contain mandatory attribute: maxReceiveCount."),
        ('{"maxReceiveCount":3}', "Redrive policy does not contain mandatory attribute: deadLetterTargetArn."),
        (
            json.dumps({"deadLetterTargetArn": DLQ, "maxReceiveCount": 1001}),
            "Invalid value for maxReceiveCount: 1001, valid values are from 1 to 1000 both inclusive.",
        ),
        (
            json.dumps({"deadLetterTargetArn": DLQ, "maxReceiveCount": "0"}),
            "Invalid value for maxReceiveCount: 0, valid values are from 1 to 1000 both inclusive.",
        ),
    ],
)
def test_redrive_policies_that_are_refused(policy: str, reason: str) -> None:
    assert refused(PLAIN, RedrivePolicy=policy) == (
        "InvalidParameterValueException",
        f"Value {policy} for parameter RedrivePolicy is invalid. Reason: {reason}",
    )


def test_a_redrive_policy_is_shown_with_a_number() -> None:
    given = {"RedrivePolicy": json.dumps({"maxReceiveCount": "5", "deadLetterTargetArn": DLQ})}
    settings = changed(PLAIN, given)
    assert shown(settings)["RedrivePolicy"] == f'{{"deadLetterTargetArn":"{DLQ}","maxReceiveCount":5}}'
    assert changed(settings, {"RedrivePolicy": ""}) == PLAIN


@pytest.mark.parametrize(
    ("policy", "allowed"),
    [
        ({"redrivePermission": "allowAll"}, (True, True)),
        ({"redrivePermission": "denyAll"}, (False, False)),
        ({"redrivePermission": "byQueue", "sourceQueueArns": [DLQ]}, (True, False)),
    ],
)
def test_redrive_allow_policies(policy: dict[str, object], allowed: tuple[bool, bool]) -> None:
    found = changed(PLAIN, {"RedriveAllowPolicy": json.dumps(policy)}).redrive_allow
    assert found is not None
    assert json.loads(found.text) == policy
    assert (found.allows(DLQ), found.allows(DLQ + "2")) == allowed


@pytest.mark.parametrize(
    "policy",
    [
        "1",
        {},
        {"redrivePermission": "some"},
        {"redrivePermission": "byQueue"},
        {"redrivePermission": "allowAll", "sourceQueueArns": [DLQ]},
        {"redrivePermission": "byQueue", "sourceQueueArns": ["q"]},
        {"redrivePermission": "byQueue", "sourceQueueArns": [f"{DLQ}{number}" for number in range(11)]},
    ],
)
def test_redrive_allow_policies_that_are_refused(policy: object) -> None:
    code, message = refused(PLAIN, RedriveAllowPolicy=json.dumps(policy))
    assert code == "InvalidParameterValueException"
    assert "for parameter RedriveAllowPolicy is invalid. Reason: " in message


def test_one_kind_of_encryption_at_a_time() -> None:
    with_key = changed(PLAIN, {"KmsMasterKeyId": "alias/aws/sqs"})
    assert not with_key.managed_sse
    again = changed(with_key, {"SqsManagedSseEnabled": "true"})
    assert (again.kms_key, again.managed_sse) == ("", True)


@pytest.mark.parametrize("name", ["a", "A-b_3", "x" * 80])
def test_names(name: str) -> None:
    assert settings_of_new(name, {}) == PLAIN
    if len(name) < 76:
        assert settings_of_new(name + ".fifo", {"FifoQueue": "true"}) == FIFO


@pytest.mark.parametrize("name", ["", "a b", "a.fifo", "a.b", "x" * 81, "é"])
def test_names_that_are_refused(name: str) -> None:
    with pytest.raises(ApiError) as caught:
        settings_of_new(name, {})
    words = "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length"
    assert (caught.value.code, caught.value.message) == ("InvalidParameterValueException", words)


@pytest.mark.parametrize("name", ["plain", ".fifo", "a.b.fifo", "x" * 76 + ".fifo"])
def test_names_that_no_fifo_queue_has(name: str) -> None:
    with pytest.raises(ApiError, match=r"must end with \.fifo suffix and be 1 to 80 in length"):
        settings_of_new(name, {"FifoQueue": "true"})


def test_a_standard_queue_is_not_made_with_fifo_false() -> None:
    with pytest.raises(ApiError, match="InvalidAttributeName: Unknown Attribute FifoQueue\\."):
        settings_of_new("plain", {"FifoQueue": "false"})


def test_settings_survive_their_texts() -> None:
    given = {
        "VisibilityTimeout": "7",
        "RedrivePolicy": json.dumps({"deadLetterTargetArn": DLQ + ".fifo", "maxReceiveCount": 5}),
        "RedriveAllowPolicy": json.dumps({"redrivePermission": "byQueue", "sourceQueueArns": [DLQ]}),
        "Policy": '{"Statement":[]}',
        "KmsMasterKeyId": "k",
        "KmsDataKeyReusePeriodSeconds": "60",
        "FifoQueue": "true",
        "DeduplicationScope": "messageGroup",
        "FifoThroughputLimit": "perMessageGroupId",
    }
    settings = settings_of_new("a.fifo", given)
    assert settings.deduplication_scope == "messageGroup"
    assert restored(shown(settings)) == settings


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({}, None),
        ({"DelaySeconds": "5"}, None),
        ({"DelaySeconds": "05", "VisibilityTimeout": "30"}, None),
        ({"VisibilityTimeout": "31"}, "VisibilityTimeout"),
        ({"DelaySeconds": "5", "Policy": '{"Statement":[]}'}, "Policy"),
    ],
)
def test_creating_again_compares_what_is_given(given: dict[str, str], name: str | None) -> None:
    assert first_difference(QueueSettings(delay_seconds=5), given) == name
