"""Provisioned concurrency: workers of a version or an alias that are started ahead, and kept while they are idle.

Owns the configurations, and how far they are carried out. `workers/pools.py` starts and keeps the workers. In virtual
time starting a worker takes no time, and a model needs none: nothing is started ahead there.

Source: Lambda developer guide, "Configuring provisioned concurrency for a function"; API reference.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from statewright.background import Background
from statewright.errors import ApiError
from statewright.functions import names
from statewright.functions.definitions import Definitions
from statewright.functions.invoke import Invoker
from statewright.functions.invoke_settings import qualified
from statewright.functions.names import LATEST, invalid
from statewright.functions.records import PROVISIONED, Function, Provisioned
from statewright.stores.entries import Place
from statewright.virtual_clock import VirtualClock

MOST_AHEAD: Final = 20
"""Workers of one version that are started ahead; others start with the invocations that need them. Ours."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """How far a configuration is carried out: `READY`, `IN_PROGRESS`, or `FAILED` with a reason."""

    status: str
    allocated: int
    reason: str | None = None


class ProvisionedConcurrency:
    """The provisioned concurrency of one catalogue's functions."""

    def __init__(self, definitions: Definitions, invoker: Invoker) -> None:
        self._definitions = definitions
        self._entries = definitions.records.provisioned
        self._invoker = invoker
        self._kept: dict[str, dict[str, int]] = {}
        """Workers to be kept, by function and version."""
        self._problems: dict[tuple[str, str], str] = {}
        self._change = asyncio.Lock()
        self._background = Background("starting workers ahead")
        definitions.subscribe(self._changed)

    async def start(self, function: Function) -> None:
        """Start the workers that a function is to have."""
        if await self._entries.names(function.name):
            self._background.spawn(self._keep(function.name))

    async def stop(self) -> None:
        """Start no more workers."""
        await self._background.stop()

    # ------------------------------------------------------------------ the catalogue

    async def put(self, name_or_arn: str, qualifier: str, workers: int) -> Provisioned:
        """Set the number of workers of a version or an alias. Raises: ApiError."""
        definitions = self._definitions
        async with definitions.changing:
            function, named = await qualified(definitions, name_or_arn, qualifier)
            if await self._version(function.name, named) == LATEST:
                raise invalid("Provisioned Concurrency Configs cannot be applied to unpublished function versions.")
            there = await self._entries.get(f"{function.name}:{named}")
            others = sum(one.workers for one in await self._entries.all(function.name) if one.qualifier != named)
            if function.reserved is not None and others + workers > function.reserved:
                raise invalid(
                    "Requested Provisioned Concurrency should not be greater than the reservedConcurrentExecution for "
                    "function"
                )
            stored = there.stored if there is not None else 0
            made = Provisioned(function.name, named, workers, definitions.clock.now_ms(), stored)
            await definitions.records.write(PROVISIONED.row(made))
        self._background.spawn(self._keep(function.name))
        return made

    async def get(self, name_or_arn: str, qualifier: str) -> Provisioned:
        """A configuration. Raises: ApiError (`ProvisionedConcurrencyConfigNotFoundException`)."""
        function, named = await self._definitions.existing(name_or_arn, qualifier)
        found = await self._entries.get(f"{function.name}:{named}")
        if found is None:
            raise ApiError(
                "ProvisionedConcurrencyConfigNotFoundException",
                "No Provisioned Concurrency Config found for this function",
                details={"Type": "User"},
            )
        return found

    async def page(self, name_or_arn: str, after: Place | None, limit: int) -> tuple[list[Provisioned], Place | None]:
        """Configurations of a function by qualifier, and the start of the next page."""
        function, _ = await self._definitions.existing(name_or_arn)
        return await self._entries.page(function.name, after=after, limit=limit)

    async def delete(self, name_or_arn: str, qualifier: str) -> None:
        """Delete a configuration; harmless if there is none. Raises: ApiError (`ResourceNotFoundException`)."""
        async with self._definitions.changing:
            function, named = await self._definitions.existing(name_or_arn, qualifier)
            found = await self._entries.get(f"{function.name}:{named}")
            if found is not None:
                await self._entries.delete(found)
        self._background.spawn(self._keep(function.name))

    # ------------------------------------------------------------------ workers

    async def readiness(self, one: Provisioned) -> Readiness:
        """How far a configuration is carried out."""
        if self._needs_none(one.name):
            return Readiness("READY", one.workers)
        version = await self._version(one.name, one.qualifier)
        pool = self._invoker.pools.get(one.name, version)
        ready = pool.ready if pool is not None else 0
        kept = self._kept.get(one.name, {}).get(version)
        if kept is not None and ready >= kept:
            return Readiness("READY", one.workers)
        problem = self._problems.get((one.name, version)) or (pool.start_problem if pool is not None else None)
        if problem is not None:
            return Readiness("FAILED", min(ready, one.workers), problem)
        return Readiness("IN_PROGRESS", min(ready, one.workers))

    def _needs_none(self, name: str) -> bool:
        return isinstance(self._invoker.clock, VirtualClock) or name in self._invoker.models

    async def _version(self, name: str, qualifier: str) -> str:
        """The version that a qualifier means, for an alias with weights the first one."""
        if qualifier == LATEST or names.is_version(qualifier):
            return qualifier
        alias = await self._definitions.records.aliases.get(f"{name}:{qualifier}")
        return alias.version if alias is not None else qualifier

    def _changed(self, name: str, **_how: bool) -> None:
        """Follow a function whose aliases may have moved. See `OnChange`."""
        if name in self._kept:
            self._background.spawn(self._keep(name))

    async def _keep(self, name: str) -> None:
        """Have the workers of a function's versions kept that its configurations ask for."""
        if self._needs_none(name):
            return
        async with self._change:
            wanted: dict[str, int] = {}
            for one in await self._entries.all(name):
                version = await self._version(name, one.qualifier)
                wanted[version] = min(MOST_AHEAD, wanted.get(version, 0) + one.workers)
            for version in self._kept.pop(name, {}):
                pool = self._invoker.pools.get(name, version)
                if version not in wanted and pool is not None:
                    pool.keep(0)
            if wanted:
                self._kept[name] = wanted
            for version, workers in wanted.items():
                self._problems.pop((name, version), None)
                try:
                    pool = await self._invoker.pool_of(await self._invoker.resolve(name, version))
                    pool.keep(workers)
                except (ApiError, OSError) as problem:
                    self._problems[name, version] = str(problem)
