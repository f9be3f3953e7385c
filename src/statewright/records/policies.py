"""Managed policies of IAM: their versions and attachments. Stored, never enforced.

Policies of AWS itself (`arn:aws:iam::aws:policy/...`) can be attached by their ARN; their documents are not included.

Source: IAM API reference; texts of refusals as users of SDKs and Terraform report them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import replace
from typing import Final

from statewright.clock import Clock
from statewright.config import Config
from statewright.errors import ApiError
from statewright.records.documents import check_permissions
from statewright.records.entries import ATTACHMENT, POLICY, Attachment, Policy, PolicyVersion
from statewright.records.generated_names import generated_name
from statewright.stores.entries import Entries, Place
from statewright.stores.protocol import CatalogueStore, EntryRow
from statewright.tags import retagged

MOST_VERSIONS: Final = 5
OF_AWS: Final = "arn:aws:iam::aws:policy/"


class Policies:
    """The managed policies of the account. `change` is the lock for changes of policies and of identities."""

    def __init__(self, catalogue: CatalogueStore, clock: Clock, config: Config, change: asyncio.Lock) -> None:
        self._catalogue = catalogue
        self._clock = clock
        self._config = config
        self._change = change
        self._policies = Entries(catalogue, POLICY)
        self._attachments = Entries(catalogue, ATTACHMENT)

    async def create(
        self, name: str, path: str, document: str, description: str | None, tags: Mapping[str, str]
    ) -> Policy:
        """Create a policy with its first version. Raises: ApiError."""
        check_permissions(document)
        async with self._change:
            # The name is unique, regardless of the path.
            if await self._policies.get(name.lower()) is not None:
                raise ApiError(
                    "EntityAlreadyExists",
                    f"A policy called {name} already exists. Duplicate names are not allowed.", status=409,
                )  # fmt: skip
            number = await self._catalogue.next_number("iam")
            now_ms = self._now_ms()
            id_ = generated_name("ANPA", f"{self._config.account} {number}", 17)
            versions = {"v1": PolicyVersion(document, now_ms)}
            made = Policy(name, path, id_, now_ms, now_ms, versions, description=description, tags=dict(tags))
            return await self._policies.write(made)

    def arn(self, entry: Policy) -> str:
        """The ARN of a policy."""
        return f"arn:aws:iam::{self._config.account}:policy{entry.path}{entry.name}"

    async def get(self, arn: str) -> Policy:
        """A policy by its ARN. Raises: ApiError (`NoSuchEntity`)."""
        found = await self._find(arn)
        if found is None:
            raise _no_such(f"Policy {arn} was not found.")
        return found

    async def _find(self, arn: str) -> Policy | None:
        found = await self._policies.get(arn.rpartition("/")[2].lower())
        return found if found is not None and self.arn(found) == arn else None

    async def check_attachable(self, arn: str) -> None:
        """Refuse a policy that does not exist. Raises: ApiError (`NoSuchEntity`)."""
        if not arn.startswith(OF_AWS) and await self._find(arn) is None:
            raise _no_such(f"Policy {arn} does not exist or is not attachable.")

    async def page(
        self, path_prefix: str, only_attached: bool, after: Place | None, limit: int
    ) -> tuple[list[Policy], Place | None]:
        """A page of the account's own policies, by name."""
        attached = {one.policy async for one in self._first_attachments()} if only_attached else set()
        return await self._policies.chosen(
            lambda one: one.path.startswith(path_prefix) and (not only_attached or self.arn(one) in attached),
            after,
            limit,
        )

    async def _first_attachments(self) -> AsyncIterator[Attachment]:
        async for policy in self._policies.walk():
            async for link in self._attachments.walk(self.arn(policy)):
                yield link
                break

    async def delete(self, arn: str) -> None:
        """Delete a policy with one version and without attachments. Raises: ApiError."""
        async with self._change:
            found = await self.get(arn)
            if await self.attachments(arn):
                raise _in_use("Cannot delete a policy attached to entities.")
            if len(found.versions) > 1:
                raise _in_use(
                    "This policy has more than one version. Before you delete a policy, you must delete the policy's "
                    "versions. The default version is deleted with the policy."
                )
            await self._policies.delete(found)

    async def tag(self, arn: str, put: Mapping[str, str], drop: Iterable[str] = ()) -> None:
        """Add tags to a policy and remove others. Raises: ApiError."""
        async with self._change:
            found = await self.get(arn)
            await self._policies.write(replace(found, tags=retagged(found.tags, put, drop)))

    # -------------------------------------------------------------- versions

    async def add_version(self, arn: str, document: str, *, as_default: bool) -> tuple[str, Policy]:
        """Add a version; returns its id. Raises: ApiError."""
        check_permissions(document)
        async with self._change:
            found = await self.get(arn)
            versions = found.versions
            if len(versions) >= MOST_VERSIONS:
                raise ApiError(
                    "LimitExceeded",
                    f"A managed policy can have up to {MOST_VERSIONS} versions. Before you create a new version, you "
                    "must delete an existing version.", status=409,
                )  # fmt: skip
            number, now_ms = found.last + 1, self._now_ms()
            made = replace(
                found, last=number, updated_ms=now_ms, default=f"v{number}" if as_default else found.default,
                versions={**versions, f"v{number}": PolicyVersion(document, now_ms)},
            )  # fmt: skip
            return f"v{number}", await self._policies.write(made)

    async def version(self, arn: str, version: str) -> tuple[Policy, PolicyVersion]:
        """A version of a policy. Raises: ApiError (`NoSuchEntity`)."""
        found = await self.get(arn)
        one = found.versions.get(version)
        if one is None:
            raise _no_such(f"Policy {arn} version {version} does not exist or is not attachable.")
        return found, one

    async def set_default(self, arn: str, version: str) -> None:
        """Set the default version. Raises: ApiError (`NoSuchEntity`)."""
        async with self._change:
            found, _ = await self.version(arn, version)
            await self._policies.write(replace(found, default=version, updated_ms=self._now_ms()))

    async def delete_version(self, arn: str, version: str) -> None:
        """Delete a version that is not the default. Raises: ApiError."""
        async with self._change:
            found, _ = await self.version(arn, version)
            if found.default == version:
                raise _in_use("Cannot delete the default version of a policy.")
            versions = {key: one for key, one in found.versions.items() if key != version}
            await self._policies.write(replace(found, versions=versions))

    # -------------------------------------------------------------- attachments

    async def attachments(self, arn: str) -> list[Attachment]:
        """The attachments of a policy."""
        return await self._attachments.all(arn)

    def attachment(self, arn: str, kind: str, name: str, of: str) -> EntryRow:
        """The row of an attachment, to be written with its identity."""
        return ATTACHMENT.row(Attachment(arn, kind, name, of))

    def attachment_key(self, arn: str, kind: str, name: str) -> tuple[str, str]:
        """The key of that row, to be deleted with the change of its identity."""
        return ATTACHMENT.name_of(Attachment(arn, kind, name, ""))

    def _now_ms(self) -> int:
        return self._clock.now_ms() // 1000 * 1000


def _no_such(text: str) -> ApiError:
    return ApiError("NoSuchEntity", text, status=404)


def _in_use(text: str) -> ApiError:
    return ApiError("DeleteConflict", text, status=409)
