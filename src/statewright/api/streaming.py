"""Answers whose bodies are sent piece by piece as they are produced, and abandoned when the caller disconnects.

Owns the release of a body's resources, however the answer ends.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable

from statewright.api.protocols.wire import Disconnected, Message, Receive
from statewright.errors import StoreError

Send = Callable[[Message], Awaitable[None]]

log = logging.getLogger("statewright.api")


async def send_pieces(send: Send, receive: Receive, body: AsyncIterator[bytes]) -> None:
    """Send a body after its head.

    Raises: Disconnected if the caller has disconnected, or if the body breaks off: the connection then ends short of
    the length that the head declared, so that the caller cannot take the part for the whole.
    """
    gone: asyncio.Future[None] | None = None
    try:
        piece = await anext(body, b"")
        async for following in body:
            if gone is None:
                gone = asyncio.ensure_future(_until_gone(receive))
            elif gone.done():
                raise Disconnected
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            piece = following
        await send({"type": "http.response.body", "body": piece})
    except StoreError as problem:
        log.warning("an answer broke off: %s", problem)
        raise Disconnected from problem
    finally:
        if gone is not None:
            gone.cancel()
            await asyncio.gather(gone, return_exceptions=True)
        await close(body)


async def prepare(body: AsyncIterable[object]) -> None:
    """Wait for the beginning of a body that can be awaited, so that a failure is still answered as one.

    Raises: what the body raises, StoreError for one.
    """
    begin = getattr(body, "prepare", None)
    if begin is not None:
        await begin()


async def close(body: AsyncIterable[object]) -> None:
    """Release a body that is not read to its end; harmless for one that was."""
    end = getattr(body, "aclose", None)
    if end is not None:
        await end()


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
