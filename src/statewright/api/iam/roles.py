"""Operations specific to roles."""

from __future__ import annotations

from typing import Final

from statewright.api.iam.answers import shown
from statewright.api.operations import App, Call, operation
from statewright.errors import ApiError
from statewright.payload import Json, JsonObject, dump_json
from statewright.records.identities import ROLE
from statewright.tags import tags_by_key

_SERVICE_SUFFIX: Final = ".amazonaws.com"
_ROLE_FIELDS: Final = {
    "AssumeRolePolicyDocument": "trust", "Description": "description", "MaxSessionDuration": "longest_seconds",
    "PermissionsBoundary": "boundary",
}  # fmt: skip


def _fields(request: Json) -> JsonObject:
    return {own: request[name] for name, own in _ROLE_FIELDS.items() if name in request}


@operation("iam", "CreateRole")
async def create_role(app: App, _call: Call, request: Json) -> Json:
    """Create a role."""
    fields = {**_fields(request), "tags": tags_by_key(request.get("Tags"))}
    made = await app.services.identities.create(ROLE, request["RoleName"], request.get("Path", "/"), fields)
    return {"Role": shown(app, ROLE, made)}


@operation("iam", "GetRole")
async def get_role(app: App, _call: Call, request: Json) -> Json:
    """Describe a role."""
    return {"Role": shown(app, ROLE, await app.services.identities.get(ROLE, request["RoleName"]))}


@operation("iam", "UpdateRole")
async def update_role(app: App, _call: Call, request: Json) -> None:
    """Change a role's description and longest session; missing members are reset to the defaults."""
    longest = request.get("MaxSessionDuration", 3600)
    await app.services.identities.set(
        ROLE, request["RoleName"], description=request.get("Description", ""), longest_seconds=longest
    )


@operation("iam", "UpdateRoleDescription")
async def update_role_description(app: App, _call: Call, request: Json) -> Json:
    """Change a role's description."""
    changed = await app.services.identities.set(ROLE, request["RoleName"], description=request["Description"])
    return {"Role": shown(app, ROLE, changed)}


@operation("iam", "UpdateAssumeRolePolicy")
async def update_assume_role_policy(app: App, _call: Call, request: Json) -> None:
    """Change who may assume a role."""
    await app.services.identities.set(ROLE, request["RoleName"], trust=request["PolicyDocument"])


@operation("iam", "ListInstanceProfilesForRole")
async def list_instance_profiles_for_role(app: App, _call: Call, request: Json) -> Json:
    """Answer that a role has no instance profiles."""
    await app.services.identities.get(ROLE, request["RoleName"])
    return {"InstanceProfiles": [], "IsTruncated": False}


@operation("iam", "CreateServiceLinkedRole")
async def create_service_linked_role(app: App, _call: Call, request: Json) -> Json:
    """Create the role that a service uses for itself."""
    service = request["AWSServiceName"]
    if not service.endswith(_SERVICE_SUFFIX):
        raise ApiError("InvalidInput", f"{service} is not a valid service name.")
    word = "".join(part.capitalize() for part in service.removesuffix(_SERVICE_SUFFIX).split("."))
    suffix = f"_{request['CustomSuffix']}" if "CustomSuffix" in request else ""
    name = f"AWSServiceRoleFor{word}{suffix}"
    if await app.services.identities.find(ROLE, name) is not None:
        raise ApiError(
            "InvalidInput", f"Service role name {name} has been taken in this account, please try a different suffix."
        )
    statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
    trust = dump_json({"Version": "2012-10-17", "Statement": [statement]})
    fields = {"trust": trust, **({"description": request["Description"]} if "Description" in request else {})}
    made = await app.services.identities.create(ROLE, name, f"/aws-service-role/{service}/", fields)
    return {"Role": shown(app, ROLE, made)}


@operation("iam", "DeleteServiceLinkedRole")
async def delete_service_linked_role(app: App, call: Call, request: Json) -> Json:
    """Delete a service's role immediately; the deletion task in the answer has already succeeded."""
    found = await app.services.identities.get(ROLE, request["RoleName"])
    await app.services.identities.delete(ROLE, request["RoleName"])
    return {"DeletionTaskId": f"task{found.path}{found.name}/{call.request_id}"}


@operation("iam", "GetServiceLinkedRoleDeletionStatus")
async def get_service_linked_role_deletion_status(_app: App, _call: Call, request: Json) -> Json:
    """Answer that a deletion has succeeded: deletions take effect immediately."""
    if not request["DeletionTaskId"].startswith("task/aws-service-role/"):
        raise ApiError("NoSuchEntity", f"The deletion task {request['DeletionTaskId']} cannot be found.", status=404)
    return {"Status": "SUCCEEDED"}
