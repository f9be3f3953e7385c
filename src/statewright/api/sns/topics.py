"""Operations on topics, their attributes, tags, permissions and data protection policies.

Source: API reference; error texts as users of the service have seen them, unless a comment says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import orjson

from statewright.api.operations import App, Call, operation
from statewright.api.shapes import Problems, problem_text, refuse_with
from statewright.errors import ApiError
from statewright.pages import PageTokens
from statewright.payload import Json, JsonObject
from statewright.tags import TagRule, retagged, tag_list
from statewright.topics.attributes import default_policy
from statewright.topics.entries import Topic
from statewright.topics.refusals import invalid

TOKENS: Final = PageTokens[str]("sns topics", lambda _: invalid("NextToken"))
PAGE: Final = 100
"""Source: API reference, ListTopics and ListSubscriptions."""
TAGS: Final = TagRule(
    lambda _: ApiError("TagLimitExceeded", "Could not complete request: tag quota of per resource exceeded"),
    # The text is Statewright's own.
    reserved=lambda _: invalid("Tag keys must not start with aws:"),
)
_ACTIONS: Final = frozenset({
    "GetTopicAttributes", "SetTopicAttributes", "AddPermission", "RemovePermission", "DeleteTopic", "Subscribe",
    "ListSubscriptionsByTopic", "Publish", "Receive",
})  # fmt: skip
_NULL: Final = "Member must not be null"
_MEMBERS: Final = {"topicArn": "TopicArn", "message": "Message", "awsAccountId": "AWSAccountId"}


def _refusal(problems: Problems) -> ApiError:
    """Report the first missing member by itself; all other violations are one validation error."""
    for _, path, what in problems:
        if what == _NULL and "." not in path:
            name = _MEMBERS.get(path, path[:1].upper() + path[1:])
            return invalid(f"{name} Reason: no value for required parameter")
    return ApiError("ValidationError", problem_text(problems))


refuse_with("sns", _refusal)


@operation("sns", "CreateTopic")
async def create_topic(app: App, _call: Call, request: Json) -> Json:
    """Create a topic, or return the existing one."""
    tags = TAGS.put({}, _tags(request.get("Tags") or ()))
    if request.get("DataProtectionPolicy"):
        raise _no_data_protection()
    arn = await app.services.topics.create(request["Name"], request.get("Attributes") or {}, tags)
    return {"TopicArn": arn}


@operation("sns", "DeleteTopic")
async def delete_topic(app: App, _call: Call, request: Json) -> None:
    """Delete a topic with its subscriptions."""
    await app.services.topics.delete(request["TopicArn"])


@operation("sns", "ListTopics")
async def list_topics(app: App, _call: Call, request: Json) -> Json:
    """List topics by name."""
    found, last = app.services.topics.list_topics(TOKENS.read(request.get("NextToken") or None), PAGE)
    return {"Topics": [{"TopicArn": arn} for arn in found], "NextToken": TOKENS.write(last)}


@operation("sns", "GetTopicAttributes")
async def get_topic_attributes(app: App, _call: Call, request: Json) -> Json:
    """Return the attributes of a topic."""
    return {"Attributes": app.services.topics.attributes(request["TopicArn"])}


@operation("sns", "SetTopicAttributes")
async def set_topic_attributes(app: App, _call: Call, request: Json) -> None:
    """Set one attribute of a topic."""
    value = request.get("AttributeValue") or ""
    await app.services.topics.set_attribute(request["TopicArn"], request["AttributeName"], value)


# ------------------------------------------------------------------ tags


@operation("sns", "TagResource")
async def tag_resource(app: App, _call: Call, request: Json) -> None:
    """Add tags to a topic."""
    tags = _tags(request["Tags"])
    await _change(app, request, lambda topic: replace(topic, tags=TAGS.put(topic.tags, tags)))


@operation("sns", "UntagResource")
async def untag_resource(app: App, _call: Call, request: Json) -> None:
    """Remove tags from a topic."""
    keys = request["TagKeys"]
    await _change(app, request, lambda topic: replace(topic, tags=retagged(topic.tags, {}, keys)))


@operation("sns", "ListTagsForResource")
async def list_tags_for_resource(app: App, _call: Call, request: Json) -> Json:
    """List the tags of a topic."""
    try:
        hub = app.services.topics.find(request["ResourceArn"])
    except ApiError as problem:
        raise _of_resource(problem) from None
    return {"Tags": tag_list(hub.topic.tags)}


async def _change(app: App, request: Json, change: Callable[[Topic], Topic]) -> None:
    try:
        await app.services.topics.change(request["ResourceArn"], change)
    except ApiError as problem:
        raise _of_resource(problem) from None


def _of_resource(problem: ApiError) -> ApiError:
    """Convert an unknown topic's error: operations on tags have one of their own."""
    return ApiError("ResourceNotFound", "Resource does not exist") if problem.code == "NotFound" else problem


