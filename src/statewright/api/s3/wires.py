"""The wire of S3: REST with XML bodies, addressed by path or by Host."""

from __future__ import annotations

from statewright.api.guard import HARMLESS
from statewright.api.protocols.rest import RestWire
from statewright.api.protocols.wire import Wire
from statewright.api.protocols.xml_bodies import XmlBodies
from statewright.api.s3.paths import path_of


def wire(service: str, _protocol: str) -> Wire:
    """The wire of S3's only protocol."""
    return RestWire(service, XmlBodies(service), path_of, {"GetObject": HARMLESS, "HeadObject": HARMLESS})
