"""The settings page: facts about the server, and who is signed in to its console.

`sign_in` decides on callers; here they see their account's sessions, and end them.
"""

from __future__ import annotations

import logging
import sys
from typing import Final

from statewright import __version__
from statewright.console.asked import Asked, Caller, document, text_of
from statewright.console.context import Console
from statewright.errors import ApiError
from statewright.payload import JsonObject
from statewright.records.console_sessions import ConsoleSession

log = logging.getLogger("statewright.console")


async def settings(console: Console, _asked: Asked) -> JsonObject:
    """`{version, python, place, region, account, regions, timeScale, rates, asksSignIn}` of the server."""
    app = console.app
    config = app.config
    return {
        "version": __version__,
        "python": ".".join(map(str, sys.version_info[:3])),
        "place": console.place,
        "region": config.region,
        "account": config.account,
        "regions": console.regions(),
        "timeScale": app.clock.pauses.scale,
        "hasCredentials": bool(config.credentials),
    }


async def sessions(console: Console, asked: Asked) -> JsonObject:
    """`{sessions: [{id, accessKey, createdMs, expiresMs, mayWrite, isTemporary, isThis}]}` of the caller's account,
    newest first, and `user`, whom a proxy has signed in."""
    caller = asked.caller
    if caller.session is None:
        return {"sessions": [], "user": caller.user}
    found = console.app.services.console_sessions.sessions(caller.account)
    return {"sessions": [_shown(one, caller) for one in found], "user": ""}


async def end_session(console: Console, asked: Asked) -> JsonObject:
    """End a session: `{id}` to `{}`. A caller who may only read ends no other than its own.

    Raises: ApiError (`NotFound`, `AccessDenied`).
    """
    caller = asked.caller
    wanted = text_of(document(asked), "id")
    kept = console.app.services.console_sessions
    found = next((one for one in kept.sessions(caller.account) if one.id == wanted), None)
    if caller.session is None or found is None:
        raise ApiError("NotFound", "There is no such session; it may have ended already.", status=404)
    if not caller.may_write and found.id != caller.session.id:
        raise ApiError("AccessDenied", "This sign-in may only read, and ends no other session.", status=403)
    log.info("session %s of %s ended by %s in the console, request %s",
             found.id, found.access_key, caller.name, asked.request_id)  # fmt: skip
    await kept.end(found)
    return {}


def _shown(session: ConsoleSession, caller: Caller) -> JsonObject:
    return {
        "id": session.id,
        "accessKey": session.access_key,
        "createdMs": session.created_ms,
        "expiresMs": session.expires_ms,
        "mayWrite": session.may_write,
        "isTemporary": session.is_temporary,
        "isThis": caller.session is not None and caller.session.id == session.id,
    }


READS: Final = {"settings": settings, "sessions": sessions}
ACTIONS: Final = {"sessions/end": end_session}
