"""History as it is stored: one page for each commit, JSON in zlib, and the tokens that walk through it.

Ids of a page's events follow each other, so a page names only its first; an event carries its instant only where that
is not the page's own.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Final

import orjson

from statewright.interpreter.history import HistoryEvent
from statewright.payload import Json
from statewright.stores.protocol import HistoryPage

_LEVEL: Final = 1
"""Fast; the texts repeat so much that higher levels gain little."""
_SMALL_BYTES: Final = 4096
_SMALL_WINDOW: Final = 12
_SMALL_MEMORY: Final = 5


def encode_page(events: Sequence[HistoryEvent], at_ms: int) -> HistoryPage:
    """The page of a commit's events, of which there is at least one."""
    rows: list[list[Json]] = []
    for event in events:
        if event.at_ms == at_ms:
            rows.append([event.previous_id, event.type, event.details])
        else:
            rows.append([event.previous_id, event.type, event.details, event.at_ms])
    return HistoryPage(events[0].id, len(events), at_ms, _compressed(orjson.dumps(rows)))


def _compressed(body: bytes) -> bytes:
    if len(body) >= _SMALL_BYTES:
        return zlib.compress(body, _LEVEL)
    # Most pages hold a few events, and setting up a full window costs nine times as much as compressing them.
    small = zlib.compressobj(_LEVEL, zlib.DEFLATED, _SMALL_WINDOW, _SMALL_MEMORY)
    return small.compress(body) + small.flush()


def decode_page(page: HistoryPage) -> list[HistoryEvent]:
    """The events of a page, by id."""
    rows = orjson.loads(zlib.decompress(page.body))
    return [
        HistoryEvent(page.first + place, row[0], row[3] if len(row) > 3 else page.at_ms, row[1], row[2])
        for place, row in enumerate(rows)
    ]
