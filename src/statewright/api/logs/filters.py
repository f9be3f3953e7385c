"""Operations on metric filters and subscription filters."""

from __future__ import annotations

from typing import Final

from statewright.api.logs.groups import LISTED, invalid, invalid_token
from statewright.api.operations import App, Call, operation
from statewright.log_filters.records import MetricFilter, Subscription
from statewright.pages import PageTokens
from statewright.payload import Json, JsonObject
from statewright.records.log_patterns import read_pattern

TOKENS: Final = PageTokens[tuple[str, str]]("logs filters", invalid_token)
_ABSENT: Final = ("fieldSelectionCriteria", "emitSystemFieldDimensions", "emitSystemFields")


def _refuse_absent(request: Json) -> None:
    if request.get("applyOnTransformedLogs"):
        raise invalid("Statewright does not transform log events; leave applyOnTransformedLogs out.")
    for member in _ABSENT:
        if request.get(member):
            raise invalid(f"Statewright does not support {member} of filters; leave it out.")


@operation("logs", "PutMetricFilter")
async def put_metric_filter(app: App, _call: Call, request: Json) -> None:
    """Create a metric filter, or replace the one of its name."""
    _refuse_absent(request)
    await app.services.log_filters.put_metric_filter(
        request["logGroupName"], request["filterName"], request["filterPattern"], request["metricTransformations"]
    )


@operation("logs", "DescribeMetricFilters")
async def describe_metric_filters(app: App, _call: Call, request: Json) -> Json:
    """List metric filters by name: of a group, of a metric, or all."""
    group, name, space = request.get("logGroupName"), request.get("metricName"), request.get("metricNamespace")
    if (name is None) != (space is None):
        raise invalid("metricName and metricNamespace must be given together.")
    if group is not None:
        await app.services.log_groups.get(group)
    prefix, after = request.get("filterNamePrefix", ""), TOKENS.read(request.get("nextToken"))
    found = [
        one for one in app.services.log_filters.metric_filters(group)
        if one.name.startswith(prefix) and (after is None or (one.name, one.group) > tuple(after))
        and (name is None or any(
            each["metricName"] == name and each["metricNamespace"] == space for each in one.transformations
        ))
    ]  # fmt: skip
    limit = request.get("limit", LISTED)
    place = (found[limit - 1].name, found[limit - 1].group) if len(found) > limit else None
    return {"metricFilters": [_shown(one) for one in found[:limit]], "nextToken": TOKENS.write(place)}


def _shown(one: MetricFilter) -> JsonObject:
    return {
        "filterName": one.name, "filterPattern": one.pattern, "logGroupName": one.group,
        "metricTransformations": list(one.transformations), "creationTime": one.created_ms,
        "applyOnTransformedLogs": False,
    }  # fmt: skip


@operation("logs", "DeleteMetricFilter")
async def delete_metric_filter(app: App, _call: Call, request: Json) -> None:
    """Delete a metric filter."""
    await app.services.log_filters.delete_metric_filter(request["logGroupName"], request["filterName"])


@operation("logs", "TestMetricFilter")
async def match_with_pattern(_app: App, _call: Call, request: Json) -> Json:
    """Match messages with a pattern."""
    pattern = read_pattern(request["filterPattern"])
    return {
        "matches": [
            {"eventNumber": number, "eventMessage": message, "extractedValues": pattern.extracted(message)}
            for number, message in enumerate(request["logEventMessages"], 1)
            if pattern.test(message)
        ]
    }


@operation("logs", "PutSubscriptionFilter")
async def put_subscription_filter(app: App, _call: Call, request: Json) -> None:
    """Have the matching events of a group delivered to a function."""
    _refuse_absent(request)
    wanted = Subscription(
        request["logGroupName"], request["filterName"], request["filterPattern"], request["destinationArn"], 0,
        request.get("roleArn"), request.get("distribution", "ByLogStream"),
    )  # fmt: skip
    await app.services.log_filters.put_subscription(wanted)


@operation("logs", "DescribeSubscriptionFilters")
async def describe_subscription_filters(app: App, _call: Call, request: Json) -> Json:
    """List the subscription filters of a group by name."""
    await app.services.log_groups.get(request["logGroupName"])
    prefix, after = request.get("filterNamePrefix", ""), TOKENS.read(request.get("nextToken"))
    found = [
        one for one in app.services.log_filters.subscriptions(request["logGroupName"])
        if one.name.startswith(prefix) and (after is None or one.name > after[0])
    ]  # fmt: skip
    limit = request.get("limit", LISTED)
    place = (found[limit - 1].name, "") if len(found) > limit else None
    return {"subscriptionFilters": [_subscription(one) for one in found[:limit]], "nextToken": TOKENS.write(place)}


def _subscription(one: Subscription) -> JsonObject:
    return {
        "filterName": one.name, "logGroupName": one.group, "filterPattern": one.pattern,
        "destinationArn": one.destination, "roleArn": one.role, "distribution": one.distribution,
        "applyOnTransformedLogs": False, "creationTime": one.created_ms,
    }  # fmt: skip


@operation("logs", "DeleteSubscriptionFilter")
async def delete_subscription_filter(app: App, _call: Call, request: Json) -> None:
    """Delete a subscription filter."""
    await app.services.log_filters.delete_subscription(request["logGroupName"], request["filterName"])
