"""Event notifications of buckets: the configuration, the events that it names, and the messages.

Owns the service's rules on configurations and the shape of messages. Delivery belongs to an `Outbox`, which is
injected: its entries for an event are written in the transaction that writes or deletes the object, so that the
notification of an acknowledged change survives a crash of the process.

Source: user guide, "Amazon S3 Event Notifications", "Event message structure", "Configuring event notifications using
object key name filtering"; service API reference, PutBucketNotificationConfiguration.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, Protocol
from urllib.parse import quote_plus

import orjson

from statewright.instants import iso_ms
from statewright.objects import faults
from statewright.objects.records import Bucket
from statewright.payload import JsonMapping, JsonObject
from statewright.stores.protocol import EntryRow

NOTIFICATION: Final = "notification"
"""The subject among a bucket's settings."""
PUT: Final = "ObjectCreated:Put"
COPIED: Final = "ObjectCreated:Copy"
COMPLETED: Final = "ObjectCreated:CompleteMultipartUpload"
DELETED: Final = "ObjectRemoved:Delete"
MARKED: Final = "ObjectRemoved:DeleteMarkerCreated"
EXPIRED: Final = "LifecycleExpiration:Delete"
EXPIRED_BY_MARKER: Final = "LifecycleExpiration:DeleteMarkerCreated"
TAGGED: Final = "ObjectTagging:Put"
UNTAGGED: Final = "ObjectTagging:Delete"
ACL: Final = "ObjectAcl:Put"
_OF_SETTINGS: Final = ("ObjectTagging", "ObjectAcl")

KINDS: Final = {
    "TopicConfigurations": ("TopicArn", "Topic"),
    "QueueConfigurations": ("QueueArn", "Queue"),
    "LambdaFunctionConfigurations": ("LambdaFunctionArn", "CloudFunction"),
}
"""Lists of a configuration: the member that names a destination, and what refusals call it."""
EVENT_BRIDGE: Final = "EventBridgeConfiguration"
RULE_VALUE_LENGTH: Final = 1024


@dataclass(frozen=True, slots=True)
class Change:
    """A change of an object. `size` is `None` if it was deleted; `version` is the id of a version with a name."""

    event: str
    key: str
    at_ms: int
    size: int | None = None
    etag: str | None = None
    version: str | None = None
    trace: str | None = None
    """The trace header of its request, for queues."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One entry of a configuration: the destination, the events and the keys that it covers."""

    id: str
    arn: str
    events: tuple[str, ...]
    prefix: str
    suffix: str

    def covers(self, change: Change) -> bool:
        """True if the destination gets a notification of a change."""
        named = f"s3:{change.event}"
        return (
            any(_includes(event, named) for event in self.events)
            and change.key.startswith(self.prefix)
            and change.key.endswith(self.suffix)
        )


class Outbox(Protocol):
    """Delivers notifications of changes."""

    def prepare(self, bucket: Bucket, changes: Sequence[Change]) -> list[list[EntryRow]]:
        """The new entries of the catalogue that notify of each change; the caller writes them with the change."""

    def written(self, rows: Sequence[EntryRow]) -> None:
        """Called when the entries are durable, or the change was refused."""

    def unsure(self, rows: Sequence[EntryRow]) -> None:
        """Called when the result of the write is unknown: the entries may become durable at any moment."""


def checked(given: JsonMapping) -> JsonObject:
    """A configuration as it is stored: with ids, without empty lists.

    Raises: ApiError (`InvalidArgument`, `MalformedXML`).
    """
    kept: JsonObject = {}
    for name, (member, _) in KINDS.items():
        entries = given.get(name) or []
        if entries:
            kept[name] = [_with_id(entry, member, place) for place, entry in enumerate(entries)]
    if given.get(EVENT_BRIDGE) is not None:
        kept[EVENT_BRIDGE] = {}
    ids = [entry["Id"] for name in KINDS for entry in kept.get(name, ())]
    twice = next((one for one in ids if ids.count(one) > 1), None)
    if twice is not None:
        raise faults.invalid_argument("Same ID used for multiple configurations. IDs must be unique", "Id", twice)
    for name in KINDS:
        for entry in kept.get(name, ()):
            _check_filter(entry)
    for name in KINDS:
        if name in kept:
            kept[name] = [_named(entry) for entry in kept[name]]
    for one, other in combinations(rules_of(kept), 2):
        _check_apart(one, other)
    return kept


