"""The document at `/health`: the state of the server in words, and how many operations each service has here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from statewright import __version__
from statewright.api.ecs.service import found_ray
from statewright.api.lambda_.service import build_event_sources
from statewright.api.logs.service import build_log_sender
from statewright.api.operations import App, registered
from statewright.api.services import BY_NAME
from statewright.payload import Json, JsonObject

STANDBY: Final = "standby"
"""The status of a server that waits for the store. Its parts are those of a rehearsal, and do not run."""


def document(
    app: App,
    status: str,
    store_state: Callable[[], str] | None,
    bucket_state: Callable[[], str] | None,
    invented: Callable[[], list[str]] | None,
) -> JsonObject:
    """The document of a server whose word is `status`; the other arguments are those of `Api`."""
    found: JsonObject = {"status": status, "version": __version__}
    if store_state is not None:
        found["store"] = store_state()
    if bucket_state is not None:
        found["bucket"] = bucket_state()
    if invented is not None and (played := invented()):
        found["invented"] = played
    if status != STANDBY:
        found.update(_of_parts(app))
    found["operations"] = {name: len(of) for name in sorted(BY_NAME) if (of := registered(name))}
    return found


def _of_parts(app: App) -> Iterable[tuple[str, Json]]:
    """The states of those parts that were built."""
    made = app.services.make
    ray = found_ray(made)
    if ray is not None:
        yield "ray", ray.status.shown()
    sender = made.found(build_log_sender)
    if sender is not None:
        yield "log_export", sender.state
    sources = made.found(build_event_sources)
    if sources is not None and (lagging := sources.lagging()):
        yield "lagging", lagging
