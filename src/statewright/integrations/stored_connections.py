"""Connections that were created through the API, for requests of HTTP Tasks and to API destinations.

Owns the precedence: a connection of `statewright.toml` before one of the same name in the store.
"""

from __future__ import annotations

from statewright.config import Config, Connection
from statewright.errors import ApiError
from statewright.events.connections import API_DESTINATION, CONNECTION, ApiDestination, name_in, settings_of
from statewright.stores.entries import Entries
from statewright.stores.protocol import CatalogueStore


class StoredConnections:
    """Finds connections and API destinations by their ARNs or names."""

    def __init__(self, config: Config, catalogue: CatalogueStore | None = None) -> None:
        self._config = config
        self._connections = Entries(catalogue, CONNECTION) if catalogue is not None else None
        self._destinations = Entries(catalogue, API_DESTINATION) if catalogue is not None else None

    async def connection(self, arn: str) -> Connection | None:
        """The settings of a connection; None if there is none."""
        name = name_in(arn, self._config)
        configured = self._config.connections.get(name)
        if configured is not None or self._connections is None:
            return configured
        found = await self._connections.get(name)
        return settings_of(found) if found is not None else None

    async def destination(self, arn: str) -> ApiDestination:
        """Raises: ApiError."""
        found = await self._destinations.get(name_in(arn, self._config)) if self._destinations is not None else None
        if found is None:
            raise ApiError(
                "ResourceNotFoundException", f"There is no API destination {name_in(arn, self._config)}.", status=404
            )
        return found
