"""Tables, their indexes and times to live.

Owns that a table is never given up for a change that the service cannot make, unless it is empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from statewright.payload import Json, JsonMapping, JsonObject
from statewright.projects.deploy.kinds import TO_COME, CannotApply, Kind, Known, Site, Wanted, holds, text_of, typed

SERVICE: Final = "dynamodb"
_COUNTS: Final = ("ReadCapacityUnits", "WriteCapacityUnits")
_WARM: Final = ("ReadUnitsPerSecond", "WriteUnitsPerSecond")
_ON_DEMAND: Final = "PAY_PER_REQUEST"
_OF_REPLICA: Final = (
    "ContributorInsightsSpecification", "DeletionProtectionEnabled", "KinesisStreamSpecification",
    "PointInTimeRecoverySpecification", "ReadOnDemandThroughputSettings", "ResourcePolicy", "TableClass", "Tags",
)  # fmt: skip
"""Settings of a table that a global table has in each of its replicas."""
_WRITES: Final = "WriteProvisionedThroughputSettings"


def table(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create a table, or change its capacity, indexes and time to live."""
    request = _request(site, wanted)
    shown = site.found(SERVICE, "DescribeTable", TableName=wanted.name)
    if shown is not None and not _same_keys(shown["Table"], request):
        if site.asked(SERVICE, "Scan", TableName=wanted.name, Limit=1).get("Count"):
            raise CannotApply(
                f"the keys of {wanted.name} cannot be changed, and it holds items: give it another TableName, or "
                f"delete it: statewright aws dynamodb delete-table --table-name {wanted.name}"
            )
        site.change(SERVICE, "DeleteTable", TableName=wanted.name)
        site.replaced = True
        shown = None
    made: JsonMapping = {}
    if shown is None:
        made = site.create(
            SERVICE, "CreateTable", TableName=wanted.name, **request,
            Tags=wanted.tag_list(),
        )  # fmt: skip
    else:
        _capacity(site, wanted, shown["Table"], request)
        _indexes(site, wanted, shown["Table"], request)
        made = _stream(site, wanted, shown["Table"], request)
        _tag(site, wanted)
    _time_to_live(site, wanted)
    _backups(site, wanted)
    if "StreamSpecification" not in request:
        return {}
    return {"StreamArn": (made.get("TableDescription") or {}).get("LatestStreamArn", TO_COME)}


