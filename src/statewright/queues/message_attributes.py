"""Message bodies and attributes: their checks, their stored form, and the MD5 sums that SDKs verify.

Owns the rules for one message's content and for selecting attributes on receive. Batch sizes, ids and delays belong
to the API operations.

Source: developer guide, "Amazon SQS message metadata" and "Calculating the MD5 message digest for message attributes";
texts observed unless a comment says otherwise.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import md5
from typing import Final, NoReturn

from statewright.errors import ApiError
from statewright.payload import JsonMapping

Attributes = Mapping[str, JsonMapping]
"""Message attributes as the API has them: name -> DataType and StringValue, or BinaryValue as bytes."""

MOST_ATTRIBUTES: Final = 10
NAME_CHARACTERS: Final = 256
TYPE_CHARACTERS: Final = 256
NUMBER_DIGITS: Final = 38
TRACE_HEADER: Final = "AWSTraceHeader"

_ALLOWED: Final = (
    "the set of allowed characters is #x9 | #xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | [#x10000-#x10FFFF]"
)
_forbidden: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]").search
_name_matches: Final = re.compile(r"[\w.-]+").fullmatch
_number_matches: Final = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]{1,4}))?", re.ASCII).fullmatch
INVALID_VALUE: Final = "InvalidParameterValueException"
_RESERVED: Final = ("aws.", "amazon.")


@dataclass(frozen=True, slots=True)
class Encoded:
    """Message attributes ready to store: `value` is a JSON value that `decoded` reads; the size counts names, types
    and values, as quotas do.
    """

    value: dict[str, dict[str, str]]
    md5: str
    size_bytes: int


# ------------------------------------------------------------------ bodies


def body_bytes(body: str) -> bytes:
    """A body in UTF-8.

    Raises: ApiError (`InvalidMessageContents`) for a character that no message may have.
    """
    # Every printable character is allowed, and this is the fastest test.
    if not body.isprintable():
        _check_characters(body, "the message body")
    return body.encode()


def body_md5(raw: bytes) -> str:
    """MD5OfMessageBody, MD5OfBody."""
    return md5(raw, usedforsecurity=False).hexdigest()


def _check_characters(text: str, where: str, code: str = "InvalidMessageContents") -> None:
    found = _forbidden(text)
    if found is not None:
        raise ApiError(
            code,
            f"Invalid binary character '#x{ord(found[0]):X}' was found in {where}, {_ALLOWED}.",
        )


# ------------------------------------------------------------------ attributes to send


def encoded(attributes: Attributes) -> Encoded:
    """Check message attributes and encode them for the store.

    The MD5 sum is over the values as they were sent; numbers are stored without their outer zeroes.

    Raises: ApiError (`InvalidParameterValueException`).
    """
    if len(attributes) > MOST_ATTRIBUTES:
        _refuse(f"Number of message attributes [{len(attributes)}] exceeds the allowed maximum [{MOST_ATTRIBUTES}].")
    stored: dict[str, dict[str, str]] = {}
    size = 0
    for name, given in attributes.items():
        _check_name(name)
        data_type, raw = _value(name, given)
        size += len(name.encode()) + len(data_type.encode()) + len(raw)
        if data_type.startswith("Binary"):
            stored[name] = {"DataType": data_type, "BinaryValue": base64.b64encode(raw).decode()}
        elif data_type.startswith("Number"):
            stored[name] = {"DataType": data_type, "StringValue": trimmed_number(given["StringValue"])}
        else:
            stored[name] = {"DataType": data_type, "StringValue": given["StringValue"]}
    return Encoded(stored, attributes_md5(attributes), size)


def trace_header(attributes: Attributes) -> str | None:
    """The trace header among the system attributes of a message to send; no other is allowed.

    Raises: ApiError (`InvalidParameterValueException`).
    """
    for name, given in attributes.items():
        if name != TRACE_HEADER:
            # Source: API reference, SendMessage; the text is Statewright's.
            _refuse(f"Message system attribute name '{name}' is invalid. Supported: {TRACE_HEADER}.")
        if given.get("DataType") != "String" or not given.get("StringValue"):
            _refuse(f"Message system attribute '{name}' must contain a non-empty value of type 'String'.")
        _check_characters(given["StringValue"], "a message system attribute", INVALID_VALUE)
        found: str = given["StringValue"]
        return found
    return None


def _check_name(name: str) -> None:
    # Source: developer guide, "Message attribute components"; letters of any script are taken (observed). The text is
    # Statewright's.
    if not name or len(name) > NAME_CHARACTERS:
        _refuse(f"Message (user) attribute name must be 1 to {NAME_CHARACTERS} characters long.")
    if _name_matches(name) is None:
        _refuse(
            f"Message (user) attribute name '{name}' is invalid. "
            "It can contain alphanumeric characters, underscores, hyphens and periods."
        )
    if name.startswith(".") or name.endswith(".") or ".." in name:
        _refuse(
            f"Message (user) attribute name '{name}' is invalid. It must not start or end with a period, "
            "nor have periods in succession."
        )
    if name.lower().startswith(_RESERVED):
        _refuse(f"Message (user) attribute name '{name}' is invalid. It must not start with AWS. or Amazon.")


def _value(name: str, given: JsonMapping) -> tuple[str, bytes]:
    """Checked type and value of an attribute."""
    data_type = given.get("DataType")
    if not data_type:
        _refuse(f"Message (user) attribute '{name}' must contain a non-empty message attribute type.")
    kind, dot, label = data_type.partition(".")
    if kind not in ("String", "Number", "Binary") or (dot and not label):
        _refuse(
            f"The type of message (user) attribute '{name}' is invalid. "
            "You must use only the following supported type prefixes: Binary, Number, String."
        )
    if len(data_type) > TYPE_CHARACTERS:
        _refuse(f"Message (user) attribute '{name}' has a type longer than {TYPE_CHARACTERS} characters.")
    if given.get("StringListValues") or given.get("BinaryListValues"):
        # Source: API reference, MessageAttributeValue: lists are "not implemented, reserved for future use".
        raise ApiError(
            "UnsupportedOperation", "Message attribute list values in SendMessage operation are not supported."
        )
    wanted, other = ("BinaryValue", "StringValue") if kind == "Binary" else ("StringValue", "BinaryValue")
    if given.get(other) and not given.get(wanted):
        _refuse(f"The message (user) attribute '{name}' with type '{data_type}' must use field '{wanted[:6]}'.")
    if not given.get(wanted):
        _refuse(f"Message (user) attribute '{name}' must contain a non-empty value of type '{wanted[:6]}'.")
    if kind == "Binary":
        return data_type, given["BinaryValue"]
    text = given["StringValue"]
    _check_characters(text, f"the message (user) attribute '{name}'", INVALID_VALUE)
    if kind == "Number" and not is_number(text):
        _refuse(f"Can't cast the value of message (user) attribute '{name}' to a number.")
    return data_type, text.encode()


def is_number(text: str) -> bool:
    """True if a text is a number that an attribute may have: at most 38 digits, from 10^-128 to 10^126."""
    parts = _number_matches(text)
    if parts is None or not (parts[2] or parts[3]):
        return False
    whole, fraction = parts[2], parts[3] or ""
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return True
    if len(digits.rstrip("0")) > NUMBER_DIGITS:
        return False
    # The power of ten of the first significant digit.
    power = len(digits) - 1 - len(fraction) + int(parts[4] or 0)
    is_ten = digits.rstrip("0") == "1"
    return power >= -128 and (power < 126 or (power == 126 and is_ten))


def trimmed_number(text: str) -> str:
    """A number without the zeroes around it; one with an exponent as it is."""
    parts = _number_matches(text)
    if parts is None or parts[4] is not None:
        return text
    whole, fraction = parts[2].lstrip("0") or "0", (parts[3] or "").rstrip("0")
    number = f"{whole}.{fraction}" if fraction else whole
    return f"-{number}" if parts[1] == "-" and number != "0" else number


def _refuse(reason: str) -> NoReturn:
    raise ApiError(INVALID_VALUE, reason)


# ------------------------------------------------------------------ sums


def attributes_md5(attributes: Attributes) -> str:
    """MD5OfMessageAttributes, MD5OfMessageSystemAttributes: names sorted, every part preceded by its length."""
    parts = bytearray()
    for name in sorted(attributes):
        given = attributes[name]
        data_type = given["DataType"]
        is_binary = data_type.startswith("Binary")
        value = bytes(given["BinaryValue"]) if is_binary else given["StringValue"].encode()
        _append(parts, name.encode())
        _append(parts, data_type.encode())
        parts += b"\x02" if is_binary else b"\x01"
        _append(parts, value)
    return md5(parts, usedforsecurity=False).hexdigest()


def _append(parts: bytearray, piece: bytes) -> None:
    parts += len(piece).to_bytes(4, "big")
    parts += piece


# ------------------------------------------------------------------ receiving


def decoded(stored: Mapping[str, Mapping[str, str]]) -> dict[str, Mapping[str, str | bytes]]:
    """Attributes as the API has them, from the value that `encoded` made."""
    return {
        name: {**given, "BinaryValue": base64.b64decode(given["BinaryValue"])} if "BinaryValue" in given else given
        for name, given in stored.items()
    }


def chosen(attributes: Mapping[str, Mapping[str, str]], wanted: Iterable[str]) -> Mapping[str, Mapping[str, str]]:
    """Attributes that a receive requests: by name, by `prefix.*`, or all by `All`, `*` or `.*`."""
    exact = set()
    prefixes = []
    for name in wanted:
        if name in ("All", "*", ".*"):
            return attributes
        if name.endswith(".*"):
            prefixes.append(name[:-2])
        else:
            exact.add(name)
    starts = tuple(prefixes)
    return {name: value for name, value in attributes.items() if name in exact or (starts and name.startswith(starts))}
