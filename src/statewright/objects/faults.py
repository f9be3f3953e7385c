"""Errors of the object service: codes, texts, statuses and the members of each error's body.

Source: service API reference, "Error responses", "List of error codes"; members as the service sends them.
"""

from __future__ import annotations

from statewright.errors import ApiError


def no_such_bucket(bucket: str) -> ApiError:
    """There is no bucket of this name."""
    return ApiError("NoSuchBucket", "The specified bucket does not exist", status=404, details={"BucketName": bucket})


def no_such_key(key: str) -> ApiError:
    """There is no object under this key."""
    return ApiError("NoSuchKey", "The specified key does not exist.", status=404, details={"Key": key})


def no_such_version(key: str, version: str) -> ApiError:
    """There is no such version; every object here has the one version `null`."""
    return ApiError(
        "NoSuchVersion",
        "The specified version does not exist.",
        status=404,
        details={"Key": key, "VersionId": version},
    )


def no_such_upload(upload: str) -> ApiError:
    """There is no such multipart upload, or it has ended."""
    return ApiError(
        "NoSuchUpload",
        "The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or "
        "completed.",
        status=404,
        details={"UploadId": upload},
    )


def bucket_exists(bucket: str) -> ApiError:
    """The caller already owns this bucket."""
    return ApiError(
        "BucketAlreadyOwnedByYou",
        "Your previous request to create the named bucket succeeded and you already own it.",
        status=409,
        details={"BucketName": bucket},
    )


def bucket_not_empty(bucket: str) -> ApiError:
    """A bucket with objects cannot be deleted."""
    return ApiError(
        "BucketNotEmpty",
        "The bucket you tried to delete is not empty",
        status=409,
        details={"BucketName": bucket},
    )


def invalid_bucket_name(bucket: str) -> ApiError:
    """This name is not valid for a bucket."""
    return ApiError(
        "InvalidBucketName", "The specified bucket is not valid.", status=400, details={"BucketName": bucket}
    )


def key_too_long(size: int, most: int) -> ApiError:
    """The key has too many bytes."""
    details = {"Size": str(size), "MaxSizeAllowed": str(most)}
    return ApiError("KeyTooLongError", "Your key is too long", status=400, details=details)


def invalid_argument(message: str, name: str, value: object) -> ApiError:
    """A parameter has an invalid value."""
    details = {"ArgumentName": name, "ArgumentValue": str(value)}
    return ApiError("InvalidArgument", message, status=400, details=details)


def invalid_request(message: str) -> ApiError:
    """The members of the request contradict each other."""
    return ApiError("InvalidRequest", message, status=400)


def invalid_range(wanted: str, size: int) -> ApiError:
    """The object has none of the requested bytes."""
    return ApiError(
        "InvalidRange",
        "The requested range is not satisfiable",
        status=416,
        details={"RangeRequested": wanted, "ActualObjectSize": str(size)},
    )


def invalid_part_number(wanted: int, parts: int) -> ApiError:
    """The object has no such part."""
    return ApiError(
        "InvalidPartNumber",
        "The requested partnumber is not satisfiable",
        status=416,
        details={"PartNumberRequested": str(wanted), "ActualPartCount": str(parts)},
    )


def precondition_failed(condition: str) -> ApiError:
    """A condition does not hold; it is named by its header."""
    return ApiError(
        "PreconditionFailed",
        "At least one of the pre-conditions you specified did not hold",
        status=412,
        details={"Condition": condition},
    )


def not_modified(etag: str, modified_ms: int) -> ApiError:
    """The caller already has the current object. The details are members of the answer, for its headers."""
    details = {"ETag": f'"{etag}"', "LastModified": modified_ms}
    return ApiError("NotModified", "Not Modified", status=304, details=details)


def bad_digest(algorithm: str) -> ApiError:
    """The received bytes do not have the checksum that the sender gave."""
    what = "Content-MD5" if algorithm == "Content-MD5" else algorithm
    said = "what we received" if algorithm == "Content-MD5" else "the calculated checksum"
    return ApiError("BadDigest", f"The {what} you specified did not match {said}.", status=400)


def invalid_digest(value: str) -> ApiError:
    """The value is not an MD5."""
    return ApiError(
        "InvalidDigest", "The Content-MD5 you specified is not valid.", status=400, details={"Content-MD5": value}
    )


def incomplete_body() -> ApiError:
    """The body is shorter than its declared length."""
    return ApiError(
        "IncompleteBody",
        "You did not provide the number of bytes specified by the Content-Length HTTP header",
        status=400,
    )


def too_large(proposed: int | None, most: int) -> ApiError:
    """The body is larger than one request or object may be."""
    details = {"MaxSizeAllowed": str(most), **({"ProposedSize": str(proposed)} if proposed is not None else {})}
    return ApiError(
        "EntityTooLarge", "Your proposed upload exceeds the maximum allowed size", status=400, details=details
    )


def too_small(number: int, etag: str, size: int, least: int) -> ApiError:
    """A part that is not the last is too short."""
    return ApiError(
        "EntityTooSmall",
        "Your proposed upload is smaller than the minimum allowed size",
        status=400,
        details={"ETag": etag, "MinSizeAllowed": str(least), "PartNumber": str(number), "ProposedSize": str(size)},
    )


def invalid_part(upload: str, number: int, etag: str) -> ApiError:
    """The part was not uploaded, or has another ETag or checksum."""
    return ApiError(
        "InvalidPart",
        "One or more of the specified parts could not be found.  The part may not have been uploaded, or the "
        "specified entity tag may not match the part's entity tag.",
        status=400,
        details={"UploadId": upload, "PartNumber": str(number), "ETag": etag},
    )


def invalid_part_order(upload: str) -> ApiError:
    """Parts must be named in ascending order."""
    return ApiError(
        "InvalidPartOrder",
        "The list of parts was not in ascending order. Parts must be ordered by part number.",
        status=400,
        details={"UploadId": upload},
    )


def metadata_too_large(size: int, most: int) -> ApiError:
    """The user-defined metadata headers are too long."""
    return ApiError(
        "MetadataTooLarge",
        "Your metadata headers exceed the maximum allowed metadata size",
        status=400,
        details={"Size": str(size), "MaxSizeAllowed": str(most)},
    )


def malformed_xml() -> ApiError:
    """The body is not XML, or not the document that the operation expects."""
    return ApiError(
        "MalformedXML",
        "The XML you provided was not well-formed or did not validate against our published schema",
        status=400,
    )


def not_here(what: str) -> ApiError:
    """The feature of the service is not implemented; `what` is a whole sentence."""
    return ApiError("NotImplemented", what, status=501)


def content_sha256_mismatch() -> ApiError:
    """The body is not the one that was signed."""
    return ApiError(
        "XAmzContentSHA256Mismatch",
        "The provided 'x-amz-content-sha256' header does not match what was computed.",
        status=400,
    )


def conflict(key: str) -> ApiError:
    """Other requests kept changing the same object."""
    return ApiError(
        "OperationAborted",
        "A conflicting conditional operation is currently in progress against this resource. Please try again.",
        status=409,
        details={"Key": key},
    )


def missing_acl() -> ApiError:
    """A call that sets an ACL does not give one."""
    return ApiError(
        "MissingSecurityHeader",
        "Your request was missing a required header",
        status=400,
        details={"MissingHeaderName": "x-amz-acl"},
    )
