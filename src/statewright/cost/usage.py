"""Usage: quantities of the items that the service charges for.

Owns the items and their names. Quantities come from the modules that count, prices from `bill.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Final

SQS_CHUNK_BYTES: Final = 64 * 1024
"""Every started 64 KiB of a request's payload is a request of its own. Source: Amazon SQS pricing."""
EVENT_CHUNK_BYTES: Final = 64 * 1024
"""As above, for published events and topics' messages. Source: Amazon EventBridge pricing, Amazon SNS pricing."""
WRITE_UNIT_BYTES: Final = 1024
READ_UNIT_BYTES: Final = 4096
"""Source: DynamoDB developer guide, "Read/write capacity units"."""
EXPRESS_MEMORY_MIB: Final = 64
EXPRESS_STEP_MS: Final = 100
"""Duration is rounded up to it. Source: AWS Step Functions pricing."""


@dataclass(frozen=True, slots=True)
class Item:
    """An item that is charged for. `words` name its unit, in the plural."""

    service: str
    words: str


ITEMS: Final[Mapping[str, Item]] = {
    "states.transitions": Item("Step Functions", "state transitions"),
    "states.express_requests": Item("Step Functions", "Express requests"),
    "states.express_gb_seconds": Item("Step Functions", "Express GB-seconds"),
    "lambda.requests": Item("Lambda", "requests"),
    "lambda.gb_seconds": Item("Lambda", "GB-seconds"),
    "lambda.gb_seconds_arm": Item("Lambda", "GB-seconds on arm64"),
    "sqs.requests": Item("SQS", "requests"),
    "sqs.fifo_requests": Item("SQS", "requests to FIFO queues"),
    "s3.put_requests": Item("S3", "PUT, COPY, POST and LIST requests"),
    "s3.get_requests": Item("S3", "GET and other requests"),
    "s3.gb_months": Item("S3", "GB-months of storage"),
    "dynamodb.write_units": Item("DynamoDB", "write request units"),
    "dynamodb.read_units": Item("DynamoDB", "read request units"),
    "dynamodb.gb_months": Item("DynamoDB", "GB-months of storage"),
    "sns.publishes": Item("SNS", "publishes"),
    "sns.http_deliveries": Item("SNS", "deliveries over HTTP"),
    "events.events": Item("EventBridge", "custom events"),
    "scheduler.invocations": Item("EventBridge Scheduler", "invocations"),
    "kms.requests": Item("KMS", "requests"),
    "logs.gb_ingested": Item("CloudWatch Logs", "GB of logs"),
}
"""Every item by its name in price tables, in the order of bills."""


class Usage:
    """Quantities by item. `assumptions` are notes for the reader of the bill, each once."""

    __slots__ = ("_assumed", "quantities")

    def __init__(self) -> None:
        self.quantities: dict[str, float] = {}
        self._assumed: dict[str, None] = {}

    def add(self, item: str, quantity: float = 1) -> None:
        """Add to an item. Raises: KeyError for one that does not exist."""
        if item not in ITEMS:
            raise KeyError(item)
        self.quantities[item] = self.quantities.get(item, 0) + quantity

    def merge(self, other: Usage) -> None:
        """Add another usage."""
        for item, quantity in other.quantities.items():
            self.add(item, quantity)
        for text in other.assumptions:
            self.assume(text)

    def assume(self, text: str) -> None:
        """Note that something is assumed."""
        self._assumed[text] = None

    @property
    def assumptions(self) -> list[str]:
        """Assumptions, in the order in which they were made."""
        return list(self._assumed)


def add_invocation(usage: Usage, duration_ms: float, memory_mib: int, *, arm: bool = False) -> None:
    """Count an invocation of a function: duration is billed by the millisecond, rounded up."""
    usage.add("lambda.requests")
    usage.add("lambda.gb_seconds_arm" if arm else "lambda.gb_seconds", ceil(duration_ms) / 1000 * memory_mib / 1024)


def add_express(usage: Usage, duration_ms: float, memory_mib: int = EXPRESS_MEMORY_MIB) -> None:
    """Count an execution of an EXPRESS machine."""
    usage.add("states.express_requests")
    billed_ms = max(1, ceil(duration_ms / EXPRESS_STEP_MS)) * EXPRESS_STEP_MS
    usage.add("states.express_gb_seconds", billed_ms / 1000 * memory_mib / 1024)


def chunks(size_bytes: int, chunk_bytes: int = SQS_CHUNK_BYTES) -> int:
    """How many requests a payload of that size counts as."""
    return max(1, ceil(size_bytes / chunk_bytes))