def rules_of(config: JsonMapping) -> list[Rule]:
    """The entries of a configuration."""
    return [
        Rule(entry["Id"], entry[member], tuple(entry["Events"]), *_affixes(entry))
        for name, (member, _) in KINDS.items()
        for entry in config.get(name, ())
    ]


def _with_id(entry: JsonMapping, member: str, place: int) -> JsonObject:
    if not entry["Events"]:
        raise faults.malformed_xml()
    if entry.get("Id"):
        return dict(entry)
    text = f"{place} {entry[member]} {entry['Events']} {entry.get('Filter')}"
    made = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()
    return {"Id": f"{made[:8]}-{made[8:12]}-{made[12:16]}-{made[16:20]}-{made[20:]}", **entry}


def _named(entry: JsonMapping) -> JsonObject:
    """An entry with the names of its filter's rules as the service writes them."""
    if not _filter_rules(entry):
        return dict(entry)
    rules = [{**rule, "Name": rule["Name"].capitalize()} for rule in _filter_rules(entry)]
    return {**entry, "Filter": {"Key": {"FilterRules": rules}}}


def _filter_rules(entry: JsonMapping) -> list[JsonMapping]:
    return ((entry.get("Filter") or {}).get("Key") or {}).get("FilterRules") or []


def _affixes(entry: JsonMapping) -> tuple[str, str]:
    found = {rule["Name"].lower(): rule.get("Value") or "" for rule in _filter_rules(entry)}
    return found.get("prefix", ""), found.get("suffix", "")


def _check_filter(entry: JsonMapping) -> None:
    names: set[str] = set()
    for rule in _filter_rules(entry):
        name = (rule.get("Name") or "").lower()
        if name not in ("prefix", "suffix"):
            raise faults.invalid_argument(
                "filter rule name must be either prefix or suffix", "FilterRule.Name", rule.get("Name") or "null"
            )
        if name in names:
            raise faults.invalid_argument(
                f"Cannot specify more than one {name} rule in a filter.", "FilterRule.Name", name
            )
        if len(rule.get("Value") or "") > RULE_VALUE_LENGTH:
            raise faults.invalid_argument(
                "Size of filter rule value cannot exceed 1024 bytes in UTF-8 representation", "FilterRule.Value",
                rule["Value"],
            )  # fmt: skip
        names.add(name)


def _check_apart(one: Rule, other: Rule) -> None:
    """Refuse two entries that an object could match both."""
    shared = [(a, b) for a in one.events for b in other.events if _includes(a, b) or _includes(b, a)]
    if not shared:
        return
    apart = not (one.prefix.startswith(other.prefix) or other.prefix.startswith(one.prefix))
    if apart or not (one.suffix.endswith(other.suffix) or other.suffix.endswith(one.suffix)):
        return
    if not (one.prefix or one.suffix or other.prefix or other.suffix):
        raise faults.invalid_argument(
            "Configurations overlap. Configurations on the same bucket cannot share a common event type.", "Event",
            ", ".join(shared[0]),
        )  # fmt: skip
    raise faults.invalid_argument(
        "Configuration is ambiguously defined. Cannot have overlapping suffixes in two rules if the prefixes are "
        "overlapping for the same event type.", "Filter", one.suffix or one.prefix,
    )  # fmt: skip


def _includes(event: str, named: str) -> bool:
    """True if an event, or a wildcard for a kind of events, includes another."""
    return event == named or (event.endswith("*") and named.startswith(event[:-1]))


# ------------------------------------------------------------------ messages


