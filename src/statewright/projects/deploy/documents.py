"""Documents of resources: texts that a template has in it, in a file beside it, or in a bucket.

Owns where the text of an API's OpenAPI document is, and reading objects that tools have put into buckets.
"""

from __future__ import annotations

import hashlib
import json

from statewright.payload import Json
from statewright.projects.deploy.calls import CallRefused
from statewright.projects.deploy.kinds import CannotApply, Site, Wanted, text_of


def api_document(site: Site, wanted: Wanted) -> str | None:
    """The OpenAPI document of an API; `None` if it has none. Raises: CannotApply; OSError."""
    path = wanted.resource.definition
    if path is not None:
        return path.read_text("utf-8-sig")
    body = wanted.properties.get("Body")
    if body:
        return body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    given = wanted.properties.get("BodyS3Location")
    return stored_text(site, given, "OpenAPI document") if given else None


def mark_of(*parts: Json) -> str:
    """A mark of what a resource was made of, by which a change is found."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def stored_text(site: Site, given: Json, noun: str) -> str:
    """The text of an object that tools have put into a bucket, by its location. Raises: CannotApply."""
    if isinstance(given, str):
        bucket, _, key = given.removeprefix("s3://").partition("/")
        given = {"Bucket": bucket, "Key": key}
    if not isinstance(given, dict):
        raise CannotApply(f"its {noun} must be at an object of a bucket")
    bucket, key = text_of(given.get("Bucket", "")), text_of(given.get("Key", ""))
    request = {"Bucket": bucket, "Key": key}
    if given.get("Version"):
        request["VersionId"] = text_of(given["Version"])
    try:
        body = site.asked("s3", "GetObject", **request)["Body"]
    except CallRefused as refused:
        raise CannotApply(f"its {noun} s3://{bucket}/{key} cannot be read: {refused.code}") from None
    try:
        return bytes(body).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise CannotApply(f"its {noun} s3://{bucket}/{key} is not UTF-8") from None
