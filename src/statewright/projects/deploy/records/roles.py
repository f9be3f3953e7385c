"""Roles, users and groups: kept and shown where IAM is served, usable as names everywhere, and never enforced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from statewright.payload import Json, JsonObject
from statewright.projects.deploy.kinds import Kind, Known, Site, Wanted, holds, text_of
from statewright.projects.deploy.records.principals import (
    SERVICE,
    document_of,
    give_policies,
    tag_list,
    take_policies,
)

_LONGEST_SECONDS: Final = 3600
"""How long sessions of a role last at most, where its template does not say."""


def role(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create a role with its inline and attached policies, or change what differs."""
    trust = wanted.text("AssumeRolePolicyDocument", "{}")
    shown = site.found(SERVICE, "GetRole", RoleName=wanted.name)
    path = wanted.text("Path", "/")
    if shown is None:
        made = site.create(
            SERVICE, "CreateRole", RoleName=wanted.name, AssumeRolePolicyDocument=trust, Path=path,
            Description=wanted.properties.get("Description"), MaxSessionDuration=wanted.number("MaxSessionDuration"),
            PermissionsBoundary=wanted.properties.get("PermissionsBoundary"), Tags=tag_list(wanted),
        )  # fmt: skip
        found = made.get("Role", {})
    else:
        found = shown["Role"]
        if not holds(document_of(found.get("AssumeRolePolicyDocument")), trust):
            site.change(SERVICE, "UpdateAssumeRolePolicy", RoleName=wanted.name, PolicyDocument=trust)
        described = {
            "Description": wanted.text("Description"),
            "MaxSessionDuration": wanted.number("MaxSessionDuration") or _LONGEST_SECONDS,
        }
        if not holds({"Description": "", **found}, described):
            site.change(SERVICE, "UpdateRole", RoleName=wanted.name, **described)
        _change(site, "Role", wanted, found)
    kept = give_policies(site, "Role", wanted)
    arn = found.get("Arn") or f"arn:aws:iam::{site.account}:role{path}{wanted.name}"
    return {"Arn": arn, "RoleId": found.get("RoleId", "AROA" + "0" * 17), **kept}


def user(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create a user with policies and groups, or change what differs. A user has no password and no access keys."""
    shown = site.found(SERVICE, "GetUser", UserName=wanted.name)
    path = wanted.text("Path", "/")
    if shown is None:
        site.create(
            SERVICE, "CreateUser", UserName=wanted.name, Path=path, Tags=tag_list(wanted),
            PermissionsBoundary=wanted.properties.get("PermissionsBoundary"),
        )  # fmt: skip
    else:
        _change(site, "User", wanted, shown["User"])
    kept = give_policies(site, "User", wanted)
    groups = [text_of(one) for one in wanted.items("Groups")]
    _join(site, [wanted.name], groups, wanted)
    site.ignored(wanted, "LoginProfile")
    arn = f"arn:aws:iam::{site.account}:user{path}{wanted.name}"
    return {"Arn": arn, **kept, **({"Groups": groups, "Users": [wanted.name]} if groups else {})}


def group(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create a group with its policies, or change what differs."""
    path = wanted.text("Path", "/")
    if site.found(SERVICE, "GetGroup", GroupName=wanted.name) is None:
        site.create(SERVICE, "CreateGroup", GroupName=wanted.name, Path=path)
    kept = give_policies(site, "Group", wanted)
    return {"Arn": f"arn:aws:iam::{site.account}:group{path}{wanted.name}", **kept}


def addition(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Add users to a group, and remove those that the template names no longer."""
    name = wanted.text("GroupName")
    users = [text_of(one) for one in wanted.items("Users")]
    _join(site, users, [name], wanted)
    if wanted.before is None and site.changes:
        site.created = True
    return {"Ref": wanted.name, "Users": users, "Groups": [name]}


def _change(site: Site, title: str, wanted: Wanted, shown: JsonObject) -> None:
    """Change the tags and the boundary of a role or user where they differ."""
    named = {f"{title}Name": wanted.name}
    tags = wanted.tags()
    present = {one["Key"]: one["Value"] for one in shown.get("Tags", ())}
    if not tags.items() <= present.items():
        site.change(SERVICE, f"Tag{title}", **named, Tags=tag_list(wanted))
    boundary = wanted.text("PermissionsBoundary")
    there = (shown.get("PermissionsBoundary") or {}).get("PermissionsBoundaryArn", "")
    if boundary and boundary != there:
        site.change(SERVICE, f"Put{title}PermissionsBoundary", **named, PermissionsBoundary=boundary)
    if there and not boundary:
        site.change(SERVICE, f"Delete{title}PermissionsBoundary", **named)


def _join(site: Site, users: list[str], groups: list[str], wanted: Wanted) -> None:
    """Make users members of groups, and end the memberships of the last deployment that are not asked for."""
    for one in users:
        shown = (None if site.created else site.found(SERVICE, "ListGroupsForUser", UserName=one)) or {}
        there = {found["GroupName"] for found in shown.get("Groups", ())}
        for name in groups:
            if name not in there:
                site.change(SERVICE, "AddUserToGroup", UserName=one, GroupName=name)
    had = _memberships(wanted.before)
    for one, name in had:
        if one not in users or name not in groups:
            _leave(site, one, name)


def _memberships(known: Known | None) -> list[tuple[str, str]]:
    if known is None:
        return []
    users, groups = known.attributes.get("Users") or (), known.attributes.get("Groups") or ()
    return [(str(one), str(name)) for one in users for name in groups]


def _leave(site: Site, user_name: str, group_name: str) -> None:
    site.take_away(SERVICE, "RemoveUserFromGroup", UserName=user_name, GroupName=group_name)


def _delete_role(site: Site, known: Known) -> None:
    take_policies(site, "Role", known.ref)
    site.change(SERVICE, "DeleteRole", RoleName=known.ref)


def _delete_user(site: Site, known: Known) -> None:
    take_policies(site, "User", known.ref)
    for one in (site.found(SERVICE, "ListGroupsForUser", UserName=known.ref) or {}).get("Groups", ()):
        _leave(site, known.ref, one["GroupName"])
    site.change(SERVICE, "DeleteUser", UserName=known.ref)


def _delete_group(site: Site, known: Known) -> None:
    take_policies(site, "Group", known.ref)
    for one in (site.found(SERVICE, "GetGroup", GroupName=known.ref) or {}).get("Users", ()):
        _leave(site, one["UserName"], known.ref)
    site.change(SERVICE, "DeleteGroup", GroupName=known.ref)


def _remove_members(site: Site, known: Known) -> None:
    for one, name in _memberships(known):
        _leave(site, one, name)


KINDS: Final = {
    "AWS::IAM::Role": Kind("role", role, _delete_role, "RoleName", 64, "iam::{account}:role/{name}"),
    "AWS::IAM::User": Kind("user", user, _delete_user, "UserName", 64, "iam::{account}:user/{name}"),
    "AWS::IAM::Group": Kind("group", group, _delete_group, "GroupName", 128, "iam::{account}:group/{name}"),
    "AWS::IAM::UserToGroupAddition": Kind("membership", addition, _remove_members),
}
