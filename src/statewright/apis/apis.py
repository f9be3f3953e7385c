"""The APIs of one store: their rows, held in memory.

Owns creation, change and deletion of APIs and members, deployments as snapshots, the members that a stage serves, and
the entries of the account, such as keys and plans. What settings mean is left to the compilers (`http_apis.py`,
`rest_apis.py`), checks of requests to the operations.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

from statewright import chance
from statewright.apis.errors import not_found
from statewright.apis.records import (
    API,
    DEPLOYMENT,
    LOOSE,
    LOOSE_KINDS,
    MEMBER,
    ROUTED,
    Api,
    Loose,
    Member,
    Snapshot,
)
from statewright.clock import Clock
from statewright.config import Config
from statewright.errors import Conflict
from statewright.payload import JsonMapping
from statewright.stores.entries import Entries
from statewright.stores.protocol import EntryRow
from statewright.stores.store import Store

ID_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz0123456789"
API_ID: Final = 10
"""Characters of an API's id."""
MEMBER_ID: Final = 7
"""Characters of other ids."""


@dataclass(slots=True)
class Held:
    """An API in memory, with its members by kind and id."""

    api: Api
    members: dict[str, dict[str, Member]] = field(default_factory=dict)

    def of(self, kind: str) -> dict[str, Member]:
        """The members of a kind by id, in the order of their ids."""
        return self.members.setdefault(kind, {})

    def snapshot(self) -> Snapshot:
        """The settings that a deployment holds."""
        return {kind: {one.id: one.settings for one in self.of(kind).values()} for kind in ROUTED if self.of(kind)}


