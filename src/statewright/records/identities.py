"""Roles, users and groups of IAM, their inline and attached policies, and the account's alias. Stored, never enforced.

The three have entries of one form: a name that is unique regardless of case, a path, policies, tags. Leaves managed
policies to `policies.py`.

Source: IAM API reference; texts of refusals as users of SDKs and Terraform report them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from statewright.clock import Clock
from statewright.config import Config
from statewright.errors import ApiError
from statewright.payload import Json, JsonMapping, JsonObject
from statewright.records.documents import check_permissions, check_trust
from statewright.records.entries import ALIAS, IDENTITIES, AccountAlias, Identity
from statewright.records.generated_names import generated_name
from statewright.records.policies import Policies
from statewright.stores.entries import Entries, Place
from statewright.stores.protocol import CatalogueStore
from statewright.tags import MOST_TAGS, TagRule, retagged

MOST_ATTACHED: Final = 20
"""Source: IAM user guide, quotas: the highest that can be requested."""
TAGS: Final = TagRule(
    lambda _: ApiError("LimitExceeded", f"The number of tags has reached the maximum limit of {MOST_TAGS}.", status=409)
)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of identity: its word, and the prefix of its ids."""

    word: str
    prefix: str

    @property
    def title(self) -> str:
        """The word with a capital, as messages begin with it."""
        return self.word.capitalize()


ROLE: Final = Kind("role", "AROA")
USER: Final = Kind("user", "AIDA")
GROUP: Final = Kind("group", "AGPA")
KINDS: Final = (ROLE, USER, GROUP)


