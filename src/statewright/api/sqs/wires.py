"""The two protocols of SQS: AWS JSON, and the query protocol of older SDKs."""

from __future__ import annotations

from typing import Final

from statewright.api.protocols.json10 import JsonWire
from statewright.api.protocols.wire import Wire

JSON_WIRE: Final[Wire] = JsonWire("sqs")
QUERY_WIRE: Final[Wire] = JsonWire("sqs")
