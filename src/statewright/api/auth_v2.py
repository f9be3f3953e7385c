"""Addresses of S3 that are presigned by version 2 of the signature, which boto3 still makes unless it is configured.

All other requests are verified in `auth.py`. This version signs the method, the path, headers that begin with `x-amz-`,
and those parameters of the query that name a sub-resource; neither the Host nor the body. What it leaves open is
refused here: any other parameter, and values that could be read in two ways.

Source: S3 developer guide (2006-03-01), "Signing and authenticating REST requests".
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote

from statewright.api.auth import LONGEST_PRESIGNED_SECONDS, Request
from statewright.api.routing import bucket_in_host
from statewright.errors import ApiError

_KEY, _SIGNATURE, _EXPIRES = "AWSAccessKeyId", "Signature", "Expires"
_OF_SIGNATURE: Final = frozenset({_KEY, _SIGNATURE, _EXPIRES})
_AMZ: Final = "x-amz-"
_MOVED: Final = frozenset({"content-md5", "content-type"})
"""Headers that presigners move into the query, besides those that begin with `x-amz-`."""
_SIGNED: Final = frozenset({
    "accelerate", "acl", "analytics", "cors", "delete", "inventory", "lifecycle", "location", "logging", "metrics",
    "notification", "object-lock", "partNumber", "policy", "replication", "requestPayment", "restore", "select",
    "select-type", "storageClass", "tagging", "torrent", "uploadId", "uploads", "versionId", "versioning", "versions",
    "website", "response-cache-control", "response-content-disposition", "response-content-encoding",
    "response-content-language", "response-content-type", "response-expires",
})  # fmt: skip
"""Parameters that are part of what is signed."""
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]+")
_AMBIGUOUS: Final = re.compile(r"[\x00-\x1f\x7f\ufffd]")
"""Characters that would begin another line of what is signed, or stand for any byte."""


def is_presigned(query: str, headers: Mapping[str, str]) -> bool:
    """True if the address of a request has a signature of version 2, and no other signs the request."""
    return (
        "Signature=" in query
        and "AWSAccessKeyId=" in query
        and "X-Amz-Signature=" not in query
        and "authorization" not in headers
    )


def verify(request: Request, credentials: Mapping[str, str], now_seconds: float) -> str:
    """The access key of a genuine presigned request to S3. `credentials` are secrets by access key.

    Raises: ApiError, with codes that S3's errors are made of, for a wrong, incomplete, expired or ambiguous address.
    """
    pairs = [(name, value) for name, _, value in _pairs(request.query) if name in _OF_SIGNATURE]
    given = dict(pairs)
    if set(given) != _OF_SIGNATURE or len(pairs) != len(_OF_SIGNATURE):
        raise _denied("Query-string authentication requires the Signature, Expires and AWSAccessKeyId parameters")
    secret = credentials.get(given[_KEY])
    if secret is None:
        raise ApiError("UnrecognizedClientException", "The security token included in the request is invalid.")
    _check_expiry(given[_EXPIRES], now_seconds)
    mac = hmac.new(secret.encode(), string_to_sign(request, given[_EXPIRES]).encode(), hashlib.sha1).digest()
    if not hmac.compare_digest(base64.b64encode(mac), given[_SIGNATURE].encode()):
        raise ApiError("InvalidSignatureException", "The request signature we calculated does not match.")
    return given[_KEY]


def string_to_sign(request: Request, expires: str) -> str:
    """The text that the signature covers. Raises: ApiError for a request that it does not cover entirely."""
    moved: dict[str, str] = {}
    signed: list[tuple[str, str]] = []
    for name, separator, value in _pairs(request.query):
        lower = name.lower()
        if _AMBIGUOUS.search(value) or ("&" in value and name in _SIGNED):
            raise _denied(f"The parameter {name[:100]} cannot be signed by version 2. {_ADVICE}")
        if not _NAME.fullmatch(name):
            raise _denied(f"The parameter {name[:100]} is not signed by version 2. {_ADVICE}")
        if name in _SIGNED:
            signed.append((name, f"{name}{separator}{value}"))
        elif lower.startswith(_AMZ) or lower in _MOVED:
            if moved.setdefault(lower, value) != value or request.headers.get(lower, value) != value:
                raise _denied(f"The parameter {name[:100]} contradicts a header.")
        elif name not in _OF_SIGNATURE:
            raise _denied(f"The parameter {name[:100]} is not signed by version 2. {_ADVICE}")
    headers = {**request.headers, **moved}
    custom = [f"{name}:{headers[name].strip()}\n" for name in sorted(headers) if name.startswith(_AMZ)]
    bucket = bucket_in_host(request.headers.get("host", ""))
    resource = request.raw_path if bucket is None else f"/{bucket}{request.raw_path}"
    if signed:
        signed.sort(key=lambda pair: pair[0])
        resource += "?" + "&".join(text for _, text in signed)
    standard = (request.method, headers.get("content-md5", ""), headers.get("content-type", ""), expires)
    return "\n".join((*standard, "".join(custom) + resource))


def moved_headers(query: str) -> dict[str, str]:
    """The headers that a presigner has moved into the query, by name in lower case."""
    return {
        name.lower(): value
        for name, _, value in _pairs(query)
        if name.lower().startswith(_AMZ) or name.lower() in _MOVED
    }


_ADVICE: Final = "Presign with version 4: Config(signature_version='s3v4') in boto3."


def _pairs(query: str) -> list[tuple[str, str, str]]:
    """Name, separator (empty without a value) and value of each parameter."""
    split = (part.partition("=") for part in query.split("&") if part)
    return [(unquote(name), separator, unquote(value)) for name, separator, value in split]


def _check_expiry(text: str, now_seconds: float) -> None:
    if not re.fullmatch(r"[0-9]{1,12}", text):
        raise _denied(f"Invalid date (should be seconds since epoch): {text[:100]}")
    if int(text) < now_seconds:
        raise ApiError("InvalidSignatureException", f"Signature expired: {text} is in the past.")
    if int(text) > now_seconds + LONGEST_PRESIGNED_SECONDS:
        raise _denied("A presigned address may be valid for a week at most.")


def _denied(message: str) -> ApiError:
    return ApiError("AccessDenied", message, status=403)
