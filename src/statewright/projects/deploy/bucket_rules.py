"""Rules of buckets: their notifications, and the expiry of their objects.

A bucket's notifications come from several resources: from itself, and from functions' events and CDK's
`Custom::S3BucketNotifications`, which exist because a bucket and a function often need each other. Each has entries of
its own in the bucket's configuration, known by their ids, and leaves those of others alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from statewright.payload import Json, JsonMapping, JsonObject
from statewright.projects.deploy.kinds import CannotApply, Kind, Known, Site, Wanted, number_of, typed

SERVICE: Final = "s3"
CUSTOM: Final = "Custom::S3BucketNotifications"
_BUS: Final = "EventBridgeConfiguration"
_LISTS: Final = {
    "TopicConfigurations": ("TopicConfigurations", "Topic", "TopicArn"),
    "QueueConfigurations": ("QueueConfigurations", "Queue", "QueueArn"),
    "LambdaConfigurations": ("LambdaFunctionConfigurations", "Function", "LambdaFunctionArn"),
}
"""Lists as templates have them, with the member of a destination: what both are called by the API."""
_API_LISTS: Final = tuple(name for name, _, _ in _LISTS.values())


def notify(site: Site, bucket: str, owner: str, config: Mapping[str, Json], *, is_new: bool = False) -> None:
    """Give a bucket the entries of one resource, `owner`, in place of those that it had; in the API's members.

    `is_new` says that it counts as the making of that resource.
    """
    shown = site.found(SERVICE, "GetBucketNotificationConfiguration", Bucket=bucket) or {}
    merged: JsonObject = {}
    for name in _API_LISTS:
        others = [one for one in shown.get(name) or () if not str(one.get("Id", "")).startswith(f"{owner}-")]
        given = config.get(name) or []
        own = [
            {**_as_shown(one), "Id": f"{owner}-{name[:1]}{place}"} for place, one in enumerate(_objects(given, name))
        ]
        if others or own:
            merged[name] = [*others, *own]
    if _BUS in shown or _BUS in config:
        merged[_BUS] = {}
    if _by_id(shown) != _by_id(merged) or (_BUS in shown) != (_BUS in merged):
        make = site.create if is_new else site.change
        # What goes may have gone before: destinations of others are none of this resource's business.
        make(
            SERVICE, "PutBucketNotificationConfiguration", Bucket=bucket, NotificationConfiguration=merged,
            SkipDestinationValidation=None if config else True,
        )  # fmt: skip


def _as_shown(entry: Mapping[str, Json]) -> dict[str, Json]:
    """An entry with the names of its filter's rules as the API gives them back: `Prefix` for `prefix`."""
    rules = ((entry.get("Filter") or {}).get("Key") or {}).get("FilterRules") or []
    named = [{**rule, "Name": str(rule.get("Name", "")).capitalize()} for rule in _objects(rules, "FilterRules")]
    return {**entry, "Filter": {"Key": {"FilterRules": named}}} if named else dict(entry)


def of_template(config: Mapping[str, Json]) -> dict[str, Json]:
    """The `NotificationConfiguration` of a template in the API's members. Raises: CannotApply."""
    found: dict[str, Json] = {}
    for name, (api, member, arn) in _LISTS.items():
        entries = []
        for one in _objects(config.get(name) or [], name):
            rules = ((one.get("Filter") or {}).get("S3Key") or {}).get("Rules") or []
            made = {"Events": [one.get("Event")], arn: one.get(member)}
            entries.append({**made, "Filter": {"Key": {"FilterRules": rules}}} if rules else made)
        if entries:
            found[api] = entries
    bus = config.get(_BUS)
    if isinstance(bus, dict) and bus.get("EventBridgeEnabled", True) in (True, "true"):
        found[_BUS] = {}
    return found


def expire(site: Site, bucket: str, config: Mapping[str, Json]) -> None:
    """Give a bucket the rules of a template's `LifecycleConfiguration`. Raises: CannotApply."""
    rules = [_rule(one, place) for place, one in enumerate(_objects(config.get("Rules") or [], "Rules"))]
    shown = site.found(SERVICE, "GetBucketLifecycleConfiguration", Bucket=bucket) or {}
    if rules and shown.get("Rules") != rules:
        site.change(SERVICE, "PutBucketLifecycleConfiguration", Bucket=bucket, LifecycleConfiguration={"Rules": rules})


