"""Operations on multipart uploads."""

from __future__ import annotations

from statewright.api.operations import App, Call, operation
from statewright.api.s3.bodies import body_of
from statewright.api.s3.members import (
    bare,
    check_owner,
    checksum_out,
    checksums_in,
    copy_source,
    encoded,
    encryption_out,
    initiator,
    named_version_out,
    owner,
    page_size,
    part_checksums_out,
    quoted,
    read_conditions,
    settings_in,
    source_version_out,
    stored_part_out,
)
from statewright.objects import faults
from statewright.objects.conditions import write_demand
from statewright.objects.records import COMPOSITE, FULL_OBJECT, Checksum, ObjectView, Part, Upload
from statewright.objects.uploads import Chosen, UploadPage, upload_text
from statewright.payload import JsonObject
from statewright.stores.completion import adapted

Request = JsonObject


@operation("s3", "CreateMultipartUpload")
async def create_multipart_upload(app: App, call: Call, request: Request) -> Request:
    """Begin an upload."""
    check_owner(app, request)
    upload = await app.services.objects.uploads.create(
        request["Bucket"],
        request["Key"],
        settings=settings_in(request),
        algorithm=request.get("ChecksumAlgorithm"),
        kind=request.get("ChecksumType"),
        completion=adapted(call.completion, _begun),
    )
    return _begun(upload)


def _begun(upload: Upload) -> Request:
    answer: Request = {"Bucket": upload.bucket, "Key": upload.key, "UploadId": upload_text(upload.id)}
    if upload.algorithm is not None:
        answer |= {"ChecksumAlgorithm": upload.algorithm, "ChecksumType": upload.kind}
    return {**answer, **encryption_out(upload.settings.encryption)}


@operation("s3", "UploadPart")
async def upload_part(app: App, call: Call, request: Request) -> Request:
    """Store a part."""
    check_owner(app, request)
    body, promise = body_of(app, call, request)
    part: Part = await app.services.objects.uploads.put_part(
        request["Bucket"], request["Key"], request["UploadId"], request["PartNumber"], body, promise
    )
    return {"ETag": quoted(part.etag), **stored_part_out(part, promise.algorithm)}


@operation("s3", "UploadPartCopy")
async def upload_part_copy(app: App, _call: Call, request: Request) -> Request:
    """Copy a part from an object."""
    check_owner(app, request)
    made: tuple[Part, ObjectView] = await app.services.objects.copies.copy_part(
        request["Bucket"],
        request["Key"],
        request["UploadId"],
        request["PartNumber"],
        copy_source(request["CopySource"]),
        range=request.get("CopySourceRange"),
        conditions=read_conditions(request, of_copy=True),
    )
    part, source = made
    shown = stored_part_out(part, None)
    sums = {name: shown.pop(name) for name in [*shown] if name.startswith("Checksum")}
    copied = {"LastModified": part.modified_ms, "ETag": quoted(part.etag), **sums}
    return {"CopyPartResult": copied, **shown, **source_version_out(source.version)}


@operation("s3", "CompleteMultipartUpload")
async def complete_multipart_upload(app: App, call: Call, request: Request) -> Request:
    """Assemble an object from the parts."""
    check_owner(app, request)
    parts = (request.get("MultipartUpload") or {}).get("Parts") or []
    if any(part.get("ETag") is None or part.get("PartNumber") is None for part in parts):
        raise faults.malformed_xml()
    given = list(checksums_in(request).items())
    kind = request.get("ChecksumType")
    whole = Checksum(*given[0], kind=COMPOSITE if "-" in given[0][1] else FULL_OBJECT) if given else None
    view = await app.services.objects.uploads.complete(
        request["Bucket"],
        request["Key"],
        request["UploadId"],
        [Chosen(part["PartNumber"], bare(part["ETag"]), checksums_in(part)) for part in parts],
        demand=write_demand(request.get("IfMatch"), request.get("IfNoneMatch")),
        checksum=whole,
        kind=kind,
        size=request.get("MpuObjectSize"),
        completion=adapted(call.completion, _assembled),
    )
    return _assembled(view)


def _assembled(view: ObjectView) -> Request:
    return {
        "Location": f"/{view.bucket}/{encoded(view.key, 'url')}",
        "Bucket": view.bucket,
        "Key": view.key,
        "ETag": quoted(view.etag),
        **checksum_out(view.checksum),
        **encryption_out(view.settings.encryption),
        **named_version_out(view),
    }


