"""The table of the console: one function for each address below `/console/api/`, from a request to a JSON document.

A read answers GET and changes nothing; an action answers POST. Instants are epoch milliseconds. Each of them refuses
what it does not know in one sentence.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from statewright import __version__
from statewright.api.operations import App
from statewright.console import calls, executions, live, machines, run_reads
from statewright.console.analysis import compare, explain, what_if
from statewright.console.asked import Answer, Asked
from statewright.console.context import Console
from statewright.console.copies import exports, imports
from statewright.console.drawings import icons
from statewright.console.figures import costs, heat, occupancy
from statewright.console.project import ProjectBoard
from statewright.console.recording import reads as recording
from statewright.console.simulations import reads as simulations
from statewright.errors import ApiError
from statewright.payload import JsonObject

Read = Callable[[Console, Asked], Awaitable[Answer]]


async def me(console: Console, asked: Asked) -> JsonObject:
    """The server and the caller: `{version, region, account, regions, icons, mayWrite, nowMs}`."""
    app = console.app
    return {
        "version": __version__,
        "region": app.config.region,
        "account": app.config.account,
        "regions": app.regions.names() if app.regions is not None else [app.config.region],
        "icons": icons(),
        "mayWrite": asked.caller.may_write,
        "nowMs": app.clock.now_ms(),
    }


READS: Final[Mapping[str, Read]] = {
    "me": me,
    **executions.READS,
    **live.READS,
    **machines.READS,
    **run_reads.READS,
    **compare.READS,
    **explain.READS,
    **heat.READS,
    **occupancy.READS,
    **costs.READS,
    **exports.READS,
    **recording.READS,
    **simulations.READS,
}
ACTIONS: Final[Mapping[str, Read]] = {
    **calls.ACTIONS,
    **what_if.ACTIONS,
    **imports.ACTIONS,
    **simulations.ACTIONS,
}


def reader(app: App, project: ProjectBoard | None = None) -> Callable[[str, Asked], Awaitable[Answer]]:
    """The reads and actions of a server, by name and request. They raise ApiError, and StoreError."""
    console = Console(app, project)

    async def answer(name: str, asked: Asked) -> Answer:
        mine, other = (READS, ACTIONS) if asked.body is None else (ACTIONS, READS)
        found = mine.get(name)
        if found is None and name in other:
            raise ApiError("MethodNotAllowed", f"{name} answers {'POST' if asked.body is None else 'GET'}.", status=405)
        if found is None:
            raise ApiError("NotFound", f"The console has no read {name[:200]}.", status=404)
        return await found(console, asked)

    return answer
