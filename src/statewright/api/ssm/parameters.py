"""Operations on parameters: put, get, delete, versions and labels."""

from __future__ import annotations

from typing import Final

from statewright.api.operations import App, Call, operation
from statewright.errors import ApiError
from statewright.pages import PageTokens
from statewright.payload import Json, JsonObject
from statewright.records.entries import Parameter, ParameterVersion
from statewright.records.parameters import Found
from statewright.stores.entries import Place

TOKENS: Final = PageTokens[Place]("ssm", lambda _: ApiError("InvalidNextToken", "The specified token isn't valid."))
SECRETS: Final = "/aws/reference/secretsmanager/"
"""Names with this prefix refer to secrets. Source: user guide, "Referencing Secrets Manager secrets"."""


def value_shown(app: App, found: Found, *, decrypted: bool) -> JsonObject:
    """A parameter with its value, as answers show it."""
    of = found.of
    sealed = of.type == "SecureString" and not decrypted
    return {
        "Name": of.name, "Type": of.type, "Value": found.sealed if sealed else of.value,
        "Version": of.version, "Selector": found.selector, "LastModifiedDate": of.modified_ms,
        "ARN": app.services.parameters.arn(of.name), "DataType": of.data_type,
    }  # fmt: skip


def metadata_shown(app: App, of: Parameter | ParameterVersion) -> JsonObject:
    """The description of a parameter, without its value."""
    return {
        "Name": of.name, "Type": of.type, "KeyId": of.key_id,
        "LastModifiedDate": of.modified_ms, "LastModifiedUser": f"arn:aws:iam::{app.config.account}:root",
        "Description": of.description, "AllowedPattern": of.pattern, "Version": of.version,
        "Tier": of.tier, "Policies": [], "DataType": of.data_type,
    }  # fmt: skip


@operation("ssm", "PutParameter")
async def put_parameter(app: App, _call: Call, request: Json) -> Json:
    """Create a parameter, or store a new value of it."""
    made = await app.services.parameters.put(request)
    return {"Version": made.version, "Tier": made.tier}


@operation("ssm", "GetParameter")
async def get_parameter(app: App, call: Call, request: Json) -> Json:
    """Return a parameter's value, or a secret's by its reference."""
    decrypted = bool(request.get("WithDecryption"))
    if request["Name"].startswith(SECRETS):
        return {"Parameter": await _secret(app, call, request["Name"], decrypted=decrypted)}
    return {"Parameter": value_shown(app, await app.services.parameters.selected(request["Name"]), decrypted=decrypted)}


@operation("ssm", "GetParameters")
async def get_parameters(app: App, _call: Call, request: Json) -> Json:
    """Return values of several parameters, and the names of unknown ones."""
    found, missing = [], []
    for name in dict.fromkeys(request["Names"]):
        try:
            one = await app.services.parameters.selected(name)
        except ApiError:
            missing.append(name)
        else:
            found.append(value_shown(app, one, decrypted=bool(request.get("WithDecryption"))))
    return {"Parameters": found, "InvalidParameters": missing}


@operation("ssm", "GetParameterHistory")
async def get_parameter_history(app: App, _call: Call, request: Json) -> Json:
    """List the versions of a parameter, oldest first."""
    found, entry, place = await app.services.parameters.history(
        request["Name"], TOKENS.read(request.get("NextToken")), request.get("MaxResults", 50)
    )
    labels = entry.labels
    views = []
    for one in found:
        shown = value_shown(app, one, decrypted=bool(request.get("WithDecryption")))
        of_version = [label for label, number in labels.items() if number == one.of.version]
        views.append({**metadata_shown(app, one.of), "Value": shown["Value"], "Labels": of_version})
    return {"Parameters": views, "NextToken": TOKENS.write(place)}


@operation("ssm", "DeleteParameter")
async def delete_parameter(app: App, _call: Call, request: Json) -> None:
    """Delete a parameter with its versions."""
    await app.services.parameters.delete(request["Name"])


@operation("ssm", "DeleteParameters")
async def delete_parameters(app: App, _call: Call, request: Json) -> Json:
    """Delete several parameters, and return the names of unknown ones."""
    gone, missing = [], []
    for name in dict.fromkeys(request["Names"]):
        try:
            await app.services.parameters.delete(name)
        except ApiError:
            missing.append(name)
        else:
            gone.append(name)
    return {"DeletedParameters": gone, "InvalidParameters": missing}


@operation("ssm", "LabelParameterVersion")
async def label_parameter_version(app: App, _call: Call, request: Json) -> Json:
    """Move labels to a version."""
    version, bad = await app.services.parameters.label(
        request["Name"], request.get("ParameterVersion"), request["Labels"]
    )
    return {"InvalidLabels": bad, "ParameterVersion": version}


@operation("ssm", "UnlabelParameterVersion")
async def unlabel_parameter_version(app: App, _call: Call, request: Json) -> Json:
    """Remove labels from a version."""
    gone, missing = await app.services.parameters.unlabel(
        request["Name"], request["ParameterVersion"], request["Labels"]
    )
    return {"RemovedLabels": gone, "InvalidLabels": missing}


async def _secret(app: App, call: Call, name: str, *, decrypted: bool) -> JsonObject:
    from statewright.api.operations import perform

    if not decrypted:
        raise ApiError(
            "ValidationException", "WithDecryption flag must be True for retrieving a Secret Manager secret."
        )
    wanted = Call("secretsmanager", "GetSecretValue", call.request_id)
    found: Json = await perform(app, wanted, {"SecretId": name[len(SECRETS) :]})
    return {
        "Name": name, "Type": "SecureString", "Value": found.get("SecretString", ""), "Version": 0,
        "LastModifiedDate": found["CreatedDate"], "ARN": found["ARN"], "DataType": "text",
    }  # fmt: skip
