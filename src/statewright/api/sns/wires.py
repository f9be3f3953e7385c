"""The protocol of SNS."""

from __future__ import annotations

from statewright.api.protocols.query import QueryWire
from statewright.api.protocols.wire import Wire


def wire(service: str, _protocol: str) -> Wire:
    """The wire of SNS's only protocol."""
    return QueryWire(service)
