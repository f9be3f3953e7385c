"""Attributes of queues: texts on the wire, typed settings inside, and the rules that convert between them.

Owns names, defaults, ranges, policies and the service's error texts. Checks that involve other queues (that a
dead-letter queue exists and permits its use) belong to the catalogue, which refuses with `refuse_redrive`.

Source: API reference, CreateQueue and SetQueueAttributes; texts observed unless a comment says otherwise.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NoReturn

from statewright.errors import ApiError
from statewright.limits import AWS, Limits
from statewright.payload import JsonObject

FIFO_SUFFIX: Final = ".fifo"
MOST_RECEIVES: Final = 1000
MOST_SOURCES: Final = 10
"""Queues that a RedriveAllowPolicy may list. Source: API reference, SetQueueAttributes."""
INVALID_VALUE: Final = "InvalidAttributeValue"
INVALID_NAME: Final = "InvalidAttributeName"
INVALID_PARAMETER: Final = "InvalidParameterValueException"

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,80}", re.ASCII)


@dataclass(frozen=True, slots=True)
class RedrivePolicy:
    """Dead-letter queue of a queue, for messages that have been received `max_receives` times."""

    target_arn: str
    max_receives: int

    @property
    def text(self) -> str:
        """The policy as the service shows it."""
        return _compact({"deadLetterTargetArn": self.target_arn, "maxReceiveCount": self.max_receives})


@dataclass(frozen=True, slots=True)
class RedriveAllowPolicy:
    """Which queues may name this one as their dead-letter queue: `allowAll`, `denyAll`, or `byQueue` those listed."""

    permission: str
    source_arns: tuple[str, ...] = ()

    def allows(self, source_arn: str) -> bool:
        """True if a queue may use this one as its dead-letter queue."""
        return self.permission == "allowAll" or (self.permission == "byQueue" and source_arn in self.source_arns)

    @property
    def text(self) -> str:
        """The policy as the service shows it."""
        sources = {"sourceQueueArns": list(self.source_arns)} if self.permission == "byQueue" else {}
        return _compact({"redrivePermission": self.permission, **sources})


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """Settings of a queue. Empty texts and `None` are attributes that are not set."""

    visibility_timeout_seconds: int = 30
    delay_seconds: int = 0
    retention_seconds: int = 345_600
    message_bytes: int = 1_048_576
    wait_seconds: int = 0
    redrive: RedrivePolicy | None = None
    redrive_allow: RedriveAllowPolicy | None = None
    policy: str = ""
    kms_key: str = ""
    kms_reuse_seconds: int = 300
    managed_sse: bool = True
    fifo: bool = False
    content_deduplication: bool = False
    deduplication_scope: str = "queue"
    throughput_limit: str = "perQueue"


def settings_of_new(name: str, given: Mapping[str, str], limits: Limits = AWS) -> QueueSettings:
    """Settings of a queue to create: the defaults with the given attributes.

    Raises: ApiError for a name, attribute or value that the service refuses.
    """
    fifo = given.get("FifoQueue")
    if fifo is not None and fifo.lower() not in ("true", "false"):
        _refuse_value("FifoQueue")
    is_fifo = fifo is not None and fifo.lower() == "true"
    check_name(name, fifo=is_fifo)
    if fifo is not None and not is_fifo:
        # A standard queue is one without the attribute.
        raise ApiError(INVALID_NAME, "Unknown Attribute FifoQueue.")
    return changed(QueueSettings(fifo=is_fifo), given, limits)


def changed(settings: QueueSettings, given: Mapping[str, str], limits: Limits = AWS) -> QueueSettings:
    """Settings with the given attributes changed.

    Raises: ApiError (`InvalidAttributeName`, `InvalidAttributeValue`, `InvalidParameterValueException`).
    """
    values: dict[str, object] = {}
    for name, text in given.items():
        rule = _RULES.get(name)
        if rule is None:
            raise ApiError(INVALID_NAME, f"Unknown Attribute {name}.")
        _check_kind(settings, name, text)
        field, read = rule
        values[field] = read(name, text, limits)
    # The service keeps one kind of encryption at a time.
    if values.get("kms_key") and "managed_sse" not in values:
        values["managed_sse"] = False
    found = _replaced(settings, values)
    if found.kms_key and found.managed_sse:
        if "kms_key" in values:
            raise ApiError(
                INVALID_VALUE,
                "You can use one type of server-side encryption (SSE) at one time. "
                "You can either enable KMS SSE or SQS SSE.",
            )
        found = replace(found, kms_key="")
    if found.throughput_limit == "perMessageGroupId" and found.deduplication_scope != "messageGroup":
        # Source: developer guide, "High throughput for FIFO queues"; the text is Statewright's.
        raise ApiError(
            INVALID_VALUE,
            "FifoThroughputLimit can be perMessageGroupId only when DeduplicationScope is messageGroup.",
        )
    return found


def _replaced(settings: QueueSettings, values: Mapping[str, Any]) -> QueueSettings:
    return replace(settings, **values)


def shown(settings: QueueSettings) -> dict[str, str]:
    """Attributes as GetQueueAttributes shows them; those that are not set are left out. `restored` reads them."""
    found = {
        "VisibilityTimeout": str(settings.visibility_timeout_seconds),
        "DelaySeconds": str(settings.delay_seconds),
        "MessageRetentionPeriod": str(settings.retention_seconds),
        "MaximumMessageSize": str(settings.message_bytes),
        "ReceiveMessageWaitTimeSeconds": str(settings.wait_seconds),
        "SqsManagedSseEnabled": _word(settings.managed_sse),
    }
    if settings.policy:
        found["Policy"] = settings.policy
    if settings.redrive is not None:
        found["RedrivePolicy"] = settings.redrive.text
    if settings.redrive_allow is not None:
        found["RedriveAllowPolicy"] = settings.redrive_allow.text
    if settings.kms_key:
        found["KmsMasterKeyId"] = settings.kms_key
    if settings.kms_key or settings.kms_reuse_seconds != 300:
        found["KmsDataKeyReusePeriodSeconds"] = str(settings.kms_reuse_seconds)
    if settings.fifo:
        found["FifoQueue"] = "true"
        found["ContentBasedDeduplication"] = _word(settings.content_deduplication)
        found["DeduplicationScope"] = settings.deduplication_scope
        found["FifoThroughputLimit"] = settings.throughput_limit
    return found


def restored(texts: Mapping[str, str]) -> QueueSettings:
    """Settings from the attributes that `shown` wrote; values outside of today's ranges are accepted."""
    values: dict[str, object] = {}
    for name, text in texts.items():
        field, read = _RULES[name]
        values[field] = read(name, text, _UNLIMITED)
    return _replaced(QueueSettings(), values)


