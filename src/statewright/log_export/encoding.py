"""Events as an ExportLogsServiceRequest of OTLP, in JSON: no part of it needs more than dictionaries.

Each stream is a resource of its own, as the semantic conventions have log groups and streams among the attributes of
resources. Severity is given where a message says so: history of executions, output of loggers of Python and
Node.js, JSON with a level.

Source: opentelemetry-proto, `logs.proto`, and "JSON Protobuf Encoding" of the OTLP specification (64-bit numbers are
texts); semantic conventions, "AWS Logs", "Cloud", "Host", "Service", `log.record.uid`; logs data model, severity.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from statewright import __version__
from statewright.engine.executions.logs import FATAL, is_error
from statewright.payload import Json, JsonObject, dump_json
from statewright.records.log_files import Line

SEVERITIES: Final = {
    "TRACE": 1, "DEBUG": 5, "INFO": 9, "WARN": 13, "WARNING": 13, "ERROR": 17, "CRITICAL": 21, "FATAL": 21,
}  # fmt: skip
"""Numbers of severity by the words of loggers."""
MOST_JSON: Final = 16_384
"""Longest message that is searched for its level."""
_NS_PER_MS: Final = 1_000_000
_HISTORY: Final = re.compile(r'\{"id":"\d+","type":"(\w+)"')
_LEVEL: Final = re.compile(r"\[([A-Z]+)\]\t|[0-9T:.-]+Z\t\S+\t([A-Z]+)\t")
"""Of the loggers of Python and Node.js in functions."""


@dataclass(frozen=True, slots=True)
class Written:
    """Events of one group, in the order in which they are exported."""

    group: str
    lines: Sequence[Line]


def request_body(resource: Mapping[str, str], written: Iterable[Written]) -> bytes:
    """The body of a request, in gzip. `resource` are the attributes that all streams have."""
    shared = [_text_attribute(key, value) for key, value in resource.items()]
    streams: list[Json] = [
        {
            "resource": {
                "attributes": [
                    *shared,
                    _list_attribute("aws.log.group.names", one.group),
                    _list_attribute("aws.log.stream.names", stream),
                ]
            },
            "scopeLogs": [
                {
                    "scope": {"name": "statewright", "version": __version__},
                    "logRecords": [_record(line) for line in lines],
                }
            ],
        }
        for one in written
        for stream, lines in _by_stream(one.lines).items()
    ]
    return gzip.compress(dump_json({"resourceLogs": streams}).encode(), compresslevel=6, mtime=0)


def _by_stream(lines: Sequence[Line]) -> dict[str, list[Line]]:
    found: dict[str, list[Line]] = {}
    for line in lines:
        found.setdefault(_sound(line.event.stream), []).append(line)
    return found


def _record(line: Line) -> JsonObject:
    event = line.event
    record: JsonObject = {
        "timeUnixNano": str(max(event.at_ms, 0) * _NS_PER_MS),
        "observedTimeUnixNano": str(max(event.ingested_ms, 0) * _NS_PER_MS),
        "body": {"stringValue": _sound(event.message)},
        "attributes": [_text_attribute("log.record.uid", f"{event.at_ms}-{line.begin[0]}-{line.begin[1]}")],
    }
    word = level_of(event.message)
    if word is not None:
        record["severityNumber"], record["severityText"] = SEVERITIES[word], word
    return record


def level_of(message: str) -> str | None:
    """The word for the severity of a message, one of `SEVERITIES`; None if it does not say."""
    history = _HISTORY.match(message)
    if history is not None:
        return "ERROR" if history[1] in FATAL or is_error(history[1]) else "INFO"
    plain = _LEVEL.match(message)
    word: object = plain[1] or plain[2] if plain is not None else None
    if word is None and message.startswith("{") and '"level"' in message and len(message) <= MOST_JSON:
        try:
            word = json.loads(message).get("level")
        except (ValueError, RecursionError):
            return None
    return word.upper() if isinstance(word, str) and word.upper() in SEVERITIES else None


def _sound(text: str) -> str:
    """A text without lone surrogates, which no JSON can carry."""
    return text.encode("utf-8", "replace").decode()


def _text_attribute(key: str, value: str) -> JsonObject:
    return {"key": key, "value": {"stringValue": value}}


def _list_attribute(key: str, value: str) -> JsonObject:
    return {"key": key, "value": {"arrayValue": {"values": [{"stringValue": value}]}}}