class Apis:
    """The APIs of one store. `endpoint` returns the address of this process."""

    def __init__(self, store: Store, clock: Clock, config: Config, endpoint: Callable[[], str]) -> None:
        self._endpoint = endpoint
        self._store = store
        self._apis = Entries(store.catalogue, API)
        self._members = Entries(store.catalogue, MEMBER)
        self._loose = Entries(store.catalogue, LOOSE)
        self._clock = clock
        self.config = config
        self._held: dict[str, Held] = {}
        self._entries: dict[str, dict[str, Loose]] = {kind: {} for kind in LOOSE_KINDS}
        self.versions: dict[str, int] = {}
        """Counts the changes of each API: what was compiled before the last one is out of date."""
        self.entries_version = 0
        """Counts the changes of keys and plans."""
        self._changing: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def start(self) -> None:
        """Read the APIs."""
        async for api in self._apis.walk():
            held = self._held[api.id] = Held(api)
            async for member in self._members.walk(api.id):
                held.of(member.kind)[member.id] = member
        for kind in LOOSE_KINDS:
            async for entry in self._loose.walk(kind):
                self._entries[kind][entry.id] = entry

    async def stop(self) -> None:
        """Release what is in memory."""
        self._held.clear()
        for of in self._entries.values():
            of.clear()

    def address(self, id: str) -> str:
        """The address of an API behind a host of its own."""
        parts = urlsplit(self._endpoint())
        return f"http://{id}.execute-api.localhost:{parts.port or 80}"

    def changing(self, key: str) -> asyncio.Lock:
        """The lock that changes of an API, or of anything else with a key, hold while they read and write."""
        return self._changing.setdefault(key, asyncio.Lock())

    # ------------------------------------------------------------------ APIs

    def found(self, id: str) -> Held | None:
        """An API of any protocol."""
        return self._held.get(id)

    def get(self, id: str, protocol: str) -> Held:
        """An API. Raises: ApiError (`NotFoundException`)."""
        held = self._held.get(id)
        if held is None or held.api.protocol != protocol:
            raise not_found(f"Invalid API identifier specified {self.config.account}:{id}")
        return held

    def all(self, protocol: str) -> list[Held]:
        """The APIs of a protocol by id."""
        return [self._held[key] for key in sorted(self._held) if self._held[key].api.protocol == protocol]

    async def create(
        self,
        protocol: str,
        settings: JsonMapping,
        tags: Mapping[str, str],
        members: Sequence[Member] = (),
        id: str = "",
    ) -> Held:
        """Create an API with its first members; their field `api` is set here. `id` is one that was drawn before."""
        api = Api(id or self.new_id(API_ID), protocol, settings, self._clock.now_ms(), dict(tags))
        own = [replace(one, api=api.id) for one in members]
        stored = await self._apis.write(api, also=[MEMBER.row(one) for one in own])
        held = self._held[api.id] = Held(stored)
        for one in own:
            held.of(one.kind)[one.id] = replace(one, stored=1)
        return held

    async def change(self, held: Held, settings: JsonMapping, tags: Mapping[str, str] | None = None) -> None:
        """Change an API's own settings."""
        api = replace(held.api, settings=settings, tags=held.api.tags if tags is None else dict(tags))
        held.api = await self._apis.write(api)
        self._changed(api.id)

    async def redefine(
        self,
        held: Held,
        settings: JsonMapping,
        tags: Mapping[str, str],
        members: Iterable[Member],
        delete: Iterable[Member],
    ) -> None:
        """Change an API with its members in one write: all or nothing."""
        api = replace(held.api, settings=settings, tags=dict(tags))
        await self._write(held, members, delete, [API.row(api)])
        held.api = replace(api, stored=api.stored + 1)

    async def delete(self, held: Held) -> None:
        """Delete an API with everything in it."""
        rows = [MEMBER.name_of(one) for of in held.members.values() for one in of.values()]
        await self._store.catalogue.write([], [API.name_of(held.api), *rows])
        self._held.pop(held.api.id, None)
        self._changed(held.api.id)

    # ------------------------------------------------------------------ members

    def new(self, kind: str, settings: JsonMapping, id: str = "") -> Member:
        """A member that is not stored yet."""
        return Member("", kind, id or self.new_id(MEMBER_ID), settings, self._clock.now_ms(), self._clock.now_ms())

    async def write(self, held: Held, *members: Member, delete: Iterable[Member] = ()) -> list[Member]:
        """Write members and delete others: all or nothing. Returns those written, as they are stored."""
        return await self._write(held, members, delete, [])

    async def _write(
        self, held: Held, members: Iterable[Member], delete: Iterable[Member], also: list[EntryRow]
    ) -> list[Member]:
        own = [replace(one, api=held.api.id) for one in members]
        rows: list[EntryRow] = [*also, *(MEMBER.row(one) for one in own)]
        gone = list(delete)
        if not await self._store.catalogue.write(rows, [MEMBER.name_of(one) for one in gone]):
            raise Conflict(f"the API {held.api.id} was changed by another writer")
        written = [replace(one, stored=one.stored + 1) for one in own]
        for one in written:
            held.of(one.kind)[one.id] = one
        for one in gone:
            held.of(one.kind).pop(one.id, None)
        self._changed(held.api.id)
        return written

    def changed(self, member: Member, settings: JsonMapping) -> Member:
        """A member with other settings."""
        return replace(member, settings=settings, updated_ms=self._clock.now_ms())

    def deployment(self, held: Held, settings: JsonMapping) -> Member:
        """A deployment of an API as it is now."""
        return self.new(DEPLOYMENT, {**settings, "snapshot": held.snapshot()}, self.new_id(6))

    def deployed(self, held: Held, stage: Member) -> Snapshot:
        """The members that a stage serves: those of its deployment, or those of now where each change is deployed."""
        found = held.of(DEPLOYMENT).get(stage.settings.get("deployment") or "")
        # The deployment of a stage that serves each change holds no members.
        if stage.settings.get("auto") or (found is not None and "snapshot" not in found.settings):
            return held.snapshot()
        snapshot: Snapshot = found.settings["snapshot"] if found is not None else {}
        return snapshot

    # ------------------------------------------------------------------ entries of the account

    def entries(self, kind: str) -> dict[str, Loose]:
        """The entries of a kind by id."""
        return self._entries[kind]

    async def put(self, kind: str, id: str, settings: JsonMapping) -> Loose:
        """Create or change an entry."""
        async with self.changing(f"{kind}/{id}"):
            now_ms = self._clock.now_ms()
            before = self._entries[kind].get(id)
            entry = Loose(
                kind, id, settings, before.created_ms if before else now_ms, now_ms, before.stored if before else 0
            )
            self._entries[kind][id] = stored = await self._loose.write(entry)
            self.entries_version += 1
        return stored

    async def put_all(self, kind: str, wanted: Mapping[str, JsonMapping]) -> None:
        """Create or change entries that are no keys or plans, in one transaction. Raises: StoreError."""
        now_ms, of = self._clock.now_ms(), self._entries[kind]
        made = [
            replace(of[key], settings=settings, updated_ms=now_ms) if key in of else Loose(kind, key, settings, now_ms)
            for key, settings in wanted.items()
        ]
        if not made:
            return
        if not await self._store.catalogue.write([LOOSE.row(one) for one in made]):
            raise Conflict(f"entries {kind} were changed by another writer")
        for one in made:
            of[one.id] = replace(one, stored=one.stored + 1)

    async def drop(self, *names: tuple[str, str]) -> None:
        """Delete entries by kind and id, in one transaction."""
        found = [self._entries[kind][one] for kind, one in names if one in self._entries[kind]]
        await self._loose.delete(*found)
        for one in found:
            self._entries[one.kind].pop(one.id, None)
        self.entries_version += 1

    def new_id(self, characters: int) -> str:
        """A random id."""
        drawn = chance.random_bytes(characters)
        return "".join(ID_LETTERS[one % len(ID_LETTERS)] for one in drawn)

    def _changed(self, id: str) -> None:
        self.versions[id] = self.versions.get(id, 0) + 1
