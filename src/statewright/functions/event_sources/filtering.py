"""Filters of event source mappings and pipes, applied to one message within a bound on the work.

A message whose filters cannot be evaluated stays in its queue, and the log says so: the others go on.
"""

from __future__ import annotations

import logging

from statewright.background import beyond_in_thread
from statewright.clock import Clock
from statewright.functions.event_sources.batches import Filter
from statewright.payload import JsonObject
from statewright.query.matching import MOST_WORK, Matching, TooMuchWork

log = logging.getLogger("statewright.functions")


async def passes(clock: Clock, keep: Filter, record: JsonObject, matching: Matching, owner: str) -> bool | None:
    """True if a message's record passes the filters, None if that cannot be found out; such a message is left alone.

    `matching` bounds the work on the event loop; what exceeds it goes on in a thread. `owner` is named in the log.
    """
    try:
        return await beyond_in_thread(
            clock, TooMuchWork, lambda: keep(record, matching), lambda: keep(record, Matching(MOST_WORK))
        )
    except TooMuchWork:
        why = "the filters of %s take too much work over it"
        log.warning(f"the message %s of %s stays in its queue: {why}", *_names(record), owner)
    except Exception:
        why = "because of a bug in Statewright, in the filters of %s"
        log.exception(f"the message %s of %s stays in its queue {why}", *_names(record), owner)
    return None


def _names(record: JsonObject) -> tuple[object, object]:
    return record["messageId"], record["eventSourceARN"]
