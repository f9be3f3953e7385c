"""The two protocols of SQS: AWS JSON, and the query protocol of older SDKs."""

from __future__ import annotations

import orjson

from statewright.api.protocols.json10 import JsonWire
from statewright.api.protocols.query import QueryWire
from statewright.api.protocols.wire import Wire
from statewright.api.service import QUERY
from statewright.api.sqs.errors import headers_of, legacy, type_of
from statewright.payload import Json, parse_json


def parse(body: bytes) -> Json:
    """Read a request. It has no numbers that must stay exact, so the faster parser is enough.

    Raises: JsonTextError.
    """
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return parse_json(body)


def wire(service: str, protocol: str) -> Wire:
    """The wire of one of the two protocols."""
    if protocol == QUERY:
        return QueryWire(service, legacy=legacy, at_path="QueueUrl")
    return JsonWire(service, type_of=type_of, headers_of=headers_of, parse=parse)
