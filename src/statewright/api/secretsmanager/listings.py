"""Operations that list secrets, and those on their tags and policies; random passwords."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from statewright.api.operations import App, Call, operation
from statewright.api.secretsmanager.secrets import (
    described,
    invalid,
    named,
    stages_of,
    tags_of,
    value_shown,
)
from statewright.errors import ApiError
from statewright.pages import PageTokens
from statewright.payload import Json, JsonMapping, JsonTextError, parse_json
from statewright.records.entries import Secret
from statewright.records.passwords import generated_password
from statewright.stores.entries import Place

TOKENS: Final = PageTokens[Place](
    "secretsmanager", lambda _: ApiError("InvalidNextTokenException", "The NextToken value is invalid.")
)
LISTED: Final = 100
BATCHED: Final = 20
Test = Callable[[Secret], bool]


@operation("secretsmanager", "ListSecrets")
async def list_secrets(app: App, _call: Call, request: Json) -> Json:
    """List secrets by name, with filters."""
    found, token = await _page(app, request, LISTED, with_deleted=bool(request.get("IncludePlannedDeletion")))
    return {
        "SecretList": [{**described(one), "SecretVersionsToStages": stages_of(one)} for one in found],
        "NextToken": token,
    }


@operation("secretsmanager", "BatchGetSecretValue")
async def batch_get_secret_value(app: App, _call: Call, request: Json) -> Json:
    """Read values of several secrets, by their names or by filters; each failure is reported with its name."""
    names, filters = request.get("SecretIdList"), request.get("Filters")
    if bool(names) == bool(filters):
        raise invalid("You must provide either SecretIdList or Filters, but not both.")
    token = None
    if filters:
        found, token = await _page(app, request, BATCHED, with_deleted=False)
        names = [one.name for one in found]
    values, errors = [], []
    for name in names or ():
        try:
            values.append(await value_shown(app, name))
        except ApiError as error:
            errors.append({"SecretId": name, "ErrorCode": error.code, "Message": error.message})
    return {"SecretValues": values, "Errors": errors, "NextToken": token}


async def _page(app: App, request: Json, limit: int, *, with_deleted: bool) -> tuple[list[Secret], str | None]:
    tests = [_filter(one) for one in request.get("Filters", ())]
    found, place = await app.services.secrets.page(
        lambda one: all(test(one) for test in tests),
        TOKENS.read(request.get("NextToken")),
        request.get("MaxResults", limit),
        with_deleted=with_deleted,
    )
    return found, TOKENS.write(place)


def _texts(key: str, entry: Secret) -> list[str]:
    if key == "name":
        return [entry.name]
    if key == "description":
        return [entry.description or ""]
    if key == "tag-key":
        return list(entry.tags)
    if key == "tag-value":
        return list(entry.tags.values())
    if key == "all":
        return [entry.name, entry.description or "", *entry.tags, *entry.tags.values()]
    return []


def _filter(given: JsonMapping) -> Test:
    """Compile a filter: the text must begin with one of its values, or with `!`, must not. Source: user guide."""
    key, values = given.get("Key", "all"), given.get("Values", [])
    loose = key in ("description", "all")

    def one(value: str, entry: Secret) -> bool:
        wanted, texts = value.removeprefix("!"), _texts(key, entry)
        if loose:
            found = any(wanted.lower() in text.lower() for text in texts)
        else:
            found = any(text.startswith(wanted) for text in texts)
        return found != value.startswith("!")

    return lambda entry: any(one(value, entry) for value in values)


# ------------------------------------------------------------------ tags and policies


@operation("secretsmanager", "TagResource")
async def tag_resource(app: App, _call: Call, request: Json) -> None:
    """Add tags to a secret."""
    await app.services.secrets.tag(request["SecretId"], tags_of(request))


@operation("secretsmanager", "UntagResource")
async def untag_resource(app: App, _call: Call, request: Json) -> None:
    """Remove tags from a secret."""
    await app.services.secrets.tag(request["SecretId"], {}, request["TagKeys"])


@operation("secretsmanager", "PutResourcePolicy")
async def put_resource_policy(app: App, _call: Call, request: Json) -> Json:
    """Store a policy with a secret; it is not enforced."""
    try:
        document = parse_json(request["ResourcePolicy"])
    except JsonTextError:
        document = None
    if not isinstance(document, dict):
        raise ApiError("MalformedPolicyDocumentException", "This resource policy contains invalid Json.")
    return named(await app.services.secrets.set(request["SecretId"], policy=request["ResourcePolicy"]))


@operation("secretsmanager", "GetResourcePolicy")
async def get_resource_policy(app: App, _call: Call, request: Json) -> Json:
    """Return the policy of a secret."""
    entry = await app.services.secrets.find(request["SecretId"])
    return {**named(entry), "ResourcePolicy": entry.policy}


@operation("secretsmanager", "DeleteResourcePolicy")
async def delete_resource_policy(app: App, _call: Call, request: Json) -> Json:
    """Delete a secret's policy."""
    return named(await app.services.secrets.set(request["SecretId"], policy=None))


@operation("secretsmanager", "GetRandomPassword")
async def get_random_password(_app: App, _call: Call, request: Json) -> Json:
    """Generate a password."""
    try:
        return {"RandomPassword": generated_password(request)}
    except ValueError as problem:
        raise invalid(str(problem)) from None
