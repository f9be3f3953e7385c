"""AWS Signature Version 4: who signed a request, and whether it is genuine.

Without configured credentials any caller on loopback is accepted, signed or not, and nothing is verified. With
credentials, every request must carry a genuine signature, in its header or its query. `auth_v2.py` has the older
version in addresses of S3.

Source: "AWS Signature Version 4 for API requests"; error codes and texts of the services' common errors.
"""

from __future__ import annotations

import hashlib
import hmac
import re
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
UNSIGNED: Final = "UNSIGNED-PAYLOAD"
PAYLOAD_KINDS: Final = (
    UNSIGNED,
    "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
    "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
    "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER",
    "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD",
    "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD-TRAILER",
)
"""The values of `x-amz-content-sha256` that are no hash."""

_S3: Final = "s3"
_HASH_HEADER: Final = "x-amz-content-sha256"
_PRESIGNED: Final = (
    "X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Signature", "X-Amz-Date", "X-Amz-SignedHeaders", "X-Amz-Expires",
)  # fmt: skip


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
    _refuse_unsigned_headers(signed, request.headers)
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
    payload_hash = _payload_hash(request, signed_headers, scope[2], presigned=presigned)
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
    return hmac.new(signing_key(secret, *scope[:3]), to_sign.encode(), hashlib.sha256).hexdigest()


def _payload_hash(request: Request, signed_headers: tuple[str, ...], service: str, *, presigned: bool) -> str:
    """The text that the signature covers in place of the body.

    Only S3 takes a declaration for it, and compares a declared hash with the body while it reads that. For every other
    service, the body that came is hashed.
    """
    given = request.headers.get(_HASH_HEADER)
    if given is not None and not is_hash(given) and given not in PAYLOAD_KINDS:
        raise _not_a_payload_hash(service, given)
    if service != _S3:
        return hashlib.sha256(request.body or b"").hexdigest()
    if presigned:
        if given is not None and _HASH_HEADER not in signed_headers:
            if not is_hash(given) and given != UNSIGNED:
                # It would decide how the body is decoded.
                raise _not_signed((_HASH_HEADER,))
            given = None
        declared = presigned_hash(request.query) or given or UNSIGNED
        if not is_hash(declared) and declared not in PAYLOAD_KINDS:
            raise _not_a_payload_hash(service, declared)
        return declared
    if given is None:
        raise ApiError("InvalidRequest", f"Missing required header for this request: {_HASH_HEADER}", status=400)
    return hashlib.sha256(request.body).hexdigest() if is_hash(given) and request.body is not None else given


def presigned_hash(query: str) -> str | None:
    """The hash, or one of `PAYLOAD_KINDS`, that the query of a presigned request declares for its body."""
    if "X-Amz-Content-Sha256=" not in query:
        return None
    return dict(parse_qsl(query)).get("X-Amz-Content-Sha256")


def promised_hash(headers: Mapping[str, str], query: str) -> str | None:
    """The hash that a request to S3 declares for its body, in its head or in a presigned query."""
    for declared in (headers.get(_HASH_HEADER), presigned_hash(query)):
        if declared is not None and is_hash(declared):
            return declared
    return None


def _refuse_unsigned_headers(signed: _Signed, headers: Mapping[str, str]) -> None:
    """Refuse headers that change what a request does and that its signer has not seen.

    The hash of the body has its own place in what is signed. Source: SigV4, "canonical headers"; observed on S3.
    """
    names = tuple(
        name
        for name in headers
        if name.startswith("x-amz-") and name not in signed.signed_headers and name != _HASH_HEADER
    )
    if not names:
        return
    if signed.scope[2] == _S3:
        raise _not_signed(names)
    raise ApiError(
        "InvalidSignatureException", f"'{names[0][:100]}' must be a 'SignedHeader' in the AWS Authorization."
    )


def _not_signed(names: tuple[str, ...]) -> ApiError:
    return ApiError(
        "AccessDenied", "There were headers present in the request which were not signed", status=403,
        details={"HeadersNotSigned": ", ".join(names)[:1_000]},
    )  # fmt: skip


