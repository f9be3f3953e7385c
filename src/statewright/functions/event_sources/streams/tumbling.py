"""Tumbling windows: spans of time, one after another, whose batches pass a state on from one invocation to the next.

Pure. A record belongs to the window in which it was written. When a window is over, the function is invoked once more
without records, to process the final state; the next window begins with an empty one. A state that is too large ends
its window early: records of the same span that follow begin with an empty state, too.

Source: Lambda developer guide, "Implementing stateful DynamoDB stream processing in Lambda". That the final invocation
has no records is ours: the guide does not say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import orjson

from statewright.instants import iso_seconds
from statewright.payload import JsonObject, JsonTextError, dump_json, parse_json
from statewright.tables.streams.stream import Stream

LARGEST_STATE_BYTES: Final = 1024 * 1024
SETTLES_MS: Final = 100
"""A window waits so long after its end for records that were numbered before it and are being committed."""


@dataclass(frozen=True, slots=True)
class Window:
    """A window that has begun, with its state as JSON text."""

    start_ms: int
    state: str = "{}"

    @property
    def is_over_early(self) -> bool:
        """True if its state is too large for a further batch."""
        return len(self.state.encode()) > LARGEST_STATE_BYTES


def start_of(at_ms: int, seconds: int) -> int:
    """The beginning of the window of an instant."""
    return at_ms // (1000 * seconds) * 1000 * seconds


def closes_ms(window: Window, seconds: int) -> int:
    """The instant at which a window is over."""
    return window.start_ms + 1000 * seconds + SETTLES_MS


def members(window: Window, seconds: int, stream: Stream, *, is_final: bool) -> JsonObject:
    """The members of a function's event besides its records."""
    return {
        "window": {"start": iso_seconds(window.start_ms), "end": iso_seconds(window.start_ms + 1000 * seconds)},
        "state": orjson.Fragment(window.state),
        "shardId": stream.entry.shard,
        "eventSourceARN": stream.arn,
        "isFinalInvokeForWindow": is_final,
        "isWindowTerminatedEarly": is_final and window.is_over_early,
    }


def state_in(answer: bytes) -> str | None:
    """The state in a function's answer, as JSON text; `None` if there is none: the invocation has failed."""
    try:
        found = parse_json(answer) if answer.strip() else None
    except JsonTextError:
        return None
    return dump_json(found["state"]) if isinstance(found, dict) and "state" in found else None