def messages(
    bucket: Bucket, rules: Sequence[Rule], change: Change, *, owner: str, account: str, sequencer: str, request_id: str
) -> Iterator[tuple[Rule, str]]:
    """The message for each entry that covers a change."""
    record: JsonObject | None = None
    for rule in rules:
        if not rule.covers(change):
            continue
        if record is None:
            record = _record(bucket, change, owner, account, sequencer, request_id)
        sent = {**record, "s3": {**record["s3"], "configurationId": rule.id}}
        yield rule, orjson.dumps({"Records": [sent]}).decode()


def _record(bucket: Bucket, change: Change, owner: str, account: str, sequencer: str, request_id: str) -> JsonObject:
    seen: JsonObject = {"key": quote_plus(change.key, safe="/-_.*")}
    is_of_settings = change.event.startswith(_OF_SETTINGS)
    if change.size is not None and not is_of_settings:
        seen["size"] = change.size
    if change.etag is not None:
        seen["eTag"] = change.etag
    if change.version is not None:
        seen["versionId"] = change.version
    if not is_of_settings:
        seen["sequencer"] = sequencer
    return {
        "eventVersion": "2.3" if change.event.startswith(("Lifecycle", *_OF_SETTINGS)) else "2.1",
        "eventSource": "aws:s3",
        "awsRegion": bucket.place,
        "eventTime": iso_ms(change.at_ms),
        "eventName": change.event,
        "userIdentity": {"principalId": f"AWS:{account}"},
        "requestParameters": {"sourceIPAddress": "127.0.0.1"},
        "responseElements": {"x-amz-request-id": request_id, "x-amz-id-2": request_id},
        "s3": {
            "s3SchemaVersion": "1.0",
            "configurationId": "",
            "bucket": {
                "name": bucket.name, "ownerIdentity": {"principalId": owner}, "arn": f"arn:aws:s3:::{bucket.name}",
            },
            "object": seen,
        },
    }  # fmt: skip


def configured_message(bucket: str, at_ms: int, request_id: str) -> str:
    """The message that a queue or topic gets when the configuration names it."""
    return orjson.dumps(
        {
            "Service": "Amazon S3", "Event": "s3:TestEvent", "Time": iso_ms(at_ms), "Bucket": bucket,
            "RequestId": request_id, "HostId": request_id,
        }
    ).decode()  # fmt: skip


_BUS: Final = {
    PUT: ("Object Created", {"reason": "PutObject"}),
    COPIED: ("Object Created", {"reason": "CopyObject"}),
    COMPLETED: ("Object Created", {"reason": "CompleteMultipartUpload"}),
    DELETED: ("Object Deleted", {"reason": "DeleteObject", "deletion-type": "Permanently Deleted"}),
    MARKED: ("Object Deleted", {"reason": "DeleteObject", "deletion-type": "Delete Marker Created"}),
    EXPIRED_BY_MARKER: (
        "Object Deleted",
        {"reason": "Lifecycle Expiration", "deletion-type": "Delete Marker Created"},
    ),
    EXPIRED: ("Object Deleted", {"reason": "Lifecycle Expiration", "deletion-type": "Permanently Deleted"}),
    TAGGED: ("Object Tags Added", {}),
    UNTAGGED: ("Object Tags Deleted", {}),
    ACL: ("Object ACL Updated", {}),
}


def bus_detail(
    bucket: Bucket, change: Change, *, account: str, sequencer: str, request_id: str
) -> tuple[str, JsonObject]:
    """Detail type and detail of the event that a bus gets.

    Source: user guide, "EventBridge event message structure".
    """
    kind, more = _BUS[change.event]
    seen: JsonObject = {"key": change.key}
    if change.size is not None:
        seen["size"] = change.size
    if change.etag is not None:
        seen["etag"] = change.etag
    if change.version is not None:
        seen["version-id"] = change.version
    detail = {
        "version": "0", "bucket": {"name": bucket.name}, "object": {**seen, "sequencer": sequencer},
        "request-id": request_id, "requester": account, "source-ip-address": "127.0.0.1", **more,
    }  # fmt: skip
    return kind, detail
