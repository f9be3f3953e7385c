"""Errors of the object service: codes, texts, statuses and the members of each error's body.

Source: service API reference, "Error responses", "List of error codes"; members as the service sends them.
"""

from __future__ import annotations

from statewright.errors import ApiError


def _fault(status: int, code: str, message: str, **details: object) -> ApiError:
    return ApiError(code, message, status=status, details=details)


def no_such_bucket(bucket: str) -> ApiError:
    """There is no bucket of this name."""
    return _fault(404, "NoSuchBucket", "The specified bucket does not exist", BucketName=bucket)


def no_such_key(key: str) -> ApiError:
    """There is no object under this key."""
    return _fault(404, "NoSuchKey", "The specified key does not exist.", Key=key)


def no_such_version(key: str, version: str) -> ApiError:
    """There is no such version, or it has been deleted."""
    return _fault(404, "NoSuchVersion", "The specified version does not exist.", Key=key, VersionId=version)


def hidden_by_marker(key: str, version: str) -> ApiError:
    """The newest version of the key is a delete marker; `version` is its id."""
    return _with_marker(no_such_key(key), version)


def marker_not_allowed(method: str, version: str) -> ApiError:
    """A delete marker can only be deleted; `version` is its id."""
    said = "The specified method is not allowed against this resource."
    refused = _fault(405, "MethodNotAllowed", said, Method=method, ResourceType="DeleteMarker")
    return _with_marker(refused, version, allow="DELETE")


def _with_marker(error: ApiError, version: str, **more: str) -> ApiError:
    headers = {"x-amz-delete-marker": "true", "x-amz-version-id": version, **more}
    return ApiError(error.code, error.message, status=error.status, details=error.details, headers=headers)


def no_such_upload(upload: str) -> ApiError:
    """There is no such multipart upload, or it has ended."""
    said = "The upload ID may be invalid, or the upload may have been aborted or completed."
    return _fault(404, "NoSuchUpload", f"The specified upload does not exist. {said}", UploadId=upload)


def invalid_location(given: str) -> ApiError:
    """No bucket can be there: the word is no region, or it is the first one, which is not to be named."""
    said = "The specified location-constraint is not valid"
    return _fault(400, "InvalidLocationConstraint", said, LocationConstraint=given)


def illegal_location(given: str) -> ApiError:
    """A bucket of another region is asked for at a region's own endpoint."""
    said = "location constraint is incompatible for the region specific endpoint this request was sent to."
    return _fault(400, "IllegalLocationConstraintException", f"The {given} {said}")


def bucket_exists(bucket: str) -> ApiError:
    """The caller already owns this bucket."""
    said = "Your previous request to create the named bucket succeeded and you already own it."
    return _fault(409, "BucketAlreadyOwnedByYou", said, BucketName=bucket)


def bucket_taken(bucket: str) -> ApiError:
    """Another account owns a bucket of this name."""
    said = (
        "The requested bucket name is not available. The bucket namespace is shared by all users of the system. Please "
        "select a different name and try again."
    )
    return _fault(409, "BucketAlreadyExists", said, BucketName=bucket)


def access_denied() -> ApiError:
    """A bucket of another account."""
    return ApiError("AccessDenied", "Access Denied", status=403)


def bucket_not_empty(bucket: str, *, is_versioned: bool) -> ApiError:
    """A bucket with objects, versions or markers cannot be deleted."""
    said = "The bucket you tried to delete is not empty"
    if is_versioned:
        said += ". You must delete all versions in the bucket."
    return _fault(409, "BucketNotEmpty", said, BucketName=bucket)


def invalid_bucket_name(bucket: str) -> ApiError:
    """This name is not valid for a bucket."""
    return _fault(400, "InvalidBucketName", "The specified bucket is not valid.", BucketName=bucket)


def key_too_long(size: int, most: int) -> ApiError:
    """The key has too many bytes."""
    return _fault(400, "KeyTooLongError", "Your key is too long", Size=str(size), MaxSizeAllowed=str(most))


def invalid_argument(message: str, name: str, value: object = None) -> ApiError:
    """A parameter has an invalid value; the service does not repeat every one."""
    shown = {} if value is None else {"ArgumentValue": str(value)}
    return _fault(400, "InvalidArgument", message, ArgumentName=name, **shown)


def invalid_request(message: str) -> ApiError:
    """The members of the request contradict each other."""
    return _fault(400, "InvalidRequest", message)


def invalid_range(wanted: str, size: int) -> ApiError:
    """The object has none of the requested bytes."""
    said = "The requested range is not satisfiable"
    return _fault(416, "InvalidRange", said, RangeRequested=wanted, ActualObjectSize=str(size))


def invalid_part_number(wanted: int, parts: int) -> ApiError:
    """The object has no such part."""
    said = "The requested partnumber is not satisfiable"
    return _fault(416, "InvalidPartNumber", said, PartNumberRequested=str(wanted), ActualPartCount=str(parts))


def precondition_failed(condition: str) -> ApiError:
    """A condition does not hold; it is named by its header."""
    said = "At least one of the pre-conditions you specified did not hold"
    return _fault(412, "PreconditionFailed", said, Condition=condition)


def not_modified(etag: str, modified_ms: int) -> ApiError:
    """The caller already has the current object. The details are members of the answer, for its headers."""
    return _fault(304, "NotModified", "Not Modified", ETag=f'"{etag}"', LastModified=modified_ms)


