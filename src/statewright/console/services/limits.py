"""Reads of limits: semaphores with their holders and waiters, and machines with a limit, page by page.

The operations of Statewright's own service show the same without pages; a semaphore with a key for each customer may
stand there many thousand times.
"""

from __future__ import annotations

from heapq import nsmallest
from itertools import islice
from typing import Final

from statewright.arn import parse_arn
from statewright.console.asked import Asked, needed, number
from statewright.console.context import Console
from statewright.engine.concurrency.semaphores import Permit, Semaphore
from statewright.errors import ApiError
from statewright.payload import JsonObject

PAGE_ROWS: Final = 50
MOST_MACHINES: Final = 200
MOST_PERMITS: Final = 200
"""Holders, and waiters, that one read shows."""


async def limits(console: Console, asked: Asked) -> JsonObject:
    """`{semaphores, next, total, machines, moreMachines}`; `q` is a part of a name or key."""
    app = console.app_of(asked)
    wanted = asked.given.get("q", "").casefold()
    semaphores = [
        one for one in app.engine.semaphores.every()
        if not wanted or wanted in one.name.casefold() or wanted in one.key.casefold()
    ]  # fmt: skip
    first = number(asked.given, "cursor", 0)
    following = first + PAGE_ROWS
    # Those that others wait for come first; the rest is by name. Of very many, those up to the page are sorted.
    shown = nsmallest(following, semaphores, key=lambda one: (not one.waiters, one.name, one.key))
    machines = [
        one for one in app.engine.admission.standing() if wanted in one.machine_arn.rpartition(":")[2].casefold()
    ]
    return {
        "semaphores": [_listed(one) for one in shown[first:]],
        "next": str(following) if following < len(semaphores) else None,
        "total": len(semaphores),
        "machines": [
            {
                "arn": one.machine_arn,
                "name": one.machine_arn.rpartition(":")[2],
                "most": one.limit.at_once,
                "perSecond": one.limit.per_second,
                "running": one.running,
                "queued": one.queued,
            }
            for one in machines[:MOST_MACHINES]
        ],
        "moreMachines": max(0, len(machines) - MOST_MACHINES),
        "nowMs": app.clock.now_ms(),
    }


def _listed(one: Semaphore) -> JsonObject:
    return {
        "name": one.name, "key": one.key, "limit": one.limit, "held": len(one.holders), "waiting": len(one.waiters),
        "oldestMs": next((permit.asked_ms for permit in one.waiters.values()), None),
    }  # fmt: skip


async def semaphore(console: Console, asked: Asked) -> JsonObject:
    """`{name, key, limit, held, waiting, holders, waiters}` of one semaphore, the first of either.

    One without holders and waiters is not there: its limit is `null`.
    """
    app = console.app_of(asked)
    name, key = needed(asked.given, "name"), asked.given.get("key", "")
    now_ms = app.clock.now_ms()
    one = app.engine.semaphores.find(name, key)
    if one is not None:
        return {
            "name": name, "key": key, "limit": one.limit, "held": len(one.holders), "waiting": len(one.waiters),
            "holders": [_shown(permit) for permit in islice(one.holders.values(), MOST_PERMITS)],
            "waiters": [_shown(permit) for permit in islice(one.waiters.values(), MOST_PERMITS)],
            "nowMs": now_ms,
        }  # fmt: skip
    return {
        "name": name, "key": key, "limit": None, "held": 0, "waiting": 0, "holders": [], "waiters": [],
        "nowMs": now_ms,
    }  # fmt: skip


def _shown(permit: Permit) -> JsonObject:
    try:
        name = parse_arn(permit.execution_arn).rest
    except ApiError:
        name = permit.execution_arn
    return {
        "permit": str(permit.number),
        "arn": permit.execution_arn,
        "name": name,
        "state": permit.state,
        "askedMs": permit.asked_ms,
        "grantedMs": permit.granted_ms,
    }


READS: Final = {"limits": limits, "semaphore": semaphore}
