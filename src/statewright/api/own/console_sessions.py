"""Links into the console of a server with credentials: a one-time key for the caller who signs for it."""

from __future__ import annotations

from statewright.api.operations import App, Call, operation
from statewright.errors import ApiError
from statewright.payload import Json
from statewright.records.console_sessions import Signer


@operation("statewright", "CreateConsoleSession")
async def create_console_session(app: App, call: Call, request: Json) -> Json:
    """Make a one-time key for a link into the console, which opens a session of the caller's access key."""
    if call.access_key is None and app.config.credentials:
        # A task of a workflow has no key that the session could be bound to.
        raise ApiError("AccessDeniedException", "Only a caller with an access key can sign in to the console.")
    session = app.services.sessions.session_of(call.headers, call.query) if call.access_key else None
    until_ms = session.expires_ms if session is not None and session.access_key == call.access_key else None
    signer = Signer(call.access_key or "", app.account, until_ms)
    key, expires_ms = app.services.console_sessions.new_key(signer, may_write=not request.get("readOnly", False))
    return {"key": key, "expiresDate": expires_ms}
