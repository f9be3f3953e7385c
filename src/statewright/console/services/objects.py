"""Buckets, their objects by folder, previews within bounds, links to download, and small uploads.

A preview is text or a picture that the first bytes say it is, never what its content type claims; nothing that a
browser could run is shown as more than text. A download goes through the S3 API, whose answers browsers keep apart
from this origin (`api.guard.HARMLESS`), and always as an attachment.
"""

from __future__ import annotations

import base64
import binascii
import time
from collections.abc import AsyncIterator
from typing import Final
from urllib.parse import quote

from statewright.api.auth import Request, signature
from statewright.api.operations import App, Call, perform
from statewright.api.protocols.uploads import Upload
from statewright.api.streaming import close
from statewright.console.asked import Asked, document, needed, text_of
from statewright.console.context import Console
from statewright.console.redaction import Redactor
from statewright.console.services.lists import begin_write, page_of, page_size
from statewright.console.services.shown_data import named
from statewright.errors import ApiError
from statewright.objects.records import Bucket
from statewright.payload import Json, JsonMapping, JsonObject

TEXT_BYTES: Final = 200_000
IMAGE_BYTES: Final = 1_000_000
UPLOAD_BYTES: Final = 8_000_000
LINK_SECONDS: Final = 300
MOST_VERSIONS: Final = 100
HIDDEN: Final = "The settings of this server hide contents ([console] payloads)."

_PICTURES: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)  # fmt: skip


async def buckets(console: Console, asked: Asked) -> JsonObject:
    """A page of buckets by name: `{rows, next}`; a row has `{name, region, createdMs, versioning}`."""
    found = await console.app_of(asked).services.objects.list_buckets()
    rows, following = page_of(found, lambda bucket: bucket.name, asked.given)
    return {"rows": [_bucket(one) for one in rows], "next": following}


def _bucket(bucket: Bucket) -> JsonObject:
    versioning = "Enabled" if bucket.keeps_versions else "Suspended" if bucket.is_versioned else "Off"
    return {
        "name": bucket.name, "region": bucket.place, "createdMs": bucket.created_ms, "versioning": versioning,
        "tags": len(bucket.tags),
    }  # fmt: skip


async def objects(console: Console, asked: Asked) -> JsonObject:
    """A page of a folder of a bucket: `bucket`, `prefix`, and `q`, with which names in it begin. `{rows, next}`; a row
    has `{key, name, isFolder, bytes, modifiedMs, class}`.
    """
    prefix = asked.given.get("prefix", "")
    request = {
        "Bucket": needed(asked.given, "bucket"), "Prefix": prefix + asked.given.get("q", ""), "Delimiter": "/",
        "MaxKeys": page_size(asked.given),
    }  # fmt: skip
    if asked.given.get("cursor"):
        request["ContinuationToken"] = asked.given["cursor"]
    answer = await _perform(console.app_of(asked), asked, "ListObjectsV2", request)
    folders = [{"key": one["Prefix"], "name": one["Prefix"][len(prefix) :], "isFolder": True}
               for one in answer["CommonPrefixes"]]  # fmt: skip
    files = [
        {"key": one["Key"], "name": one["Key"][len(prefix) :], "isFolder": False, "bytes": one["Size"],
         "modifiedMs": one["LastModified"], "class": one.get("StorageClass")}
        for one in answer["Contents"]
    ]  # fmt: skip
    rows = sorted([*folders, *files], key=lambda one: str(one["key"]))
    return {"rows": rows, "next": answer.get("NextContinuationToken")}