def _not_a_payload_hash(service: str, given: str) -> ApiError:
    text = f"{_HASH_HEADER} must be {', '.join(PAYLOAD_KINDS)} or a valid sha256 value."
    if service != _S3:
        return ApiError("InvalidSignatureException", text)
    details = {"ArgumentName": _HASH_HEADER, "ArgumentValue": given[:200]}
    return ApiError("InvalidArgument", text, status=400, details=details)


def chunk_seed(headers: Mapping[str, str], credentials: Mapping[str, str]) -> Seed | None:
    """The seed for the signatures of a body's chunks; the request itself has been verified."""
    request = Request("", "", "", headers, None)
    signed = _read(request)
    secret = credentials.get(signed.access_key)
    if secret is None:
        return None
    return Seed(signed.signature, signed.at, "/".join(signed.scope), signing_key(secret, *signed.scope[:3]))


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
            _expires_seconds(query),
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


def _expires_seconds(query: Mapping[str, str]) -> int:
    """How long a presigned request is valid. Source: texts observed on S3."""
    text = query.get("X-Amz-Expires", "")
    if any(name not in query for name in _PRESIGNED):
        named = f"{', '.join(_PRESIGNED[:-1])}, and {_PRESIGNED[-1]}"
        problem = f"Query-string authentication version 4 requires the {named} parameters."
    elif query["X-Amz-Algorithm"] != ALGORITHM:
        problem = f'X-Amz-Algorithm only supports "{ALGORITHM}"'
    elif re.fullmatch(r"-[0-9]+", text):
        problem = "X-Amz-Expires must be non-negative"
    elif not re.fullmatch(r"[0-9]+", text):
        problem = "X-Amz-Expires should be a number"
    elif len(text) > 9 or int(text) > LONGEST_PRESIGNED_SECONDS:
        problem = (
            "X-Amz-Expires must be less than a week (in seconds); that is, the given X-Amz-Expires must be less than "
            f"{LONGEST_PRESIGNED_SECONDS} seconds"
        )
    else:
        return int(text)
    if query.get("X-Amz-Credential", "").split("/")[-2:-1] == [_S3]:
        raise ApiError("AuthorizationQueryParametersError", problem, status=400)
    raise ApiError("IncompleteSignatureException", problem)


def _signed(credential: str, signed_headers: str, given: str, at: str, expires_seconds: int | None) -> _Signed:
    parts = credential.split("/")
    if len(parts) < 5 or parts[-1] != "aws4_request" or not at.startswith(parts[-4]):
        _incomplete("Credential must have the form <key>/<date>/<region>/<service>/aws4_request.")
    names = tuple(signed_headers.split(";"))
    if "host" not in names:
        _incomplete("'Host' must be a 'SignedHeader' in the AWS Authorization.")
    scope = (parts[-4], parts[-3], parts[-2], parts[-1])
    presigned = expires_seconds is not None
    return _Signed("/".join(parts[:-4]), scope, names, given, at, expires_seconds or 0, presigned)


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
    return (quote(unquote(raw_path), safe="/-_.~") if service == _S3 else quote(raw_path, safe="/-_.~")) or "/"


def _canonical_query(query: str) -> str:
    pairs = [
        (quote(name, safe="-_.~"), quote(value, safe="-_.~"))
        for name, value in parse_qsl(query, keep_blank_values=True)
        if name != "X-Amz-Signature"
    ]
    return "&".join(f"{name}={value}" for name, value in sorted(pairs))


@lru_cache(maxsize=256)
def signing_key(secret: str, date: str, region: str, service: str) -> bytes:
    """The key for signatures of one day, in one region, for one service."""
    key = f"AWS4{secret}".encode()
    for part in (date, region, service, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key


def is_hash(text: str) -> bool:
    """True if a text is a SHA-256 hash in hexadecimal, rather than a word such as `UNSIGNED-PAYLOAD`."""
    return len(text) == 64 and all(char in "0123456789abcdef" for char in text)


def _incomplete(why: str) -> NoReturn:
    raise ApiError("IncompleteSignatureException", why)