def _tags(given: Json) -> dict[str, str]:
    found = {}
    for one in given:
        if one["Key"] in found:
            raise invalid("Duplicated keys are not allowed.")
        found[one["Key"]] = one["Value"]
    return found


# ------------------------------------------------------------------ permissions


@operation("sns", "AddPermission")
async def add_permission(app: App, _call: Call, request: Json) -> Json:
    """Add a statement to a topic's policy, which is stored and returned but not enforced."""
    label, actions = request["Label"], request["ActionName"]
    for action in actions:
        if action not in _ACTIONS:
            raise invalid("Policy statement action out of service scope!")
    arn = request["TopicArn"]
    accounts = [f"arn:aws:iam::{account}:root" for account in request["AWSAccountId"]]
    names = [f"SNS:{action}" for action in actions]
    statement = {
        "Sid": label,
        "Effect": "Allow",
        "Principal": {"AWS": accounts[0] if len(accounts) == 1 else accounts},
        "Action": names[0] if len(names) == 1 else names,
        "Resource": arn,
    }

    def change(topic: Topic) -> Topic:
        policy = _policy(app, topic, arn)
        if any(one.get("Sid") == label for one in policy["Statement"]):
            raise invalid("Statement already exists")
        return _with_policy(topic, {**policy, "Statement": [*policy["Statement"], statement]})

    await app.services.topics.change(arn, change)
    return {}


@operation("sns", "RemovePermission")
async def remove_permission(app: App, _call: Call, request: Json) -> Json:
    """Remove a statement from a topic's policy, if it exists."""
    arn = request["TopicArn"]

    def change(topic: Topic) -> Topic:
        policy = _policy(app, topic, arn)
        kept = [one for one in policy["Statement"] if one.get("Sid") != request["Label"]]
        return _with_policy(topic, {**policy, "Statement": kept})

    await app.services.topics.change(arn, change)
    return {}


def _policy(app: App, topic: Topic, arn: str) -> JsonObject:
    text = topic.attributes.get("Policy")
    found = orjson.loads(text) if text else default_policy(arn, app.config.account)
    statements = found.get("Statement") or []
    return {**found, "Statement": statements if isinstance(statements, list) else [statements]}


def _with_policy(topic: Topic, policy: JsonObject) -> Topic:
    return replace(topic, attributes={**topic.attributes, "Policy": orjson.dumps(policy).decode()})


# ------------------------------------------------------------------ data protection


@operation("sns", "PutDataProtectionPolicy")
async def put_data_protection_policy(app: App, _call: Call, request: Json) -> Json:
    """Refuse a policy: it could be stored but not enforced, and messages would pass that must not."""
    app.services.topics.find(request["ResourceArn"])
    raise _no_data_protection()


@operation("sns", "GetDataProtectionPolicy")
async def get_data_protection_policy(app: App, _call: Call, request: Json) -> Json:
    """Answer that a topic has no data protection policy."""
    app.services.topics.find(request["ResourceArn"])
    return {"DataProtectionPolicy": ""}


def _no_data_protection() -> ApiError:
    return invalid(
        "DataProtectionPolicy Reason: this version of Statewright does not look for personal data in messages"
    )
