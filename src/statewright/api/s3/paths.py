"""Where a request's bucket stands: in the path, or in front of the Host."""

from __future__ import annotations

from statewright.api.protocols.wire import Incoming
from statewright.api.routing import bucket_in_host


def path_of(incoming: Incoming) -> str:
    """The path-style path that a request means, still escaped: `/bucket/key`."""
    bucket = bucket_in_host(incoming.headers.get("host", ""))
    return incoming.raw_path if bucket is None else f"/{bucket}{incoming.raw_path}"
