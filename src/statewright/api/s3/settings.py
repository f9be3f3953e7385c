"""Operations that put, get and delete the settings of a bucket: one row of a table for each subject.

Settings are returned as they were set and have no effect (`objects.bucket_settings`), except lifecycles
(`objects.lifecycle`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from statewright.api.operations import App, Call, operation
from statewright.api.s3.buckets import bucket_of, without
from statewright.errors import ApiError
from statewright.objects import bucket_settings as rules
from statewright.objects import faults
from statewright.objects.encryption import DEFAULT, ENCRYPTION
from statewright.objects.lifecycle import LIFECYCLE, checked
from statewright.objects.locks import check_versioning
from statewright.objects.versions.ids import VERSIONING
from statewright.payload import Json, JsonMapping, JsonObject

Request = JsonObject


@dataclass(frozen=True, slots=True)
class _Subject:
    """A setting: its member, the name in its operations, and the error for a bucket without it.

    `is_payload` is True if answers, too, have it under its member.
    """

    subject: str
    member: str
    name: str
    code: str
    absent: str
    is_payload: bool = True
    default: Json = None
    """The value of a bucket for which none was set."""
    check: Callable[[JsonMapping], None] = lambda _given: None


_SUBJECTS: Final = (
    _Subject(
        ENCRYPTION, "ServerSideEncryptionConfiguration", "BucketEncryption",
        "ServerSideEncryptionConfigurationNotFoundError", "The server side encryption configuration was not found",
        default=DEFAULT, check=rules.check_encryption,
    ),
    _Subject(
        rules.PUBLIC_ACCESS, "PublicAccessBlockConfiguration", "PublicAccessBlock",
        "NoSuchPublicAccessBlockConfiguration", "The public access block configuration was not found",
    ),
    _Subject(
        rules.OWNERSHIP, "OwnershipControls", "BucketOwnershipControls",
        "OwnershipControlsNotFoundError", "The bucket ownership controls were not found",
        check=rules.check_ownership,
    ),
    _Subject(
        rules.CORS, "CORSConfiguration", "BucketCors",
        "NoSuchCORSConfiguration", "The CORS configuration does not exist",
        is_payload=False, check=rules.check_cors,
    ),
)  # fmt: skip
_LEAST_TRANSITION: Final = "all_storage_classes_128K"


def _register(subject: _Subject) -> None:
    async def put(app: App, _call: Call, request: Request) -> None:
        await bucket_of(app, request)
        given = request[subject.member]
        subject.check(given)
        if subject.subject == rules.PUBLIC_ACCESS:
            given = {name: bool(given.get(name)) for name in rules.BLOCKS}
        if subject.subject == ENCRYPTION:
            given = {"Rules": [{"BucketKeyEnabled": False, **rule} for rule in given["Rules"]]}
        await app.services.objects.set_bucket_setting(request["Bucket"], subject.subject, given)

    async def get(app: App, _call: Call, request: Request) -> Request:
        absent = without(request, subject.code, subject.absent)
        found: Request = await kept(app, request, subject.subject, absent, subject.default)
        return {subject.member: found} if subject.is_payload else found

    async def delete(app: App, _call: Call, request: Request) -> None:
        await bucket_of(app, request)
        await app.services.objects.set_bucket_setting(request["Bucket"], subject.subject, None)

    for verb, function in (("Put", put), ("Get", get), ("Delete", delete)):
        operation("s3", f"{verb}{subject.name}")(function)


async def kept(app: App, request: Request, subject: str, absent: ApiError, default: Json = None) -> Json:
    """The setting of a bucket under a subject, or `default`. Raises: ApiError, `absent` if there is neither."""
    found = (await bucket_of(app, request)).settings.get(subject, default)
    if found is None:
        raise absent
    return found


for _subject in _SUBJECTS:
    _register(_subject)


@operation("s3", "PutBucketLogging")
async def put_bucket_logging(app: App, _call: Call, request: Request) -> None:
    """Store the destination of access logs; none are written."""
    await bucket_of(app, request)
    given = request["BucketLoggingStatus"].get("LoggingEnabled")
    if given is not None:
        try:
            await app.services.objects.bucket(given["TargetBucket"])
        except ApiError:
            raise ApiError(
                "InvalidTargetBucketForLogging", "The target bucket for logging does not exist", status=400,
                details={"TargetBucket": given["TargetBucket"]},
            ) from None  # fmt: skip
    await app.services.objects.set_bucket_setting(request["Bucket"], rules.LOGGING, given)


@operation("s3", "GetBucketLogging")
async def get_bucket_logging(app: App, _call: Call, request: Request) -> Request:
    """Return the destination of access logs."""
    found = (await bucket_of(app, request)).settings.get(rules.LOGGING)
    return {"LoggingEnabled": found} if found is not None else {}


@operation("s3", "GetBucketVersioning")
async def get_bucket_versioning(app: App, _call: Call, request: Request) -> Request:
    """Return whether the bucket keeps versions; nothing if that was never set."""
    found = (await bucket_of(app, request)).settings.get(VERSIONING)
    return {"Status": found} if found is not None else {}


@operation("s3", "PutBucketVersioning")
async def put_bucket_versioning(app: App, _call: Call, request: Request) -> None:
    """Have the bucket keep versions of its objects, or stop."""
    bucket = await bucket_of(app, request)
    given = request["VersioningConfiguration"]
    if given.get("MFADelete") == "Enabled":
        raise faults.not_here("This version of Statewright does not have deleting with MFA (MFADelete).")
    if given.get("Status") is None:
        said = "The Versioning element must be specified"
        raise ApiError("IllegalVersioningConfigurationException", said, status=400)
    check_versioning(given["Status"], bucket.settings)
    await app.services.objects.set_bucket_setting(request["Bucket"], VERSIONING, given["Status"])


@operation("s3", "PutBucketLifecycleConfiguration")
async def put_bucket_lifecycle_configuration(app: App, _call: Call, request: Request) -> Request:
    """Replace the rules that expire objects and unfinished uploads of a bucket."""
    await bucket_of(app, request)
    least = request.get("TransitionDefaultMinimumObjectSize") or _LEAST_TRANSITION
    kept_rules = {"Rules": checked(request["LifecycleConfiguration"]), "TransitionDefaultMinimumObjectSize": least}
    await app.services.objects.set_bucket_setting(request["Bucket"], LIFECYCLE, kept_rules)
    await app.services.lifecycles.changed()
    return {"TransitionDefaultMinimumObjectSize": least}


@operation("s3", "GetBucketLifecycleConfiguration")
async def get_bucket_lifecycle_configuration(app: App, _call: Call, request: Request) -> Request:
    """Return the rules of a bucket's lifecycle."""
    absent = without(request, "NoSuchLifecycleConfiguration", "The lifecycle configuration does not exist")
    found: Request = await kept(app, request, LIFECYCLE, absent)
    return found


@operation("s3", "DeleteBucketLifecycle")
async def delete_bucket_lifecycle(app: App, _call: Call, request: Request) -> None:
    """Delete the rules of a bucket's lifecycle."""
    await bucket_of(app, request)
    await app.services.objects.set_bucket_setting(request["Bucket"], LIFECYCLE, None)
    await app.services.lifecycles.changed()
