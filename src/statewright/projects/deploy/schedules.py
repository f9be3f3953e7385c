"""Schedules and their groups; event buses, their rules, connections and API destinations; pipes.

Owns that a rule's targets are what the project says: those that it names no more are taken away.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Final

from statewright.payload import Json, JsonMapping
from statewright.projects.deploy.kinds import (
    TO_COME,
    CannotApply,
    Kind,
    Known,
    LeftOut,
    Site,
    Wanted,
    holds,
    removal,
    text_of,
    typed,
)

SCHEDULER: Final = "scheduler"
EVENTS: Final = "events"
PIPES: Final = "pipes"
_DIGEST: Final = "ParametersDigest"
_COUNTS: Final = (
    "MaximumEventAgeInSeconds", "MaximumRetryAttempts", "MaximumWindowInMinutes", "MaximumAgeInSeconds", "TaskCount",
)  # fmt: skip


def schedule(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create a schedule, or write it anew where anything differs."""
    group = wanted.text("GroupName", "default")
    request = typed(
        wanted.given(
            "ScheduleExpression", "ScheduleExpressionTimezone", "FlexibleTimeWindow", "State", "Description",
            "KmsKeyArn", "ActionAfterCompletion", "StartDate", "EndDate",
        ),
        numbers=_COUNTS,
    )  # fmt: skip
    request.setdefault("FlexibleTimeWindow", {"Mode": "OFF"})
    target = typed(wanted.table("Target"), numbers=_COUNTS)
    target["RoleArn"] = target.get("RoleArn") or f"arn:aws:iam::{site.account}:role/schedules"
    if isinstance(target.get("Input"), (dict, list)):
        target["Input"] = text_of(target["Input"])
    request["Target"] = target
    dates = _dates(request)
    shown = site.found(SCHEDULER, "GetSchedule", Name=wanted.name, GroupName=group)
    if shown is None:
        site.create(SCHEDULER, "CreateSchedule", Name=wanted.name, GroupName=group, **request)
    else:
        compared = {key: value for key, value in request.items() if key not in ("StartDate", "EndDate")}
        compared.setdefault("State", "ENABLED")
        if not holds(shown, compared) or _dates(shown) != dates:
            site.change(SCHEDULER, "UpdateSchedule", Name=wanted.name, GroupName=group, **request)
    arn = f"arn:aws:scheduler:{site.region}:{site.account}:schedule/{group}/{wanted.name}"
    return {"Arn": arn}


def _dates(shown: JsonMapping) -> list[int | None]:
    """When a schedule begins and ends, as epoch milliseconds."""
    found: list[int | None] = []
    for member in ("StartDate", "EndDate"):
        value = shown.get(member)
        if value is None or isinstance(value, (int, float)):
            found.append(None if value is None else int(value))
            continue
        from datetime import UTC, datetime

        try:
            at = datetime.fromisoformat(str(value))
        except ValueError:
            raise CannotApply(f"{member} must be a date such as 2030-01-01T00:00:00Z") from None
        found.append(int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000))
    return found


