"""The table of the console: one function for each address below `/console/api/`, from a request to a JSON document.

A read answers GET and changes nothing; an action answers POST. Instants are epoch milliseconds. Each of them refuses
what it does not know in one sentence.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from statewright import __version__
from statewright.api.operations import App
from statewright.console import (
    calls,
    live,
    run_reads,
)
from statewright.console.actions import starting, tokens
from statewright.console.analysis import compare, explain, what_if, why
from statewright.console.asked import Answer, Asked
from statewright.console.context import Console
from statewright.console.copies import exports, imports
from statewright.console.definitions import machine_page, workbench
from statewright.console.drawings import icons
from statewright.console.figures import costs, heat, occupancy
from statewright.console.lists import bulk, executions, machines, overview, search
from statewright.console.project import ProjectBoard
from statewright.console.recording import reads as recording
from statewright.console.services import (
    apis,
    attempt_logs,
    bus,
    flow,
    functions,
    jobs,
    limits,
    map_runs,
    objects,
    queues,
    schedules,
    tables,
    topics,
    waiting,
)
from statewright.console.signing_in import sessions
from statewright.console.simulations import reads as simulations
from statewright.errors import ApiError
from statewright.payload import JsonObject

Read = Callable[[Console, Asked], Awaitable[Answer]]


async def me(console: Console, asked: Asked) -> JsonObject:
    """The server and the caller: `{version, region, account, regions, icons, mayWrite, user, expiresMs, nowMs}`.

    `user` is the access key or the name of a user who has signed in, empty where no one has to; `expiresMs` the end of
    the session.
    """
    app = console.app
    return {
        "version": __version__,
        "region": app.config.region,
        "account": app.config.account,
        "regions": console.regions(),
        "icons": icons(),
        "mayWrite": asked.caller.may_write,
        "user": asked.caller.user or asked.caller.access_key,
        "expiresMs": asked.caller.session.expires_ms if asked.caller.session is not None else None,
        "nowMs": app.clock.now_ms(),
    }


READS: Final[Mapping[str, Read]] = {
    "me": me,
    **starting.READS,
    **tokens.READS,
    **compare.READS,
    **explain.READS,
    **exports.READS,
    **machine_page.READS,
    **costs.READS,
    **heat.READS,
    **occupancy.READS,
    **executions.READS,
    **machines.READS,
    **overview.READS,
    **search.READS,
    **live.READS,
    **recording.READS,
    **run_reads.READS,
    **why.READS,
    **apis.READS,
    **attempt_logs.READS,
    **bus.READS,
    **flow.READS,
    **functions.READS,
    **jobs.READS,
    **limits.READS,
    **map_runs.READS,
    **objects.READS,
    **queues.READS,
    **schedules.READS,
    **tables.READS,
    **topics.READS,
    **waiting.READS,
    **sessions.READS,
    **simulations.READS,
}
ACTIONS: Final[Mapping[str, Read]] = {
    **what_if.ACTIONS,
    **calls.ACTIONS,
    **imports.ACTIONS,
    **workbench.ACTIONS,
    **bulk.ACTIONS,
    **bus.ACTIONS,
    **objects.ACTIONS,
    **schedules.ACTIONS,
    **tables.ACTIONS,
    **sessions.ACTIONS,
    **simulations.ACTIONS,
}


def reader(app: App, place: str = "", project: ProjectBoard | None = None) -> Callable[[str, Asked], Awaitable[Answer]]:
    """The reads and actions of an account, by name and request. They raise ApiError, and StoreError."""
    console = Console(app, place, project)

    async def answer(name: str, asked: Asked) -> Answer:
        mine, other = (READS, ACTIONS) if asked.body is None else (ACTIONS, READS)
        found = mine.get(name)
        if found is None and name in other:
            raise ApiError("MethodNotAllowed", f"{name} answers {'POST' if asked.body is None else 'GET'}.", status=405)
        if found is None:
            raise ApiError("NotFound", f"The console has no read {name[:200]}.", status=404)
        return await found(console, asked)

    return answer