def bad_digest(algorithm: str) -> ApiError:
    """The received bytes do not have the checksum that the sender gave."""
    return _fault(400, "BadDigest", f"The {algorithm} you specified did not match the calculated checksum.")


def bad_md5(given: str, computed: str) -> ApiError:
    """The received bytes do not have the MD5 that the sender gave; both are base64."""
    said = "The Content-MD5 you specified did not match what we received."
    return _fault(400, "BadDigest", said, ExpectedDigest=given, CalculatedDigest=computed)


def invalid_digest(value: str) -> ApiError:
    """The value is not an MD5."""
    said = "The Content-MD5 you specified was invalid."
    return _fault(400, "InvalidDigest", said, **{"Content-MD5": value})


def incomplete_body() -> ApiError:
    """The body is shorter than its declared length."""
    said = "You did not provide the number of bytes specified by the Content-Length HTTP header"
    return _fault(400, "IncompleteBody", said)


def too_large(proposed: int | None, most: int) -> ApiError:
    """The body is larger than one request or object may be."""
    size = {} if proposed is None else {"ProposedSize": str(proposed)}
    said = "Your proposed upload exceeds the maximum allowed size"
    return _fault(400, "EntityTooLarge", said, MaxSizeAllowed=str(most), **size)


def too_small(number: int, etag: str, size: int, least: int) -> ApiError:
    """A part that is not the last is too short."""
    sizes = {"MinSizeAllowed": str(least), "PartNumber": str(number), "ProposedSize": str(size)}
    said = "Your proposed upload is smaller than the minimum allowed size"
    return _fault(400, "EntityTooSmall", said, ETag=etag, **sizes)


def too_short(size: int, least: int) -> ApiError:
    """A file is shorter than the policy of its form allows."""
    said = "Your proposed upload is smaller than the minimum allowed size"
    return _fault(400, "EntityTooSmall", said, ProposedSize=str(size), MinSizeAllowed=str(least))


def invalid_part(upload: str, number: int, etag: str) -> ApiError:
    """The part was not uploaded, or has another ETag or checksum."""
    said = (
        "One or more of the specified parts could not be found.  The part may not have been uploaded, or the "
        "specified entity tag may not match the part's entity tag."
    )
    return _fault(400, "InvalidPart", said, UploadId=upload, PartNumber=str(number), ETag=etag)


def invalid_part_order(upload: str) -> ApiError:
    """Parts must be named in ascending order."""
    said = "The list of parts was not in ascending order. Parts must be ordered by part number."
    return _fault(400, "InvalidPartOrder", said, UploadId=upload)


def metadata_too_large(size: int, most: int) -> ApiError:
    """The user-defined metadata headers are too long."""
    said = "Your metadata headers exceed the maximum allowed metadata size"
    return _fault(400, "MetadataTooLarge", said, Size=str(size), MaxSizeAllowed=str(most))


def invalid_bucket_state(message: str) -> ApiError:
    """The bucket's versioning and its Object Lock do not go together."""
    return _fault(409, "InvalidBucketState", message)


def malformed_xml() -> ApiError:
    """The body is not XML, or not the document that the operation expects."""
    said = "The XML you provided was not well-formed or did not validate against our published schema"
    return _fault(400, "MalformedXML", said)


def method_not_allowed(method: str, path: str) -> ApiError:
    """No operation has this method at this path: of the service, of a bucket or of an object."""
    bucket, _, key = path.lstrip("/").partition("/")
    kind = "OBJECT" if key else "BUCKET" if bucket else "SERVICE"
    said = "The specified method is not allowed against this resource."
    return _fault(405, "MethodNotAllowed", said, Method=method, ResourceType=kind)


def header_not_implemented(header: str, why: str) -> ApiError:
    """The service does not take this header, or this value of it, here."""
    said = "A header you provided implies functionality that is not implemented"
    return _fault(501, "NotImplemented", said, Header=header, additionalMessage=why)


def copied_onto_itself() -> ApiError:
    """A copy would leave its source as it is."""
    return invalid_request(
        "This copy request is illegal because it is trying to copy an object to itself without changing the object's "
        "metadata, storage class, website redirect location or encryption attributes."
    )


def not_here(what: str) -> ApiError:
    """The feature of the service is not implemented; `what` is a whole sentence."""
    return _fault(501, "NotImplemented", what)


def content_sha256_mismatch() -> ApiError:
    """The body is not the one that was signed."""
    said = "The provided 'x-amz-content-sha256' header does not match what was computed."
    return _fault(400, "XAmzContentSHA256Mismatch", said)


def conflict(key: str) -> ApiError:
    """Other requests kept changing the same object."""
    said = "A conflicting conditional operation is currently in progress against this resource. Please try again."
    return _fault(409, "OperationAborted", said, Key=key)


def conditional_conflict(condition: str, key: str) -> ApiError:
    """The object was written or deleted since the upload that would replace it began."""
    said = "The conditional request cannot succeed due to a conflicting operation against this resource."
    return _fault(409, "ConditionalRequestConflict", said, Condition=condition, Key=key)


def missing_acl() -> ApiError:
    """A call that sets an ACL does not give one."""
    return _fault(
        400, "MissingSecurityHeader", "Your request was missing a required header", MissingHeaderName="x-amz-acl"
    )
