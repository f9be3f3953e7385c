"""AWS Signature Version 4: who signed a request, and whether it is genuine.

Without configured credentials any caller on loopback is accepted, signed or not, and nothing is verified. With
credentials, every request must carry a genuine signature, in its header or its query.

Source: "AWS Signature Version 4 for API requests"; error codes and texts of the services' common errors.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, NoReturn
from urllib.parse import parse_qsl, quote, unquote

from statewright.api.protocols.aws_chunked import Seed
from statewright.errors import ApiError

ALGORITHM: Final = "AWS4-HMAC-SHA256"
SKEW_SECONDS: Final = 15 * 60
"""Allowed difference between a request's date and the server's clock. Source: developer guide."""
LONGEST_PRESIGNED_SECONDS: Final = 7 * 24 * 3600
EMPTY_HASH: Final = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True, slots=True)
class Request:
    """The parts of a request that its signature covers. `raw_path` and `query` are as received, still escaped.

    Header names are in lower case. `body` is `None` if it is streamed in after the check: then the signature is
    verified with the hash that the head declares, and the reader of the body compares it.
    """

    method: str
    raw_path: str
    query: str
    headers: Mapping[str, str]
    body: bytes | None


@dataclass(frozen=True, slots=True)
class _Signed:
    access_key: str
    scope: tuple[str, str, str, str]
    signed_headers: tuple[str, ...]
    signature: str
    at: str
    expires_seconds: int
    presigned: bool


def verify(request: Request, credentials: Mapping[str, str], now_seconds: float) -> str | None:
    """The access key of a genuine request; `None` if no credentials are configured.

    Raises: ApiError, with the services' codes, for a request that is unsigned or wrongly signed, or signed at a time
        too far from now.
    """
    if not credentials:
        return None
    signed = _read(request)
    secret = credentials.get(signed.access_key)
    if secret is None:
        raise ApiError("UnrecognizedClientException", "The security token included in the request is invalid.")
    _check_time(signed, now_seconds)
    expected = signature(request, signed.signed_headers, signed.scope, signed.at, secret, presigned=signed.presigned)
    if not hmac.compare_digest(expected.encode(), signed.signature.encode()):
        raise ApiError(
            "InvalidSignatureException",
            "The request signature we calculated does not match the signature you provided. Check your AWS Secret "
            "Access Key and signing method. Consult the service documentation for details.",
        )
    return signed.access_key


def signature(
    request: Request,
    signed_headers: tuple[str, ...],
    scope: tuple[str, str, str, str],
    at: str,
    secret: str,
    *,
    presigned: bool,
) -> str:
    """The signature that a request should have. `scope` is date, region, service and `aws4_request`."""
    if presigned:
        payload_hash = "UNSIGNED-PAYLOAD" if scope[2] == "s3" else EMPTY_HASH
    elif request.body is None:
        payload_hash = request.headers.get("x-amz-content-sha256", "")
    else:
        payload_hash = hashlib.sha256(request.body).hexdigest()
        declared = request.headers.get("x-amz-content-sha256")
        if scope[2] == "s3" and declared is not None and (declared == payload_hash or not is_hash(declared)):
            payload_hash = declared
    canonical = "\n".join(
        (
            request.method,
            _canonical_path(request.raw_path, scope[2]),
            _canonical_query(request.query),
            *(f"{name}:{' '.join(request.headers.get(name, '').split())}" for name in signed_headers),
            "",
            ";".join(signed_headers),
            payload_hash,
        )
    )
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    to_sign = "\n".join((ALGORITHM, at, "/".join(scope), digest))
    return hmac.new(_signing_key(secret, *scope[:3]), to_sign.encode(), hashlib.sha256).hexdigest()


def chunk_seed(headers: Mapping[str, str], credentials: Mapping[str, str]) -> Seed | None:
    """The seed for the signatures of a body's chunks; the request itself has been verified."""
    request = Request("", "", "", headers, None)
    signed = _read(request)
    secret = credentials.get(signed.access_key)
    if secret is None:
        return None
    return Seed(signed.signature, signed.at, "/".join(signed.scope), _signing_key(secret, *signed.scope[:3]))