def _rule(given: Mapping[str, Json], place: int) -> dict[str, Json]:
    conditions: dict[str, Json] = {}
    if given.get("Prefix") is not None:
        conditions["Prefix"] = given["Prefix"]
    for member in ("ObjectSizeGreaterThan", "ObjectSizeLessThan"):
        if given.get(member) is not None:
            conditions[member] = number_of(given[member], member)
    tags = given.get("TagFilters") or []
    if tags:
        conditions["Tags"] = tags
    if len(conditions) > 1 or len(tags) > 1:
        conditions = {"And": conditions}
    elif tags:
        conditions = {"Tag": tags[0]}
    made: dict[str, Json] = {
        "ID": given.get("Id") or f"rule-{place}",
        "Filter": conditions,
        "Status": given.get("Status"),
    }
    days, date = given.get("ExpirationInDays"), given.get("ExpirationDate")
    if days is not None:
        made["Expiration"] = {"Days": number_of(days, "ExpirationInDays")}
    elif date is not None:
        made["Expiration"] = {"Date": date}
    elif given.get("ExpiredObjectDeleteMarker") is not None:
        made["Expiration"] = {"ExpiredObjectDeleteMarker": given["ExpiredObjectDeleteMarker"] in (True, "true")}
    abort = given.get("AbortIncompleteMultipartUpload")
    if isinstance(abort, dict):
        made["AbortIncompleteMultipartUpload"] = typed(abort, numbers=("DaysAfterInitiation",))
    steps = given.get("Transitions") or ([given["Transition"]] if given.get("Transition") else [])
    if steps:
        made["Transitions"] = [_transition(one) for one in _objects(steps, "Transitions")]
    return {**made, **_of_older_versions(given)}


def _of_older_versions(given: JsonMapping) -> dict[str, Json]:
    """The actions of a rule on older versions; templates also have them in a form of before 2021."""
    made: dict[str, Json] = {}
    older, days = given.get("NoncurrentVersionExpiration"), given.get("NoncurrentVersionExpirationInDays")
    if isinstance(older, dict):
        made["NoncurrentVersionExpiration"] = typed(older, numbers=("NoncurrentDays", "NewerNoncurrentVersions"))
    elif days is not None:
        made["NoncurrentVersionExpiration"] = {"NoncurrentDays": number_of(days, "NoncurrentVersionExpirationInDays")}
    step = given.get("NoncurrentVersionTransition")
    steps = given.get("NoncurrentVersionTransitions") or ([step] if step else [])
    if steps:
        made["NoncurrentVersionTransitions"] = [
            _older_transition(one) for one in _objects(steps, "NoncurrentVersionTransitions")
        ]
    return made


def _older_transition(given: Mapping[str, Json]) -> dict[str, Json]:
    made: dict[str, Json] = {"StorageClass": given.get("StorageClass")}
    for member, name in (("TransitionInDays", "NoncurrentDays"), ("NewerNoncurrentVersions",) * 2):
        if given.get(member) is not None:
            made[name] = number_of(given[member], member)
    return made


def _transition(given: Mapping[str, Json]) -> dict[str, Json]:
    made: dict[str, Json] = {"StorageClass": given.get("StorageClass")}
    if given.get("TransitionInDays") is not None:
        made["Days"] = number_of(given["TransitionInDays"], "TransitionInDays")
    if given.get("TransitionDate") is not None:
        made["Date"] = given["TransitionDate"]
    return made


def notifications(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Add to a bucket's notifications what an event of a function, or CDK, asks for."""
    bucket = wanted.text("BucketName")
    notify(site, bucket, wanted.name, wanted.table("NotificationConfiguration"), is_new=wanted.before is None)
    return {"Ref": f"{bucket}/{wanted.name}"}


def _withdraw(site: Site, known: Known) -> None:
    bucket, _, owner = known.ref.partition("/")
    if site.found(SERVICE, "GetBucketLocation", Bucket=bucket) is not None:
        notify(site, bucket, owner, {})


def _objects(value: Json, what: str) -> Iterable[JsonMapping]:
    found = value if isinstance(value, list) else [value]
    if not all(isinstance(one, dict) for one in found):
        raise CannotApply(f"{what} must be a list of objects")
    return found


def _by_id(config: JsonMapping) -> JsonObject:
    return {one["Id"]: one for name in _API_LISTS for one in config.get(name) or ()}


KINDS: Final = {CUSTOM: Kind("notifications of a bucket", notifications, _withdraw)}
