"""Policies of roles, users and groups: inline and attached ones, and policies as resources of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote

from statewright.payload import Json, JsonObject
from statewright.projects.deploy.kinds import Kind, Known, Site, Wanted, holds, text_of

SERVICE: Final = "iam"
TITLES: Final = ("Role", "User", "Group")
_INLINE: Final = "inline"
_ATTACHED: Final = "attached"
"""The record's attributes: names and ARNs of the policies that the template gave."""


def document_of(shown: object) -> object:
    """A policy document of an answer; over HTTP it is escaped."""
    return unquote(shown) if isinstance(shown, str) and shown.startswith("%7B") else shown


def tag_list(wanted: Wanted) -> list[Json] | None:
    """The tags of a template as requests list them; `None` if there are none."""
    return wanted.tag_list()


def give_policies(site: Site, title: str, wanted: Wanted) -> JsonObject:
    """Give a role, user or group the policies of its template in place of its former ones; returns their record."""
    had = wanted.before.attributes if wanted.before is not None else {}
    inline = []
    for one in wanted.items("Policies"):
        if isinstance(one, dict):
            name = text_of(one.get("PolicyName", "policy"))
            put_inline(site, title, wanted.name, name, one.get("PolicyDocument"))
            inline.append(name)
    attached = [text_of(one) for one in wanted.items("ManagedPolicyArns")]
    attach(site, title, wanted.name, attached)
    for name in _texts(had.get(_INLINE)):
        if name not in inline:
            delete_inline(site, title, wanted.name, name)
    for arn in _texts(had.get(_ATTACHED)):
        if arn not in attached:
            detach(site, title, wanted.name, arn)
    return {**({_INLINE: inline} if inline else {}), **({_ATTACHED: attached} if attached else {})}


def _texts(value: Json) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def put_inline(site: Site, title: str, principal: str, name: str, document: Json) -> None:
    """Put an inline policy where it differs."""
    text = text_of(document or {})
    named = {f"{title}Name": principal, "PolicyName": name}
    shown = None if site.created else site.found(SERVICE, f"Get{title}Policy", **named)
    if shown is None or not holds(document_of(shown.get("PolicyDocument")), text):
        site.change(SERVICE, f"Put{title}Policy", **named, PolicyDocument=text)


def delete_inline(site: Site, title: str, principal: str, name: str) -> None:
    """Delete an inline policy; one that is gone already is no failure. Raises: CallRefused."""
    site.take_away(SERVICE, f"Delete{title}Policy", **{f"{title}Name": principal, "PolicyName": name})


def attach(site: Site, title: str, principal: str, arns: list[str]) -> None:
    """Attach managed policies that are not attached yet."""
    if not arns:
        return
    named = {f"{title}Name": principal}
    shown = None if site.created else site.found(SERVICE, f"ListAttached{title}Policies", **named)
    there = {one["PolicyArn"] for one in (shown or {}).get("AttachedPolicies", ())}
    for arn in arns:
        if arn not in there:
            site.change(SERVICE, f"Attach{title}Policy", **named, PolicyArn=arn)


def detach(site: Site, title: str, principal: str, arn: str) -> None:
    """Detach a managed policy; one that is not attached is no failure. Raises: CallRefused."""
    site.take_away(SERVICE, f"Detach{title}Policy", **{f"{title}Name": principal, "PolicyArn": arn})


def take_policies(site: Site, title: str, principal: str) -> None:
    """Take every policy from a role, user or group, which can be deleted then. Raises: CallRefused."""
    named = {f"{title}Name": principal}
    attached = site.found(SERVICE, f"ListAttached{title}Policies", **named) or {}
    for one in attached.get("AttachedPolicies", ()):
        detach(site, title, principal, one["PolicyArn"])
    for name in (site.found(SERVICE, f"List{title}Policies", **named) or {}).get("PolicyNames", ()):
        delete_inline(site, title, principal, name)


# ------------------------------------------------------------------ policies as resources of their own


