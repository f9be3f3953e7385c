"""Operations specific to users and groups, and the account's alias. Users have no credentials."""

from __future__ import annotations

from statewright.api.iam.answers import cut, shown
from statewright.api.operations import App, Call, operation
from statewright.payload import Json
from statewright.records.identities import GROUP, USER
from statewright.tags import tags_by_key


@operation("iam", "CreateUser")
async def create_user(app: App, _call: Call, request: Json) -> Json:
    """Create a user, who cannot sign requests: access keys are those in statewright.toml."""
    fields = {"tags": tags_by_key(request.get("Tags")), "boundary": request.get("PermissionsBoundary")}
    made = await app.services.identities.create(USER, request["UserName"], request.get("Path", "/"), fields)
    return {"User": shown(app, USER, made)}


@operation("iam", "GetUser")
async def get_user(app: App, _call: Call, request: Json) -> Json:
    """Describe a user; without a name the caller, who is the account itself."""
    if "UserName" in request:
        return {"User": shown(app, USER, await app.services.identities.get(USER, request["UserName"]))}
    account = app.config.account
    root = {"Path": "/", "UserName": "root", "UserId": account, "Arn": f"arn:aws:iam::{account}:root", "CreateDate": 0}
    return {"User": root}


@operation("iam", "CreateGroup")
async def create_group(app: App, _call: Call, request: Json) -> Json:
    """Create a group."""
    made = await app.services.identities.create(GROUP, request["GroupName"], request.get("Path", "/"), {})
    return {"Group": shown(app, GROUP, made)}


@operation("iam", "GetGroup")
async def get_group(app: App, _call: Call, request: Json) -> Json:
    """Describe a group and its users."""
    found = await app.services.identities.get(GROUP, request["GroupName"])
    users, more = cut(await app.services.identities.members(found.name), request)
    return {
        "Group": shown(app, GROUP, found), "Users": [shown(app, USER, one, in_list=True) for one in users], **more
    }  # fmt: skip


@operation("iam", "AddUserToGroup")
async def add_user_to_group(app: App, _call: Call, request: Json) -> None:
    """Add a user to a group."""
    await app.services.identities.join(request["UserName"], request["GroupName"])


@operation("iam", "RemoveUserFromGroup")
async def remove_user_from_group(app: App, _call: Call, request: Json) -> None:
    """Remove a user from a group."""
    await app.services.identities.leave(request["UserName"], request["GroupName"])


@operation("iam", "ListGroupsForUser")
async def list_groups_for_user(app: App, _call: Call, request: Json) -> Json:
    """List the groups of a user."""
    found = await app.services.identities.get(USER, request["UserName"])
    names, more = cut(sorted(found.groups), request)
    return {"Groups": [shown(app, GROUP, await app.services.identities.get(GROUP, name)) for name in names], **more}


@operation("iam", "CreateAccountAlias")
async def create_account_alias(app: App, _call: Call, request: Json) -> None:
    """Set the account's alias."""
    await app.services.identities.set_alias(request["AccountAlias"])


@operation("iam", "ListAccountAliases")
async def list_account_aliases(app: App, _call: Call, _request: Json) -> Json:
    """List the account's alias, if it has one."""
    alias = await app.services.identities.alias()
    return {"AccountAliases": [alias] if alias is not None else [], "IsTruncated": False}


@operation("iam", "DeleteAccountAlias")
async def delete_account_alias(app: App, _call: Call, request: Json) -> None:
    """Delete the account's alias."""
    await app.services.identities.delete_alias(request["AccountAlias"])
