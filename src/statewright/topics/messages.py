"""Messages to publish: their checks, and the form in which each kind of endpoint gets them.

Source: SNS developer guide, "Parsing Amazon SNS message formats", "Message attributes", "Raw message delivery"; Lambda
developer guide, "Using AWS Lambda with Amazon SNS".
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote

import orjson

from statewright.instants import iso_ms
from statewright.payload import Json, JsonMapping, JsonObject
from statewright.queues.message_attributes import is_number, trimmed_number
from statewright.topics.filters import Attributes
from statewright.topics.refusals import bad_value, invalid

SIGNATURE: Final = base64.b64encode(b"Statewright does not sign messages").decode()
"""Stands in place of the service's signature. Subscribers must not verify signatures."""
CERTIFICATE: Final = "SimpleNotificationService-unsigned.pem"
MOST_SUBJECT: Final = 100
_name_matches: Final = re.compile(r"[A-Za-z0-9_.-]{1,256}", re.ASCII).fullmatch
_identifies: Final = re.compile(r"[!-~]{1,128}", re.ASCII).fullmatch


@dataclass(frozen=True, slots=True)
class Message:
    """A message. `texts` has a text for each protocol; the key `""` stands for all others.

    `attributes` are as the API has them, with values that are bytes in base64; `size_bytes` counts as quotas do.
    """

    texts: Mapping[str, str]
    subject: str | None = None
    attributes: Attributes = field(default_factory=dict)
    group: str | None = None
    dedup: str | None = None
    size_bytes: int = 0
    trace: str | None = None
    """The publisher's trace header, for queues."""

    @property
    def default(self) -> str:
        """The text for protocols that have none of their own."""
        return self.texts[""]

    def text(self, protocol: str) -> str:
        """The text for a protocol."""
        return self.texts.get(protocol, self.texts[""])


@dataclass(frozen=True, slots=True)
class Published:
    """The facts about a published message that every form of it carries."""

    message_id: str
    topic_arn: str
    at_ms: int
    address: str
    signature_version: str = "1"
    sequence: str | None = None

    @property
    def timestamp(self) -> str:
        """The instant of its publication, in ISO 8601."""
        return iso_ms(self.at_ms)

    def unsubscribe_url(self, subscription_arn: str) -> str:
        """The URL that ends a subscription."""
        return f"{self.address}/?Action=Unsubscribe&SubscriptionArn={quote(subscription_arn, safe=':-_.')}"


# ------------------------------------------------------------------ reading


def read_message(given: JsonMapping, trace: str | None = None) -> Message:
    """A message from the members of Publish, or of an entry of PublishBatch, with the trace header of the request.

    Raises: ApiError (`InvalidParameter`, `ParameterValueInvalid`).
    """
    text: str = given["Message"]
    if not text:
        raise invalid("Empty message")
    structure = given.get("MessageStructure")
    if structure not in (None, "", "json"):
        raise invalid("MessageStructure")
    subject = given.get("Subject")
    if subject is not None:
        _check_subject(subject)
    attributes, size = read_attributes(given.get("MessageAttributes") or {})
    size += len(_utf8(text, "Message"))
    group, dedup = given.get("MessageGroupId"), given.get("MessageDeduplicationId")
    for name, value in (("MessageGroupId", group), ("MessageDeduplicationId", dedup)):
        if value is not None and _identifies(value) is None:
            raise invalid(
                f"{name} Reason: The request parameter {name} can only include alphanumeric and punctuation "
                "characters. 1 to 128 in length"
            )
    texts = structured(text) if structure == "json" else {"": text}
    return Message(texts, subject, attributes, group, dedup, size, trace)


def structured(text: str) -> dict[str, str]:
    """The texts of a message that has one for each protocol. Raises: ApiError (`InvalidParameter`)."""
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise invalid("Message Structure - JSON message body failed to parse")
    if not isinstance(found.get("default"), str):
        raise invalid("Message Structure - No default entry in JSON message body")
    texts = {name: one for name, one in found.items() if isinstance(one, str) and name != "default"}
    return {**texts, "": found["default"]}


def _check_subject(subject: str) -> None:
    _utf8(subject, "Subject")
    if not subject or len(subject) > MOST_SUBJECT or any(ord(sign) < 32 or ord(sign) == 127 for sign in subject):
        raise invalid("Subject")


