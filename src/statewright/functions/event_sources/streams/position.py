"""The place of a mapping in its stream, as stored: what was processed, and the batch that is being retried.

A batch that failed is remembered by the sequence number of its last record, so that it has the same records again,
also after a restart. Where it was split, the parts that follow are remembered, too: `ends` is a stack.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from statewright.functions.event_sources.streams.tumbling import Window
from statewright.payload import Json
from statewright.stores.entries import EntryKind, Form

NOTHING_YET: Final = "No records processed"
SUCCEEDED: Final = "OK"
FAILED: Final = "PROBLEM: Function call failed"


@dataclass(frozen=True, slots=True)
class Position:
    """A position. `after` is the sequence number of the last record that is done; empty for the oldest."""

    uuid: str
    after: str
    ends: tuple[str, ...] = ()
    """Last records of the batches that follow, the next one at the end; empty if the next batch is a new one."""
    attempts: int = 0
    """Invocations with the next batch."""
    result: str = NOTHING_YET
    window: Window | None = None
    """The tumbling window that has begun, if there is one."""
    stored: int = 0

    def done(self, last: str, result: str) -> Position:
        """The position behind a batch."""
        rest = tuple(end for end in self.ends if end > last)
        return replace(self, after=last, ends=rest, attempts=0, result=result)

    def within(self, window: Window | None) -> Position:
        """The position with a tumbling window."""
        return replace(self, window=window)

    def failed(self, after: str, end: str) -> Position:
        """The position before a batch, or before what is left of it, that is invoked again."""
        rest = tuple(one for one in self.ends if one > end)
        return replace(self, after=after, ends=(*rest, end), attempts=self.attempts + 1, result=FAILED)

    def waiting(self, end: str) -> Position:
        """The position before a batch that could not be invoked, which does not count as an attempt."""
        rest = tuple(one for one in self.ends if one > end)
        return replace(self, ends=(*rest, end))

    def split(self, after: str, ends: tuple[str, ...]) -> Position:
        """The position before a batch that is invoked in parts, which does not count as an attempt."""
        rest = tuple(one for one in self.ends if one > ends[0])
        return replace(self, after=after, ends=(*rest, *ends), result=FAILED)


def _without_window(members: dict[str, Json]) -> dict[str, Json]:
    """Format 1 had no tumbling windows: the default is none."""
    return members


POSITION: Final = EntryKind(
    "eventSourcePosition", Position, lambda position: position.uuid, form=Form(2, upgrades={1: _without_window})
)
