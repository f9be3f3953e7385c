"""Metric filters and subscription filters of log groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from statewright.payload import Json, JsonMapping
from statewright.projects.deploy.kinds import Kind, Known, LeftOut, Site, Wanted, holds, lowered

LOGS: Final = "logs"
_GROUP: Final = "LogGroupName"
_FREE: Final = "dimensions"


def metric_filter(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Put a metric filter where anything differs."""
    group = wanted.text(_GROUP)
    request = {
        "filterPattern": wanted.text("FilterPattern"),
        "metricTransformations": [_transformation(one) for one in wanted.items("MetricTransformations")],
    }
    _create_group(site, group)
    answer = site.found(LOGS, "DescribeMetricFilters", logGroupName=group, filterNamePrefix=wanted.name) or {}
    _put(site, "PutMetricFilter", wanted, answer.get("metricFilters") or (), request)
    return {"Group": group}


def _transformation(one: Json) -> Json:
    """A transformation as the API has it; a template lists its dimensions as keys and values."""
    found = lowered(one)
    if isinstance(found, dict) and isinstance(found.get(_FREE), list):
        found[_FREE] = {each["key"]: each["value"] for each in found[_FREE]}
    return found


def subscription(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Put a subscription filter of a function where anything differs."""
    destination, group = wanted.text("DestinationArn"), wanted.text(_GROUP)
    if ":lambda:" not in destination:
        raise LeftOut(f"log events are delivered to functions only, not to {destination}")
    request: dict[str, Json] = {"filterPattern": wanted.text("FilterPattern"), "destinationArn": destination}
    for member in ("RoleArn", "Distribution"):
        if wanted.properties.get(member):
            request[member[:1].lower() + member[1:]] = wanted.text(member)
    _create_group(site, group)
    asked = {"logGroupName": group, "filterNamePrefix": wanted.name}
    answer = site.found(LOGS, "DescribeSubscriptionFilters", **asked) or {}
    _put(site, "PutSubscriptionFilter", wanted, answer.get("subscriptionFilters") or (), request)
    return {"Group": group}


def _create_group(site: Site, group: str) -> None:
    """Create the group of a function that has not run yet, which its first invocation would do."""
    if not group.startswith("/aws/lambda/"):
        return
    answer = site.found(LOGS, "DescribeLogGroups", logGroupNamePrefix=group) or {}
    if all(one["logGroupName"] != group for one in answer.get("logGroups") or ()):
        site.change(LOGS, "CreateLogGroup", logGroupName=group)


def _put(
    site: Site, operation: str, wanted: Wanted, listed: Sequence[JsonMapping], request: Mapping[str, Json]
) -> None:
    shown = next((one for one in listed if one["filterName"] == wanted.name), None)
    names = {"logGroupName": wanted.text(_GROUP), "filterName": wanted.name}
    if shown is None:
        site.create(LOGS, operation, **names, **request)
    elif not holds(shown, request):
        site.change(LOGS, operation, **names, **request)


def _delete_metric_filter(site: Site, known: Known) -> None:
    site.change(LOGS, "DeleteMetricFilter", logGroupName=known.attributes["Group"], filterName=known.ref)


def _delete_subscription(site: Site, known: Known) -> None:
    site.change(LOGS, "DeleteSubscriptionFilter", logGroupName=known.attributes["Group"], filterName=known.ref)


KINDS: Final = {
    "AWS::Logs::MetricFilter": Kind("metric filter", metric_filter, _delete_metric_filter, "FilterName", 512),
    "AWS::Logs::SubscriptionFilter": Kind("subscription filter", subscription, _delete_subscription, "FilterName", 512),
}
