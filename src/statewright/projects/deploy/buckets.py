"""Buckets and their policies. Names that a project does not give are in lower case, as buckets are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from statewright.payload import Json, JsonObject
from statewright.projects.deploy.bucket_rules import expire, notify, of_template
from statewright.projects.deploy.kinds import Kind, Site, Wanted, holds, removal, typed

SERVICE: Final = "s3"
_SETTINGS: Final = "settings"
"""The record's attribute for the settings that the template has: those are deleted when it has them no longer."""
_VERSIONS: Final = "versions"
"""The record's attribute for the status of versioning in the template."""
_UNUSED: Final = (
    "ReplicationConfiguration", "WebsiteConfiguration", "LoggingConfiguration",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Setting:
    """A setting of a bucket: its property, the name in its operations, its member, and the member's value."""

    property: str
    name: str
    member: str
    value: Callable[[Mapping[str, Json]], JsonObject | None]
    is_payload: bool = True
    """True if answers have it under its member."""


def _encryption(given: Mapping[str, Json]) -> JsonObject | None:
    rules = [
        {"ApplyServerSideEncryptionByDefault" if key == "ServerSideEncryptionByDefault" else key: value
         for key, value in one.items()}
        for one in given.get("ServerSideEncryptionConfiguration") or ()
    ]  # fmt: skip
    return {"Rules": typed(rules, truths=("BucketKeyEnabled",))} if rules else None


_CORS_NAMES: Final = {"ExposedHeaders": "ExposeHeaders", "Id": "ID", "MaxAge": "MaxAgeSeconds"}


def _cors(given: Mapping[str, Json]) -> JsonObject | None:
    rules = [
        {_CORS_NAMES.get(key, key): value for key, value in one.items()}
        for one in given.get("CorsRules") or ()
    ]  # fmt: skip
    return {"CORSRules": typed(rules, numbers=("MaxAgeSeconds",))} if rules else None


_BLOCKS: Final = ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")
_KEPT: Final = (
    _Setting("BucketEncryption", "BucketEncryption", "ServerSideEncryptionConfiguration", _encryption),
    _Setting(
        "PublicAccessBlockConfiguration", "PublicAccessBlock", "PublicAccessBlockConfiguration",
        lambda given: typed(dict(given), truths=_BLOCKS) or None,
    ),
    _Setting(
        "OwnershipControls", "BucketOwnershipControls", "OwnershipControls",
        lambda given: {"Rules": given["Rules"]} if given.get("Rules") else None,
    ),
    _Setting("CorsConfiguration", "BucketCors", "CORSConfiguration", _cors, is_payload=False),
)  # fmt: skip


def bucket(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create a bucket; set whether it keeps versions, its tags, its lifecycle, whom it notifies, and the settings that
    are only shown."""
    name = wanted.name if wanted.properties.get("BucketName") else wanted.name.lower().replace("_", "-")
    shown = site.found(SERVICE, "GetBucketLocation", Bucket=name)
    if shown is None:
        place = {} if site.region == "us-east-1" else {"LocationConstraint": site.region}
        site.create(
            SERVICE, "CreateBucket", Bucket=name, CreateBucketConfiguration=place or None,
            ObjectLockEnabledForBucket=_is_locked(wanted) or None,
        )  # fmt: skip
    status = _keep_versions(site, wanted, name, is_new=shown is None)
    _lock(site, wanted, name)
    tags = wanted.tags()
    if tags:
        found = None if shown is None else site.found(SERVICE, "GetBucketTagging", Bucket=name)
        present = {one["Key"]: one["Value"] for one in (found or {}).get("TagSet", ())}
        if not tags.items() <= present.items():
            merged = [{"Key": key, "Value": value} for key, value in {**present, **tags}.items()]
            site.change(SERVICE, "PutBucketTagging", Bucket=name, Tagging={"TagSet": merged})
    expire(site, name, wanted.table("LifecycleConfiguration"))
    asks = of_template(wanted.table("NotificationConfiguration"))
    if asks or shown is not None:
        notify(site, name, wanted.name, asks)
    settings = _set(site, wanted, name, is_new=shown is None)
    site.ignored(wanted, *_UNUSED)
    return {
        "Ref": name,
        "Arn": f"arn:aws:s3:::{name}",
        "DomainName": f"{name}.s3.amazonaws.com",
        "RegionalDomainName": f"{name}.s3.{site.region}.amazonaws.com",
        "DualStackDomainName": f"{name}.s3.dualstack.{site.region}.amazonaws.com",
        "WebsiteURL": f"http://{name}.s3-website-{site.region}.amazonaws.com",
        **({_VERSIONS: status} if status else {}),
        **({_SETTINGS: settings} if settings else {}),
    }


def _set(site: Site, wanted: Wanted, name: str, *, is_new: bool) -> list[Json]:
    """Put the settings of the template, and delete those that it had at the last deployment; returns their names."""
    before = wanted.before.attributes.get(_SETTINGS) if wanted.before is not None else None
    had = before if isinstance(before, list) else []
    there: list[Json] = []
    for one in _KEPT:
        asked = one.value(wanted.table(one.property))
        if asked is not None:
            there.append(one.name)
            found = None if is_new else site.found(SERVICE, f"Get{one.name}", Bucket=name)
            if found is None or not holds(found.get(one.member) if one.is_payload else found, asked):
                site.change(SERVICE, f"Put{one.name}", Bucket=name, **{one.member: asked})
        elif one.name in had and not is_new:
            site.change(SERVICE, f"Delete{one.name}", Bucket=name)
    return there


def _keep_versions(site: Site, wanted: Wanted, name: str, *, is_new: bool) -> Json:
    """Enable or suspend versions; they are suspended if the template asked for them at the last deployment."""
    status = wanted.table("VersioningConfiguration").get("Status")
    there = None if is_new else site.asked(SERVICE, "GetBucketVersioning", Bucket=name).get("Status")
    before = wanted.before.attributes.get(_VERSIONS) if wanted.before is not None else None
    may_end = there == "Enabled" and before == there and not _is_locked(wanted)
    asked = status or ("Suspended" if may_end else None)
    if asked and asked != there:
        site.change(SERVICE, "PutBucketVersioning", Bucket=name, VersioningConfiguration={"Status": asked})
    return status


def _is_locked(wanted: Wanted) -> bool:
    return str(wanted.properties.get("ObjectLockEnabled", "")).lower() == "true"


def _lock(site: Site, wanted: Wanted, name: str) -> None:
    """Turn Object Lock on, with its default retention; as in the service, it is never turned off."""
    if not _is_locked(wanted) and not wanted.table("ObjectLockConfiguration"):
        return
    given = typed(dict(wanted.table("ObjectLockConfiguration")), numbers=("Days", "Years"))
    asked = {"ObjectLockEnabled": "Enabled", **given}
    found = site.found(SERVICE, "GetObjectLockConfiguration", Bucket=name)
    if found is None or not holds(found["ObjectLockConfiguration"], asked):
        site.change(SERVICE, "PutObjectLockConfiguration", Bucket=name, ObjectLockConfiguration=asked)


def bucket_policy(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Give a bucket its policy, which S3 shows and does not enforce."""
    name, document = wanted.text("Bucket"), wanted.text("PolicyDocument", "{}")
    shown = site.found(SERVICE, "GetBucketPolicy", Bucket=name)
    if shown is None:
        site.create(SERVICE, "PutBucketPolicy", Bucket=name, Policy=document)
    elif not holds(shown.get("Policy"), document):
        site.change(SERVICE, "PutBucketPolicy", Bucket=name, Policy=document)
    return {"Ref": name}


KINDS: Final = {
    "AWS::S3::Bucket": Kind(
        "bucket", bucket, removal(SERVICE, "DeleteBucket", "Bucket"), "BucketName", 63, "s3:::{name}"
    ),
    "AWS::S3::BucketPolicy": Kind("bucket policy", bucket_policy, removal(SERVICE, "DeleteBucketPolicy", "Bucket")),
}
