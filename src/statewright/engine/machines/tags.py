"""Tags of machines and activities.

Owns putting, taking away and listing them; what a tag may be is in `settings.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from statewright.arn import ACTIVITY, MACHINE, parse_arn
from statewright.engine.machines.catalogue import MachineCatalogue
from statewright.engine.machines.limits import OnLimit, limit_of
from statewright.engine.machines.records import Activity, Machine, TagSet, again_on_conflict
from statewright.engine.machines.settings import tags_with
from statewright.errors import ApiError
from statewright.tags import retagged


class Tags:
    """Tags of what one catalogue has."""

    def __init__(self, catalogue: MachineCatalogue, on_limit: OnLimit) -> None:
        self.catalogue = catalogue
        self.records = catalogue.records
        self._on_limit = on_limit

    @again_on_conflict
    async def put(self, arn: str, tags: Iterable[Mapping[str, str]]) -> None:
        """Add tags to a machine or activity; an existing key gets the new value.

        Raises: ApiError (`InvalidArn`, `ResourceNotFound`, `TooManyTags`, `ValidationException`).
        """
        owner = await self._owner(arn)
        present = await self._present(arn)
        wanted = tags_with(present.tags, tags, arn)
        await self._write(owner, present, wanted)

    @again_on_conflict
    async def take(self, arn: str, keys: Iterable[str]) -> None:
        """Take tags away; keys that are not there do not matter. Raises: ApiError, as `put`."""
        owner = await self._owner(arn)
        present = await self._present(arn)
        await self._write(owner, present, retagged(present.tags, {}, keys))

    async def _write(self, owner: Machine | Activity, present: TagSet, wanted: dict[str, str]) -> None:
        limit = limit_of(wanted)
        if wanted != present.tags:
            await self.records.write(owner, replace(present, tags=wanted))
        # Also for existing tags: the answer to an earlier call may have been lost.
        if isinstance(owner, Machine) and owner.type == "STANDARD":
            await self._on_limit(owner.id, owner.arn, limit)

    async def of(self, arn: str) -> dict[str, str]:
        """The tags of a machine or activity, in the order they came. Raises: ApiError, as `put`."""
        await self._owner(arn)
        return (await self._present(arn)).tags

    async def _present(self, arn: str) -> TagSet:
        return await self.records.get(TagSet, arn) or TagSet(arn)

    async def _owner(self, arn: str) -> Machine | Activity:
        """The tagged resource. Versions, aliases and labelled ARNs carry no tags (observed)."""
        parsed = parse_arn(arn, MACHINE, ACTIVITY)
        owner: Machine | Activity | None = None
        if parsed.kind == ACTIVITY:
            owner = await self.records.get(Activity, arn)
        elif parsed.rest is None and parsed.label is None:
            machine = await self.catalogue.load(arn)
            owner = None if machine is None or machine.deleting else machine
        if owner is None:
            raise ApiError("ResourceNotFound", f"Resource not found: '{arn}'")
        return owner