class Identities:
    """The roles, users and groups of the account."""

    def __init__(self, catalogue: CatalogueStore, clock: Clock, config: Config) -> None:
        self._catalogue = catalogue
        self._clock = clock
        self._config = config
        self._entries = {kind: Entries(catalogue, IDENTITIES[kind.word]) for kind in KINDS}
        self._aliases = Entries(catalogue, ALIAS)
        self._change = asyncio.Lock()
        self.policies = Policies(catalogue, clock, config, self._change)

    async def create(self, kind: Kind, name: str, path: str, fields: JsonMapping) -> Identity:
        """Create an identity. `fields` may have `trust`, `description`, `tags` and so on. Raises: ApiError."""
        if kind is ROLE:
            check_trust(fields["trust"])
        TAGS.put({}, fields.get("tags", {}))
        async with self._change:
            if await self._entries[kind].get(name.lower()) is not None:
                raise ApiError("EntityAlreadyExists", f"{kind.title} with name {name} already exists.", status=409)
            number = await self._catalogue.next_number("iam")
            id_ = generated_name(kind.prefix, f"{self._config.account} {number}", 17)
            made = Identity(name, path, id_, self._clock.now_ms() // 1000 * 1000, **fields)
            return await self._entries[kind].write(made)

    def arn(self, kind: Kind, entry: Identity) -> str:
        """The ARN of an identity."""
        return f"arn:aws:iam::{self._config.account}:{kind.word}{entry.path}{entry.name}"

    async def get(self, kind: Kind, name: str) -> Identity:
        """The identity of a name. Raises: ApiError (`NoSuchEntity`)."""
        found = await self.find(kind, name)
        if found is None:
            raise no_such(f"The {kind.word} with name {name} cannot be found.")
        return found

    async def find(self, kind: Kind, name: str) -> Identity | None:
        """The identity of a name, if it exists."""
        return await self._entries[kind].get(name.lower())

    async def page(
        self, kind: Kind, path_prefix: str, after: Place | None, limit: int
    ) -> tuple[list[Identity], Place | None]:
        """A page of identities by name."""
        return await self._entries[kind].chosen(lambda one: one.path.startswith(path_prefix), after, limit)

    async def set(self, kind: Kind, name: str, **fields: Json) -> Identity:
        """Change fields of an identity. Raises: ApiError."""
        if "trust" in fields:
            check_trust(fields["trust"])
        return await self._edit(kind, name, lambda _: fields)

    async def delete(self, kind: Kind, name: str) -> None:
        """Delete an identity without policies and members. Raises: ApiError (`NoSuchEntity`, `DeleteConflict`)."""
        async with self._change:
            found = await self.get(kind, name)
            if found.attached:
                raise _in_use("Cannot delete entity, must detach all policies first.")
            if found.inline:
                raise _in_use("Cannot delete entity, must delete policies first.")
            if kind is USER and found.groups:
                raise _in_use("Cannot delete entity, must remove users from group first.")
            if kind is GROUP and [one async for one in self._members(found.name)]:
                raise _in_use("Cannot delete entity, must remove users from group first.")
            await self._entries[kind].delete(found)

    async def tag(self, kind: Kind, name: str, put: Mapping[str, str], drop: Iterable[str] = ()) -> None:
        """Add tags to an identity and remove others. Raises: ApiError."""
        await self._edit(kind, name, lambda found: {"tags": TAGS.put(retagged(found.tags, {}, drop), put)})

    # -------------------------------------------------------------- policies

    async def put_inline(self, kind: Kind, name: str, policy: str, document: str) -> None:
        """Put an inline policy. Raises: ApiError."""
        check_permissions(document)
        await self._edit(kind, name, lambda found: {"inline": {**found.inline, policy: document}})

    async def inline(self, kind: Kind, name: str, policy: str) -> tuple[Identity, str]:
        """An inline policy's document. Raises: ApiError (`NoSuchEntity`)."""
        found = await self.get(kind, name)
        document = found.inline.get(policy)
        if document is None:
            raise no_such(f"The {kind.word} policy with name {policy} cannot be found.")
        return found, document

    async def delete_inline(self, kind: Kind, name: str, policy: str) -> None:
        """Delete an inline policy. Raises: ApiError (`NoSuchEntity`)."""

        def edit(found: Identity) -> JsonObject:
            if policy not in found.inline:
                raise no_such(f"The {kind.word} policy with name {policy} cannot be found.")
            return {"inline": {key: one for key, one in found.inline.items() if key != policy}}

        await self._edit(kind, name, edit)

    async def attach(self, kind: Kind, name: str, arn: str) -> None:
        """Attach a managed policy; a second time changes nothing. Raises: ApiError."""
        async with self._change:
            found = await self.get(kind, name)
            await self.policies.check_attachable(arn)
            attached = found.attached
            if arn in attached:
                return
            if len(attached) >= MOST_ATTACHED:
                raise ApiError(
                    "LimitExceeded", f"Cannot exceed quota for PoliciesPer{kind.title}: {MOST_ATTACHED}", status=409
                )
            link = self.policies.attachment(arn, kind.word, found.name, found.id)
            await self._entries[kind].write(replace(found, attached=[*attached, arn]), also=(link,))

    async def detach(self, kind: Kind, name: str, arn: str) -> None:
        """Detach a managed policy. Raises: ApiError (`NoSuchEntity`)."""
        async with self._change:
            found = await self.get(kind, name)
            attached = found.attached
            if arn not in attached:
                raise no_such(f"Policy {arn} was not found.")
            gone = self.policies.attachment_key(arn, kind.word, found.name)
            left = replace(found, attached=[one for one in attached if one != arn])
            await self._entries[kind].write(left, delete=(gone,))

    # -------------------------------------------------------------- groups

    async def join(self, user: str, group: str) -> None:
        """Add a user to a group. Raises: ApiError (`NoSuchEntity`)."""
        name = (await self.get(GROUP, group)).name

        def edit(found: Identity) -> JsonObject:
            groups = found.groups
            return {"groups": groups if name in groups else [*groups, name]}

        await self._edit(USER, user, edit)

    async def leave(self, user: str, group: str) -> None:
        """Remove a user from a group. Raises: ApiError (`NoSuchEntity`)."""
        name = (await self.get(GROUP, group)).name
        await self._edit(USER, user, lambda found: {"groups": [one for one in found.groups if one != name]})

    async def members(self, group: str) -> list[Identity]:
        """The users of a group."""
        return [one async for one in self._members(group)]

    async def _members(self, group: str) -> AsyncIterator[Identity]:
        async for one in self._entries[USER].walk():
            if group in one.groups:
                yield one

    # -------------------------------------------------------------- the alias

    async def alias(self) -> str | None:
        """The account's alias."""
        found = await self._aliases.get("")
        return None if found is None else found.name

    async def set_alias(self, name: str) -> None:
        """Set the account's alias, replacing the one it has."""
        async with self._change:
            found = await self._aliases.get("") or AccountAlias(name)
            await self._aliases.write(replace(found, name=name))

    async def delete_alias(self, name: str) -> None:
        """Delete the account's alias. Raises: ApiError (`NoSuchEntity`)."""
        async with self._change:
            found = await self._aliases.get("")
            if found is None or found.name != name:
                raise no_such(f"The account alias with name {name} cannot be found.")
            await self._aliases.delete(found)

    async def _edit(self, kind: Kind, name: str, edit: Callable[[Identity], JsonMapping]) -> Identity:
        async with self._change:
            found = await self.get(kind, name)
            changed = replace(found, **edit(found))
            return changed if changed == found else await self._entries[kind].write(changed)


def no_such(text: str) -> ApiError:
    """The error for a missing entity."""
    return ApiError("NoSuchEntity", text, status=404)


def _in_use(text: str) -> ApiError:
    return ApiError("DeleteConflict", text, status=409)
