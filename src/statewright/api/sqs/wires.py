"""The two protocols of SQS: AWS JSON, and the query protocol of older SDKs."""

from __future__ import annotations

from typing import Final

from statewright.api.protocols.json10 import JsonWire
from statewright.api.protocols.query import QueryWire
from statewright.api.protocols.wire import Wire
from statewright.api.sqs.errors import headers_of, legacy, type_of

JSON_WIRE: Final[Wire] = JsonWire("sqs", type_of=type_of, headers_of=headers_of)
QUERY_WIRE: Final[Wire] = QueryWire("sqs", legacy=legacy, at_path="QueueUrl")
