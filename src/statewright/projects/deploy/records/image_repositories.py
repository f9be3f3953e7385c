"""Repositories for images of containers: records, which tools and templates refer to by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from statewright.payload import Json, JsonObject
from statewright.projects.deploy.kinds import Kind, Known, Site, Wanted, holds, lowered, typed

SERVICE: Final = "ecr"


def repository(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create a repository with its policies; change its settings and policies where they differ."""
    name = wanted.name if wanted.properties.get("RepositoryName") else wanted.name.lower()
    settings = _settings(wanted)
    shown = site.found(SERVICE, "DescribeRepositories", repositoryNames=[name])
    if shown is None:
        site.create(SERVICE, "CreateRepository", repositoryName=name, tags=wanted.tag_list(), **settings)
    else:
        _change(site, name, shown["repositories"][0], settings)
    _policy(site, name, "RepositoryPolicy", "policyText", wanted.text("RepositoryPolicyText"), "Set")
    lifecycle = wanted.table("LifecyclePolicy").get("LifecyclePolicyText")
    _policy(site, name, "LifecyclePolicy", "lifecyclePolicyText", str(lifecycle or ""), "Put")
    return {
        "Ref": name,
        "Arn": f"arn:aws:ecr:{site.region}:{site.account}:repository/{name}",
        "RepositoryUri": f"{site.account}.dkr.ecr.{site.region}.amazonaws.com/{name}",
    }


def _settings(wanted: Wanted) -> JsonObject:
    given = wanted.given("ImageTagMutability", "ImageScanningConfiguration", "EncryptionConfiguration")
    settings: JsonObject = typed(lowered(given), truths=("scanOnPush",))
    return settings


def _change(site: Site, name: str, shown: JsonObject, settings: JsonObject) -> None:
    for member, operation in (
        ("imageTagMutability", "PutImageTagMutability"),
        ("imageScanningConfiguration", "PutImageScanningConfiguration"),
    ):
        if member in settings and not holds(shown.get(member), settings[member]):
            site.change(SERVICE, operation, repositoryName=name, **{member: settings[member]})


def _policy(site: Site, name: str, subject: str, member: str, text: str, verb: str) -> None:
    """Put the policy of a subject; delete it where the template has none."""
    found = None if site.created else site.found(SERVICE, f"Get{subject}", repositoryName=name)
    if text and (found is None or not holds(found.get(member), text)):
        site.change(SERVICE, f"{verb}{subject}", repositoryName=name, **{member: text})
    if not text and found is not None:
        site.change(SERVICE, f"Delete{subject}", repositoryName=name)


def _delete(site: Site, known: Known) -> None:
    site.change(SERVICE, "DeleteRepository", repositoryName=known.ref, force=True)


KINDS: Final = {
    "AWS::ECR::Repository": Kind(
        "image repository", repository, _delete, "RepositoryName", 256, "ecr:{region}:{account}:repository/{name}"
    ),
}
