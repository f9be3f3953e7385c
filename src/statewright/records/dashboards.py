"""Dashboards of CloudWatch: texts by name."""

from __future__ import annotations

from collections.abc import Iterable

from statewright.clock import Clock
from statewright.records.entries import DASHBOARD, Dashboard
from statewright.stores.entries import Entries
from statewright.stores.protocol import CatalogueStore


class Dashboards:
    """The dashboards of one store."""

    def __init__(self, catalogue: CatalogueStore, clock: Clock) -> None:
        self._entries = Entries(catalogue, DASHBOARD)
        self._clock = clock

    async def put(self, name: str, body: str) -> None:
        """Write a dashboard, replacing the one with its name."""
        former = await self._entries.get(name)
        stored = former.stored if former is not None else 0
        await self._entries.write(Dashboard(name, body, self._clock.now_ms(), stored))

    async def get(self, name: str) -> Dashboard | None:
        """The dashboard of a name."""
        return await self._entries.get(name)

    async def all(self) -> list[Dashboard]:
        """Every dashboard, by name."""
        return await self._entries.all()

    async def delete(self, names: Iterable[str]) -> None:
        """Delete dashboards; missing ones are ignored."""
        for name in names:
            found = await self._entries.get(name)
            if found is not None:
                await self._entries.delete(found)
