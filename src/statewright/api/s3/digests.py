"""Checks of bodies that are read as a whole (XML documents) against the digests that their request declares."""

from __future__ import annotations

import hashlib

from statewright.api import auth
from statewright.api.protocols.aws_chunked import is_chunked
from statewright.api.protocols.wire import Incoming
from statewright.objects import faults
from statewright.objects.checksums import check_algorithm, check_value, hasher, text_of


def check_body(incoming: Incoming, body: bytes) -> None:
    """Compare a body with every digest in its head, and with the hash in its query.

    Raises: ApiError (`BadDigest`, `InvalidDigest`, `XAmzContentSHA256Mismatch`, `InvalidRequest`).
    """
    headers = incoming.headers
    if is_chunked(headers) is not None:
        # Without its decoder the signatures of its chunks would go unchecked.
        raise faults.not_here("Bodies in signed chunks are read for objects and parts only.")
    given = headers.get("content-md5")
    if given is not None:
        computed_md5 = text_of(hashlib.md5(body, usedforsecurity=False).digest())
        if computed_md5 != given.strip():
            raise faults.bad_md5(given.strip(), computed_md5)
    declared = auth.promised_hash(headers, incoming.query)
    if declared is not None and hashlib.sha256(body).hexdigest() != declared:
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
