"""The wire of API Gateway: REST with JSON bodies whose members have other names on the wire than in the model."""

from __future__ import annotations

from statewright.api.protocols.located_json import LocatedJsonBodies
from statewright.api.protocols.rest import RestWire
from statewright.api.protocols.wire import Wire


def wire(service: str, _protocol: str) -> Wire:
    """The wire of either version's only protocol."""
    return RestWire(service, LocatedJsonBodies(service))
