"""Operations that list the objects of a bucket: both versions of the list, and the list of versions."""

from __future__ import annotations

from statewright.api.operations import App, Call, operation
from statewright.api.s3.locations import FIRST_REGION
from statewright.api.s3.members import TOKENS, check_owner, encoded, owner, page_size, quoted
from statewright.objects.objects import Listing
from statewright.objects.records import ObjectView
from statewright.objects.versions.lists import ListedVersion, VersionListing, VersionPlace
from statewright.payload import JsonObject
from statewright.stores.key_pages import group_of

Request = JsonObject


@operation("s3", "ListObjectsV2")
async def list_objects_v2(app: App, call: Call, request: Request) -> Request:
    """List a page of keys; the next one by a token."""
    encoding, limit = request.get("EncodingType"), page_size(request, "MaxKeys", "maxKeys")
    token = request.get("ContinuationToken")
    found = await _page(app, request, request.get("StartAfter") or "", limit, token)
    with_owner = bool(request.get("FetchOwner"))
    contents = [_content(app, view, encoding, with_owner=with_owner) for view in found.objects]
    return {
        **await _region_out(app, call, request),
        **_head(request, encoding),
        "StartAfter": encoded(request["StartAfter"], encoding) if request.get("StartAfter") and not token else None,
        "ContinuationToken": token,
        "NextContinuationToken": TOKENS.write(found.next.decode("latin-1") if found.next is not None else None),
        "KeyCount": len(found.objects) + len(found.prefixes),
        "MaxKeys": limit,
        "Delimiter": encoded(request["Delimiter"], encoding) if request.get("Delimiter") else None,
        "EncodingType": encoding,
        "IsTruncated": found.next is not None,
        "Contents": contents,
        "CommonPrefixes": _prefixes(found, encoding),
    }


@operation("s3", "ListObjects")
async def list_objects(app: App, _call: Call, request: Request) -> Request:
    """List a page of keys; the next one by its last entry."""
    encoding, limit = request.get("EncodingType"), page_size(request, "MaxKeys", "maxKeys")
    marker, delimiter = request.get("Marker") or "", request.get("Delimiter")
    found = await _page(app, request, _past(marker, request.get("Prefix") or "", delimiter or ""), limit, None)
    is_cut = found.next is not None
    return {
        **_head(request, encoding),
        "Marker": encoded(marker, encoding),
        "NextMarker": encoded(found.last or "", encoding) if is_cut and delimiter else None,
        "MaxKeys": limit,
        "Delimiter": encoded(delimiter, encoding) if delimiter else None,
        "EncodingType": encoding,
        "IsTruncated": is_cut,
        "Contents": [_content(app, view, encoding, with_owner=True) for view in found.objects],
        "CommonPrefixes": _prefixes(found, encoding),
    }


def _past(marker: str, prefix: str, delimiter: str) -> str:
    """A marker, or the common prefix in which it lies: the page begins behind all of it."""
    group = group_of(marker.encode(), prefix.encode(), delimiter.encode())
    return marker if group is None else group.decode()


@operation("s3", "ListObjectVersions")
async def list_object_versions(app: App, _call: Call, request: Request) -> Request:
    """List a page of versions and delete markers; the next one by its last entry."""
    check_owner(app, request)
    encoding, limit = request.get("EncodingType"), page_size(request, "MaxKeys", "maxKeys")
    marker, delimiter = request.get("KeyMarker") or "", request.get("Delimiter")
    found: VersionListing = await app.services.objects.list_versions(
        request["Bucket"],
        prefix=request.get("Prefix") or "",
        delimiter=delimiter or "",
        after=VersionPlace(marker, request.get("VersionIdMarker")),
        limit=limit,
    )
    return {
        **_head(request, encoding),
        "KeyMarker": encoded(marker, encoding),
        "VersionIdMarker": request.get("VersionIdMarker") or "",
        "NextKeyMarker": encoded(found.next.key, encoding) if found.next is not None else None,
        "NextVersionIdMarker": found.next.version if found.next is not None else None,
        "MaxKeys": limit,
        "Delimiter": encoded(delimiter, encoding) if delimiter else None,
        "EncodingType": encoding,
        "IsTruncated": found.next is not None,
        "Versions": [_version(app, one, encoding) for one in found.versions if not one.is_marker],
        "DeleteMarkers": [_marker(app, one, encoding) for one in found.versions if one.is_marker],
        "CommonPrefixes": [{"Prefix": encoded(prefix, encoding)} for prefix in found.prefixes],
    }


def _version(app: App, one: ListedVersion, encoding: str | None) -> Request:
    content = _content(app, one.view, encoding, with_owner=True)
    return {**content, "VersionId": one.id, "IsLatest": one.is_latest}


def _marker(app: App, one: ListedVersion, encoding: str | None) -> Request:
    return {
        "Key": encoded(one.view.key, encoding),
        "LastModified": one.view.modified_ms,
        "VersionId": one.id,
        "IsLatest": one.is_latest,
        "Owner": owner(app),
    }


async def _page(app: App, request: Request, after: str, limit: int, token: str | None) -> Listing:
    check_owner(app, request)
    place = TOKENS.read(token)
    found: Listing = await app.services.objects.list_keys(
        request["Bucket"],
        prefix=request.get("Prefix") or "",
        delimiter=request.get("Delimiter") or "",
        after=after,
        start=place.encode("latin-1") if place is not None else None,
        limit=limit,
    )
    return found


async def _region_out(app: App, call: Call, request: Request) -> Request:
    """The header with the region of a bucket outside the first one. SDKs, and so the results of tasks, lack it."""
    place = (await app.services.objects.bucket(request["Bucket"])).place
    return {"BucketRegion": place} if place != FIRST_REGION and call.sent_by is None else {}


def _head(request: Request, encoding: str | None) -> Request:
    return {"Name": request["Bucket"], "Prefix": encoded(request.get("Prefix") or "", encoding)}


def _content(app: App, view: ObjectView, encoding: str | None, *, with_owner: bool) -> Request:
    content: Request = {
        "Key": encoded(view.key, encoding),
        "LastModified": view.modified_ms,
        "ETag": quoted(view.etag),
    }
    if view.checksum is not None:
        content["ChecksumAlgorithm"] = [view.checksum.algorithm]
        content["ChecksumType"] = view.checksum.kind
    content["Size"] = view.size
    content["StorageClass"] = view.settings.storage_class
    if with_owner:
        content["Owner"] = owner(app)
    return content


def _prefixes(found: Listing, encoding: str | None) -> list[dict[str, str]]:
    return [{"Prefix": encoded(prefix, encoding)} for prefix in found.prefixes]
