"""Translation of the API's errors into those of S3: signatures, sizes, unknown operations, constraints of the model.

Source: service API reference, "List of error codes".
"""

from __future__ import annotations

from typing import Final

from statewright.api.shapes import Problems, refuse_with
from statewright.errors import ApiError

_NOT_SIGNED: Final = "Access Denied"
_SKEWED: Final = "The difference between the request time and the current time is too large."
_MISMATCH: Final = (
    "The request signature we calculated does not match the signature you provided. Check your key and signing method."
)


def in_s3_words(error: ApiError) -> ApiError:
    """Translate an error into S3's; S3's own errors are returned unchanged."""
    known = _WORDS.get(error.code)
    if known is None:
        return error
    code, message, status = known
    if error.code == "InvalidSignatureException" and error.message.startswith("Signature expired"):
        code, message, status = "AccessDenied", "Request has expired", 403
    elif error.code == "InvalidSignatureException" and error.message.startswith("Signature not yet"):
        code, message = (
            "RequestTimeTooSkewed",
            _SKEWED,
        )
    elif error.code == "InvalidSignatureException" and error.message.startswith("Credential should be scoped"):
        code, message, status = "AuthorizationHeaderMalformed", error.message, 400
    return ApiError(code, message or error.message, status=status, details=error.details)


_WORDS: Final[dict[str, tuple[str, str | None, int]]] = {
    "MissingAuthenticationTokenException": ("AccessDenied", _NOT_SIGNED, 403),
    "UnrecognizedClientException": (
        "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.", 403,
    ),
    "InvalidSignatureException": ("SignatureDoesNotMatch", _MISMATCH, 403),
    "IncompleteSignatureException": ("AuthorizationHeaderMalformed", None, 400),
    "RequestEntityTooLarge": ("EntityTooLarge", "Your proposed upload exceeds the maximum allowed size", 400),
    "SerializationException": ("InvalidArgument", None, 400),
    "UnknownOperationException": ("NotImplemented", None, 501),
    "InternalServerError": ("InternalError", None, 500),
    "ServiceUnavailable": ("ServiceUnavailable", None, 503),
}  # fmt: skip

_ARGUMENTS: Final = {
    "copySource": ("x-amz-copy-source", "Invalid copy source object key"),
    "objectLockMode": ("x-amz-object-lock-mode", "Unknown wormMode directive."),
    "objectLockLegalHoldStatus": ("x-amz-object-lock-legal-hold", "Legal Hold must be either of 'ON' or 'OFF'"),
    "encodingType": ("encoding-type", "Invalid Encoding Method specified in Request"),
}
"""Parameters that the service refuses in words of their own: their name there, and the text."""


def _refusal(problems: Problems) -> ApiError | None:
    shown, path, what = problems[0]
    if path.startswith("notificationConfiguration.") and ".events" in path and "enum" in what:
        return ApiError(
            "InvalidArgument", "A specified event is not supported for notifications.", status=400,
            details={"ArgumentName": "Event", "ArgumentValue": shown.strip().strip("'")},
        )  # fmt: skip
    if ".filterRules." in path and "enum" in what:
        # Names may be in any case.
        return None
    if path == "createBucketConfiguration.locationConstraint":
        # What is allowed depends on the region of the endpoint.
        return None
    if "." in path:
        return ApiError(
            "MalformedXML",
            "The XML you provided was not well-formed or did not validate against our published schema",
            status=400,
        )
    if what == "Member must not be null":
        return ApiError("MissingRequestBodyError", "Request Body is empty", status=400)
    if path == "storageClass":
        return ApiError(
            "InvalidStorageClass", "The storage class you specified is not valid", status=400,
            details={"StorageClassRequested": shown.strip().strip("'")},
        )  # fmt: skip
    if path in ("bucket", "key"):
        return None
    if path == "objectOwnership":
        # The service repeats the value in the text alone.
        said = shown.strip().strip("'")
        text = f"Invalid x-amz-object-ownership header: {said}"
        return ApiError("InvalidArgument", text, status=400, details={"ArgumentName": "x-amz-object-ownership"})
    name, text = _ARGUMENTS.get(path, (path, f"The value of {path} is not valid: {what}"))
    details = {"ArgumentName": name, "ArgumentValue": shown.strip().strip("'")}
    return ApiError("InvalidArgument", text, status=400, details=details)


refuse_with("s3", _refusal)