def policy(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Give roles, users and groups an inline policy, and take it from those that the template names no longer."""
    name = wanted.text("PolicyName", wanted.name)
    had = wanted.before.attributes if wanted.before is not None else {}
    made: JsonObject = {}
    for title in TITLES:
        principals = [text_of(one) for one in wanted.items(f"{title}s")]
        for one in principals:
            put_inline(site, title, one, name, wanted.properties.get("PolicyDocument"))
        for one in _texts(had.get(f"{title}s")):
            if one not in principals or had.get("Id") != name:
                delete_inline(site, title, one, str(had.get("Id")))
        if principals:
            made[f"{title}s"] = principals
    if wanted.before is None and site.changes:
        site.created = True
    return {"Ref": name, "Id": name, **made}


def _delete_policy(site: Site, known: Known) -> None:
    for title in TITLES:
        for one in _texts(known.attributes.get(f"{title}s")):
            delete_inline(site, title, one, known.ref)


def _policy_of(title: str) -> Kind:
    """The kind of a policy of one role, user or group: `AWS::IAM::RolePolicy`."""

    def apply(site: Site, wanted: Wanted) -> Mapping[str, Json]:
        principal = wanted.text(f"{title}Name")
        put_inline(site, title, principal, wanted.name, wanted.properties.get("PolicyDocument"))
        if wanted.before is None and site.changes:
            site.created = True
        return {f"{title}s": [principal]}

    return Kind("policy", apply, _delete_policy, "PolicyName", 128)


def managed_policy(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create a policy and attach it to roles, users and groups."""
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
        if not holds(document_of((there.get("PolicyVersion") or {}).get("Document")), document):
            _new_version(site, arn, document)
    had = wanted.before.attributes if wanted.before is not None else {}
    made: JsonObject = {}
    for title in TITLES:
        principals = [text_of(one) for one in wanted.items(f"{title}s")]
        for one in principals:
            found = site.found(SERVICE, f"ListAttached{title}Policies", **{f"{title}Name": one}) or {}
            if arn not in {each["PolicyArn"] for each in found.get("AttachedPolicies", ())}:
                site.change(SERVICE, f"Attach{title}Policy", **{f"{title}Name": one, "PolicyArn": arn})
        for one in _texts(had.get(f"{title}s")):
            if one not in principals:
                detach(site, title, one, arn)
        if principals:
            made[f"{title}s"] = principals
    return {"Ref": arn, "Arn": arn, "PolicyArn": arn, **made}


def _new_version(site: Site, arn: str, document: str) -> None:
    """Make a version of a policy the default; the oldest one that is not makes room, because a policy has five."""
    listed = (site.found(SERVICE, "ListPolicyVersions", PolicyArn=arn) or {}).get("Versions", [])
    if len(listed) >= 5:
        oldest = min(
            (one for one in listed if not one.get("IsDefaultVersion")), key=lambda one: int(one["VersionId"][1:])
        )
        site.change(SERVICE, "DeletePolicyVersion", PolicyArn=arn, VersionId=oldest["VersionId"])
    site.change(SERVICE, "CreatePolicyVersion", PolicyArn=arn, PolicyDocument=document, SetAsDefault=True)


def _delete_managed(site: Site, known: Known) -> None:
    holders = site.found(SERVICE, "ListEntitiesForPolicy", PolicyArn=known.ref) or {}
    for title in TITLES:
        for one in holders.get(f"Policy{title}s", ()):
            detach(site, title, one[f"{title}Name"], known.ref)
    for one in (site.found(SERVICE, "ListPolicyVersions", PolicyArn=known.ref) or {}).get("Versions", ()):
        if not one.get("IsDefaultVersion"):
            site.change(SERVICE, "DeletePolicyVersion", PolicyArn=known.ref, VersionId=one["VersionId"])
    site.change(SERVICE, "DeletePolicy", PolicyArn=known.ref)


KINDS: Final = {
    "AWS::IAM::Policy": Kind("policy", policy, _delete_policy),
    "AWS::IAM::ManagedPolicy": Kind(
        "policy", managed_policy, _delete_managed, "ManagedPolicyName", 128, "iam::{account}:policy/{name}", "arn"
    ),
    **{f"AWS::IAM::{title}Policy": _policy_of(title) for title in TITLES},
}
