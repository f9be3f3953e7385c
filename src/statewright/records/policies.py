"""Managed policies of IAM: their versions, and to whom they are attached. Kept, never enforced.

Policies of AWS itself (`arn:aws:iam::aws:policy/...`) can be attached by their ARN; their documents are not here.

Source: IAM API reference; texts of refusals as users of SDKs and Terraform report them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, Final

from statewright.clock import Clock
from statewright.config import Config
from statewright.errors import ApiError
from statewright.records.documents import check_permissions
from statewright.records.shelf import Entry, Place, Shelf, letters
from statewright.stores.protocol import CatalogStore, Record
from statewright.tags import retagged

POLICY: Final = "iam-policy"
ATTACHED: Final = "iam-attached"
MOST_VERSIONS: Final = 5
OF_AWS: Final = "arn:aws:iam::aws:policy/"


class Policies:
    """The managed policies of the account. `change` is held by whoever changes them or what they are attached to."""

    def __init__(self, catalog: CatalogStore, clock: Clock, config: Config, change: asyncio.Lock) -> None:
        self._catalog = catalog
        self._clock = clock
        self._config = config
        self._change = change
        self._shelf = Shelf(catalog, POLICY)
        self._links = Shelf(catalog, ATTACHED)

    async def create(
        self, name: str, path: str, document: str, description: str | None, tags: Mapping[str, str]
    ) -> Entry:
        """Create a policy with its first version. Raises: ApiError."""
        check_permissions(document)
        async with self._change:
            # The name is unique whatever the path.
            if await self._shelf.get(name.lower()) is not None:
                raise ApiError(
                    "EntityAlreadyExists",
                    f"A policy called {name} already exists. Duplicate names are not allowed.", status=409,
                )  # fmt: skip
            number = await self._catalog.next_number("iam")
            now_ms = self._now_ms()
            made = Entry(name.lower(), {
                "name": name, "path": path, "description": description, "tags": dict(tags),
                "id": letters("ANPA", f"{self._config.account} {number}", 17),
                "created_ms": now_ms, "updated_ms": now_ms, "default": "v1", "last": 1,
                "versions": {"v1": {"document": document, "created_ms": now_ms}},
            })  # fmt: skip
            await self._shelf.put(made)
            return made

    def arn(self, entry: Entry) -> str:
        """Its ARN."""
        return f"arn:aws:iam::{self._config.account}:policy{entry.fields['path']}{entry.fields['name']}"

    async def get(self, arn: str) -> Entry:
        """A policy by its ARN. Raises: ApiError (`NoSuchEntity`)."""
        found = await self._find(arn)
        if found is None:
            raise _no_such(f"Policy {arn} was not found.")
        return found

    async def _find(self, arn: str) -> Entry | None:
        found = await self._shelf.get(arn.rpartition("/")[2].lower())
        return found if found is not None and self.arn(found) == arn else None

    async def check_attachable(self, arn: str) -> None:
        """Refuse a policy that is not there. Raises: ApiError (`NoSuchEntity`)."""
        if not arn.startswith(OF_AWS) and await self._find(arn) is None:
            raise _no_such(f"Policy {arn} does not exist or is not attachable.")

    async def page(
        self, path_prefix: str, only_attached: bool, after: Place | None, limit: int
    ) -> tuple[list[Entry], Place | None]:
        """A page of the account's own policies, by name."""
        attached = {one.parent async for one in self._every_link()} if only_attached else set()
        return await self._shelf.page("", after, limit, wanted=lambda one: (
            str(one.fields["path"]).startswith(path_prefix) and (not only_attached or self.arn(one) in attached)
        ))  # fmt: skip

    async def _every_link(self) -> Any:
        async for policy in self._shelf.walk():
            async for link in self._links.walk(self.arn(policy)):
                yield link
                break

    async def delete(self, arn: str) -> None:
        """Delete a policy with one version, attached to nobody. Raises: ApiError."""
        async with self._change:
            found = await self.get(arn)
            if await self.attachments(arn):
                raise _in_use("Cannot delete a policy attached to entities.")
            if len(found.fields["versions"]) > 1:
                raise _in_use(
                    "This policy has more than one version. Before you delete a policy, you must delete the policy's "
                    "versions. The default version is deleted with the policy."
                )
            await self._shelf.delete(found.key)

    async def tag(self, arn: str, put: Mapping[str, str], drop: Iterable[str] = ()) -> None:
        """Put tags on a policy and take others away. Raises: ApiError."""
        async with self._change:
            found = await self.get(arn)
            await self._shelf.put(found.having(tags=retagged(found.fields["tags"], put, drop)))

    # -------------------------------------------------------------- versions

    async def add_version(self, arn: str, document: str, *, as_default: bool) -> tuple[str, Entry]:
        """Add a version; returns its id. Raises: ApiError."""
        check_permissions(document)
        async with self._change:
            found = await self.get(arn)
            versions = found.fields["versions"]
            if len(versions) >= MOST_VERSIONS:
                raise ApiError(
                    "LimitExceeded",
                    f"A managed policy can have up to {MOST_VERSIONS} versions. Before you create a new version, you "
                    "must delete an existing version.", status=409,
                )  # fmt: skip
            number, now_ms = found.fields["last"] + 1, self._now_ms()
            made = found.having(
                last=number, updated_ms=now_ms, default=f"v{number}" if as_default else found.fields["default"],
                versions={**versions, f"v{number}": {"document": document, "created_ms": now_ms}},
            )  # fmt: skip
            await self._shelf.put(made)
            return f"v{number}", made

    async def version(self, arn: str, version: str) -> tuple[Entry, Mapping[str, Any]]:
        """One version. Raises: ApiError (`NoSuchEntity`)."""
        found = await self.get(arn)
        one = found.fields["versions"].get(version)
        if one is None:
            raise _no_such(f"Policy {arn} version {version} does not exist or is not attachable.")
        return found, one

    async def set_default(self, arn: str, version: str) -> None:
        """Choose the version that counts. Raises: ApiError (`NoSuchEntity`)."""
        async with self._change:
            found, _ = await self.version(arn, version)
            await self._shelf.put(found.having(default=version, updated_ms=self._now_ms()))

    async def delete_version(self, arn: str, version: str) -> None:
        """Delete a version that is not the default. Raises: ApiError."""
        async with self._change:
            found, _ = await self.version(arn, version)
            if found.fields["default"] == version:
                raise _in_use("Cannot delete the default version of a policy.")
            versions = {key: one for key, one in found.fields["versions"].items() if key != version}
            await self._shelf.put(found.having(versions=versions))

    # -------------------------------------------------------------- attachments

    async def attachments(self, arn: str) -> list[Entry]:
        """Who has a policy: entries with `kind`, `name` and `id`."""
        return [one async for one in self._links.walk(arn)]

    def attachment(self, arn: str, kind: str, name: str, of: str) -> Record:
        """The record of an attachment, to be written with its owner."""
        return self._links.record(Entry(f"{arn} {kind} {name}", {"kind": kind, "name": name, "id": of}, arn))

    def attachment_key(self, arn: str, kind: str, name: str) -> tuple[str, str]:
        """The name of that record, to be deleted with its owner's change."""
        return ATTACHED, f"{arn} {kind} {name}"

    def _now_ms(self) -> int:
        return self._clock.now_ms() // 1000 * 1000


def _no_such(text: str) -> ApiError:
    return ApiError("NoSuchEntity", text, status=404)


def _in_use(text: str) -> ApiError:
    return ApiError("DeleteConflict", text, status=409)
