"""Parts of functions: versions, aliases, event source mappings, settings of Event invocations.

Owns that a version is published only where there is something new, and that a mapping is found again by what it joins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from statewright.payload import Json, JsonMapping, JsonObject
from statewright.projects.deploy.calls import CallRefused
from statewright.projects.deploy.kinds import (
    TO_COME,
    Kind,
    Known,
    LeftOut,
    Site,
    Wanted,
    holds,
    typed,
)

SERVICE: Final = "lambda"
_PROVISIONED: Final = "ProvisionedConcurrencyConfig"
_WORKERS: Final = "ProvisionedConcurrentExecutions"
_COUNTS: Final = (
    "BatchSize", "MaximumBatchingWindowInSeconds", "MaximumConcurrency", "MaximumRetryAttempts",
    "MaximumEventAgeInSeconds", "AdditionalVersionWeight", "FunctionWeight", "MaximumRecordAgeInSeconds",
    "ParallelizationFactor", "TumblingWindowInSeconds",
)  # fmt: skip


def version(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Publish a version, unless the newest one is the same as the function is now."""
    name = wanted.text("FunctionName")
    shown = site.found(SERVICE, "ListVersionsByFunction", FunctionName=name)
    versions = [one for one in (shown or {}).get("Versions", ()) if one["Version"] != "$LATEST"]
    latest = next((one for one in (shown or {}).get("Versions", ()) if one["Version"] == "$LATEST"), None)
    newest = max(versions, key=lambda one: int(one["Version"]), default=None)
    if newest is not None and latest is not None and _same(newest, latest):
        _provision(site, wanted, name, newest["Version"])
        return {"Ref": newest["FunctionArn"], "Version": newest["Version"], "FunctionArn": newest["FunctionArn"]}
    made = site.create(SERVICE, "PublishVersion", FunctionName=name, **wanted.given("Description"))
    arn = made.get("FunctionArn", TO_COME)
    _provision(site, wanted, name, made.get("Version", TO_COME))
    return {"Ref": arn, "Version": made.get("Version", TO_COME), "FunctionArn": arn}


_STAMPS: Final = frozenset({"Version", "FunctionArn", "LastModified", "RevisionId", "Description"})


def _same(one: JsonMapping, other: JsonMapping) -> bool:
    return {key: value for key, value in one.items() if key not in _STAMPS} == {
        key: value for key, value in other.items() if key not in _STAMPS
    }


