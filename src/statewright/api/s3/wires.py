"""The wire of S3: REST with XML bodies, addressed by path or by Host."""

from __future__ import annotations

from typing import Final

from statewright.api.guard import HARMLESS
from statewright.api.protocols.rest import RestWire
from statewright.api.protocols.wire import Wire
from statewright.api.protocols.xml_bodies import XmlBodies
from statewright.api.s3.paths import path_of

_HEADERS: Final = {"GetObject": HARMLESS, "HeadObject": HARMLESS}
_STATUSES: Final = {"PutBucketTagging": 204, "PutBucketPolicy": 204}
"""Source: observed."""


def wire(service: str, _protocol: str) -> Wire:
    """The wire of S3's only protocol."""
    return RestWire(service, XmlBodies(service), path_of, _HEADERS, _STATUSES)