def _read(request: Request) -> _Signed:
    authorization = request.headers.get("authorization")
    if authorization is None:
        query = dict(parse_qsl(request.query, keep_blank_values=True))
        if "X-Amz-Signature" not in query:
            raise ApiError("MissingAuthenticationTokenException", "Missing Authentication Token")
        return _signed(
            query.get("X-Amz-Credential", ""),
            query.get("X-Amz-SignedHeaders", ""),
            query["X-Amz-Signature"],
            query.get("X-Amz-Date", ""),
            query.get("X-Amz-Expires", "0"),
        )
    algorithm, _, rest = authorization.partition(" ")
    if algorithm != ALGORITHM:
        _incomplete(f"Authorization header must start with {ALGORITHM}.")
    fields = dict(part.strip().partition("=")[::2] for part in rest.split(","))
    for name in ("Credential", "SignedHeaders", "Signature"):
        if not fields.get(name):
            _incomplete(f"Authorization header requires '{name}' parameter.")
    at = request.headers.get("x-amz-date", "")
    if not at:
        _incomplete("Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header.")
    return _signed(fields["Credential"], fields["SignedHeaders"], fields["Signature"], at, None)


def _signed(credential: str, signed_headers: str, given: str, at: str, expires: str | None) -> _Signed:
    parts = credential.split("/")
    if len(parts) < 5 or parts[-1] != "aws4_request" or not at.startswith(parts[-4]):
        _incomplete("Credential must have the form <key>/<date>/<region>/<service>/aws4_request.")
    names = tuple(signed_headers.split(";"))
    if "host" not in names:
        _incomplete("'Host' must be a 'SignedHeader' in the AWS Authorization.")
    seconds = int(expires) if expires is not None and expires.isdigit() and len(expires) < 10 else 0
    scope = (parts[-4], parts[-3], parts[-2], parts[-1])
    presigned = expires is not None
    return _Signed("/".join(parts[:-4]), scope, names, given, at, min(seconds, LONGEST_PRESIGNED_SECONDS), presigned)


def _check_time(signed: _Signed, now_seconds: float) -> None:
    try:
        at = datetime.strptime(signed.at, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp()
    except ValueError:
        _incomplete("Date must be in ISO-8601 'basic format', like 20260131T235959Z.")
    until = at + (signed.expires_seconds if signed.presigned else SKEW_SECONDS)
    if not at - SKEW_SECONDS <= now_seconds <= until:
        kind = "expired" if now_seconds > until else "not yet current"
        now = datetime.fromtimestamp(now_seconds, UTC).strftime("%Y%m%dT%H%M%SZ")
        raise ApiError("InvalidSignatureException", f"Signature {kind}: {signed.at} is too far from {now}.")


def _canonical_path(raw_path: str, service: str) -> str:
    # Every service but S3 escapes the path as sent once more.
    return (quote(unquote(raw_path), safe="/-_.~") if service == "s3" else quote(raw_path, safe="/-_.~")) or "/"


def _canonical_query(query: str) -> str:
    pairs = [
        (quote(name, safe="-_.~"), quote(value, safe="-_.~"))
        for name, value in parse_qsl(query, keep_blank_values=True)
        if name != "X-Amz-Signature"
    ]
    return "&".join(f"{name}={value}" for name, value in sorted(pairs))


@lru_cache(maxsize=256)
def _signing_key(secret: str, date: str, region: str, service: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in (date, region, service, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key


def is_hash(text: str) -> bool:
    """True if a text is a SHA-256 hash in hexadecimal, rather than a word such as `UNSIGNED-PAYLOAD`."""
    return len(text) == 64 and all(char in "0123456789abcdef" for char in text)


def _incomplete(why: str) -> NoReturn:
    raise ApiError("IncompleteSignatureException", why)