@operation("s3", "AbortMultipartUpload")
async def abort_multipart_upload(app: App, call: Call, request: Request) -> None:
    """Abort an upload."""
    check_owner(app, request)
    uploads = app.services.objects.uploads
    await uploads.abort(request["Bucket"], request["Key"], request["UploadId"], adapted(call.completion, lambda _: {}))


@operation("s3", "ListParts")
async def list_parts(app: App, _call: Call, request: Request) -> Request:
    """List a page of the parts received so far."""
    check_owner(app, request)
    limit = page_size(request, "MaxParts", "max-parts")
    try:
        marker = int(request.get("PartNumberMarker") or 0)
    except ValueError:
        raise faults.invalid_argument(
            "Provided part-number-marker not an integer or within integer range",
            "part-number-marker",
            request["PartNumberMarker"],
        ) from None
    upload = await app.services.objects.uploads.find(request["Bucket"], request["Key"], request["UploadId"])
    parts = await app.services.objects.uploads.parts(upload, after=marker, limit=limit + 1)
    shown = parts[:limit]
    answer: Request = {
        "Bucket": upload.bucket,
        "Key": upload.key,
        "UploadId": request["UploadId"],
        "PartNumberMarker": str(marker),
        "NextPartNumberMarker": str(shown[-1].number if shown else 0),
        "MaxParts": limit,
        "IsTruncated": len(parts) > limit,
        "Parts": [
            {
                "PartNumber": part.number,
                "LastModified": part.modified_ms,
                "ETag": quoted(part.etag),
                "Size": part.size,
                **part_checksums_out(part.checksums, upload.algorithm),
            }
            for part in shown
        ],
        "Initiator": initiator(app),
        "Owner": owner(app),
        "StorageClass": upload.settings.storage_class,
    }
    if upload.algorithm is not None:
        answer |= {"ChecksumAlgorithm": upload.algorithm, "ChecksumType": upload.kind}
    return answer


def _ending(page: UploadPage) -> tuple[str, str]:
    """The markers of a page behind which there is none: those of its last upload, if no prefix follows that."""
    last = page.uploads[-1] if page.uploads else None
    if last is None or (page.prefixes and page.prefixes[-1] > last.key):
        return "", ""
    return last.key, upload_text(last.id)


@operation("s3", "ListMultipartUploads")
async def list_multipart_uploads(app: App, _call: Call, request: Request) -> Request:
    """List a page of the uploads in progress."""
    check_owner(app, request)
    limit, encoding = page_size(request, "MaxUploads", "max-uploads"), request.get("EncodingType")
    delimiter = request.get("Delimiter") or ""
    page = await app.services.objects.uploads.under_way(
        request["Bucket"],
        prefix=request.get("Prefix") or "",
        delimiter=delimiter,
        after_key=request.get("KeyMarker") or "",
        after_upload=request.get("UploadIdMarker") or "",
        limit=limit,
    )
    last_key, last_upload = page.last or _ending(page)
    uploads = []
    for upload in page.uploads:
        shown: Request = {
            "UploadId": upload_text(upload.id),
            "Key": encoded(upload.key, encoding),
            "Initiated": upload.created_ms,
            "StorageClass": upload.settings.storage_class,
            "Owner": owner(app),
            "Initiator": initiator(app),
        }
        if upload.algorithm is not None:
            shown |= {"ChecksumAlgorithm": upload.algorithm, "ChecksumType": upload.kind}
        uploads.append(shown)
    return {
        "Bucket": request["Bucket"],
        "KeyMarker": encoded(request.get("KeyMarker") or "", encoding),
        "UploadIdMarker": request.get("UploadIdMarker") or "",
        "NextKeyMarker": encoded(last_key, encoding),
        "NextUploadIdMarker": last_upload,
        "Delimiter": encoded(delimiter, encoding) if delimiter else None,
        "Prefix": encoded(request.get("Prefix") or "", encoding),
        "EncodingType": encoding,
        "MaxUploads": limit,
        "IsTruncated": page.last is not None,
        "Uploads": uploads,
        "CommonPrefixes": [{"Prefix": encoded(prefix, encoding)} for prefix in page.prefixes],
    }