def read_attributes(given: Mapping[str, JsonMapping]) -> tuple[dict[str, dict[str, str]], int]:
    """Message attributes with values in base64 where they are bytes, and their size.

    Raises: ApiError (`ParameterValueInvalid`).
    """
    found: dict[str, dict[str, str]] = {}
    size = 0
    for name, one in given.items():
        if _name_matches(name) is None or name[0] == "." or name[-1] == "." or ".." in name:
            raise bad_value(f"The message attribute name '{name[:300]}' is invalid.")
        kind: str = one.get("DataType") or ""
        base, dot, label = kind.partition(".")
        if base not in ("String", "Number", "Binary") or (dot and not label):
            raise bad_value(
                f"The message attribute '{name}' has an invalid message attribute type, the set of supported type "
                "prefixes is Binary, Number, and String."
            )
        member = "BinaryValue" if kind.startswith("Binary") else "StringValue"
        value = one.get(member)
        if not value:
            raise bad_value(
                f"The message attribute '{name}' must contain non-empty message attribute value for message "
                f"attribute type '{kind}'."
            )
        raw = value if isinstance(value, bytes) else _utf8(value, "MessageAttributes")
        size += len(name) + len(_utf8(kind, "MessageAttributes")) + len(raw)
        found[name] = {"DataType": kind, member: _value(name, kind, value)}
    return found, size


def _utf8(text: str, where: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        # Half of a surrogate pair.
        raise invalid(where) from None


def _value(name: str, kind: str, value: str | bytes) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if kind.startswith("Number"):
        if not is_number(value):
            raise bad_value(f"Could not cast message attribute '{name}' value to number.")
        return trimmed_number(value)
    if kind == "String.Array":
        try:
            found = orjson.loads(value)
        except orjson.JSONDecodeError:
            found = None
        if not isinstance(found, list) or any(isinstance(one, (list, dict)) for one in found):
            # The text is Statewright's own.
            raise bad_value(f"Message attribute '{name}' with type 'String.Array' must be a JSON array of values.")
    return value


# ------------------------------------------------------------------ forms


class Envelope:
    """The notification of one message for all subscriptions of a protocol, which differ in their UnsubscribeURL."""

    __slots__ = ("_head", "_published", "_tail")

    def __init__(self, message: Message, published: Published, protocol: str) -> None:
        head: JsonObject = {"Type": "Notification", "MessageId": published.message_id}
        if published.sequence is not None:
            head["SequenceNumber"] = published.sequence
        head["TopicArn"] = published.topic_arn
        if message.subject is not None:
            head["Subject"] = message.subject
        head |= {"Message": message.text(protocol), "Timestamp": published.timestamp}
        if published.sequence is None:
            # FIFO topics sign no messages (observed).
            head |= {
                "SignatureVersion": published.signature_version,
                "Signature": SIGNATURE,
                "SigningCertURL": f"{published.address}/{CERTIFICATE}",
            }
        self._published = published
        self._head = _dumped(head)[:-1]
        shown = shown_attributes(message.attributes)
        self._tail = f',"MessageAttributes":{_dumped(shown)}}}' if shown else "}"

    def text(self, subscription_arn: str) -> str:
        """The notification for a subscription, as JSON."""
        url = self._published.unsubscribe_url(subscription_arn)
        return f'{self._head},"UnsubscribeURL":"{url}"{self._tail}'


def function_event(message: Message, published: Published, subscription_arn: str) -> str:
    """The event of a function, as JSON."""
    notification = {
        "Type": "Notification",
        "MessageId": published.message_id,
        "TopicArn": published.topic_arn,
        "Subject": message.subject,
        "Message": message.text("lambda"),
        "Timestamp": published.timestamp,
        "SignatureVersion": published.signature_version,
        "Signature": SIGNATURE,
        "SigningCertUrl": f"{published.address}/{CERTIFICATE}",
        "UnsubscribeUrl": published.unsubscribe_url(subscription_arn),
        "MessageAttributes": {
            # Functions know only strings and bytes.
            name: {**one, "Type": "Binary" if one["Type"].startswith("Binary") else "String"}
            for name, one in shown_attributes(message.attributes).items()
        },
    }
    record = {
        "EventSource": "aws:sns",
        "EventVersion": "1.0",
        "EventSubscriptionArn": subscription_arn,
        "Sns": notification,
    }
    return _dumped({"Records": [record]})


def confirmation(published: Published, token: str) -> str:
    """The request to an endpoint to confirm its subscription, as JSON."""
    arn = published.topic_arn
    url = f"{published.address}/?Action=ConfirmSubscription&TopicArn={quote(arn, safe=':-_.')}&Token={token}"
    return _dumped(
        {
            "Type": "SubscriptionConfirmation",
            "MessageId": published.message_id,
            "Token": token,
            "TopicArn": arn,
            "Message": f"You have chosen to subscribe to the topic {arn}.\n"
            "To confirm the subscription, visit the SubscribeURL included in this message.",
            "SubscribeURL": url,
            "Timestamp": published.timestamp,
            "SignatureVersion": published.signature_version,
            "Signature": SIGNATURE,
            "SigningCertURL": f"{published.address}/{CERTIFICATE}",
        }
    )


def shown_attributes(attributes: Attributes) -> dict[str, dict[str, str]]:
    """Message attributes as notifications show them."""
    return {
        name: {"Type": one["DataType"], "Value": one.get("StringValue") or one.get("BinaryValue", "")}
        for name, one in attributes.items()
    }


def _dumped(value: Json) -> str:
    return orjson.dumps(value).decode()
