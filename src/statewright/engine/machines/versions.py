"""Versions: numbered, lasting names of revisions.

Owns publishing, listing and deleting them. What they are made from is in `machines.py`; who may point at them is
in `aliases.py`.
"""

from __future__ import annotations

from dataclasses import replace

from statewright.arn import MACHINE, parse_arn
from statewright.engine.list_tokens import page_size, read_token, write_token
from statewright.engine.machines import records
from statewright.engine.machines.catalogue import MachineCatalogue
from statewright.engine.machines.records import Alias, Machine, Version, again_on_conflict, does_not_exist
from statewright.engine.machines.settings import MOST_VERSIONS
from statewright.errors import ApiError


class Versions:
    """Versions of the machines of one catalogue."""

    def __init__(self, catalogue: MachineCatalogue) -> None:
        self.catalogue = catalogue
        self.records = catalogue.records

    async def get(self, machine: Machine, arn: str) -> Version:
        """A version of a machine. Raises: ApiError (`StateMachineDoesNotExist`)."""
        return _of(machine, arn, await self.records.get(Version, arn))

    async def recent(self, machine: Machine, arn: str) -> Version:
        """As `get`, from what was read a moment ago. Raises: see `get`."""
        return _of(machine, arn, await self.records.recent(Version, arn))

    @again_on_conflict
    async def publish(self, arn: str, revision_id: str | None = None, description: str | None = None) -> Version:
        """Make a version of the current revision, or return the one that there is.

        Raises: ApiError (`ConflictException` when `revision_id` is not the current one,
            `ServiceQuotaExceededException`, `StateMachineDoesNotExist`, `StateMachineDeleting`). Source: observed.
        """
        machine = await self.catalogue.changeable(arn)
        if revision_id is not None and revision_id != machine.revision:
            raise ApiError(
                "ConflictException",
                f"Failed to publish the State Machine version for revision {revision_id}. "
                f"The current State Machine revision is {machine.revision}.",
            )
        machine, written = self.published(machine, description, self.catalogue.clock.now_ms())
        if written:
            await self.records.write(machine, *written)
            return written[0]
        return await self.get(machine, f"{arn}:{machine.published}")

    def published(self, machine: Machine, description: str | None, now_ms: int) -> tuple[Machine, list[Version]]:
        """The machine with its current revision published, and the version to write, unless there is one."""
        if machine.published is not None:
            return machine, []
        machine, version = next_version(machine, description, now_ms)
        return machine, [version]

    async def described(self, machine: Machine, arn: str, description: str | None) -> list[Version]:
        """The version to write when an update publishes again what is published, with another description."""
        version = await self.get(machine, arn)
        return [] if description in (None, version.description) else [replace(version, description=description)]

    async def list_versions(
        self, arn: str, token: str | None, max_results: int | None
    ) -> tuple[list[Version], str | None]:
        """One page of a machine's versions, newest first. Raises: ApiError (`InvalidToken` and those of the ARN)."""
        machine = await self.catalogue.existing(arn_without_label(arn), shown=arn)
        now_ms = self.catalogue.clock.now_ms()
        scope = f"versions {machine.id}"
        found, place = await self.records.page(
            Version,
            str(machine.id),
            after=read_token(scope, token, now_ms),
            limit=page_size(max_results),
            newest_first=True,
        )
        return found, write_token(scope, place, now_ms)

    @again_on_conflict
    async def delete(self, arn: str) -> None:
        """Delete a version; harmless if it does not exist. Its executions continue; its number is not used again.

        Raises: ApiError (`InvalidArn`, `ConflictException` while an alias routes to it). Source: observed.
        """
        parsed = parse_arn(arn, MACHINE)
        if not parsed.is_version:
            raise ApiError("InvalidArn", f"Invalid Arn: 'Invalid ARN prefix: {arn}'")
        machine = await self.catalogue.load(parsed.machine)
        version = await self.records.get(Version, arn)
        if machine is None or machine.deleting or version is None:
            return
        referring = await self.referring(machine, arn)
        if referring:
            names = ", ".join(alias.name for alias in referring)
            raise ApiError(
                "ConflictException",
                "Version to be deleted must not be referenced by an alias. "
                f"Current list of aliases referencing this version: [{names}]",
            )
        published = None if machine.published == version.number else machine.published
        machine = replace(machine, versions=machine.versions - 1, published=published)
        await self.records.write(machine, delete=[(records.VERSION.name, arn)])

    async def referring(self, machine: Machine, arn: str) -> list[Alias]:
        """The aliases that route to a version, oldest first."""
        aliases = await self.records.all(Alias, str(machine.id))
        return [alias for alias in aliases if any(route[0] == arn for route in alias.routes)]


def _of(machine: Machine, arn: str, version: Version | None) -> Version:
    # A version of a machine of the same name that is gone would carry another machine's id.
    if version is None or version.machine != machine.id:
        raise does_not_exist(arn)
    return version


def next_version(machine: Machine, description: str | None, now_ms: int) -> tuple[Machine, Version]:
    """The machine with a version more, and that version. Raises: ApiError (`ServiceQuotaExceededException`)."""
    if machine.versions >= MOST_VERSIONS:
        raise ApiError(
            "ServiceQuotaExceededException",
            f"The state machine '{machine.arn}' has {machine.versions} versions, which is the most there can be.",
        )
    number = machine.last_version + 1
    version = Version(f"{machine.arn}:{number}", machine.id, number, machine.revision, now_ms, description)
    return replace(machine, last_version=number, published=number, versions=machine.versions + 1), version


def arn_without_label(arn: str) -> str:
    """The unqualified ARN of a machine, version or alias. Raises: ApiError (`InvalidArn`)."""
    return parse_arn(arn, MACHINE).machine
