"""Checks of bodies that are read as a whole (XML documents) against the digests in their request's head."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping

from statewright.api import auth
from statewright.objects import faults
from statewright.objects.checksums import check_algorithm, check_value, hasher, text_of


def check_body(headers: Mapping[str, str], body: bytes) -> None:
    """Compare a body with every digest in its head.

    Raises: ApiError (`BadDigest`, `InvalidDigest`, `XAmzContentSHA256Mismatch`, `InvalidRequest`).
    """
    given = headers.get("content-md5")
    if given is not None:
        digest = hashlib.md5(body, usedforsecurity=False).digest()
        if base64.b64encode(digest).decode() != given.strip():
            raise faults.bad_digest("Content-MD5")
    declared = headers.get("x-amz-content-sha256", "")
    if auth.is_hash(declared) and hashlib.sha256(body).hexdigest() != declared:
        raise faults.content_sha256_mismatch()
    for name, value in headers.items():
        algorithm = name.removeprefix("x-amz-checksum-").upper()
        if not name.startswith("x-amz-checksum-") or algorithm in ("TYPE", "MODE", "ALGORITHM"):
            continue
        check_algorithm(algorithm)
        computed = hasher(algorithm)
        computed.update(body)
        if text_of(computed.digest()) != value:
            check_value(algorithm, value)
            raise faults.bad_digest(algorithm)
