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


async def passes(
    clock: Clock,
    keep: Filter,
    record: JsonObject,
    matching: Matching,
    owner: str,
    *,
    otherwise: str = "stays in its queue",
) -> bool | None:
    """True if a record passes the filters, None if that cannot be found out; a message is left alone then.

    `matching` bounds the work on the event loop; what exceeds it goes on in a thread. `owner` is named in the log, and
    `otherwise` says there what happens to a record that cannot be filtered.
    """
    try:
        return await beyond_in_thread(
            clock, TooMuchWork, lambda: keep(record, matching), lambda: keep(record, Matching(MOST_WORK))
        )
    except TooMuchWork:
        why = "the filters of %s take too much work over it"
        log.warning(f"the message %s of %s {otherwise}: {why}", *_names(record), owner)
    except Exception:
        why = "because of a bug in Statewright, in the filters of %s"
        log.exception(f"the message %s of %s {otherwise} {why}", *_names(record), owner)
    return None


def _names(record: JsonObject) -> tuple[object, object]:
    return record.get("messageId") or record.get("eventID"), record["eventSourceARN"]
