"""Roles and policies: kept and shown where IAM is served, usable as names everywhere, and never enforced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from statewright.payload import Json
from statewright.projects.deploy.kinds import Kind, Known, Site, Wanted, holds, number_of, text_of

SERVICE: Final = "iam"


def role(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create a role with its inline and attached policies, or change what differs."""
    trust = wanted.text("AssumeRolePolicyDocument", "{}")
    shown = site.found(SERVICE, "GetRole", RoleName=wanted.name)
    path = wanted.text("Path", "/")
    if shown is None:
        duration = wanted.properties.get("MaxSessionDuration")
        made = site.create(
            SERVICE, "CreateRole", RoleName=wanted.name, AssumeRolePolicyDocument=trust, Path=path,
            Description=wanted.properties.get("Description"),
            MaxSessionDuration=None if duration is None else number_of(duration, "MaxSessionDuration"),
            Tags=[{"Key": key, "Value": value} for key, value in wanted.tags().items()] or None,
        )  # fmt: skip
        found = made.get("Role", {})
    else:
        found = shown["Role"]
        if not holds(_document(found.get("AssumeRolePolicyDocument")), trust):
            site.change(SERVICE, "UpdateAssumeRolePolicy", RoleName=wanted.name, PolicyDocument=trust)
    for one in wanted.items("Policies"):
        if isinstance(one, dict):
            _inline(site, wanted.name, text_of(one.get("PolicyName", "policy")), one.get("PolicyDocument"))
    _attached(site, wanted)
    arn = found.get("Arn") or f"arn:aws:iam::{site.account}:role{path}{wanted.name}"
    return {"Arn": arn, "RoleId": found.get("RoleId", "AROA" + "0" * 17)}


def _document(shown: object) -> object:
    if isinstance(shown, str) and shown.startswith("%7B"):
        from urllib.parse import unquote

        return unquote(shown)
    return shown


def _inline(site: Site, role_name: str, name: str, document: Json) -> None:
    text = text_of(document or {})
    shown = None if site.created else site.found(SERVICE, "GetRolePolicy", RoleName=role_name, PolicyName=name)
    if shown is None or not holds(_document(shown.get("PolicyDocument")), text):
        site.change(SERVICE, "PutRolePolicy", RoleName=role_name, PolicyName=name, PolicyDocument=text)


def _attached(site: Site, wanted: Wanted) -> None:
    asked = [text_of(one) for one in wanted.items("ManagedPolicyArns")]
    if not asked:
        return
    shown = None if site.created else site.found(SERVICE, "ListAttachedRolePolicies", RoleName=wanted.name)
    there = {one["PolicyArn"] for one in (shown or {}).get("AttachedPolicies", ())}
    for arn in asked:
        if arn not in there:
            site.change(SERVICE, "AttachRolePolicy", RoleName=wanted.name, PolicyArn=arn)


def policy(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Give roles an inline policy."""
    name = wanted.text("PolicyName", wanted.name)
    for one in wanted.items("Roles"):
        _inline(site, text_of(one), name, wanted.properties.get("PolicyDocument"))
    if wanted.before is None and site.changes:
        site.created = True
    return {"Ref": name, "Id": name}


def managed_policy(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create a policy and attach it to roles."""
    path = wanted.text("Path", "/")
    arn = f"arn:aws:iam::{site.account}:policy{path}{wanted.name}"
    document = wanted.text("PolicyDocument", "{}")
    shown = site.found(SERVICE, "GetPolicy", PolicyArn=arn)
    if shown is None:
        site.create(
            SERVICE, "CreatePolicy", PolicyName=wanted.name, Path=path, PolicyDocument=document,
            Description=wanted.properties.get("Description"),
        )  # fmt: skip
    else:
        version = shown["Policy"].get("DefaultVersionId", "v1")
        there = site.found(SERVICE, "GetPolicyVersion", PolicyArn=arn, VersionId=version) or {}
        if not holds(_document((there.get("PolicyVersion") or {}).get("Document")), document):
            site.change(SERVICE, "CreatePolicyVersion", PolicyArn=arn, PolicyDocument=document, SetAsDefault=True)
    for one in wanted.items("Roles"):
        attached = site.found(SERVICE, "ListAttachedRolePolicies", RoleName=text_of(one)) or {}
        if arn not in {found["PolicyArn"] for found in attached.get("AttachedPolicies", ())}:
            site.change(SERVICE, "AttachRolePolicy", RoleName=text_of(one), PolicyArn=arn)
    return {"Ref": arn, "Arn": arn, "PolicyArn": arn}


def _delete_role(site: Site, known: Known) -> None:
    attached = site.found(SERVICE, "ListAttachedRolePolicies", RoleName=known.ref) or {}
    for one in attached.get("AttachedPolicies", ()):
        site.change(SERVICE, "DetachRolePolicy", RoleName=known.ref, PolicyArn=one["PolicyArn"])
    inline = site.found(SERVICE, "ListRolePolicies", RoleName=known.ref) or {}
    for name in inline.get("PolicyNames", ()):
        site.change(SERVICE, "DeleteRolePolicy", RoleName=known.ref, PolicyName=name)
    site.change(SERVICE, "DeleteRole", RoleName=known.ref)


def _delete_managed(site: Site, known: Known) -> None:
    roles = site.found(SERVICE, "ListEntitiesForPolicy", PolicyArn=known.ref) or {}
    for one in roles.get("PolicyRoles", ()):
        site.change(SERVICE, "DetachRolePolicy", RoleName=one["RoleName"], PolicyArn=known.ref)
    site.change(SERVICE, "DeletePolicy", PolicyArn=known.ref)


def _forget(_site: Site, _known: Known) -> None:
    """An inline policy goes with its role."""


KINDS: Final = {
    "AWS::IAM::Role": Kind("role", role, _delete_role, "RoleName", 64, "iam::{account}:role/{name}"),
    "AWS::IAM::Policy": Kind("policy", policy, _forget),
    "AWS::IAM::ManagedPolicy": Kind(
        "policy", managed_policy, _delete_managed, "ManagedPolicyName", 128, "iam::{account}:policy/{name}", "arn"
    ),
}
