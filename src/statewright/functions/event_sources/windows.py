"""Messages that are gathered for a batch: when the window closes, and which receive of a message counts.

Pure: shared by the pollers of event source mappings and by pipes.

A gathered message is hidden for its queue's visibility timeout, no longer. A window as long as that timeout would end
when its first messages are visible again: they would be received a second time into the same batch, or while the batch
is processed. So the window closes while a sixth of the visibility timeout is left: the service advises a timeout of
six times what processing takes.

Source: Lambda developer guide, "Configuring a queue to use with Lambda".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

_One = TypeVar("_One")

_PROCESSING: Final = 6
"""One part in so many of the visibility timeout is left for processing."""


def closes_ms(now_ms: int, window_ms: int, visibility_ms: int) -> int:
    """Instant at which a window closes for messages that were received at `now_ms`."""
    return now_ms + min(window_ms, visibility_ms - visibility_ms // _PROCESSING)


def gathered(batch: list[_One], found: list[_One], message_id: Callable[[_One], str]) -> list[_One]:
    """A batch with the messages found; one that was received before is replaced: its older handle has expired."""
    if not batch:
        return found
    newer = {message_id(one) for one in found}
    return [*(one for one in batch if message_id(one) not in newer), *found]
