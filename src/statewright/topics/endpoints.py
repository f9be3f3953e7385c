"""Endpoints: the protocols, and the form that an endpoint of each must have.

Source: API reference, Subscribe; developer guide, "Message delivery for FIFO topics".
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from statewright.topics.entries import FIFO_SUFFIX
from statewright.topics.refusals import invalid

PROTOCOLS: Final = ("http", "https", "email", "email-json", "sms", "sqs", "application", "lambda", "firehose")
WITHOUT_CONFIRMATION: Final = frozenset({"sqs", "lambda", "sms"})
NOT_HERE: Final = frozenset({"application", "firehose"})
_QUEUE: Final = re.compile(r"arn:aws[a-z-]*:sqs:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,80}(?:\.fifo)?", re.ASCII)
_FUNCTION: Final = re.compile(
    r"arn:aws[a-z-]*:lambda:[a-z0-9-]+:[0-9]{12}:function:[A-Za-z0-9_-]+(?::[A-Za-z0-9$_-]+)?", re.ASCII
)
_PHONE: Final = re.compile(r"\+?[0-9][0-9 ().-]{3,24}", re.ASCII)


def is_phone(number: str) -> bool:
    """True if a number has the form of one that text messages are sent to."""
    return _PHONE.fullmatch(number) is not None


def check_endpoint(protocol: str, endpoint: str, fifo: bool) -> None:
    """Check the endpoint of a subscription. Raises: ApiError (`InvalidParameter`)."""
    if protocol not in PROTOCOLS:
        raise invalid(f"Amazon SNS does not support this protocol string: {protocol[:100]}")
    if protocol in NOT_HERE:
        raise invalid(
            f"Protocol Reason: this version of Statewright delivers to sqs, lambda, http and https endpoints, "
            f"not to {protocol}"
        )
    if fifo and protocol != "sqs":
        raise invalid("Invalid parameter: Endpoint Reason: FIFO topics can only be subscribed to by SQS queues")
    if not endpoint:
        raise invalid("Endpoint")
    if protocol in ("http", "https"):
        _check_url(protocol, endpoint)
    elif protocol == "sqs":
        if _QUEUE.fullmatch(endpoint) is None:
            raise invalid("SQS endpoint ARN")
        if endpoint.endswith(FIFO_SUFFIX) and not fifo:
            raise invalid(
                "Invalid parameter: Endpoint Reason: FIFO SQS Queues can not be subscribed to standard SNS topics"
            )
    elif protocol == "lambda":
        if _FUNCTION.fullmatch(endpoint) is None:
            raise invalid("Lambda endpoint ARN")
    elif protocol == "sms":
        if not is_phone(endpoint):
            raise invalid(f"Invalid SMS endpoint: {endpoint[:100]}")
    elif "@" not in endpoint:
        raise invalid("Email address")


def _check_url(protocol: str, endpoint: str) -> None:
    if not endpoint.startswith(f"{protocol}://"):
        raise invalid("Endpoint must match the specified protocol")
    try:
        parts = urlsplit(endpoint)
        sound = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        sound = False
    # A request's head is written in ASCII.
    if not sound or not endpoint.isascii() or not endpoint.isprintable() or " " in endpoint:
        raise invalid("Unparsable endpoint URL")