def first_difference(existing: QueueSettings, given: Mapping[str, str], limits: Limits = AWS) -> str | None:
    """The attribute in which a CreateQueue for an existing queue differs from it; `None` answers with the queue.

    Attributes that are not given are not compared.

    Raises: ApiError for an attribute that no queue may have.
    """
    for name, text in given.items():
        rule = _RULES.get(name)
        if rule is None:
            raise ApiError(INVALID_NAME, f"Unknown Attribute {name}.")
        field, read = rule
        if read(name, text, limits) != getattr(existing, field):
            return name
    return None


def different(name: str) -> ApiError:
    """Error for a CreateQueue that differs from the existing queue of that name."""
    return ApiError(
        "QueueNameExists", f"A queue already exists with the same name and a different value for attribute {name}"
    )


def check_name(name: str, *, fifo: bool) -> None:
    """Refuse an invalid queue name.

    Raises: ApiError (`InvalidParameterValueException`).
    """
    if fifo:
        if len(name) > 80 or not name.endswith(FIFO_SUFFIX) or _NAME.fullmatch(name[: -len(FIFO_SUFFIX)]) is None:
            raise ApiError(
                INVALID_PARAMETER,
                "The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, "
                "must end with .fifo suffix and be 1 to 80 in length.",
            )
    elif _NAME.fullmatch(name) is None:
        raise ApiError(
            INVALID_PARAMETER, "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length"
        )


def refuse_redrive(text: str, reason: str) -> NoReturn:
    """Refuse a RedrivePolicy, given as its text. Raises: ApiError (`InvalidParameterValueException`)."""
    raise ApiError(INVALID_PARAMETER, f"Value {text} for parameter RedrivePolicy is invalid. Reason: {reason}")


# ------------------------------------------------------------------ reading values

_UNLIMITED: Final = replace(AWS, message_delay_seconds=None, message_bytes=None)
_ONLY_FIFO: Final = frozenset({"FifoQueue", "ContentBasedDeduplication"})
_ONLY_FIFO_SINCE: Final = frozenset({"DeduplicationScope", "FifoThroughputLimit"})


def _check_kind(settings: QueueSettings, name: str, text: str) -> None:
    if settings.fifo:
        if name == "FifoQueue" and text.lower() != "true":
            raise ApiError(
                INVALID_VALUE,
                "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.",
            )
        return
    if name in _ONLY_FIFO:
        raise ApiError(INVALID_NAME, f"Unknown Attribute {name}.")
    if name in _ONLY_FIFO_SINCE:
        raise ApiError(INVALID_NAME, f"You can specify the {name} only when FifoQueue is set to true.")


def _refuse_value(name: str) -> NoReturn:
    raise ApiError(INVALID_VALUE, f"Invalid value for the parameter {name}.")


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def _between(least: int, most: int | None, lift: Callable[[Limits], int | None] | None = None) -> _Read:
    """Reader of a whole number; `lift` returns the limit that replaces the upper bound."""

    def read(name: str, text: str, limits: Limits) -> int:
        number = _number(text)
        highest = most if lift is None else lift(limits)
        if number is None or number < least or (highest is not None and number > highest):
            _refuse_value(name)
        return number

    return read


def _flag(name: str, text: str, _limits: Limits) -> bool:
    if text.lower() not in ("true", "false"):
        _refuse_value(name)
    return text.lower() == "true"


def _one_of(*words: str) -> _Read:
    def read(name: str, text: str, _limits: Limits) -> str:
        if text not in words:
            _refuse_value(name)
        return text

    return read


