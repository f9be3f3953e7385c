"""The values that histories of executions hide, for all that shows texts of an execution apart from its history.

A value may stand at a redacted path in the middle of a history alone, and under another name in the output or in the
cause of a failure. Only the history tells. Those of executions that have ended are read once, as long as they are kept.
"""

from __future__ import annotations

import asyncio
import zlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from statewright.background import in_thread
from statewright.console.redaction import Redactor, RunRedaction, Values
from statewright.engine.engine import Engine
from statewright.engine.executions.history_pages import decode_page
from statewright.stores.protocol import HistoryPage

KEPT: Final = 5_000
KEPT_CHARACTERS: Final = 1_000
"""Of the values of one execution; more are read again each time."""
_FEW_BYTES: Final = 16_384
"""Pages of this length together, as they are stored, are looked at without a thread."""


def page_may_hide(redactor: Redactor, page: HistoryPage) -> bool:
    """False if a page has no name of a pattern, as nearly all; decoding it costs more than looking."""
    return redactor.may_hide(zlib.decompress(page.body).decode())


@dataclass(slots=True)
class HiddenValues:
    """The values that executions of one region hide. `read` counts the histories that were looked at."""

    engine: Engine
    redactor: Redactor
    read: int = 0
    _kept: OrderedDict[tuple[int, int], Values | None] = field(default_factory=OrderedDict)

    async def of(self, execution: int, stopped_ms: int | None) -> Values | None:
        """The values of an execution, which has ended at an instant or goes on; None if it hides none.

        Raises: StoreError.
        """
        if self.redactor.is_hidden:
            # Nothing of a payload is shown at all.
            return None
        key = (execution, stopped_ms or 0)
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        pages = await self.engine.listing.history_pages(execution)
        self.read += 1
        if sum(len(page.body) for page in pages) <= _FEW_BYTES:
            found = self._in(pages)
            # A point read of SQLite does not let the loop go on by itself.
            await asyncio.sleep(0)
        else:
            found = await in_thread(self.engine.clock, lambda: self._in(pages))
        if stopped_ms is not None and (found is None or found.size <= KEPT_CHARACTERS):
            self._kept[key] = found
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return found

    def _in(self, pages: Sequence[HistoryPage]) -> Values | None:
        redaction = RunRedaction(self.redactor)
        for page in pages:
            if page_may_hide(self.redactor, page):
                redaction.note(decode_page(page))
        return redaction.values
