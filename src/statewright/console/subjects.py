"""Subjects that pages may watch, apart from the streams that carry them: their interface, and those that are polled.

A subject that no event announces (queues, limits, machines) is a fingerprint: a small value that differs when its page
would. It is read once a second while a page watches it, once for all pages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

from statewright.api.operations import App
from statewright.payload import JsonObject

POLL_MS: Final = 1_000
NEVER_MS: Final = 2**62

Fingerprint = Callable[[App], Awaitable[object]]
"""Reads a value that is compared with the one before."""


class Subject(Protocol):
    """Something that one stream watches. `pause_ms` is the least time between two reads."""

    @property
    def pause_ms(self) -> int:
        """See above."""

    @property
    def wanted_ms(self) -> int:
        """When it is to be read next: 0 for as soon as possible, `NEVER_MS` for when it is woken."""

    async def read(self) -> list[JsonObject]:
        """The lines for the page, each with `subject`. Raises: StoreError."""

    def close(self) -> None:
        """Watch no longer."""


@dataclass(slots=True)
class _Polled:
    """The last value of a fingerprint. `number` counts its changes."""

    read_ms: int = -POLL_MS
    value: object = None
    number: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(slots=True)
class Polls:
    """Fingerprints by region and name, each read at most once a second."""

    _polled: dict[tuple[str, str], _Polled] = field(default_factory=dict)

    async def number(self, name: str, app: App, fingerprint: Fingerprint) -> int:
        """A number that changes with the fingerprint."""
        polled = self._polled.setdefault((app.config.region, name), _Polled())
        async with polled.lock:
            now_ms = app.clock.now_ms()
            if now_ms - polled.read_ms >= POLL_MS:
                value = await fingerprint(app)
                polled.read_ms = now_ms
                if value != polled.value or not polled.number:
                    polled.value, polled.number = value, polled.number + 1
            return polled.number


@dataclass(slots=True)
class PolledSubject:
    """A subject that is polled: `{subject, changed: true}` when its fingerprint has changed."""

    name: str
    app: App
    polls: Polls
    fingerprint: Fingerprint
    pause_ms: int = POLL_MS
    wanted_ms: int = 0
    _seen: int = 0

    async def read(self) -> list[JsonObject]:
        """See `Subject`. The first read says nothing: the page reads for itself."""
        number = await self.polls.number(self.name, self.app, self.fingerprint)
        before, self._seen = self._seen, number
        return [{"subject": self.name, "changed": True}] if before and before != number else []

    def close(self) -> None:
        """See `Subject`."""