def group(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create a group of schedules."""
    if site.found(SCHEDULER, "GetScheduleGroup", Name=wanted.name) is None:
        site.create(SCHEDULER, "CreateScheduleGroup", Name=wanted.name, Tags=wanted.tag_list())
    return {}


def bus(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create an event bus."""
    if site.found(EVENTS, "DescribeEventBus", Name=wanted.name) is None:
        site.create(EVENTS, "CreateEventBus", Name=wanted.name, Tags=wanted.tag_list())
    return {"Name": wanted.name}


def rule(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Put a rule and its targets."""
    bus_name = wanted.text("EventBusName", "default").rpartition("event-bus/")[2]
    request = wanted.given("ScheduleExpression", "State", "Description", "RoleArn")
    if wanted.properties.get("EventPattern") is not None:
        request["EventPattern"] = wanted.text("EventPattern")
    shown = site.found(EVENTS, "DescribeRule", Name=wanted.name, EventBusName=bus_name)
    if shown is None:
        site.create(EVENTS, "PutRule", Name=wanted.name, EventBusName=bus_name, **request)
    elif not holds(shown, {"State": "ENABLED", **request}):
        site.change(EVENTS, "PutRule", Name=wanted.name, EventBusName=bus_name, **request)
    _targets(site, wanted, bus_name)
    if bus_name == "default":
        return {"Arn": f"arn:aws:events:{site.region}:{site.account}:rule/{wanted.name}"}
    arn = f"arn:aws:events:{site.region}:{site.account}:rule/{bus_name}/{wanted.name}"
    return {"Ref": f"{bus_name}|{wanted.name}", "Arn": arn}


def _targets(site: Site, wanted: Wanted, bus_name: str) -> None:
    place = {"Rule": wanted.name, "EventBusName": bus_name}
    asked = {text_of(one.get("Id")): typed(one, numbers=_COUNTS) for one in wanted.items("Targets")}
    answer = None if site.created else site.found(EVENTS, "ListTargetsByRule", **place)
    there = {one["Id"]: one for one in (answer or {}).get("Targets", ())}
    changed = [one for name, one in asked.items() if name not in there or not holds(there[name], one)]
    if changed:
        answer = site.change(EVENTS, "PutTargets", Targets=changed, **place)
        for failed in answer.get("FailedEntries") or ():
            raise CannotApply(f"the target {failed.get('TargetId')} is refused: {failed.get('ErrorMessage')}")
    gone = [name for name in there if name not in asked]
    if gone:
        site.change(EVENTS, "RemoveTargets", Ids=gone, **place)


def pipe(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create a pipe from a queue to a state machine, or change what differs."""
    source, target = wanted.text("Source"), wanted.text("Target")
    if ":sqs:" not in source and "/stream/" not in source and source != TO_COME:
        raise LeftOut(f"pipes lead from queues and streams of tables only, not from {source}")
    if ":stateMachine:" not in target:
        raise LeftOut(f"pipes lead to state machines only, not to {target}")
    if wanted.properties.get("Enrichment"):
        raise CannotApply("pipes have no enrichment here: call it in the first state of the machine")
    request = typed(
        wanted.given("Target", "RoleArn", "Description", "DesiredState", "SourceParameters", "TargetParameters"),
        numbers=(
            "BatchSize",
            "MaximumBatchingWindowInSeconds",
            "MaximumRecordAgeInSeconds",
            "MaximumRetryAttempts",
            "ParallelizationFactor",
        ),
    )
    shown = site.found(PIPES, "DescribePipe", Name=wanted.name)
    if shown is not None and shown["Source"] != source:
        site.change(PIPES, "DeletePipe", Name=wanted.name)
        site.replaced = True
        shown = None
    if shown is None:
        site.create(PIPES, "CreatePipe", Name=wanted.name, Source=source, Tags=wanted.tags() or None, **request)
    elif not holds(shown, {"DesiredState": "RUNNING", **request}):
        site.change(PIPES, "UpdatePipe", Name=wanted.name, **request)
    return {}


def _delete_schedule(site: Site, known: Known) -> None:
    group_name, name = str(known.attributes["Arn"]).split("/")[1:3]
    site.change(SCHEDULER, "DeleteSchedule", Name=name, GroupName=group_name)


def _delete_rule(site: Site, known: Known) -> None:
    bus_name, _, name = known.ref.rpartition("|")
    place = {"Rule": name, "EventBusName": bus_name or "default"}
    found = site.found(EVENTS, "ListTargetsByRule", **place) or {}
    targets = [one["Id"] for one in found.get("Targets", ())]
    if targets:
        site.change(EVENTS, "RemoveTargets", Ids=targets, **place)
    site.change(EVENTS, "DeleteRule", Name=name, EventBusName=bus_name or "default")


def connection(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create a connection, or write it anew where its parameters differ from those of the last deployment.

    The API does not show its secrets, so that a digest of the parameters is kept with the record.
    """
    request = wanted.given("AuthorizationType", "AuthParameters", "Description")
    digest = hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()
    shown = site.found(EVENTS, "DescribeConnection", Name=wanted.name)
    if shown is None:
        made = site.create(EVENTS, "CreateConnection", Name=wanted.name, **request)
        arn = made.get("ConnectionArn", TO_COME)
    else:
        arn = shown["ConnectionArn"]
        before = wanted.before.attributes.get(_DIGEST) if wanted.before is not None else None
        if before != digest:
            site.change(EVENTS, "UpdateConnection", Name=wanted.name, **request)
    secret = f"arn:aws:secretsmanager:{site.region}:{site.account}:secret:events!connection/{wanted.name}"
    return {"Arn": arn, "ArnForPolicy": arn.rpartition("/")[0] or arn, "SecretArn": secret, _DIGEST: digest}


def destination(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create an API destination, or change what differs."""
    request = wanted.given(
        "ConnectionArn", "HttpMethod", "InvocationEndpoint", "InvocationRateLimitPerSecond", "Description"
    )
    shown = site.found(EVENTS, "DescribeApiDestination", Name=wanted.name)
    if shown is None:
        made = site.create(EVENTS, "CreateApiDestination", Name=wanted.name, **request)
        arn = made.get("ApiDestinationArn", TO_COME)
    else:
        arn = shown["ApiDestinationArn"]
        if not holds(shown, request):
            site.change(EVENTS, "UpdateApiDestination", Name=wanted.name, **request)
    return {"Arn": arn, "ArnForPolicy": arn.rpartition("/")[0] or arn}


KINDS: Final = {
    "AWS::Scheduler::Schedule": Kind(
        "schedule", schedule, _delete_schedule, "Name", 64, "scheduler:{region}:{account}:schedule/default/{name}"
    ),
    "AWS::Scheduler::ScheduleGroup": Kind(
        "schedule group",
        group,
        removal(SCHEDULER, "DeleteScheduleGroup", "Name"),
        "Name",
        64,
        "scheduler:{region}:{account}:schedule-group/{name}",
    ),
    "AWS::Events::EventBus": Kind(
        "event bus",
        bus,
        removal(EVENTS, "DeleteEventBus", "Name"),
        "Name",
        256,
        "events:{region}:{account}:event-bus/{name}",
    ),
    "AWS::Events::Rule": Kind("rule", rule, _delete_rule, "Name", 64, "events:{region}:{account}:rule/{name}"),
    "AWS::Events::Connection": Kind("connection", connection, removal(EVENTS, "DeleteConnection", "Name"), "Name", 64),
    "AWS::Pipes::Pipe": Kind(
        "pipe", pipe, removal(PIPES, "DeletePipe", "Name"), "Name", 64, "pipes:{region}:{account}:pipe/{name}"
    ),
    "AWS::Events::ApiDestination": Kind(
        "API destination", destination, removal(EVENTS, "DeleteApiDestination", "Name"), "Name", 64
    ),
}
