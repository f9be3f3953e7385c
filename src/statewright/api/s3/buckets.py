"""Operations on buckets: creating and deleting them, their tags, and the features that they never have.

Reading such a feature (a website, replication ...) is answered as the service does for a bucket without it; setting it
is refused. Features that can be set are in `settings`.
"""

from __future__ import annotations

from typing import Final

from statewright.api.operations import App, Call, operation
from statewright.api.s3 import errors as _errors  # noqa: F401
from statewright.api.s3.locations import FIRST_REGION, region_of_new
from statewright.api.s3.members import check_owner, owner, tag_set, tags_in
from statewright.errors import ApiError
from statewright.objects import faults
from statewright.objects.bucket_settings import of_new_bucket
from statewright.objects.locks import LOCK, ON
from statewright.objects.names import checked_tags
from statewright.objects.records import Bucket
from statewright.objects.versions.ids import ENABLED, VERSIONING
from statewright.payload import JsonObject

Request = JsonObject


@operation("s3", "CreateBucket")
async def create_bucket(app: App, call: Call, request: Request) -> Request:
    """Create a bucket. Creating one's own again is no error in the first region, as with the service."""
    check_owner(app, request)
    name = request["Bucket"]
    settings = request.get("CreateBucketConfiguration") or {}
    if settings.get("Location") or settings.get("Bucket"):
        raise faults.not_here("This version of Statewright does not have directory buckets.")
    region = region_of_new(app, call, settings.get("LocationConstraint"))
    tags = checked_tags([(tag["Key"], tag["Value"]) for tag in settings.get("Tags") or ()], of_bucket=True)
    try:
        made = of_new_bucket(request.get("ObjectOwnership"))
        if request.get("ObjectLockEnabledForBucket"):
            made |= {VERSIONING: ENABLED, LOCK: ON}
        await app.services.objects.create_bucket(name, region=region, tags=tags, settings=made)
    except ApiError as problem:
        if problem.code != "BucketAlreadyOwnedByYou" or region != FIRST_REGION:
            raise
        if (await app.services.objects.bucket(name)).region != FIRST_REGION:
            raise
    host = call.headers.get("host", "s3.amazonaws.com").removeprefix(f"{name}.")
    return {"Location": f"/{name}" if region == FIRST_REGION else f"http://{name}.{host}/", "BucketArn": _arn(name)}


def _arn(name: str) -> str:
    return f"arn:aws:s3:::{name}"


@operation("s3", "HeadBucket")
async def head_bucket(app: App, _call: Call, request: Request) -> Request:
    """Confirm that a bucket exists, and return its region."""
    bucket = await bucket_of(app, request)
    return {"BucketArn": _arn(bucket.name), "BucketRegion": bucket.place, "AccessPointAlias": False}


@operation("s3", "ListBuckets")
async def list_buckets(app: App, _call: Call, request: Request) -> Request:
    """List all buckets by name, in pages if the caller asks for them."""
    prefix, region = request.get("Prefix") or "", request.get("BucketRegion")
    after = request.get("ContinuationToken") or ""
    limit = request.get("MaxBuckets") or 10_000
    found = [
        bucket
        for bucket in await app.services.objects.list_buckets()
        if bucket.name.startswith(prefix) and bucket.name > after and region in (None, bucket.place)
    ]
    answer: Request = {
        "Buckets": [
            {
                "Name": bucket.name,
                "CreationDate": bucket.created_ms,
                "BucketRegion": bucket.place,
                "BucketArn": _arn(bucket.name),
            }
            for bucket in found[:limit]
        ],
        "Owner": owner(app),
    }
    if len(found) > limit:
        answer["ContinuationToken"] = found[limit - 1].name
    if prefix:
        answer["Prefix"] = prefix
    return answer


@operation("s3", "DeleteBucket")
async def delete_bucket(app: App, _call: Call, request: Request) -> None:
    """Delete an empty bucket."""
    check_owner(app, request)
    await app.services.objects.delete_bucket(request["Bucket"])


@operation("s3", "GetBucketLocation")
async def get_bucket_location(app: App, _call: Call, request: Request) -> Request:
    """Return the region of a bucket; the first region has no name here."""
    region = (await bucket_of(app, request)).region
    return {"LocationConstraint": None if region == FIRST_REGION else region}


@operation("s3", "GetBucketTagging")
async def get_bucket_tagging(app: App, _call: Call, request: Request) -> Request:
    """Return the tags of a bucket."""
    bucket = await bucket_of(app, request)
    if not bucket.tags:
        raise without(request, "NoSuchTagSet", "The TagSet does not exist")
    return {"TagSet": tag_set(bucket.tags)}


@operation("s3", "PutBucketTagging")
async def put_bucket_tagging(app: App, _call: Call, request: Request) -> None:
    """Replace the tags of a bucket."""
    await bucket_of(app, request)
    await app.services.objects.set_bucket_tags(request["Bucket"], tags_in(request["Tagging"], of_bucket=True))


@operation("s3", "DeleteBucketTagging")
async def delete_bucket_tagging(app: App, _call: Call, request: Request) -> None:
    """Delete the tags of a bucket."""
    await bucket_of(app, request)
    await app.services.objects.set_bucket_tags(request["Bucket"], {})


@operation("s3", "GetBucketRequestPayment")
async def get_bucket_request_payment(app: App, _call: Call, request: Request) -> Request:
    """Return the bucket's owner as the payer."""
    await bucket_of(app, request)
    return {"Payer": "BucketOwner"}


_ABSENT: Final = {
    "GetBucketWebsite": (
        "NoSuchWebsiteConfiguration",
        "The specified bucket does not have a website configuration",
    ),
    "GetBucketReplication": (
        "ReplicationConfigurationNotFoundError",
        "The replication configuration was not found",
    ),
}
"""Features that a bucket never has, and the service's error for a bucket without them."""

_EMPTY: Final[dict[str, Request]] = {
    "GetBucketAccelerateConfiguration": {},
    "ListBucketAnalyticsConfigurations": {"IsTruncated": False},
    "ListBucketIntelligentTieringConfigurations": {"IsTruncated": False},
    "ListBucketInventoryConfigurations": {"IsTruncated": False},
    "ListBucketMetricsConfigurations": {"IsTruncated": False},
}
"""Features that a bucket never has, and the service's empty answer."""


def _register_absent(name: str) -> None:
    async def absent(app: App, _call: Call, request: Request) -> Request:
        await bucket_of(app, request)
        code, message = _ABSENT[name]
        raise without(request, code, message)

    operation("s3", name)(absent)


def _register_empty(name: str) -> None:
    async def empty(app: App, _call: Call, request: Request) -> Request:
        await bucket_of(app, request)
        return _EMPTY[name]

    operation("s3", name)(empty)


for _name in _ABSENT:
    _register_absent(_name)
for _name in _EMPTY:
    _register_empty(_name)


async def bucket_of(app: App, request: Request) -> Bucket:
    """The bucket of a request. Raises: ApiError (`NoSuchBucket`, `NotImplemented`, `AccessDenied`)."""
    check_owner(app, request)
    found: Bucket = await app.services.objects.bucket(request["Bucket"])
    return found


def without(request: Request, code: str, message: str) -> ApiError:
    """The error for a bucket that lacks a feature."""
    return ApiError(code, message, status=404, details={"BucketName": request["Bucket"]})
