"""Operations on secrets and their values."""

from __future__ import annotations

import re
from typing import Final

from statewright.api.operations import App, Call, operation
from statewright.errors import ApiError
from statewright.payload import Json, JsonObject
from statewright.records.entries import Secret
from statewright.records.secrets import CURRENT, LONGEST_BYTES
from statewright.tags import tag_list

_NAME: Final = re.compile(r"[\w/+=.@!-]+", re.ASCII)
SHORTEST_WINDOW_DAYS = 7
LONGEST_WINDOW_DAYS = 30


def invalid(text: str) -> ApiError:
    """An `InvalidParameterException`."""
    return ApiError("InvalidParameterException", text)


def named(entry: Secret) -> JsonObject:
    """A secret's ARN and name, which are in every answer."""
    return {"ARN": entry.arn, "Name": entry.name}


def stages_of(entry: Secret) -> JsonObject:
    """Staging labels by version; versions without any are left out."""
    return {name: of.stages for name, of in entry.versions.items() if of.stages}


def described(entry: Secret) -> JsonObject:
    """The description of a secret, without its value."""
    return {
        **named(entry), "Description": entry.description, "KmsKeyId": entry.kms,
        "LastChangedDate": entry.changed_ms, "CreatedDate": entry.created_ms,
        "DeletedDate": entry.marked_ms,
        "Tags": tag_list(entry.tags),
    }  # fmt: skip


def tags_of(request: Json) -> dict[str, str]:
    """List the tags of a request. Raises: ApiError for one without a key."""
    tags = request.get("Tags", ())
    if not all("Key" in one for one in tags):
        raise invalid("Every tag must have a Key.")
    return {one["Key"]: one.get("Value", "") for one in tags}


def _value(request: Json) -> JsonObject:
    """The value of a request, if it has one. Raises: ApiError."""
    given = {name: request[name] for name in ("SecretString", "SecretBinary") if request.get(name) is not None}
    if len(given) > 1:
        raise invalid("You can't specify both a binary secret value and a string secret value in the same secret.")
    for one in given.values():
        if len(one.encode() if isinstance(one, str) else one) > LONGEST_BYTES:
            raise invalid(f"A secret's value may have {LONGEST_BYTES} bytes at most.")
    return given


def _token(request: Json, call: Call) -> str:
    token: str = request.get("ClientRequestToken") or call.request_id
    return token


@operation("secretsmanager", "CreateSecret")
async def create_secret(app: App, call: Call, request: Json) -> Json:
    """Create a secret."""
    for name in ("AddReplicaRegions", "Type", "CrossAccountPrimaryARN"):
        if request.get(name):
            raise invalid(f"Statewright does not support {name}: secrets have one region and no type.")
    value, token = _value(request), _token(request, call)
    if not _NAME.fullmatch(request["Name"]):
        raise ApiError(
            "ValidationException",
            "Invalid name. Must be a valid name containing alphanumeric characters, or any of the following: -/_+=.@!",
        )
    tags = tags_of(request)
    made = await app.services.secrets.create(
        request["Name"], token, value, description=request.get("Description"), kms=request.get("KmsKeyId"), tags=tags
    )
    return {**named(made), "VersionId": token if value else None}


@operation("secretsmanager", "GetSecretValue")
async def get_secret_value(app: App, _call: Call, request: Json) -> Json:
    """Return a secret's value."""
    return await value_shown(app, request["SecretId"], request.get("VersionId"), request.get("VersionStage"))


async def value_shown(app: App, reference: str, version: str | None = None, stage: str | None = None) -> JsonObject:
    """A version with its value. Raises: ApiError."""
    entry, found, value = await app.services.secrets.value(reference, version, stage)
    of = entry.versions[found]
    return {
        **named(entry), "VersionId": found, **value, "VersionStages": of.stages, "CreatedDate": of.created_ms,
    }  # fmt: skip


@operation("secretsmanager", "PutSecretValue")
async def put_secret_value(app: App, call: Call, request: Json) -> Json:
    """Store a new value of a secret."""
    value, token = _value(request), _token(request, call)
    if not value:
        raise invalid("You must provide either SecretString or SecretBinary.")
    put = await app.services.secrets.put(request["SecretId"], token, value, request.get("VersionStages") or [CURRENT])
    return {**named(put), "VersionId": token, "VersionStages": put.versions[token].stages}


@operation("secretsmanager", "UpdateSecret")
async def update_secret(app: App, call: Call, request: Json) -> Json:
    """Change a secret's description or key, and its value if there is one."""
    value, token = _value(request), _token(request, call)
    changes = {
        own: request[name] for name, own in (("Description", "description"), ("KmsKeyId", "kms")) if name in request
    }
    entry = await app.services.secrets.set(request["SecretId"], **changes)
    if value:
        entry = await app.services.secrets.put(request["SecretId"], token, value)
    return {**named(entry), "VersionId": token if value else None}


@operation("secretsmanager", "DescribeSecret")
async def describe_secret(app: App, _call: Call, request: Json) -> Json:
    """Describe a secret, also while it is marked for deletion."""
    entry = await app.services.secrets.find(request["SecretId"])
    return {**described(entry), "VersionIdsToStages": stages_of(entry) or None}


@operation("secretsmanager", "ListSecretVersionIds")
async def list_secret_version_ids(app: App, _call: Call, request: Json) -> Json:
    """List the versions of a secret, newest last."""
    entry = await app.services.secrets.find(request["SecretId"])
    deprecated = bool(request.get("IncludeDeprecated"))
    views = [
        {"VersionId": name, "VersionStages": of.stages, "CreatedDate": of.created_ms}
        for name, of in entry.versions.items() if of.stages or deprecated
    ]  # fmt: skip
    return {**named(entry), "Versions": views}


@operation("secretsmanager", "UpdateSecretVersionStage")
async def update_secret_version_stage(app: App, _call: Call, request: Json) -> Json:
    """Move a staging label."""
    moved = await app.services.secrets.move_stage(
        request["SecretId"], request["VersionStage"], request.get("RemoveFromVersionId"), request.get("MoveToVersionId")
    )
    return named(moved)


@operation("secretsmanager", "DeleteSecret")
async def delete_secret(app: App, _call: Call, request: Json) -> Json:
    """Mark a secret for deletion, or delete it immediately."""
    window, at_once = request.get("RecoveryWindowInDays"), bool(request.get("ForceDeleteWithoutRecovery"))
    if at_once and window is not None:
        raise invalid("You can't use ForceDeleteWithoutRecovery in conjunction with RecoveryWindowInDays.")
    if window is not None and not SHORTEST_WINDOW_DAYS <= window <= LONGEST_WINDOW_DAYS:
        raise invalid("The RecoveryWindowInDays value must be between 7 and 30 days (inclusive).")
    days = None if at_once else window or LONGEST_WINDOW_DAYS
    entry, until_ms = await app.services.secrets.delete(request["SecretId"], days)
    return {**named(entry), "DeletionDate": until_ms}


@operation("secretsmanager", "RestoreSecret")
async def restore_secret(app: App, _call: Call, request: Json) -> Json:
    """Cancel a deletion."""
    return named(await app.services.secrets.restore(request["SecretId"]))
