"""The port of a server that may be a standby: one application in front, another behind it, and words for callers."""

from __future__ import annotations

from typing import Final, Protocol

from statewright.api.app import Send
from statewright.api.protocols.wire import Message, Receive

REFUSAL: Final = "This server is a standby: another server has the store. Try again, at the other one's address."
_PAGE: Final = b"This server is a standby: another server has the store. The console is at the other one's address.\n"


class Application(Protocol):
    """An application that a port can have."""

    async def __call__(self, scope: Message, receive: Receive, send: Send, /) -> None:
        """Answer one request."""

    def drain(self) -> None:
        """Refuse new calls, and end those that wait."""


class SwitchableApp:
    """The application of a port for as long as that is open: hands each request to `app`, which may be replaced."""

    def __init__(self, app: Application) -> None:
        self.app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Have the present application answer a request."""
        await self.app(scope, receive, send)

    def drain(self) -> None:
        """Refuse new calls, and end those that wait."""
        self.app.drain()


class NoPages:
    """Answers for the console of a standby, which has none."""

    async def __call__(self, _scope: Message, _receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(_PAGE))]
        await send({"type": "http.response.start", "status": 503, "headers": headers})
        await send({"type": "http.response.body", "body": _PAGE})

    def drain(self) -> None:
        """There is nothing to end."""
