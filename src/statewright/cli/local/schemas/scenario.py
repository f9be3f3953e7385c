"""The schema of scenarios. Owns the keys and their types; `simulation/scenario.py` reads them."""

from __future__ import annotations

from statewright.cli.local.schemas.words import (
    ANYTHING,
    DURATION,
    SCALAR,
    TEXT,
    about,
    by_name,
    document,
    either,
    listed,
    one_of,
    record,
)
from statewright.cost.usage import ITEMS
from statewright.functions.event_sources.scaling import PROFILES
from statewright.functions.workers.models import DISTRIBUTIONS, PERCENTILES
from statewright.payload import JsonObject

_SWITCH: JsonObject = either({"type": "boolean"}, one_of(("on", "off", "yes", "no", "aws", "open", "true", "false")))
_SHARE: JsonObject = about(
    "A share: 0.01, or 1%.",
    either({"type": "number", "minimum": 0, "maximum": 1}, {"type": "string", "pattern": "%\\s*$"}),
)
_RATE: JsonObject = about(
    "How often: 100/s, 10/min, 3/h; a number is for a second.",
    either({"type": "number", "exclusiveMinimum": 0}, {"type": "string", "pattern": "(/|per )"}),
)
_WHOLE: JsonObject = either({"type": "number", "minimum": 0}, {"type": "string", "pattern": "^[0-9][0-9_,]*$"})
_SCALARS: JsonObject = by_name(SCALAR)


def schema() -> JsonObject:
    """The schema of the whole file."""
    return document("Statewright scenario", record(_members(), ()))


def _members() -> dict[str, JsonObject]:
    return {
        "name": SCALAR,
        "description": SCALAR,
        "seed": about("Seed of arrivals, models, ids and faults.", _WHOLE),
        "start": about("When it starts, with a zone: 2026-01-01T00:00:00Z.", TEXT),
        "until": about("When it is given up; default 7d.", DURATION),
        "maximumEvents": _WHOLE,
        "quotas": about("The service's quotas: on or off.", _SWITCH),
        "concurrency": about("Concurrent executions of functions of the account.", _WHOLE),
        "prices": about("The name of a built-in price table, or a file.", SCALAR),
        "project": about("A project's folder or file, which is deployed.", TEXT),
        "functions": about("Functions by name: models or handlers.", by_name(either(DURATION, _function()))),
        "queues": by_name(either({"type": "null"}, _queue())),
        "machines": about("State machines by name: the file of the definition.", by_name(either(TEXT, _machine()))),
        "mappings": _entries(_mapping()),
        "buckets": listed(SCALAR),
        "tables": about("Tables by name: the name of the key.", _SCALARS),
        "arrivals": about("What comes, when and where.", _entries(_arrival())),
        "faults": _entries(_fault()),
        "usage": _usage(),
        "variants": about("Changed values by their places, by the variant's name.", by_name(either(
            {"type": "null"}, {"type": "object"}
        ))),
    }  # fmt: skip


def _entries(entry: JsonObject) -> JsonObject:
    """A list; one object may stand for a list of one."""
    return either(listed(entry), entry)


def _usage() -> JsonObject:
    return about("Billed units.", record({item: {"type": "number", "minimum": 0} for item in ITEMS}))


def _function() -> JsonObject:
    shapes = [
        record({name: record(dict.fromkeys(kind.parameters, SCALAR), kind.parameters)}, [name])
        for name, kind in DISTRIBUTIONS.items()
    ]
    percentiles = record({PERCENTILES: by_name(DURATION)}, [PERCENTILES])
    duration = about("How long an invocation takes: a length, or a distribution.", either(
        DURATION, listed(DURATION), *shapes, percentiles
    ))  # fmt: skip
    return record(
        {
            "duration": duration,
            "perMessage": about("Time for each message of a batch, too.", DURATION),
            "failureRate": _SHARE,
            "error": SCALAR,
            "answer": about("The answer; {python: FILE:FUNCTION} computes it.", ANYTHING),
            "onPoison": one_of(("fail", "report", "ignore")),
            "handler": about("A file with a handler, which really runs.", TEXT),
            "environment": _SCALARS,
            "timeout": DURATION,
            "memory": _WHOLE,
            "reserved": either({"type": "null"}, _WHOLE),
            "usage": _usage(),
        }
    )


def _queue() -> JsonObject:
    return record(
        {
            "visibility": DURATION,
            "delay": DURATION,
            "retention": DURATION,
            "receiveWait": DURATION,
            "fifo": _SWITCH,
            "deadLetter": SCALAR,
            "maxReceiveCount": _WHOLE,
        }
    )


def _machine() -> JsonObject:
    types = one_of(("STANDARD", "EXPRESS"))
    return record({"file": TEXT, "type": types, "tags": _SCALARS, "timeout": DURATION}, ["file"])


def _mapping() -> JsonObject:
    return record(
        {
            "queue": SCALAR,
            "table": about("A table whose stream invokes the function.", SCALAR),
            "function": SCALAR,
            "batchSize": _WHOLE,
            "window": DURATION,
            "profile": one_of(PROFILES),
            "maximumConcurrency": either({"type": "null"}, _WHOLE),
            "reportBatchItemFailures": _SWITCH,
        },
        ["function"],
    )


def _arrival() -> JsonObject:
    return record(
        {
            "queue": SCALAR,
            "machine": SCALAR,
            "function": SCALAR,
            "table": SCALAR,
            "burst": about("So many at once, or over a time.", _WHOLE),
            "over": DURATION,
            "rate": _RATE,
            "poisson": _RATE,
            "for": DURATION,
            "count": _WHOLE,
            "replay": about("A file with instants.", TEXT),
            "at": DURATION,
            "body": ANYTHING,
            "input": ANYTHING,
            "name": SCALAR,
            "poison": _SHARE,
            "batch": _WHOLE,
        }
    )


def _fault() -> JsonObject:
    return record(
        {
            "at": DURATION,
            "for": DURATION,
            "function": SCALAR,
            "call": about("An operation that is refused: dynamodb.PutItem.", TEXT),
            "concurrency": _WHOLE,
            "error": SCALAR,
            "share": _SHARE,
        },
        ["for"],
    )