def alias(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Point an alias to a version."""
    name, function = wanted.text("Name"), wanted.text("FunctionName")
    request: JsonObject = {"FunctionVersion": wanted.text("FunctionVersion"), **wanted.given("Description")}
    weights = {
        str(one["FunctionVersion"]): float(one["FunctionWeight"])
        for one in wanted.table("RoutingConfig").get("AdditionalVersionWeights") or ()
    }
    if weights:
        request["RoutingConfig"] = {"AdditionalVersionWeights": weights}
    short = function.split(":function:")[-1].split(":")[0]
    arn = f"arn:aws:lambda:{site.region}:{site.account}:function:{short}:{name}"
    shown = site.found(SERVICE, "GetAlias", FunctionName=function, Name=name)
    if shown is None:
        site.create(SERVICE, "CreateAlias", FunctionName=function, Name=name, **request)
    elif not holds(shown, request):
        site.change(SERVICE, "UpdateAlias", FunctionName=function, Name=name, **request)
    _provision(site, wanted, function, name)
    return {"Ref": arn, "AliasArn": arn}


def _provision(site: Site, wanted: Wanted, function: str, qualifier: str) -> None:
    """Have the workers that a template asks for started ahead, and no others."""
    of_version = {"FunctionName": function, "Qualifier": qualifier}
    asked = wanted.table(_PROVISIONED).get(_WORKERS)
    shown = site.found(SERVICE, "GetProvisionedConcurrencyConfig", **of_version) if qualifier != TO_COME else None
    there = shown.get("RequestedProvisionedConcurrentExecutions") if shown is not None else None
    if asked is None:
        if there is not None:
            site.change(SERVICE, "DeleteProvisionedConcurrencyConfig", **of_version)
    elif not holds(there, asked):
        site.change(SERVICE, "PutProvisionedConcurrencyConfig", **of_version, **{_WORKERS: asked})


def mapping(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create or change the mapping between a source and a function."""
    source, function = wanted.text("EventSourceArn"), wanted.text("FunctionName")
    if not source:
        raise LeftOut("only queues and streams of tables are supported as event sources")
    service = source.split(":")[2] if source.count(":") > 4 else ""
    request = typed(
        wanted.given(
            "BatchSize", "MaximumBatchingWindowInSeconds", "FilterCriteria", "ScalingConfig", "FunctionResponseTypes",
            "DestinationConfig", "BisectBatchOnFunctionError", "MaximumRetryAttempts", "MaximumRecordAgeInSeconds",
            "ParallelizationFactor", "TumblingWindowInSeconds",
        ),
        numbers=_COUNTS,
        truths=("BisectBatchOnFunctionError",),
    )  # fmt: skip
    enabled = wanted.properties.get("Enabled") is None or wanted.truth("Enabled")
    # A dry run has made neither the queue nor the function.
    shown = site.found(SERVICE, "ListEventSourceMappings", EventSourceArn=source, FunctionName=function) or {}
    found = next(iter(shown.get("EventSourceMappings", ())), None)
    try:
        if found is None:
            made = site.create(
                SERVICE, "CreateEventSourceMapping", EventSourceArn=source, FunctionName=function, Enabled=enabled,
                **wanted.given("StartingPosition"), **request,
            )  # fmt: skip
            _retire(site, wanted, made.get("UUID"))
            return _mapping(site, made.get("UUID", TO_COME))
        is_on = found.get("State") in ("Enabled", "Enabling", "Creating", "Updating")
        if is_on != enabled or not holds(found, request):
            site.change(SERVICE, "UpdateEventSourceMapping", UUID=found["UUID"], Enabled=enabled, **request)
    except CallRefused as refused:
        if service not in ("sqs", "dynamodb", "") and not refused.is_missing:
            raise LeftOut(f"a mapping from {service} is not supported: {refused.message}") from None
        raise
    return _mapping(site, found["UUID"])


def _retire(site: Site, wanted: Wanted, uuid: str | None) -> None:
    """Delete the mapping that was here before: neither of its ends can be changed."""
    before = wanted.before
    if before is None or before.type != wanted.resource.type or before.ref in (uuid, TO_COME):
        return
    if site.found(SERVICE, "GetEventSourceMapping", UUID=before.ref) is not None:
        site.change(SERVICE, "DeleteEventSourceMapping", UUID=before.ref)
        site.replaced = True


def _mapping(site: Site, uuid: str) -> dict[str, Json]:
    arn = f"arn:aws:lambda:{site.region}:{site.account}:event-source-mapping:{uuid}"
    return {"Ref": uuid, "Id": uuid, "EventSourceMappingArn": arn}


def invoke_config(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Set what becomes of Event invocations."""
    name = wanted.text("FunctionName")
    qualifier = wanted.text("Qualifier", "$LATEST")
    request = typed(
        wanted.given("MaximumRetryAttempts", "MaximumEventAgeInSeconds", "DestinationConfig"), numbers=_COUNTS
    )
    shown = site.found(SERVICE, "GetFunctionEventInvokeConfig", FunctionName=name, Qualifier=qualifier)
    if shown is None:
        site.create(SERVICE, "PutFunctionEventInvokeConfig", FunctionName=name, Qualifier=qualifier, **request)
    elif not holds(shown, request):
        site.change(SERVICE, "PutFunctionEventInvokeConfig", FunctionName=name, Qualifier=qualifier, **request)
    return {"Ref": f"{name}|{qualifier}"}


def _delete_alias(site: Site, known: Known) -> None:
    function, _, name = known.ref.rpartition(":")
    site.change(SERVICE, "DeleteAlias", FunctionName=function, Name=name)


def _delete_version(site: Site, known: Known) -> None:
    function, _, number = known.ref.rpartition(":")
    site.change(SERVICE, "DeleteFunction", FunctionName=function, Qualifier=number)


def _delete_mapping(site: Site, known: Known) -> None:
    site.change(SERVICE, "DeleteEventSourceMapping", UUID=known.ref)


def _delete_invoke_config(site: Site, known: Known) -> None:
    name, _, qualifier = known.ref.partition("|")
    site.change(SERVICE, "DeleteFunctionEventInvokeConfig", FunctionName=name, Qualifier=qualifier)


KINDS: Final = {
    "AWS::Lambda::Version": Kind("function version", version, _delete_version, ref="arn"),
    "AWS::Lambda::Alias": Kind("function alias", alias, _delete_alias, "Name", 128, ref="arn"),
    "AWS::Lambda::EventSourceMapping": Kind("event source mapping", mapping, _delete_mapping),
    "AWS::Lambda::EventInvokeConfig": Kind("settings of Event invocations", invoke_config, _delete_invoke_config),
}
