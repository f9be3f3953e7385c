"""Log groups, parameters and secrets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from statewright.payload import Json, JsonObject
from statewright.projects.deploy.kinds import TO_COME, CannotApply, Kind, Known, Site, Wanted, holds, number_of, typed
from statewright.records.passwords import DEFAULT_CHARACTERS, generated_password

_TRUTHS: Final = (
    "ExcludeLowercase", "ExcludeNumbers", "ExcludePunctuation", "ExcludeUppercase", "IncludeSpace",
    "RequireEachIncludedType",
)  # fmt: skip


def log_group(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create a log group; set how long it keeps events."""
    answer = site.asked("logs", "DescribeLogGroups", logGroupNamePrefix=wanted.name)
    shown = next((one for one in answer.get("logGroups", ()) if one["logGroupName"] == wanted.name), None)
    if shown is None:
        site.create("logs", "CreateLogGroup", logGroupName=wanted.name, tags=wanted.tags() or None)
    days = wanted.number("RetentionInDays")
    there = (shown or {}).get("retentionInDays")
    if days is not None and days != there:
        site.change("logs", "PutRetentionPolicy", logGroupName=wanted.name, retentionInDays=days)
    elif days is None and there is not None:
        site.change("logs", "DeleteRetentionPolicy", logGroupName=wanted.name)
    return {}


def parameter(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Put a parameter."""
    kind, value = wanted.text("Type", "String"), wanted.text("Value")
    request = {"Name": wanted.name, "Type": kind, "Value": value, **wanted.given("Description", "AllowedPattern")}
    shown = site.found("ssm", "GetParameter", Name=wanted.name, WithDecryption=True)
    if shown is None:
        site.create("ssm", "PutParameter", **request, Tags=wanted.tag_list())
    elif (shown["Parameter"]["Value"], shown["Parameter"].get("Type", kind)) != (value, kind):
        site.change("ssm", "PutParameter", **request, Overwrite=True)
    return {"Type": kind, "Value": value}


def secret(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create a secret; a generated text is generated once."""
    generated = wanted.table("GenerateSecretString")
    given = wanted.properties.get("SecretString")
    shown = site.found("secretsmanager", "DescribeSecret", SecretId=wanted.name)
    description = wanted.properties.get("Description")
    if shown is None:
        text = generated_text(generated) if "GenerateSecretString" in wanted.properties else given
        made = site.create(
            "secretsmanager", "CreateSecret", Name=wanted.name, Description=description,
            SecretString=wanted.text("SecretString") if text is given and given is not None else text,
            Tags=wanted.tag_list(),
        )  # fmt: skip
        arn = made.get("ARN", TO_COME)
        return {"Ref": arn, "Id": arn, "Arn": arn}
    arn = shown["ARN"]
    changed: JsonObject = {}
    if given is not None:
        there = site.found("secretsmanager", "GetSecretValue", SecretId=wanted.name) or {}
        if there.get("SecretString") != wanted.text("SecretString"):
            changed["SecretString"] = wanted.text("SecretString")
    if not holds(shown.get("Description"), description):
        changed["Description"] = description
    if changed:
        site.change("secretsmanager", "UpdateSecret", SecretId=wanted.name, **changed)
    return {"Ref": arn, "Id": arn, "Arn": arn}


def generated_text(settings: Mapping[str, Json]) -> str:
    """A random password, within a JSON template if there is one.

    Source: template reference, AWS::SecretsManager::Secret GenerateSecretString.
    Raises: CannotApply.
    """
    asked = {
        **typed(settings, truths=_TRUTHS),
        "PasswordLength": number_of(settings.get("PasswordLength", DEFAULT_CHARACTERS), "PasswordLength"),
        "ExcludeCharacters": str(settings.get("ExcludeCharacters", "")),
    }
    try:
        password = generated_password(asked)
    except ValueError as problem:
        raise CannotApply(f"GenerateSecretString: {problem}") from None
    template, key = settings.get("SecretStringTemplate"), settings.get("GenerateStringKey")
    if not template:
        return password
    try:
        whole = json.loads(str(template))
        return json.dumps({**whole, str(key): password})
    except (ValueError, TypeError):
        raise CannotApply("SecretStringTemplate must be the text of a JSON object") from None


def _delete_log_group(site: Site, known: Known) -> None:
    site.change("logs", "DeleteLogGroup", logGroupName=known.ref)


def _delete_parameter(site: Site, known: Known) -> None:
    site.change("ssm", "DeleteParameter", Name=known.ref)


def _delete_secret(site: Site, known: Known) -> None:
    site.change("secretsmanager", "DeleteSecret", SecretId=known.ref, ForceDeleteWithoutRecovery=True)


KINDS: Final = {
    "AWS::Logs::LogGroup": Kind(
        "log group", log_group, _delete_log_group, "LogGroupName", 512, "logs:{region}:{account}:log-group:{name}:*"
    ),
    "AWS::SSM::Parameter": Kind(
        "parameter", parameter, _delete_parameter, "Name", 2048, "ssm:{region}:{account}:parameter/{name}"
    ),
    "AWS::SecretsManager::Secret": Kind(
        "secret", secret, _delete_secret, "Name", 512, "secretsmanager:{region}:{account}:secret:{name}", "arn"
    ),
}
