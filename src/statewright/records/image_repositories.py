"""Repositories of ECR: names, settings, policies and tags. There is no registry behind them, so they have no images.

Deployment tools ask for the repository of their assets before they deploy; it is kept so that their templates deploy
and can be deleted.

Source: Amazon ECR API reference; texts of refusals as users of SDKs and Terraform report them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from statewright.clock import Clock
from statewright.config import Config
from statewright.errors import ApiError
from statewright.payload import Json, JsonObject
from statewright.records.entries import IMAGE_REPOSITORY, ImageRepository
from statewright.stores.entries import Entries, Place
from statewright.stores.protocol import CatalogueStore
from statewright.tags import MOST_TAGS, TagRule, retagged

TAGS: Final = TagRule(
    lambda _: ApiError("TooManyTagsException", f"The list of tags has more than the allowed {MOST_TAGS} tags.")
)


class ImageRepositories:
    """The repositories of the account in a region."""

    def __init__(self, catalogue: CatalogueStore, clock: Clock, config: Config) -> None:
        self._entries = Entries(catalogue, IMAGE_REPOSITORY)
        self._clock = clock
        self._config = config
        self._change = asyncio.Lock()

    def arn(self, name: str) -> str:
        """The ARN of a repository."""
        return self._config.arn("ecr", f"repository/{name}")

    async def create(self, name: str, settings: JsonObject, tags: Mapping[str, str]) -> ImageRepository:
        """Create a repository. Raises: ApiError (`RepositoryAlreadyExistsException`)."""
        TAGS.put({}, tags)
        async with self._change:
            if await self._entries.get(name) is not None:
                raise ApiError(
                    "RepositoryAlreadyExistsException",
                    f"The repository with name '{name}' already exists in the registry with id "
                    f"'{self._config.account}'",
                )
            return await self._entries.write(ImageRepository(name, self._clock.now_ms(), settings, tags=tags))

    async def get(self, name: str) -> ImageRepository:
        """The repository of a name. Raises: ApiError (`RepositoryNotFoundException`)."""
        found = await self._entries.get(name)
        if found is None:
            raise self._missing(name)
        return found

    async def of_arn(self, arn: str) -> ImageRepository:
        """The repository of an ARN. Raises: ApiError (`RepositoryNotFoundException`, `InvalidParameterException`)."""
        start = self.arn("")
        if arn.startswith(start):
            return await self.get(arn.removeprefix(start))
        if not arn.startswith("arn:aws:ecr:") or ":repository/" not in arn:
            raise ApiError(
                "InvalidParameterException",
                "Invalid parameter at 'resourceArn' failed to satisfy constraint: 'Invalid ARN'",
            )
        raise self._missing(arn.partition(":repository/")[2])

    async def page(self, after: Place | None, limit: int) -> tuple[list[ImageRepository], Place | None]:
        """Repositories by name, and the place of the next page."""
        return await self._entries.page("", after, limit)

    async def set(self, name: str, **fields: Json) -> ImageRepository:
        """Change fields of a repository; `settings` are merged. Raises: ApiError."""
        async with self._change:
            found = await self.get(name)
            if "settings" in fields:
                fields["settings"] = {**found.settings, **fields["settings"]}
            return await self._entries.write(replace(found, **fields))

    async def tag(self, arn: str, put: Mapping[str, str], drop: Iterable[str] = ()) -> None:
        """Add tags to a repository and remove others. Raises: ApiError."""
        async with self._change:
            found = await self.of_arn(arn)
            await self._entries.write(replace(found, tags=TAGS.put(retagged(found.tags, {}, drop), put)))

    async def delete(self, name: str) -> ImageRepository:
        """Delete a repository; returns it. Raises: ApiError (`RepositoryNotFoundException`)."""
        async with self._change:
            found = await self.get(name)
            await self._entries.delete(found)
            return found

    def _missing(self, name: str) -> ApiError:
        return ApiError(
            "RepositoryNotFoundException",
            f"The repository with name '{name}' does not exist in the registry with id '{self._config.account}'",
        )