async def versions(console: Console, asked: Asked) -> JsonObject:
    """Versions and delete markers of one object, newest first: `{rows}` of `{version, isLatest, isMarker, bytes,
    modifiedMs}`, at most a hundred.
    """
    key = needed(asked.given, "key")
    request = {"Bucket": needed(asked.given, "bucket"), "Prefix": key, "MaxKeys": MOST_VERSIONS}
    answer = await _perform(console.app_of(asked), asked, "ListObjectVersions", request)
    marked = [(one, False) for one in answer["Versions"]] + [(one, True) for one in answer["DeleteMarkers"]]
    rows = [
        {"version": one["VersionId"], "isLatest": one["IsLatest"], "isMarker": is_marker, "bytes": one.get("Size", 0),
         "modifiedMs": one["LastModified"]}
        for one, is_marker in marked
        if one["Key"] == key
    ]  # fmt: skip
    return {"rows": sorted(rows, key=lambda one: (one["isLatest"], one["modifiedMs"]), reverse=True)}


async def object_(console: Console, asked: Asked) -> JsonObject:
    """An object or version: `{key, bytes, modifiedMs, etag, version, type, class, metadata, tags, preview}`.

    `preview` is `{kind, text, isWhole}` with kind `text`, `{kind, data, type}` with kind `image`, or of kind `none`
    with a `reason`.

    Raises: ApiError (`NoSuchBucket`, `NoSuchKey`, `NoSuchVersion`, `MethodNotAllowed` for a delete marker).
    """
    app = console.app_of(asked)
    which = {"Bucket": needed(asked.given, "bucket"), "Key": needed(asked.given, "key")}
    if asked.given.get("version"):
        which["VersionId"] = asked.given["version"]
    head = await _perform(app, asked, "HeadObject", which)
    tags = await _perform(app, asked, "GetObjectTagging", which)
    length = head["ContentLength"]
    return {
        "key": which["Key"], "bytes": length, "modifiedMs": head["LastModified"], "etag": head["ETag"].strip('"'),
        "version": head.get("VersionId"), "type": head.get("ContentType"), "class": head.get("StorageClass"),
        "encoding": head.get("ContentEncoding"),
        "metadata": _values(console.redactor, head.get("Metadata") or {}),
        "tags": _values(console.redactor, {one["Key"]: one["Value"] for one in tags["TagSet"]}),
        "preview": {"kind": "none", "reason": HIDDEN} if console.redactor.is_hidden
        else console.redactor.answer(await _preview(app, asked, {**which, "IfMatch": head["ETag"]}, length)),
    }  # fmt: skip


def _values(redactor: Redactor, values: JsonMapping) -> JsonObject:
    return {name: named(redactor, name, value) for name, value in values.items()}


async def _preview(app: App, asked: Asked, which: JsonMapping, length: int) -> Json:
    if length == 0:
        return {"kind": "none", "reason": "It is empty."}
    first = await _beginning(app, asked, which, min(length, TEXT_BYTES))
    picture = picture_of(first)
    if picture is not None:
        if length > IMAGE_BYTES:
            return {"kind": "none", "reason": "Pictures over 1 MB are not shown; download it."}
        whole = first if length <= len(first) else await _beginning(app, asked, which, length)
        return {"kind": "image", "type": picture, "data": base64.b64encode(whole).decode()}
    text = text_in(first)
    if text is None:
        return {"kind": "none", "reason": "It is neither text nor a picture that can be shown; download it."}
    return {"kind": "text", "text": text, "isWhole": length <= TEXT_BYTES}


async def _beginning(app: App, asked: Asked, which: JsonMapping, count: int) -> bytes:
    """The first bytes of an object; no more are read."""
    answer = await _perform(app, asked, "GetObject", {**which, "Range": f"bytes=0-{count - 1}"})
    stream, found = answer["Body"], bytearray()
    try:
        async for piece in stream:
            found += piece
    finally:
        await close(stream)
    return bytes(found)


