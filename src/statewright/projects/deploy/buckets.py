"""Buckets. Names that a project does not give are in lower case, as buckets are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from statewright.payload import Json
from statewright.projects.deploy.bucket_rules import expire, notify, of_template
from statewright.projects.deploy.kinds import Kind, Known, Site, Wanted, never_made

SERVICE: Final = "s3"
_VERSIONS: Final = "versions"
"""The record's attribute for the status of versioning in the template."""
_UNUSED: Final = (
    "ReplicationConfiguration", "WebsiteConfiguration",
    "CorsConfiguration", "ObjectLockConfiguration", "ObjectLockEnabled", "LoggingConfiguration",
)  # fmt: skip


def bucket(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create a bucket; set whether it keeps versions, its tags, its lifecycle and whom it notifies."""
    name = wanted.name if wanted.properties.get("BucketName") else wanted.name.lower().replace("_", "-")
    shown = site.found(SERVICE, "GetBucketLocation", Bucket=name)
    if shown is None:
        place = {} if site.region == "us-east-1" else {"LocationConstraint": site.region}
        site.create(SERVICE, "CreateBucket", Bucket=name, CreateBucketConfiguration=place or None)
    status = _keep_versions(site, wanted, name, is_new=shown is None)
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
    site.ignored(wanted, *_UNUSED)
    return {
        "Ref": name,
        "Arn": f"arn:aws:s3:::{name}",
        "DomainName": f"{name}.s3.amazonaws.com",
        "RegionalDomainName": f"{name}.s3.{site.region}.amazonaws.com",
        "DualStackDomainName": f"{name}.s3.dualstack.{site.region}.amazonaws.com",
        "WebsiteURL": f"http://{name}.s3-website-{site.region}.amazonaws.com",
        **({_VERSIONS: status} if status else {}),
    }


def _keep_versions(site: Site, wanted: Wanted, name: str, *, is_new: bool) -> Json:
    """Enable or suspend versions; they are suspended if the template asked for them at the last deployment."""
    status = wanted.table("VersioningConfiguration").get("Status")
    there = None if is_new else site.asked(SERVICE, "GetBucketVersioning", Bucket=name).get("Status")
    before = wanted.before.attributes.get(_VERSIONS) if wanted.before is not None else None
    asked = status or ("Suspended" if there == "Enabled" and before == there else None)
    if asked and asked != there:
        site.change(SERVICE, "PutBucketVersioning", Bucket=name, VersioningConfiguration={"Status": asked})
    return status


def _delete(site: Site, known: Known) -> None:
    site.change(SERVICE, "DeleteBucket", Bucket=known.ref)


KINDS: Final = {
    "AWS::S3::Bucket": Kind("bucket", bucket, _delete, "BucketName", 63, "s3:::{name}"),
    "AWS::S3::BucketPolicy": never_made(
        "bucket policy", "bucket policies are not enforced here: every call is allowed"
    ),
}
