"""Roles, users and groups of IAM, their inline and attached policies, and the account's alias. Kept, never enforced.

The three are entries of one form: a name that is unique in any case, a path, policies, tags. Managed policies are
`policies.py`'s.

Source: IAM API reference; texts of refusals as users of SDKs and Terraform report them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from statewright.clock import Clock
from statewright.config import Config
from statewright.errors import ApiError
from statewright.records.documents import check_permissions, check_trust
from statewright.records.policies import Policies
from statewright.records.shelf import Entry, Place, Shelf, letters
from statewright.stores.protocol import CatalogStore
from statewright.tags import MOST_TAGS, TagRule, retagged

MOST_ATTACHED: Final = 20
"""Source: IAM user guide, quotas: the most that may be asked for."""
ALIAS: Final = "iam-alias"
TAGS: Final = TagRule(
    lambda _: ApiError("LimitExceeded", f"The number of tags has reached the maximum limit of {MOST_TAGS}.", status=409)
)


@dataclass(frozen=True, slots=True)
class Kind:
    """What tells roles, users and groups apart: their word, and the beginning of their ids."""

    word: str
    prefix: str

    @property
    def title(self) -> str:
        """The word as messages begin with it."""
        return self.word.capitalize()


ROLE: Final = Kind("role", "AROA")
USER: Final = Kind("user", "AIDA")
GROUP: Final = Kind("group", "AGPA")
KINDS: Final = (ROLE, USER, GROUP)


class Identities:
    """The roles, users and groups of the account."""

    def __init__(self, catalog: CatalogStore, clock: Clock, config: Config) -> None:
        self._catalog = catalog
        self._clock = clock
        self._config = config
        self._shelves = {kind: Shelf(catalog, f"iam-{kind.word}") for kind in KINDS}
        self._aliases = Shelf(catalog, ALIAS)
        self._change = asyncio.Lock()
        self.policies = Policies(catalog, clock, config, self._change)

    async def create(self, kind: Kind, name: str, path: str, fields: Mapping[str, Any]) -> Entry:
        """Create one. `fields` may have `trust`, `description`, `tags` and so on. Raises: ApiError."""
        if kind is ROLE:
            check_trust(fields["trust"])
        TAGS.put({}, fields.get("tags", {}))
        async with self._change:
            if await self._shelves[kind].get(name.lower()) is not None:
                raise ApiError("EntityAlreadyExists", f"{kind.title} with name {name} already exists.", status=409)
            number = await self._catalog.next_number("iam")
            made = Entry(name.lower(), {
                "name": name, "path": path, "id": letters(kind.prefix, f"{self._config.account} {number}", 17),
                "created_ms": self._clock.now_ms() // 1000 * 1000, "inline": {}, "attached": [], "tags": {}, **fields,
            })  # fmt: skip
            await self._shelves[kind].put(made)
            return made

    def arn(self, kind: Kind, entry: Entry) -> str:
        """Its ARN."""
        return f"arn:aws:iam::{self._config.account}:{kind.word}{entry.fields['path']}{entry.fields['name']}"

    async def get(self, kind: Kind, name: str) -> Entry:
        """One by its name. Raises: ApiError (`NoSuchEntity`)."""
        found = await self.find(kind, name)
        if found is None:
            raise no_such(f"The {kind.word} with name {name} cannot be found.")
        return found

    async def find(self, kind: Kind, name: str) -> Entry | None:
        """One by its name, if it is there."""
        return await self._shelves[kind].get(name.lower())

    async def page(
        self, kind: Kind, path_prefix: str, after: Place | None, limit: int
    ) -> tuple[list[Entry], Place | None]:
        """A page by name."""
        return await self._shelves[kind].page(
            "", after, limit, wanted=lambda one: str(one.fields["path"]).startswith(path_prefix)
        )

    async def set(self, kind: Kind, name: str, **fields: Any) -> Entry:
        """Change fields. Raises: ApiError."""
        if "trust" in fields:
            check_trust(fields["trust"])
        return await self._edit(kind, name, lambda _: fields)

    async def delete(self, kind: Kind, name: str) -> None:
        """Delete one without policies and members. Raises: ApiError (`NoSuchEntity`, `DeleteConflict`)."""
        async with self._change:
            found = await self.get(kind, name)
            if found.fields["attached"]:
                raise _in_use("Cannot delete entity, must detach all policies first.")
            if found.fields["inline"]:
                raise _in_use("Cannot delete entity, must delete policies first.")
            if kind is USER and found.fields.get("groups"):
                raise _in_use("Cannot delete entity, must remove users from group first.")
            if kind is GROUP and [one async for one in self._members(found.fields["name"])]:
                raise _in_use("Cannot delete entity, must remove users from group first.")
            await self._shelves[kind].delete(found.key)

    async def tag(self, kind: Kind, name: str, put: Mapping[str, str], drop: Iterable[str] = ()) -> None:
        """Put tags on one and take others away. Raises: ApiError."""
        await self._edit(kind, name, lambda found: {"tags": TAGS.put(retagged(found.fields["tags"], {}, drop), put)})

    # -------------------------------------------------------------- policies

    async def put_inline(self, kind: Kind, name: str, policy: str, document: str) -> None:
        """Put an inline policy. Raises: ApiError."""
        check_permissions(document)
        await self._edit(kind, name, lambda found: {"inline": {**found.fields["inline"], policy: document}})

    async def inline(self, kind: Kind, name: str, policy: str) -> tuple[Entry, str]:
        """An inline policy's document. Raises: ApiError (`NoSuchEntity`)."""
        found = await self.get(kind, name)
        document = found.fields["inline"].get(policy)
        if document is None:
            raise no_such(f"The {kind.word} policy with name {policy} cannot be found.")
        return found, document

    async def delete_inline(self, kind: Kind, name: str, policy: str) -> None:
        """Delete an inline policy. Raises: ApiError (`NoSuchEntity`)."""

        def edit(found: Entry) -> dict[str, Any]:
            if policy not in found.fields["inline"]:
                raise no_such(f"The {kind.word} policy with name {policy} cannot be found.")
            return {"inline": {key: one for key, one in found.fields["inline"].items() if key != policy}}

        await self._edit(kind, name, edit)

    async def attach(self, kind: Kind, name: str, arn: str) -> None:
        """Attach a managed policy; a second time changes nothing. Raises: ApiError."""
        async with self._change:
            found = await self.get(kind, name)
            await self.policies.check_attachable(arn)
            attached = found.fields["attached"]
            if arn in attached:
                return
            if len(attached) >= MOST_ATTACHED:
                raise ApiError(
                    "LimitExceeded", f"Cannot exceed quota for PoliciesPer{kind.title}: {MOST_ATTACHED}", status=409
                )
            link = self.policies.attachment(arn, kind.word, found.fields["name"], found.fields["id"])
            await self._shelves[kind].put(found.having(attached=[*attached, arn]), also=(link,))

    async def detach(self, kind: Kind, name: str, arn: str) -> None:
        """Detach a managed policy. Raises: ApiError (`NoSuchEntity`)."""
        async with self._change:
            found = await self.get(kind, name)
            attached = found.fields["attached"]
            if arn not in attached:
                raise no_such(f"Policy {arn} was not found.")
            gone = self.policies.attachment_key(arn, kind.word, found.fields["name"])
            await self._shelves[kind].put(found.having(attached=[one for one in attached if one != arn]), gone=(gone,))

    # -------------------------------------------------------------- groups

    async def join(self, user: str, group: str) -> None:
        """Put a user into a group. Raises: ApiError (`NoSuchEntity`)."""
        name = (await self.get(GROUP, group)).fields["name"]

        def edit(found: Entry) -> dict[str, Any]:
            groups = found.fields.get("groups", [])
            return {"groups": groups if name in groups else [*groups, name]}

        await self._edit(USER, user, edit)

    async def leave(self, user: str, group: str) -> None:
        """Take a user out of a group. Raises: ApiError (`NoSuchEntity`)."""
        name = (await self.get(GROUP, group)).fields["name"]
        await self._edit(
            USER, user, lambda found: {"groups": [one for one in found.fields.get("groups", []) if one != name]}
        )

    async def members(self, group: str) -> list[Entry]:
        """The users of a group."""
        return [one async for one in self._members(group)]

    async def _members(self, group: str) -> Any:
        async for one in self._shelves[USER].walk():
            if group in one.fields.get("groups", []):
                yield one

    # -------------------------------------------------------------- the alias

    async def alias(self) -> str | None:
        """The account's alias."""
        found = await self._aliases.get("")
        return None if found is None else found.fields["name"]

    async def set_alias(self, name: str) -> None:
        """Give the account an alias, instead of the one it has."""
        async with self._change:
            found = await self._aliases.get("") or Entry("", {})
            await self._aliases.put(found.having(name=name))

    async def delete_alias(self, name: str) -> None:
        """Take the alias away. Raises: ApiError (`NoSuchEntity`)."""
        async with self._change:
            if await self.alias() != name:
                raise no_such(f"The account alias with name {name} cannot be found.")
            await self._aliases.delete("")

    async def _edit(self, kind: Kind, name: str, edit: Callable[[Entry], Mapping[str, Any]]) -> Entry:
        async with self._change:
            found = await self.get(kind, name)
            changed = found.having(**edit(found))
            if changed.fields != found.fields:
                await self._shelves[kind].put(changed)
            return changed


def no_such(text: str) -> ApiError:
    """Something that is not there."""
    return ApiError("NoSuchEntity", text, status=404)


def _in_use(text: str) -> ApiError:
    return ApiError("DeleteConflict", text, status=409)
