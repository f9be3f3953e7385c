"""Dashboards of CloudWatch: texts by name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from statewright.clock import Clock
from statewright.records.shelf import Entry, Shelf
from statewright.stores.protocol import CatalogStore

KIND: Final = "dashboard"


@dataclass(frozen=True, slots=True)
class Dashboard:
    """A dashboard. `body` is JSON text as it was put."""

    name: str
    body: str
    modified_ms: int


class Dashboards:
    """The dashboards of one store."""

    def __init__(self, catalog: CatalogStore, clock: Clock) -> None:
        self._shelf = Shelf(catalog, KIND)
        self._clock = clock

    async def put(self, name: str, body: str) -> None:
        """Keep a dashboard in place of the one of the same name."""
        former = await self._shelf.get(name)
        fields = {"body": body, "modified_ms": self._clock.now_ms()}
        await self._shelf.put(Entry(name, fields, stored=former.stored if former is not None else 0))

    async def get(self, name: str) -> Dashboard | None:
        """A dashboard."""
        found = await self._shelf.get(name)
        return None if found is None else _dashboard(found)

    async def all(self) -> list[Dashboard]:
        """Every dashboard, by name."""
        return [_dashboard(one) async for one in self._shelf.walk()]

    async def delete(self, names: Iterable[str]) -> None:
        """Delete dashboards; those that are not there do not matter."""
        for name in names:
            await self._shelf.delete(name)


def _dashboard(entry: Entry) -> Dashboard:
    return Dashboard(entry.key, entry.fields["body"], entry.fields["modified_ms"])
