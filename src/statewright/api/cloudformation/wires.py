"""The query protocol of CloudFormation."""

from __future__ import annotations

from statewright.api.iam.wires import in_query_words
from statewright.api.protocols.query import QueryWire
from statewright.api.protocols.wire import Wire


def wire(service: str, _protocol: str) -> Wire:
    """The wire of its only protocol."""
    return QueryWire(service, legacy=in_query_words)
