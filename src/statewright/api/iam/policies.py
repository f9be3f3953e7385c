"""Operations on managed policies and their versions."""

from __future__ import annotations

from statewright.api.iam.answers import (
    cut,
    document_text,
    paged,
    start_of,
)
from statewright.api.operations import App, Call, operation
from statewright.payload import Json, JsonObject
from statewright.records.entries import Policy, PolicyVersion
from statewright.records.policies import Policies
from statewright.tags import tag_list, tags_by_key


def _policies(app: App) -> Policies:
    return app.services.identities.policies


async def _shown(app: App, entry: Policy, *, in_list: bool = False) -> JsonObject:
    arn = _policies(app).arn(entry)
    view: JsonObject = {
        "PolicyName": entry.name, "PolicyId": entry.id, "Arn": arn, "Path": entry.path,
        "DefaultVersionId": entry.default, "AttachmentCount": len(await _policies(app).attachments(arn)),
        "PermissionsBoundaryUsageCount": 0, "IsAttachable": True,
        "CreateDate": entry.created_ms, "UpdateDate": entry.updated_ms,
    }  # fmt: skip
    if not in_list:
        view["Description"] = entry.description
        view["Tags"] = tag_list(entry.tags)
    return view


def _version(entry: Policy, name: str, version: PolicyVersion, *, with_document: bool = False) -> JsonObject:
    view: JsonObject = {"Document": document_text(version.document)} if with_document else {}
    is_default = entry.default == name
    return {**view, "VersionId": name, "IsDefaultVersion": is_default, "CreateDate": version.created_ms}


@operation("iam", "CreatePolicy")
async def create_policy(app: App, _call: Call, request: Json) -> Json:
    """Create a managed policy."""
    made = await _policies(app).create(
        request["PolicyName"], request.get("Path", "/"), request["PolicyDocument"], request.get("Description"),
        tags_by_key(request.get("Tags")),
    )  # fmt: skip
    return {"Policy": await _shown(app, made)}


@operation("iam", "GetPolicy")
async def get_policy(app: App, _call: Call, request: Json) -> Json:
    """Describe a managed policy."""
    return {"Policy": await _shown(app, await _policies(app).get(request["PolicyArn"]))}


@operation("iam", "ListPolicies")
async def list_policies(app: App, _call: Call, request: Json) -> Json:
    """List the account's managed policies; those of AWS are left out."""
    if request.get("Scope") == "AWS":
        return {"Policies": [], "IsTruncated": False}
    after, limit = start_of(request)
    found, place = await _policies(app).page(
        request.get("PathPrefix", "/"), bool(request.get("OnlyAttached")), after, limit
    )
    return {"Policies": [await _shown(app, one, in_list=True) for one in found], **paged(place)}


@operation("iam", "DeletePolicy")
async def delete_policy(app: App, _call: Call, request: Json) -> None:
    """Delete a managed policy."""
    await _policies(app).delete(request["PolicyArn"])


@operation("iam", "CreatePolicyVersion")
async def create_policy_version(app: App, _call: Call, request: Json) -> Json:
    """Add a version to a managed policy."""
    as_default = bool(request.get("SetAsDefault"))
    name, made = await _policies(app).add_version(
        request["PolicyArn"], request["PolicyDocument"], as_default=as_default
    )
    return {"PolicyVersion": _version(made, name, made.versions[name])}


@operation("iam", "GetPolicyVersion")
async def get_policy_version(app: App, _call: Call, request: Json) -> Json:
    """Return a version with its document."""
    entry, version = await _policies(app).version(request["PolicyArn"], request["VersionId"])
    return {"PolicyVersion": _version(entry, request["VersionId"], version, with_document=True)}


@operation("iam", "ListPolicyVersions")
async def list_policy_versions(app: App, _call: Call, request: Json) -> Json:
    """List the versions of a managed policy, newest first."""
    entry = await _policies(app).get(request["PolicyArn"])
    versions, more = cut(list(entry.versions.items())[::-1], request)
    return {"Versions": [_version(entry, name, one) for name, one in versions], **more}


@operation("iam", "SetDefaultPolicyVersion")
async def set_default_policy_version(app: App, _call: Call, request: Json) -> None:
    """Set the default version."""
    await _policies(app).set_default(request["PolicyArn"], request["VersionId"])


@operation("iam", "DeletePolicyVersion")
async def delete_policy_version(app: App, _call: Call, request: Json) -> None:
    """Delete a version."""
    await _policies(app).delete_version(request["PolicyArn"], request["VersionId"])


@operation("iam", "ListEntitiesForPolicy")
async def list_entities_for_policy(app: App, _call: Call, request: Json) -> Json:
    """List the entities that have a managed policy; none for an unknown policy."""
    wanted = request.get("EntityFilter")
    found = [
        one for one in await _policies(app).attachments(request["PolicyArn"])
        if wanted in (None, one.kind.capitalize())
    ]  # fmt: skip
    chosen, more = cut(found, request)

    def of(kind: str) -> list[Json]:
        title = kind.capitalize()
        return [
            {f"{title}Name": one.name, f"{title}Id": one.id}
            for one in chosen if one.kind == kind
        ]  # fmt: skip

    return {"PolicyGroups": of("group"), "PolicyUsers": of("user"), "PolicyRoles": of("role"), **more}


@operation("iam", "TagPolicy")
async def tag_policy(app: App, _call: Call, request: Json) -> None:
    """Add tags to a managed policy."""
    await _policies(app).tag(request["PolicyArn"], tags_by_key(request.get("Tags")))


@operation("iam", "UntagPolicy")
async def untag_policy(app: App, _call: Call, request: Json) -> None:
    """Remove tags from a managed policy."""
    await _policies(app).tag(request["PolicyArn"], {}, request["TagKeys"])


@operation("iam", "ListPolicyTags")
async def list_policy_tags(app: App, _call: Call, request: Json) -> Json:
    """List the tags of a managed policy."""
    tags, more = cut(tag_list((await _policies(app).get(request["PolicyArn"])).tags), request)
    return {"Tags": tags, **more}