def picture_of(content: bytes) -> str | None:
    """The type of a picture that browsers show without running anything; None for all else, SVG among it."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for mark, kind in _PICTURES if content.startswith(mark)), None)


def text_in(content: bytes) -> str | None:
    """The text of bytes in UTF-8, of which the last character may be cut; None if they are none."""
    if b"\0" in content:
        return None
    for cut in range(4):
        try:
            return content[: len(content) - cut].decode()
        except UnicodeDecodeError as problem:
            if problem.start < len(content) - 4:
                return None
    return None


async def link(console: Console, asked: Asked) -> JsonObject:
    """An address of this server that downloads an object for five minutes: `{bucket, key, version, host}` to `{path}`.

    Raises: ApiError, also for a key that browsers would change, and if contents are hidden.
    """
    body = document(asked)
    if console.redactor.is_hidden:
        raise ApiError("AccessDenied", HIDDEN, status=403)
    app = console.app_in(text_of(body, "region", ""))
    bucket, key, version = text_of(body, "bucket"), text_of(body, "key"), text_of(body, "version", "")
    if {".", ".."} & set(key.split("/")) or bucket == "console":
        text = "Browsers change addresses with this name: download it with statewright aws s3 cp."
        raise ApiError("BadRequest", text)
    path = f"/{quote(bucket)}/{quote(key)}"
    return {"path": _signed(app, asked.caller.access_key, path, text_of(body, "host"), key, version)}


def _signed(app: App, key_id: str, path: str, host: str, key: str, version: str) -> str:
    # A server without credentials takes any signature. Users of a proxy and of temporary credentials have no key of the
    # settings.
    key_id, secret = app.config.signer(key_id) or ("statewright", "statewright")
    at = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    scope = (at[:8], app.config.region, "s3", "aws4_request")
    name = quote(key.rpartition("/")[2] or "object", safe="")
    query = {
        "X-Amz-Algorithm": "AWS4-HMAC-SHA256", "X-Amz-Credential": "/".join((key_id, *scope)), "X-Amz-Date": at,
        "X-Amz-Expires": str(LINK_SECONDS), "X-Amz-SignedHeaders": "host",
        "response-content-disposition": f"attachment; filename*=UTF-8''{name}",
        "response-content-type": "application/octet-stream",
    }  # fmt: skip
    if version:
        query["versionId"] = version
    text = "&".join(f"{quote(one, safe='')}={quote(value, safe='')}" for one, value in sorted(query.items()))
    signed = signature(Request("GET", path, text, {"host": host}, None), ("host",), scope, at, secret, presigned=True)
    return f"{path}?{text}&X-Amz-Signature={signed}"


async def put(console: Console, asked: Asked) -> JsonObject:
    """Write a small object: `{bucket, key, type, data, replaces}`, `data` in base64, to `{version}`. Without `replaces`
    an object under the key is left as it is.

    Raises: ApiError (`PreconditionFailed` among them).
    """
    body = document(asked)
    bucket, key = text_of(body, "bucket"), text_of(body, "key")
    begin_write(asked, f"PutObject of {bucket}")
    try:
        data = base64.b64decode(text_of(body, "data"), validate=True)
    except binascii.Error:
        raise ApiError("BadRequest", "data must be base64.") from None
    if len(data) > UPLOAD_BYTES:
        text = f"Here files of up to {UPLOAD_BYTES // 1_000_000} MB are uploaded; use statewright aws s3 cp."
        raise ApiError("BadRequest", text)
    request: JsonObject = {"Bucket": bucket, "Key": key, "Body": Upload(_once(data), len(data))}
    if text_of(body, "type", ""):
        request["ContentType"] = text_of(body, "type")
    if not body.get("replaces"):
        request["IfNoneMatch"] = "*"
    answer = await _perform(console.app_in(text_of(body, "region", "")), asked, "PutObject", request)
    return {"version": answer.get("VersionId")}


async def _once(content: bytes) -> AsyncIterator[bytes]:
    if content:
        yield content


async def _perform(app: App, asked: Asked, operation: str, request: JsonMapping) -> JsonObject:
    call = Call("s3", operation, asked.request_id, access_key=asked.caller.access_key or None)
    answer: JsonObject = await perform(app, call, dict(request))
    return answer


READS: Final = {"buckets": buckets, "objects": objects, "object/versions": versions, "object": object_}
ACTIONS: Final = {"object/link": link, "object/put": put}
