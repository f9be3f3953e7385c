"""The wire of each protocol of each service, made with its first request.

Owns the standard ones: AWS JSON and REST with JSON bodies, as the service model has them. A service whose protocols
have peculiarities names a module that makes its wires (`Service.wires`).
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from statewright.api.protocols.json10 import CONTENT_TYPE, NEWER_TYPE, JsonWire
from statewright.api.protocols.rest import JsonBodies, RestWire
from statewright.api.protocols.wire import Wire
from statewright.api.service import REST, Service


@cache
def wire_of(service: Service, protocol: str) -> Wire:
    """The wire of a protocol that a service speaks."""
    if service.wires is not None:
        made: Wire = import_module(service.wires).wire(service.name, protocol)
        return made
    if protocol == REST:
        return RestWire(service.name, JsonBodies(service.name))
    newer = service.json_version != "1.0"
    return JsonWire(service.name, content_type=NEWER_TYPE if newer else CONTENT_TYPE)
