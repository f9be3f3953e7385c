"""Operations on single objects: put, get, head, delete, copy, tags and attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final
from urllib.parse import quote

from statewright.api.operations import App, Call, operation
from statewright.api.s3.access import set_acl, whole_control
from statewright.api.s3.bodies import body_of
from statewright.api.s3.members import (
    bare,
    check_owner,
    checksum_out,
    copy_source,
    encryption_out,
    named_version_out,
    part_checksums_out,
    quoted,
    read_conditions,
    settings_in,
    settings_out,
    source_version_out,
    tag_set,
    tags_in,
    tags_in_header,
    version_out,
)
from statewright.errors import ApiError
from statewright.instants import http_date
from statewright.objects import faults
from statewright.objects.conditions import delete_demand, write_demand
from statewright.objects.copies import Wish
from statewright.objects.lifecycle import expiration_of
from statewright.objects.records import COMPOSITE, ObjectView, Part
from statewright.objects.versions.ids import Deleted
from statewright.payload import JsonMapping, JsonObject
from statewright.stores.completion import adapted
from statewright.stores.object_rows import Demand

Request = JsonObject
MOST_DELETED: Final = 1000
_OVERRIDES: Final = {
    "ResponseContentType": "ContentType",
    "ResponseContentLanguage": "ContentLanguage",
    "ResponseExpires": "Expires",
    "ResponseCacheControl": "CacheControl",
    "ResponseContentDisposition": "ContentDisposition",
    "ResponseContentEncoding": "ContentEncoding",
}


@operation("s3", "PutObject")
async def put_object(app: App, call: Call, request: Request) -> Request:
    """Write an object."""
    check_owner(app, request)
    demand = write_demand(request.get("IfMatch"), request.get("IfNoneMatch"))
    settings = settings_in(request)
    body, promise = body_of(app, call, request)
    view = await app.services.objects.put(
        request["Bucket"],
        request["Key"],
        body,
        settings=settings,
        promise=promise,
        demand=demand,
        completion=adapted(call.completion, written),
        trace=call.trace_header,
    )
    return written(view)


def written(view: ObjectView) -> Request:
    """The members of an answer to a write."""
    answer = {"ETag": quoted(view.etag), **checksum_out(view.checksum), **encryption_out(view.settings.encryption)}
    return {**answer, **named_version_out(view)}


@operation("s3", "GetObject")
async def get_object(app: App, _call: Call, request: Request) -> Request:
    """Read an object, or a range of it."""
    check_owner(app, request)
    if request.get("Range") and request.get("PartNumber"):
        raise faults.invalid_request("Cannot specify both Range header and partNumber query parameter")
    view, stream, span = await app.services.objects.reading.get(
        request["Bucket"],
        request["Key"],
        range=request.get("Range"),
        part=request.get("PartNumber"),
        version=request.get("VersionId"),
        conditions=read_conditions(request),
    )
    answer = _read_out(view, request, span)
    if request.get("PartNumber") is not None:
        answer |= await _part_sum(app, view, request)
    return {**answer, "Body": stream}


@operation("s3", "HeadObject")
async def head_object(app: App, _call: Call, request: Request) -> Request:
    """Return the settings of an object."""
    check_owner(app, request)
    view = await app.services.objects.reading.head(
        request["Bucket"], request["Key"], version=request.get("VersionId"), conditions=read_conditions(request)
    )
    span = await app.services.objects.reading.span(view, request.get("Range"), request.get("PartNumber"))
    answer = _read_out(view, request, span)
    if request.get("PartNumber") is not None:
        answer |= await _part_sum(app, view, request)
    if request.get("VersionId") is None:
        answer |= await _expiration(app, view)
    return answer


async def _expiration(app: App, view: ObjectView) -> Request:
    """When an object expires; only HEAD without the id of a version says so (observed)."""
    settings = (await app.services.objects.bucket(view.bucket)).settings
    found = expiration_of(view, settings)
    if found is None:
        return {}
    return {"Expiration": f'expiry-date="{http_date(found[0])}", rule-id="{quote(found[1], safe="-._~")}"'}


async def _part_sum(app: App, view: ObjectView, request: JsonMapping) -> Request:
    """The members of the checksum of the part that a request reads."""
    if request.get("ChecksumMode") != "ENABLED" or view.checksum is None:
        return {}
    if not view.parts:
        return checksum_out(view.checksum)
    part: Part = (await app.services.objects.reading.parts(view))[request["PartNumber"] - 1]
    shown = part_checksums_out(part.checksums, view.checksum.algorithm)
    return {**shown, "ChecksumType": view.checksum.kind} if shown else {}


def _read_out(view: ObjectView, request: JsonMapping, span: tuple[int, int] | None) -> Request:
    answer = {**settings_out(view), **version_out(view)}
    for name, member in _OVERRIDES.items():
        if request.get(name) is not None:
            value = request[name]
            answer[member] = http_date(value) if name == "ResponseExpires" else value
    if span is not None:
        answer["ContentLength"] = span[1] - span[0] + 1
        answer["ContentRange"] = f"bytes {span[0]}-{span[1]}/{view.size}"
    if request.get("ChecksumMode") == "ENABLED" and span in (None, (0, view.size - 1)):
        answer |= checksum_out(view.checksum)
    if request.get("PartNumber") is not None and view.parts:
        answer["PartsCount"] = view.parts
    return answer


@operation("s3", "DeleteObject")
async def delete_object(app: App, call: Call, request: Request) -> Request:
    """Delete an object, if it exists, or a version; in a bucket with versions, put a delete marker in front."""
    check_owner(app, request)
    demand = delete_demand(request.get("IfMatch"))
    deleted = await app.services.objects.deletions.delete(
        request["Bucket"],
        request["Key"],
        version=request.get("VersionId"),
        demand=demand,
        bypass=bool(request.get("BypassGovernanceRetention")),
        completion=adapted(call.completion, _deleted),
    )
    return _deleted(deleted)


def _deleted(deleted: Deleted) -> Request:
    version = deleted.version or deleted.marker
    answer: Request = {"VersionId": version} if version is not None else {}
    return {**answer, "DeleteMarker": True} if deleted.marker is not None else answer


@operation("s3", "DeleteObjects")
async def delete_objects(app: App, call: Call, request: Request) -> Request:
    """Delete up to a thousand objects."""
    check_owner(app, request)
    wanted = request["Delete"]["Objects"]
    if not 0 < len(wanted) <= MOST_DELETED:
        raise faults.malformed_xml()
    chosen = []
    for one in wanted:
        if one.get("Size") is not None or one.get("LastModifiedTime") is not None:
            raise faults.not_here("This version of Statewright deletes on condition of the ETag alone.")
        etag = bare(one["ETag"]) if one.get("ETag") else None
        chosen.append((one["Key"], Demand(etag=etag), one.get("VersionId")))

    def answer(answers: Sequence[ApiError | Deleted]) -> Request:
        found: Request = {}
        if not request["Delete"].get("Quiet"):
            pairs = zip(wanted, answers, strict=True)
            found["Deleted"] = [_deleted_one(one, done) for one, done in pairs if isinstance(done, Deleted)]
        errors = [
            {"Key": one["Key"], "VersionId": one.get("VersionId"), "Code": problem.code, "Message": problem.message}
            for one, problem in zip(wanted, answers, strict=True)
            if isinstance(problem, ApiError)
        ]
        if errors:
            found["Errors"] = errors
        return found

    completion = adapted(call.completion, answer)
    bypass = bool(request.get("BypassGovernanceRetention"))
    deletions = app.services.objects.deletions
    return answer(await deletions.delete_many(request["Bucket"], chosen, completion=completion, bypass=bypass))


def _deleted_one(wanted: JsonMapping, deleted: Deleted) -> Request:
    found: Request = {"Key": wanted["Key"], "VersionId": deleted.version}
    return {**found, "DeleteMarker": True, "DeleteMarkerVersionId": deleted.marker} if deleted.marker else found


@operation("s3", "CopyObject")
async def copy_object(app: App, call: Call, request: Request) -> Request:
    """Copy an object, with its own settings or new ones."""
    check_owner(app, request)
    source = copy_source(request["CopySource"])
    given = settings_in({**request, "Tagging": None})
    wish = Wish(
        given,
        replaces=request.get("MetadataDirective") == "REPLACE",
        tags=tags_in_header(request.get("Tagging")) if request.get("TaggingDirective") == "REPLACE" else None,
        names_class=bool(request.get("StorageClass")),
    )
    view = await app.services.objects.copies.copy(
        source,
        request["Bucket"],
        request["Key"],
        conditions=read_conditions(request, of_copy=True),
        wish=wish,
        algorithm=request.get("ChecksumAlgorithm"),
        demand=write_demand(request.get("IfMatch"), request.get("IfNoneMatch")),
        completion=adapted(call.completion, _copied),
    )
    return _copied(view)


def _copied(view: ObjectView) -> Request:
    result = {"LastModified": view.modified_ms, "ETag": quoted(view.etag), **checksum_out(view.checksum)}
    versions = {**version_out(view), **source_version_out(view.source_version)}
    return {"CopyObjectResult": result, **encryption_out(view.settings.encryption), **versions}


@operation("s3", "GetObjectTagging")
async def get_object_tagging(app: App, _call: Call, request: Request) -> Request:
    """Return the tags of an object."""
    view = await _head(app, request, method="GET")
    return {"TagSet": tag_set(view.settings.tags), **version_out(view)}


@operation("s3", "PutObjectTagging")
async def put_object_tagging(app: App, _call: Call, request: Request) -> Request:
    """Replace the tags of an object."""
    check_owner(app, request)
    return await _set_tags(app, request, tags_in(request["Tagging"]))


@operation("s3", "DeleteObjectTagging")
async def delete_object_tagging(app: App, _call: Call, request: Request) -> Request:
    """Delete the tags of an object."""
    check_owner(app, request)
    return await _set_tags(app, request, {})


async def _set_tags(app: App, request: Request, tags: dict[str, str]) -> Request:
    version = request.get("VersionId")
    return version_out(await app.services.objects.set_tags(request["Bucket"], request["Key"], tags, version=version))


@operation("s3", "GetObjectAcl")
async def get_object_acl(app: App, _call: Call, request: Request) -> Request:
    """Return the ACL of an object: full control for its owner."""
    await _head(app, request)
    return whole_control(app)


@operation("s3", "PutObjectAcl")
async def put_object_acl(app: App, _call: Call, request: Request) -> None:
    """Accept an ACL that grants control to the owner only."""
    view = await _head(app, request, method="PUT")
    set_acl(app, request)
    await app.services.objects.note_acl(view)


@operation("s3", "GetObjectAttributes")
async def get_object_attributes(app: App, _call: Call, request: Request) -> Request:
    """Return the requested attributes of an object."""
    wanted = request["ObjectAttributes"]
    if not wanted:
        raise faults.invalid_argument("Invalid attribute name specified.", "x-amz-object-attributes", "")
    view = await _head(app, request)
    answer: Request = {"LastModified": view.modified_ms, **version_out(view)}
    if "ETag" in wanted:
        answer["ETag"] = view.etag
    if "Checksum" in wanted and view.checksum is not None:
        whole = replace(view.checksum, value=view.checksum.value.partition("-")[0])
        answer["Checksum"] = checksum_out(whole)
    if "ObjectParts" in wanted and view.parts:
        answer["ObjectParts"] = await _object_parts(app, view, request)
    if "StorageClass" in wanted:
        answer["StorageClass"] = view.settings.storage_class
    if "ObjectSize" in wanted:
        answer["ObjectSize"] = view.size
    return answer


async def _object_parts(app: App, view: ObjectView, request: Request) -> Request:
    if view.checksum is None or view.checksum.kind != COMPOSITE:
        return {"TotalPartsCount": view.parts}
    marker, limit = request.get("PartNumberMarker") or 0, request.get("MaxParts")
    limit = 1000 if limit is None else min(max(limit, 0), 1000)
    marker = int(marker)
    parts = [part for part in await app.services.objects.reading.parts(view) if part.number > marker]
    shown = parts[:limit]
    only = view.checksum.algorithm
    return {
        "TotalPartsCount": view.parts,
        "PartNumberMarker": str(marker),
        "NextPartNumberMarker": str(shown[-1].number if shown else 0),
        "MaxParts": limit,
        "IsTruncated": len(parts) > limit,
        "Parts": [
            {"PartNumber": part.number, "Size": part.size, **part_checksums_out(part.checksums, only)} for part in shown
        ],
    }


async def _head(app: App, request: Request, method: str | None = None) -> ObjectView:
    check_owner(app, request)
    found: ObjectView = await app.services.objects.reading.head(
        request["Bucket"], request["Key"], version=request.get("VersionId"), method=method
    )
    return found
