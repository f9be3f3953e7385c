"""The body of an upload as `objects` takes it: decoded from its chunks, with the promised length and digests."""

from __future__ import annotations

from statewright.api import auth
from statewright.api.operations import App, Call
from statewright.api.protocols.aws_chunked import SIGNED, SIGNED_TRAILER, Decoder, Seed, decoded, is_chunked
from statewright.api.s3.members import checksums_in
from statewright.errors import ApiError
from statewright.objects import faults
from statewright.objects.checksums import check_algorithm
from statewright.objects.intake import Body, Promise
from statewright.payload import JsonObject


def body_of(app: App, call: Call, request: JsonObject) -> tuple[Body, Promise]:
    """The bytes of the member `Body`, and the promised length and digests.

    Raises: ApiError (`MissingContentLength`, `InvalidRequest`, `NotImplemented`).
    """
    upload = request.get("Body")
    headers = call.headers
    kind = is_chunked(headers)
    length = upload.length if upload is not None else 0
    if kind is not None:
        declared = headers.get("x-amz-decoded-content-length", "")
        length = int(declared) if declared.isdigit() and len(declared) < 19 else None
    if length is None:
        raise ApiError("MissingContentLength", "You must provide the Content-Length HTTP header.", status=411)
    trailing = [
        name.strip().lower().removeprefix("x-amz-checksum-").upper()
        for name in headers.get("x-amz-trailer", "").split(",")
        if name.strip().lower().startswith("x-amz-checksum-")
    ]
    checksums = checksums_in(request)
    if len(checksums) + len(trailing) > 1:
        raise faults.invalid_request("Expecting a single x-amz-checksum- header. Multiple checksum Types are not "
                                     "allowed.")  # fmt: skip
    algorithm = next(iter(checksums), None) or (trailing[0] if trailing else None) or request.get("ChecksumAlgorithm")
    if algorithm is not None:
        check_algorithm(algorithm)
    trailers: dict[str, str] = {}
    promise = Promise(
        length=length,
        md5=request.get("ContentMD5"),
        sha256=_hash_of(app, call),
        checksums=checksums,
        algorithm=algorithm,
        trailers=trailers,
    )
    if upload is None:
        return b"", promise
    if kind is None:
        return aiter(upload), promise
    seed = _seed(app, call) if kind in (SIGNED, SIGNED_TRAILER) else None
    return decoded(aiter(upload), Decoder(kind, seed), trailers), promise


def _hash_of(app: App, call: Call) -> str | None:
    """The hash that a signature covers instead of the body, if signatures are verified."""
    return auth.promised_hash(call.headers, call.query) if app.config.credentials else None


def _seed(app: App, call: Call) -> Seed | None:
    return auth.chunk_seed(call.headers, app.secrets(call.headers, call.query)) if app.config.credentials else None
