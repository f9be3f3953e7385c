"""Addresses of S3: the bucket in the path or in front of the Host, and headers moved into a presigned query.

The rest of routing is left to `rest_routes.py`.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl, unquote_to_bytes

from statewright.api.auth_v2 import is_presigned, moved_headers
from statewright.api.protocols.wire import Incoming
from statewright.api.routing import bucket_in_host
from statewright.errors import ApiError
from statewright.objects.checksums import ALGORITHMS

_OF_SIGNATURE: Final = frozenset(
    f"x-amz-{name}"
    for name in ("algorithm", "credential", "date", "expires", "signedheaders", "signature", "content-sha256")
)

_DIGESTS: Final = frozenset(
    {"x-amz-sdk-checksum-algorithm", *(f"x-amz-checksum-{name.lower()}" for name in ALGORITHMS)}
)
"""The service reads these from headers alone. SDKs for JavaScript sign the checksum of the empty body into the address
of an upload, whose body they do not have. Source: user guide, "Download and upload objects with presigned URLs";
observed by users of the SDK for Go (mismatching ones are ignored)."""


def path_of(incoming: Incoming) -> str:
    """The path-style path of a request, still escaped: `/bucket/key`. Headers in its query are added to its headers.

    Raises: ApiError (`InvalidURI` for a path that is not UTF-8).
    """
    try:
        unquote_to_bytes(incoming.raw_path).decode()
    except UnicodeDecodeError:
        raise ApiError("InvalidURI", "Couldn't parse the specified URI.", status=400) from None
    if "X-Amz-Signature=" in incoming.query:
        # Presigners move headers into the query, where the signature covers them.
        moved = {
            name.lower(): value
            for name, value in parse_qsl(incoming.query, keep_blank_values=True)
            if name.lower().startswith("x-amz-") and name.lower() not in _OF_SIGNATURE and name.lower() not in _DIGESTS
        }
        incoming.headers = {**moved, **incoming.headers}
    elif is_presigned(incoming.query, incoming.headers):
        incoming.headers = {**moved_headers(incoming.query), **incoming.headers}
    bucket = bucket_in_host(incoming.headers.get("host", ""))
    return incoming.raw_path if bucket is None else f"/{bucket}{incoming.raw_path}"
