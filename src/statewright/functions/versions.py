"""Versions and aliases of functions.

A version is a frozen copy of `$LATEST`, made only after a change; an alias names one version, or two with weights.
Source: Lambda developer guide, "Manage function versions", "Create an alias"; API reference.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from statewright.functions import names
from statewright.functions.definitions import Definitions, check_revision
from statewright.functions.names import LATEST, function_arn, invalid, not_found, refusal
from statewright.functions.records import ALIAS, FUNCTION, VERSION, Alias, Function, Version
from statewright.functions.settings import same_but_for_stamps

_ALIAS: Final = re.compile(r"(?!^[0-9]+$)[a-zA-Z0-9_-]{1,128}")


class Versions:
    """The versions of one catalogue's functions."""

    def __init__(self, definitions: Definitions) -> None:
        self.definitions = definitions
        self.records = definitions.records

    async def publish(
        self, name_or_arn: str, *, code_sha256: str | None = None, description: str | None = None,
        revision_id: str | None = None,
    ) -> tuple[Function, Version]:  # fmt: skip
        """Publish `$LATEST`; return the newest version if nothing has changed since.

        Raises: ApiError (`ResourceNotFoundException`, `InvalidParameterValueException`, `PreconditionFailedException`).
        """
        definitions = self.definitions
        async with definitions.changing:
            function, _ = await definitions.existing(name_or_arn)
            latest = function.latest
            check_revision(revision_id, latest.revision_id)
            if code_sha256 is not None and code_sha256 != latest.code_sha256:
                raise invalid(
                    f"CodeSHA256 ({code_sha256}) is different from current CodeSHA256 in $LATEST "
                    f"({latest.code_sha256}). Please try again with the CodeSHA256 in $LATEST."
                )
            newest = await self.records.versions.get(f"{function.name}:{function.last_version}")
            if newest is not None and same_but_for_stamps(
                latest, replace(newest.configuration, description=latest.description)
            ):
                return function, newest
            frozen = replace(
                latest,
                revision_id=definitions.entropy.uuid4(),
                description=latest.description if description is None else description,
            )
            function = replace(function, last_version=function.last_version + 1)
            version = Version(function.name, function.last_version, frozen)
            await self.records.write(FUNCTION.row(function), VERSION.row(version))
        return function, version

    async def page(
        self, name_or_arn: str, after: tuple[int, str] | None, limit: int
    ) -> tuple[Function, list[Version], tuple[int, str] | None]:
        """Versions of a function, oldest first, and the start of the next page."""
        function, _ = await self.definitions.existing(name_or_arn)
        found, place = await self.records.versions.page(function.name, after=after, limit=limit)
        return function, found, place


class Aliases:
    """The aliases of one catalogue's functions."""

    def __init__(self, definitions: Definitions) -> None:
        self.definitions = definitions
        self.records = definitions.records

    async def create(
        self, name_or_arn: str, alias: str, version: str, *, description: str = "",
        weights: Mapping[str, float] | None = None,
    ) -> Alias:  # fmt: skip
        """Create an alias. Raises: ApiError (`ResourceConflictException`, `ResourceNotFoundException` ...)."""
        definitions = self.definitions
        if not _ALIAS.fullmatch(alias):
            raise invalid(f"The alias name {alias[:140]!r} is not valid: letters, digits, -, _, not digits alone.")
        async with definitions.changing:
            function, _ = await definitions.existing(name_or_arn)
            arn = function_arn(definitions.config, function.name, alias)
            if await self.records.aliases.get(f"{function.name}:{alias}") is not None:
                raise refusal("ResourceConflictException", f"Alias already exists: {arn}")
            made = Alias(function.name, alias, version, definitions.entropy.uuid4(), description, dict(weights or {}))
            await self._check_versions(function, made)
            await self.records.write(FUNCTION.row(function), ALIAS.row(made))
        definitions.announce(function.name, latest=False)
        return made

    async def update(
        self, name_or_arn: str, alias: str, *, version: str | None = None, description: str | None = None,
        weights: Mapping[str, float] | None = None, revision_id: str | None = None,
    ) -> Alias:  # fmt: skip
        """Change an alias; `weights` replaces its weights. Raises: ApiError."""
        definitions = self.definitions
        async with definitions.changing:
            function, _ = await definitions.existing(name_or_arn)
            present = await self._existing(function, alias)
            check_revision(revision_id, present.revision_id)
            after = replace(
                present,
                version=version or present.version,
                description=present.description if description is None else description,
                weights=present.weights if weights is None else dict(weights),
                revision_id=definitions.entropy.uuid4(),
            )
            await self._check_versions(function, after)
            await self.records.write(FUNCTION.row(function), ALIAS.row(after))
        definitions.announce(function.name, latest=False)
        return after

    async def get(self, name_or_arn: str, alias: str) -> Alias:
        """An alias. Raises: ApiError (`ResourceNotFoundException`)."""
        function, _ = await self.definitions.existing(name_or_arn)
        return await self._existing(function, alias)

    async def delete(self, name_or_arn: str, alias: str) -> None:
        """Delete an alias; harmless if it does not exist. Raises: ApiError (`ResourceNotFoundException`)."""
        definitions = self.definitions
        async with definitions.changing:
            function, _ = await definitions.existing(name_or_arn)
            found = await self.records.aliases.get(f"{function.name}:{alias}")
            if found is not None:
                await self.records.remove(ALIAS.name_of(found))
        definitions.announce(function.name, latest=False)

    async def page(
        self, name_or_arn: str, version: str | None, after: tuple[int, str] | None, limit: int
    ) -> tuple[list[Alias], tuple[int, str] | None]:
        """Aliases of a function by name, of one version if given, and the start of the next page."""
        function, _ = await self.definitions.existing(name_or_arn)
        found, place = await self.records.aliases.page(function.name, after=after, limit=limit)
        return [one for one in found if version is None or version == one.version or version in one.weights], place

    async def _existing(self, function: Function, alias: str) -> Alias:
        found = await self.records.aliases.get(f"{function.name}:{alias}")
        if found is None:
            arn = function_arn(self.definitions.config, function.name, alias)
            raise refusal("ResourceNotFoundException", f"Cannot find alias arn: {arn}")
        return found

    async def _check_versions(self, function: Function, alias: Alias) -> None:
        for version in (alias.version, *alias.weights):
            known = version == LATEST or names.is_version(version)
            if not known or await self.definitions.settings_of(function, version) is None:
                raise not_found(function_arn(self.definitions.config, function.name, version))
        if len(alias.weights) > 1:
            raise invalid("Number of items in AdditionalVersionWeights cannot be greater than 1")
        for version, share in alias.weights.items():
            if LATEST in (version, alias.version):
                raise invalid("$LATEST is not supported for an alias pointing to more than 1 version")
            if version == alias.version:
                raise invalid(f"Invalid function version {version}. Function version {version} is already included in routing configuration.")  # fmt: skip # noqa: E501
            if not 0.0 <= share <= 1.0:
                raise invalid(f"The weight {share} of version {version} is not between 0 and 1.")
