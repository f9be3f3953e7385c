"""Operations on rules, their targets, and tags of rules and buses."""

from __future__ import annotations

from typing import Final

from statewright.api.events.buses import page
from statewright.api.operations import App, Call, operation
from statewright.errors import ApiError
from statewright.events.archives.records import MANAGED
from statewright.events.bus_records import Rule, invalid
from statewright.payload import Json, JsonObject
from statewright.tags import MOST_TAGS, TagRule, tag_list, tags_by_key

ARCHIVES: Final = "prod.vhs.events.aws.internal"
"""The owner of the managed rules of archives, as the service shows it."""
TAGS: Final = TagRule(lambda _: invalid(f"A resource may have {MOST_TAGS} tags at most."))


def _bus(app: App, request: Json) -> str:
    return app.services.buses.name_of(request.get("EventBusName"))


def _shown(app: App, rule: Rule) -> JsonObject:
    view: JsonObject = {
        "Name": rule.name, "Arn": rule.arn(app.config), "EventPattern": rule.pattern,
        "ScheduleExpression": rule.expression, "State": rule.state, "Description": rule.description,
        "RoleArn": rule.role_arn, "EventBusName": rule.bus,
        "ManagedBy": ARCHIVES if rule.name.startswith(MANAGED) and rule.targets.keys() == {rule.name[len(MANAGED):]}
        else None,
    }  # fmt: skip
    return {name: value for name, value in view.items() if value is not None}


@operation("events", "PutRule")
async def put_rule(app: App, _call: Call, request: Json) -> Json:
    """Create or replace a rule."""
    made = await app.services.buses.rules.put(request["Name"], _bus(app, request), request)
    return {"RuleArn": made.arn(app.config)}


@operation("events", "DescribeRule")
async def describe_rule(app: App, _call: Call, request: Json) -> Json:
    """Describe a rule."""
    rule = app.services.buses.rules.get(request["Name"], _bus(app, request))
    return {**_shown(app, rule), "CreatedBy": app.config.account}


@operation("events", "ListRules")
async def list_rules(app: App, _call: Call, request: Json) -> Json:
    """List rules of a bus by name."""
    prefix = request.get("NamePrefix", "")
    found = [rule for rule in app.services.buses.rules.of(_bus(app, request)) if rule.name.startswith(prefix)]
    listed, token = page(found, [rule.name for rule in found], request)
    return {"Rules": [_shown(app, rule) for rule in listed], **token}


@operation("events", "DeleteRule")
async def delete_rule(app: App, _call: Call, request: Json) -> None:
    """Delete a rule."""
    await app.services.buses.rules.delete(request["Name"], _bus(app, request))


@operation("events", "EnableRule")
async def enable_rule(app: App, _call: Call, request: Json) -> None:
    """Enable a rule."""
    await app.services.buses.rules.set_state(request["Name"], _bus(app, request), "ENABLED")


@operation("events", "DisableRule")
async def disable_rule(app: App, _call: Call, request: Json) -> None:
    """Disable a rule."""
    await app.services.buses.rules.set_state(request["Name"], _bus(app, request), "DISABLED")


# ------------------------------------------------------------------ targets


@operation("events", "PutTargets")
async def put_targets(app: App, _call: Call, request: Json) -> Json:
    """Add targets to a rule, or replace them."""
    await app.services.buses.rules.put_targets(request["Rule"], _bus(app, request), request["Targets"])
    return {"FailedEntryCount": 0, "FailedEntries": []}


@operation("events", "RemoveTargets")
async def remove_targets(app: App, _call: Call, request: Json) -> Json:
    """Remove targets from a rule."""
    missing = await app.services.buses.rules.remove_targets(request["Rule"], _bus(app, request), request["Ids"])
    failed = [
        {
            "TargetId": one, "ErrorCode": "ResourceNotFoundException",
            "ErrorMessage": f"Rule {request['Rule']} does not have a target with the Id {one}.",
        }
        for one in missing
    ]  # fmt: skip
    return {"FailedEntryCount": len(failed), "FailedEntries": failed}


@operation("events", "ListTargetsByRule")
async def list_targets_by_rule(app: App, _call: Call, request: Json) -> Json:
    """List the targets of a rule by id."""
    rule = app.services.buses.rules.get(request["Rule"], _bus(app, request))
    ids = sorted(rule.targets)
    listed, token = page([rule.targets[one] for one in ids], ids, request)
    return {"Targets": list(listed), **token}


@operation("events", "ListRuleNamesByTarget")
async def list_rule_names_by_target(app: App, _call: Call, request: Json) -> Json:
    """List names of a bus's rules that have a target."""
    wanted = request["TargetArn"]
    rules = app.services.buses.rules.of(_bus(app, request))
    names = [rule.name for rule in rules if any(one["Arn"] == wanted for one in rule.targets.values())]
    listed, token = page(names, names, request)
    return {"RuleNames": list(listed), **token}


# ------------------------------------------------------------------ tags


@operation("events", "TagResource")
async def tag_resource(app: App, _call: Call, request: Json) -> None:
    """Add tags to a rule or a bus."""
    tags = TAGS.put(_tags(app, request["ResourceARN"]), tags_by_key(request["Tags"]))
    await _change(app, request["ResourceARN"], tags, ())


@operation("events", "UntagResource")
async def untag_resource(app: App, _call: Call, request: Json) -> None:
    """Remove tags from a rule or a bus."""
    await _change(app, request["ResourceARN"], {}, tuple(request["TagKeys"]))


@operation("events", "ListTagsForResource")
async def list_tags_for_resource(app: App, _call: Call, request: Json) -> Json:
    """List the tags of a rule or a bus."""
    return {"Tags": tag_list(_tags(app, request["ResourceARN"]))}


def _named(app: App, arn: str) -> tuple[str, str]:
    """The bus and rule in an ARN; the rule is empty for a bus. Raises: ApiError."""
    kind, _, rest = ("", "", "") if app.config.is_elsewhere(arn) else arn.split(":", 5)[-1].partition("/")
    if kind == "event-bus" and rest:
        return app.services.buses.get(rest).name, ""
    if kind == "rule" and rest:
        bus, _, name = rest.rpartition("/")
        return app.services.buses.name_of(bus or None), name
    raise ApiError("ResourceNotFoundException", f"Resource {arn} does not exist.")


def _tags(app: App, arn: str) -> dict[str, str]:
    bus, rule = _named(app, arn)
    return dict(app.services.buses.rules.get(rule, bus).tags if rule else app.services.buses.get(bus).tags)


async def _change(app: App, arn: str, tags: dict[str, str], remove: tuple[str, ...]) -> None:
    bus, rule = _named(app, arn)
    if rule:
        await app.services.buses.rules.tag(rule, bus, tags, remove)
    else:
        await app.services.buses.tag(bus, tags, remove)