def _any_text(_name: str, text: str, _limits: Limits) -> str:
    return text


def _access_policy(name: str, text: str, _limits: Limits) -> str:
    if text:
        policy = _json_object(text)
        if policy is None or not isinstance(policy.get("Statement"), (list, dict)):
            _refuse_value(name)
    return text


def _redrive(_name: str, text: str, _limits: Limits) -> RedrivePolicy | None:
    if not text:
        return None
    policy = _json_object(text)
    if policy is None:
        refuse_redrive(text, "Redrive policy is not a valid JSON map.")
    for member in ("maxReceiveCount", "deadLetterTargetArn"):
        if policy.get(member) in (None, ""):
            refuse_redrive(text, f"Redrive policy does not contain mandatory attribute: {member}.")
    for member in policy:
        if member not in ("maxReceiveCount", "deadLetterTargetArn"):
            refuse_redrive(text, "Only following attributes are supported: [deadLetterTargetArn, maxReceiveCount].")
    most = policy["maxReceiveCount"]
    number = most if isinstance(most, int) and not isinstance(most, bool) else _number(str(most))
    if number is None or not 1 <= number <= MOST_RECEIVES:
        refuse_redrive(
            text,
            f"Invalid value for maxReceiveCount: {most}, valid values are from 1 to {MOST_RECEIVES} both inclusive.",
        )
    target = policy["deadLetterTargetArn"]
    if not is_queue_arn(target):
        refuse_redrive(text, "Invalid value for deadLetterTargetArn.")
    return RedrivePolicy(target, number)


def _redrive_allow(name: str, text: str, _limits: Limits) -> RedriveAllowPolicy | None:
    if not text:
        return None

    def refuse(reason: str) -> NoReturn:
        raise ApiError(INVALID_PARAMETER, f"Value {text} for parameter {name} is invalid. Reason: {reason}")

    policy = _json_object(text)
    if policy is None:
        refuse("Redrive allow policy is not a valid JSON map.")
    permission = policy.get("redrivePermission")
    if permission not in ("allowAll", "denyAll", "byQueue"):
        refuse("Amazon SQS can't create the redrive allow policy, as it's in an unsupported format.")
    sources = policy.get("sourceQueueArns")
    if (permission == "byQueue") != bool(sources):
        refuse("Amazon SQS can't create the redrive allow policy, as it's in an unsupported format.")
    if sources is not None and (not isinstance(sources, list) or not all(is_queue_arn(source) for source in sources)):
        refuse("Amazon SQS can't create the redrive allow policy, as it's in an unsupported format.")
    if sources and len(sources) > MOST_SOURCES:
        refuse(f"Amazon SQS can't create the redrive allow policy. You can specify up to {MOST_SOURCES} source queues.")
    return RedriveAllowPolicy(permission, tuple(sources or ()))


def is_queue_arn(value: object) -> bool:
    """True if a value has the form of a queue's ARN."""
    if not isinstance(value, str):
        return False
    parts = value.split(":")
    return len(parts) == 6 and parts[0] == "arn" and parts[2] == "sqs" and all(parts[3:])


def _json_object(text: str) -> JsonObject | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _compact(value: Mapping[str, object]) -> str:
    return json.dumps(value, separators=(",", ":"))


def _word(flag: bool) -> str:
    return "true" if flag else "false"


_Read = Callable[[str, str, Limits], object]

_RULES: Final[dict[str, tuple[str, _Read]]] = {
    "VisibilityTimeout": ("visibility_timeout_seconds", _between(0, 43_200)),
    "DelaySeconds": ("delay_seconds", _between(0, None, lambda limits: limits.message_delay_seconds)),
    "MessageRetentionPeriod": ("retention_seconds", _between(60, 1_209_600)),
    "MaximumMessageSize": ("message_bytes", _between(1024, None, lambda limits: limits.message_bytes)),
    "ReceiveMessageWaitTimeSeconds": ("wait_seconds", _between(0, 20)),
    "Policy": ("policy", _access_policy),
    "RedrivePolicy": ("redrive", _redrive),
    "RedriveAllowPolicy": ("redrive_allow", _redrive_allow),
    "KmsMasterKeyId": ("kms_key", _any_text),
    "KmsDataKeyReusePeriodSeconds": ("kms_reuse_seconds", _between(60, 86_400)),
    "SqsManagedSseEnabled": ("managed_sse", _flag),
    "FifoQueue": ("fifo", _flag),
    "ContentBasedDeduplication": ("content_deduplication", _flag),
    "DeduplicationScope": ("deduplication_scope", _one_of("queue", "messageGroup")),
    "FifoThroughputLimit": ("throughput_limit", _one_of("perQueue", "perMessageGroupId")),
}
"""The field of each attribute, and the reader of its text."""

SETTABLE: Final = frozenset(_RULES)
COUNTED: Final = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)
READ_ONLY: Final = frozenset({*COUNTED, "CreatedTimestamp", "LastModifiedTimestamp", "QueueArn"})
READABLE: Final = SETTABLE | READ_ONLY
"""Names that GetQueueAttributes knows, besides `All`."""