def global_table(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create a table from the replica of this region, else from the first; there is one region here."""
    replicas = [one for one in wanted.items("Replicas") if isinstance(one, dict)]
    if not replicas:
        raise CannotApply("it has no Replicas: a global table has one for each of its regions")
    own = next((one for one in replicas if one.get("Region") == site.region), replicas[0])
    others = [text_of(one.get("Region", "")) for one in replicas if one is not own]
    if others:
        site.note(f"the table is in one region: the replicas of {', '.join(others)} are left out")
    shared = {key: value for key, value in wanted.properties.items() if key not in ("Replicas", _WRITES)}
    kept = {key: value for key, value in own.items() if key in _OF_REPLICA}
    properties: JsonObject = {**shared, **kept}
    if wanted.table("SSESpecification"):
        properties["SSESpecification"] = {**wanted.table("SSESpecification"), **(own.get("SSESpecification") or {})}
    properties["BillingMode"] = wanted.text("BillingMode", "PROVISIONED")
    if properties["BillingMode"] == "PROVISIONED":
        properties["ProvisionedThroughput"] = _units(own, wanted.properties)
        read_by = {one.get("IndexName"): one for one in own.get("GlobalSecondaryIndexes") or ()}
        properties["GlobalSecondaryIndexes"] = [
            {**one, "ProvisionedThroughput": _units(read_by.get(one.get("IndexName"), {}), one)}
            for one in wanted.items("GlobalSecondaryIndexes")
        ]
    return table(site, replace(wanted, properties=properties))


def _units(reads: JsonMapping, writes: JsonMapping) -> JsonObject:
    """The capacity of a table or an index whose two halves are set apart; where it scales, its least."""
    found: JsonObject = {}
    for word, given in (("Read", reads), ("Write", writes)):
        settings = given.get(f"{word}ProvisionedThroughputSettings") or {}
        scaled = settings.get(f"{word}CapacityAutoScalingSettings") or {}
        units = settings.get(f"{word}CapacityUnits", scaled.get("SeedCapacity", scaled.get("MinCapacity", 5)))
        found[f"{word}CapacityUnits"] = units
    return found


def _request(site: Site, wanted: Wanted) -> JsonObject:
    given = typed(
        wanted.given(
            "AttributeDefinitions", "KeySchema", "LocalSecondaryIndexes", "TableClass", "DeletionProtectionEnabled",
            "GlobalSecondaryIndexes", "WarmThroughput",
        ),
        numbers=(*_COUNTS, *_WARM),
        truths=("DeletionProtectionEnabled",),
    )  # fmt: skip
    throughput = typed(wanted.table("ProvisionedThroughput"), numbers=_COUNTS)
    mode = wanted.text("BillingMode", "PROVISIONED" if throughput else _ON_DEMAND)
    given["BillingMode"] = mode
    if mode == "PROVISIONED":
        given["ProvisionedThroughput"] = throughput or {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}
    known = ["IndexName", "KeySchema", "Projection", "WarmThroughput"]
    if mode == "PROVISIONED":
        known.append("ProvisionedThroughput")
    for member in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        if member in given:
            given[member] = [{key: one[key] for key in known if key in one} for one in given[member]]
    stream = wanted.table("StreamSpecification")
    if stream:
        view = stream.get("StreamViewType", "NEW_AND_OLD_IMAGES")
        given["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": view}
    sealed = typed(wanted.table("SSESpecification"), truths=("SSEEnabled",))
    if sealed:
        given["SSESpecification"] = {"Enabled": bool(sealed.pop("SSEEnabled", False)), **sealed}
    site.ignored(
        wanted, "KinesisStreamSpecification", "ContributorInsightsSpecification", "ImportSourceSpecification",
        "ResourcePolicy", "OnDemandThroughput", "ReadOnDemandThroughputSettings", "WriteOnDemandThroughputSettings",
    )  # fmt: skip
    made: JsonObject = given
    return made


def _same_keys(shown: JsonMapping, request: JsonMapping) -> bool:
    if not holds(shown["KeySchema"], request.get("KeySchema", [])):
        return False
    keys = {one["AttributeName"] for one in shown["KeySchema"]}
    there = {one["AttributeName"]: one["AttributeType"] for one in shown["AttributeDefinitions"]}
    wanted = {one["AttributeName"]: one["AttributeType"] for one in request.get("AttributeDefinitions", ())}
    locals_there = {one["IndexName"]: one["KeySchema"] for one in shown.get("LocalSecondaryIndexes") or ()}
    locals_wanted = {one["IndexName"]: one["KeySchema"] for one in request.get("LocalSecondaryIndexes") or ()}
    return all(there.get(key) == wanted.get(key) for key in keys) and locals_there == locals_wanted


def _capacity(site: Site, wanted: Wanted, shown: JsonMapping, request: JsonMapping) -> None:
    mode = (shown.get("BillingModeSummary") or {}).get("BillingMode", "PROVISIONED")
    changed: JsonObject = {}
    if mode != request["BillingMode"]:
        changed["BillingMode"] = request["BillingMode"]
    throughput = request.get("ProvisionedThroughput")
    if throughput and (changed or not holds(shown.get("ProvisionedThroughput"), throughput)):
        changed["ProvisionedThroughput"] = throughput
    for member, default in (("DeletionProtectionEnabled", False), ("TableClass", None)):
        value = request.get(member, default)
        there = shown.get(member, default)
        if member == "TableClass":
            there = (shown.get("TableClassSummary") or {}).get("TableClass", "STANDARD")
            value = value or "STANDARD"
        if value != there:
            changed[member] = value
    warm = request.get("WarmThroughput")
    if warm and not holds(shown.get("WarmThroughput"), warm):
        changed["WarmThroughput"] = warm
    sealed = request.get("SSESpecification", {"Enabled": False})
    if not _is_sealed_so(shown.get("SSEDescription"), sealed):
        changed["SSESpecification"] = sealed
    if changed:
        site.change(SERVICE, "UpdateTable", TableName=wanted.name, **changed)


def _is_sealed_so(shown: Json, sealed: JsonMapping) -> bool:
    """True if a table is encrypted as is wanted, by the key that is wanted if one is."""
    if not sealed["Enabled"] or shown is None:
        return bool(sealed["Enabled"]) == (shown is not None)
    key = text_of(sealed.get("KMSMasterKeyId", ""))
    return not key or text_of(shown.get("KMSMasterKeyArn", "")).rpartition("/")[2] == key.rpartition("/")[2]


def _indexes(site: Site, wanted: Wanted, shown: JsonMapping, request: JsonMapping) -> None:
    """Take away and make indexes, one at a time, as the service has it; one that changed is made anew."""
    there = {one["IndexName"]: one for one in shown.get("GlobalSecondaryIndexes") or ()}
    asked = {one["IndexName"]: one for one in request.get("GlobalSecondaryIndexes") or ()}
    kept = {name for name, one in asked.items() if name in there and holds(there[name], _without_capacity(one))}
    for name in there.keys() - kept:
        site.change(
            SERVICE, "UpdateTable", TableName=wanted.name,
            GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": name}}],
        )  # fmt: skip
    for name, one in asked.items():
        if name not in kept:
            site.change(
                SERVICE, "UpdateTable", TableName=wanted.name, AttributeDefinitions=request["AttributeDefinitions"],
                GlobalSecondaryIndexUpdates=[{"Create": one}],
            )  # fmt: skip


def _stream(site: Site, wanted: Wanted, shown: JsonMapping, request: JsonMapping) -> JsonMapping:
    """Open or close the stream; one of another view type is closed, and a new one opened. Returns the last answer."""
    asked, there = request.get("StreamSpecification"), shown.get("StreamSpecification")
    answer: JsonMapping = {"TableDescription": shown}
    if asked == there:
        return answer
    if there is not None:
        answer = site.change(
            SERVICE, "UpdateTable", TableName=wanted.name, StreamSpecification={"StreamEnabled": False}
        )
    if asked is not None:
        answer = site.change(SERVICE, "UpdateTable", TableName=wanted.name, StreamSpecification=asked)
    return answer


def _without_capacity(index: JsonMapping) -> JsonObject:
    return {key: value for key, value in index.items() if key not in ("ProvisionedThroughput", "WarmThroughput")}


def _time_to_live(site: Site, wanted: Wanted) -> None:
    asked = typed(wanted.table("TimeToLiveSpecification"), truths=("Enabled",))
    shown = None if site.created else site.found(SERVICE, "DescribeTimeToLive", TableName=wanted.name)
    there = (shown or {}).get("TimeToLiveDescription") or {}
    is_on = there.get("TimeToLiveStatus") in ("ENABLED", "ENABLING")
    wants = bool(asked.get("Enabled"))
    if wants == is_on and (not wants or there.get("AttributeName") == asked.get("AttributeName")):
        return
    name = asked.get("AttributeName") or there.get("AttributeName")
    if is_on and wants:
        # The service has one attribute at a time.
        off = {"Enabled": False, "AttributeName": there.get("AttributeName")}
        site.change(SERVICE, "UpdateTimeToLive", TableName=wanted.name, TimeToLiveSpecification=off)
    setting = {"Enabled": wants, "AttributeName": name}
    site.change(SERVICE, "UpdateTimeToLive", TableName=wanted.name, TimeToLiveSpecification=setting)


def _backups(site: Site, wanted: Wanted) -> None:
    asked = typed(wanted.table("PointInTimeRecoverySpecification"), truths=("PointInTimeRecoveryEnabled",))
    if not asked.get("PointInTimeRecoveryEnabled"):
        return
    shown = None if site.created else site.found(SERVICE, "DescribeContinuousBackups", TableName=wanted.name)
    there = ((shown or {}).get("ContinuousBackupsDescription") or {}).get("PointInTimeRecoveryDescription") or {}
    if there.get("PointInTimeRecoveryStatus") != "ENABLED":
        site.change(
            SERVICE, "UpdateContinuousBackups", TableName=wanted.name,
            PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True},
        )  # fmt: skip


def _tag(site: Site, wanted: Wanted) -> None:
    tags = wanted.tags()
    if not tags:
        return
    shown = site.asked(SERVICE, "ListTagsOfResource", ResourceArn=wanted.arn)
    there = {one["Key"]: one["Value"] for one in shown.get("Tags") or ()}
    missing = [{"Key": key, "Value": value} for key, value in tags.items() if there.get(key) != value]
    if missing:
        site.change(SERVICE, "TagResource", ResourceArn=wanted.arn, Tags=missing)


def _delete(site: Site, known: Known) -> None:
    site.change(SERVICE, "DeleteTable", TableName=known.ref)


_ARN: Final = "dynamodb:{region}:{account}:table/{name}"
KINDS: Final = {
    "AWS::DynamoDB::Table": Kind("table", table, _delete, "TableName", 255, _ARN),
    "AWS::DynamoDB::GlobalTable": Kind("table", global_table, _delete, "TableName", 255, _ARN),
}
