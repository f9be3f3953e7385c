"""A collector of logs for tests: takes requests of OTLP, and answers as a test says."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.unit.integrations.stub import Asked, Reply, serving


@dataclass
class Collector:
    """The requests, and the answers: `replies` one after the other, then `reply`."""

    url: str = ""
    asked: list[Asked] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    reply: Reply = field(default_factory=lambda: Reply(200, b"{}", {"Content-Type": "application/json"}))
    accepted: list[Any] = field(default_factory=list)

    def answer(self, asked: Asked) -> Reply:
        """Answer a request; the records of an accepted one are kept."""
        reply = self.replies.pop(0) if self.replies else self.reply
        if reply.status == 200:
            self.accepted.append(json.loads(gzip.decompress(asked.body)))
        return reply

    def streams(self) -> list[tuple[dict[str, Any], list[Any]]]:
        """The attributes of each resource that was accepted, and its records."""
        return [
            (attributes(one["resource"]["attributes"]), one["scopeLogs"][0]["logRecords"])
            for request in self.accepted for one in request["resourceLogs"]
        ]  # fmt: skip

    def records(self, group: str | None = None) -> list[Any]:
        """The accepted records, of a group or of all."""
        return [
            record for resource, records in self.streams() for record in records
            if group in (None, *resource["aws.log.group.names"])
        ]  # fmt: skip

    def messages(self, group: str | None = None) -> list[str]:
        """The bodies of these records."""
        return [record["body"]["stringValue"] for record in self.records(group)]


def attributes(listed: list[Any]) -> dict[str, Any]:
    """Attributes by their keys."""
    found = {}
    for one in listed:
        value = one["value"]
        values = value.get("arrayValue", {}).get("values")
        found[one["key"]] = value["stringValue"] if values is None else [item["stringValue"] for item in values]
    return found


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector on loopback."""
    collector = Collector()
    with serving(collector.answer) as stub:
        collector.url, collector.asked = stub.url, stub.asked
        yield collector
