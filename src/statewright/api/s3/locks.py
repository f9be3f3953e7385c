"""Operations of Object Lock: the configuration of a bucket, and the retention and legal hold of a version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from statewright.api.operations import App, Call, operation
from statewright.api.s3.buckets import bucket_of, without
from statewright.api.s3.members import check_owner, retention_in
from statewright.api.s3.settings import kept
from statewright.errors import ApiError
from statewright.objects import faults
from statewright.objects.locks import LOCK, Lock, check_bucket, check_configuration
from statewright.payload import JsonObject

Request = JsonObject


@operation("s3", "PutObjectLockConfiguration")
async def put_object_lock_configuration(app: App, _call: Call, request: Request) -> Request:
    """Turn Object Lock on for a bucket with versions, and set the default of its objects."""
    bucket = await bucket_of(app, request)
    given = request.get("ObjectLockConfiguration")
    if given is None:
        raise faults.malformed_xml()
    check_configuration(given, bucket.settings)
    await app.services.objects.set_bucket_setting(bucket.name, LOCK, given)
    return {}


@operation("s3", "GetObjectLockConfiguration")
async def get_object_lock_configuration(app: App, _call: Call, request: Request) -> Request:
    """Return the configuration of a bucket."""
    said = "Object Lock configuration does not exist for this bucket"
    absent = without(request, "ObjectLockConfigurationNotFoundError", said)
    return {"ObjectLockConfiguration": await kept(app, request, LOCK, absent)}


@operation("s3", "PutObjectRetention")
async def put_object_retention(app: App, _call: Call, request: Request) -> Request:
    """Change how long a version must not be deleted; without a mode, end that."""
    given = request.get("Retention") or {}
    now_ms = app.clock.now_ms()
    mode, until_ms = retention_in(given.get("Mode"), given.get("RetainUntilDate"))
    bypass = bool(request.get("BypassGovernanceRetention"))
    return await _change(app, request, lambda lock: lock.retained(mode, until_ms, now_ms, bypass=bypass))


@operation("s3", "GetObjectRetention")
async def get_object_retention(app: App, _call: Call, request: Request) -> Request:
    """Return the retention of a version."""
    lock = await _lock(app, request)
    if lock.mode is None:
        raise _none()
    return {"Retention": {"Mode": lock.mode, "RetainUntilDate": lock.until_ms}}


@operation("s3", "PutObjectLegalHold")
async def put_object_legal_hold(app: App, _call: Call, request: Request) -> Request:
    """Set or end the legal hold of a version."""
    status = (request.get("LegalHold") or {}).get("Status")
    if status is None:
        raise faults.malformed_xml()
    return await _change(app, request, lambda lock: replace(lock, is_held=status == "ON"))


@operation("s3", "GetObjectLegalHold")
async def get_object_legal_hold(app: App, _call: Call, request: Request) -> Request:
    """Return whether a version has a legal hold."""
    return {"LegalHold": {"Status": "ON" if (await _lock(app, request)).is_held else "OFF"}}


async def _change(app: App, request: Request, change: Callable[[Lock], Lock]) -> Request:
    check_owner(app, request)
    check_bucket((await bucket_of(app, request)).settings)
    await app.services.objects.set_lock(request["Bucket"], request["Key"], change, version=request.get("VersionId"))
    return {}


async def _lock(app: App, request: Request) -> Lock:
    check_bucket((await bucket_of(app, request)).settings)
    view = await app.services.objects.reading.head(
        request["Bucket"], request["Key"], version=request.get("VersionId"), method="GET"
    )
    lock: Lock = view.settings.lock
    return lock


def _none() -> ApiError:
    said = "The specified object does not have a ObjectLock configuration"
    return ApiError("NoSuchObjectLockConfiguration", said, status=404)
