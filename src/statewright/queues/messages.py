"""Messages sent and received, message ids and receipt handles.

Owns the values of the package's interface and the texts that name a message or a receive. Sending and receiving are
in `sending.py` and `consumers.py`; the encoding of message attributes is the API's.
"""

from __future__ import annotations

import struct
from binascii import a2b_base64, b2a_base64
from dataclasses import dataclass
from typing import Final, NamedTuple
from zlib import crc32

import orjson

from statewright.payload import Json

_HANDLE: Final = struct.Struct(">HQQQ")
_CHECK: Final = struct.Struct(">I")
_CHECKED: Final = struct.Struct(">HQQQI")
# Thirty bytes, whose base64 needs no padding: each handle has one spelling.
_FORM: Final = 0x5741
_HANDLE_LENGTH: Final = 40
_MIX: Final = 0x9E3779B97F4A7C15
_UNMIX: Final = pow(_MIX, -1, 1 << 64)
_TAIL: Final = 0xD6E8FEB86659FD93
_MASK: Final = (1 << 64) - 1
_FIRST_SEQUENCE: Final = 10**19
"""Sequence numbers have twenty digits, and an id never more than nineteen."""


class Outgoing(NamedTuple):
    """A message to send. `attributes` is the JSON value that the API made of the message attributes; it is returned
    unchanged.

    `delay_ms` overrides the queue's delay (standard queues only). `group` is the group of a FIFO message, or the
    tenant of a standard one. `dedup` is the deduplication id that the sender gave.
    """

    body: str
    attributes: Json = None
    delay_ms: int | None = None
    group: str | None = None
    dedup: str | None = None
    trace_header: str | None = None
    sender: str | None = None


class Sent(NamedTuple):
    """A message that was accepted; a duplicate has the id and sequence number of the first one."""

    message_id: str
    sequence_number: str | None


class Received(NamedTuple):
    """A message as a consumer gets it. `receives` includes this receive, over all queues that the message was in.

    `source_arn` is the queue that the message is a dead letter of.
    """

    message_id: str
    handle: str
    body: str
    attributes: Json
    sent_ms: int
    receives: int
    first_received_ms: int
    group: str | None
    dedup: str | None
    sequence_number: str | None
    trace_header: str | None
    sender: str | None
    source_arn: str | None


class Counts(NamedTuple):
    """Exact numbers of messages that are visible, in flight and delayed."""

    visible: int
    in_flight: int
    delayed: int


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """An entry in the history of a message that was not simply sent, received and deleted.

    `kind` is one of received, returned, moved, expired, deleted. `detail` is for people.
    """

    at_ms: int
    kind: str
    detail: str


class Handle(NamedTuple):
    """Parts of a receipt handle. `queue` is the number under which the rows were stored."""

    queue: int
    message: int
    receipt: int


def write_handle(queue: int, message: int, receipt: int) -> str:
    """The receipt handle of one receive of a message."""
    plain = _HANDLE.pack(_FORM, queue, message, receipt)
    return b2a_base64(plain + _CHECK.pack(crc32(plain)), newline=False).decode("ascii")


def read_handle(text: str) -> Handle | None:
    """Parts of a receipt handle; `None` for a text that is no handle of this server's form."""
    if len(text) != _HANDLE_LENGTH:
        return None
    try:
        plain = a2b_base64(text, strict_mode=True)
        form, queue, message, receipt, check = _CHECKED.unpack(plain)
    except (ValueError, struct.error):
        return None
    if form != _FORM or check != crc32(plain[:-4]):
        return None
    return Handle(queue, message, receipt)


def message_id_of(number: int) -> str:
    """The id that users see, in the form of a random UUID; `number_of` reverses it."""
    mixed = number * _MIX & _MASK
    mixed = (mixed ^ mixed >> 32) * _MIX & _MASK
    head = f"{mixed:016x}"
    tail = f"{(mixed ^ mixed >> 32) * _TAIL & _MASK:016x}"
    return f"{head[:8]}-{head[8:12]}-4{head[12:15]}-a{head[15]}{tail[:2]}-{tail[2:14]}"


def number_of(message_id: str) -> int | None:
    """The number behind a message id; `None` for a text that `message_id_of` does not write."""
    try:
        mixed = int(message_id[:8] + message_id[9:13] + message_id[15:18] + message_id[20], 16)
    except (ValueError, IndexError):
        return None
    mixed = mixed * _UNMIX & _MASK
    number = (mixed ^ mixed >> 32) * _UNMIX & _MASK
    return number if message_id_of(number) == message_id else None


def sequence_number_of(number: int) -> str:
    """Twenty digits that grow with every message. Source: API reference, SendMessage."""
    return str(_FIRST_SEQUENCE + number)


def encode_extra(message: Outgoing, dedup: str | None) -> str | None:
    """Stored form of what a message carries besides its body; `None` for nothing."""
    if message.attributes is None and dedup is None and message.trace_header is None and message.sender is None:
        return None
    return orjson.dumps((message.attributes, dedup, message.trace_header, message.sender)).decode()


def decode_extra(extra: str | None) -> tuple[Json, str | None, str | None, str | None]:
    """Attributes, deduplication id, trace header and sender."""
    if extra is None:
        return None, None, None, None
    attributes, dedup, trace, sender = orjson.loads(extra)
    return attributes, dedup, trace, sender
