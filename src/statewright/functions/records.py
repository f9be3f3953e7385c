"""What the catalogue keeps of functions and layers, and how it is written down.

Owns the records (function, version, alias, layer version, event invoke configuration, policy), their keys and bodies.
What the changes are is in `definitions.py`, `versions.py`, `layers.py` and `invoke_settings.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar

import orjson

from statewright.functions.names import LATEST, refusal
from statewright.payload import Json
from statewright.stores.protocol import CatalogStore, Record

FUNCTION: Final = "function"
VERSION: Final = "functionVersion"
ALIAS: Final = "functionAlias"
LAYER: Final = "functionLayer"
LAYER_VERSION: Final = "functionLayerVersion"
INVOKE_SETTINGS: Final = "functionInvokeSettings"
POLICY: Final = "functionPolicy"

PAGE: Final = 1_000


@dataclass(frozen=True, slots=True)
class Configuration:
    """What a version freezes: code and settings.

    `code` names the package by the hex SHA-256 of its zip. `layers` are package names by the ARN of the layer version,
    in order. `shown` are members that the API gives back as they came. `timeout` is in seconds, `memory` in MiB.
    """

    runtime: str | None
    role: str
    handler: str | None
    code: str
    code_sha256: str
    code_size: int
    modified_ms: int
    revision_id: str
    description: str = ""
    timeout: int = 3
    memory: int = 128
    environment: dict[str, str] | None = None
    layers: dict[str, str] = field(default_factory=dict)
    dead_letter: str | None = None
    shown: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Function:
    """A function: its `$LATEST`, and what belongs to all of its versions. The record guards everything below it."""

    name: str
    number: int
    created_ms: int
    latest: Configuration
    last_version: int = 0
    reserved: int | None = None
    recursion: str = "Terminate"
    tags: dict[str, str] = field(default_factory=dict)
    stored: int = 0

    def record(self) -> Record:
        """The entry to write; its version is the next one."""
        return Record(FUNCTION, self.name, "", 0, self.stored + 1, orjson.dumps(self))


@dataclass(frozen=True, slots=True)
class Version:
    """A published version."""

    name: str
    number: int
    configuration: Configuration
    stored: int = 0

    def record(self) -> Record:
        """The entry to write."""
        key = f"{self.name}:{self.number}"
        return Record(VERSION, key, self.name, self.number, self.stored + 1, orjson.dumps(self))


@dataclass(frozen=True, slots=True)
class Alias:
    """A name for a version, and perhaps for a share of the calls to a second one; `weights` are by version."""

    name: str
    alias: str
    version: str
    revision_id: str
    description: str = ""
    weights: dict[str, float] = field(default_factory=dict)
    stored: int = 0

    def record(self) -> Record:
        """The entry to write."""
        return Record(ALIAS, f"{self.name}:{self.alias}", self.name, 0, self.stored + 1, orjson.dumps(self))


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer's name and its newest version; versions are never numbered twice."""

    name: str
    last_version: int
    stored: int = 0

    def record(self) -> Record:
        """The entry to write."""
        return Record(LAYER, self.name, "", 0, self.stored + 1, orjson.dumps(self))


@dataclass(frozen=True, slots=True)
class LayerVersion:
    """One version of a layer."""

    name: str
    number: int
    created_ms: int
    code: str
    code_sha256: str
    code_size: int
    description: str = ""
    runtimes: Sequence[str] = ()
    architectures: Sequence[str] = ()
    license: str | None = None
    stored: int = 0

    def record(self) -> Record:
        """The entry to write."""
        key = f"{self.name}:{self.number}"
        return Record(LAYER_VERSION, key, self.name, self.number, self.stored + 1, orjson.dumps(self))


@dataclass(frozen=True, slots=True)
class InvokeSettings:
    """The event invoke configuration of a qualifier; `None` is: not set."""

    name: str
    qualifier: str
    modified_ms: int
    most_retries: int | None = None
    most_age_seconds: int | None = None
    on_success: str | None = None
    on_failure: str | None = None
    stored: int = 0

    def record(self) -> Record:
        """The entry to write."""
        key = f"{self.name}:{self.qualifier}"
        return Record(INVOKE_SETTINGS, key, self.name, 0, self.stored + 1, orjson.dumps(self))


@dataclass(frozen=True, slots=True)
class Policy:
    """The resource policy of a qualifier (empty: the function itself): kept and shown, never enforced."""

    name: str
    qualifier: str
    statements: Sequence[dict[str, Json]]
    revision_id: str
    stored: int = 0

    def record(self) -> Record:
        """The entry to write."""
        return Record(POLICY, f"{self.name}:{self.qualifier}", self.name, 0, self.stored + 1, orjson.dumps(self))


class Kept(Protocol):
    """Anything above."""

    def record(self) -> Record:
        """The entry to write."""


Body = TypeVar("Body", Function, Version, Alias, Layer, LayerVersion, InvokeSettings, Policy)

KINDS: Final[dict[type, str]] = {
    Function: FUNCTION,
    Version: VERSION,
    Alias: ALIAS,
    Layer: LAYER,
    LayerVersion: LAYER_VERSION,
    InvokeSettings: INVOKE_SETTINGS,
    Policy: POLICY,
}


def _decoded(body_type: type[Body], record: Record) -> Body:
    fields: dict[str, Any] = orjson.loads(record.body)
    fields["stored"] = record.version
    for name in ("latest", "configuration"):
        if name in fields:
            fields[name] = Configuration(**fields[name])
    return body_type(**fields)


class Records:
    """Reads and writes the records above."""

    def __init__(self, catalog: CatalogStore) -> None:
        self.catalog = catalog

    async def get(self, body_type: type[Body], key: str) -> Body | None:
        """One record by its key."""
        record = await self.catalog.get(KINDS[body_type], key)
        return None if record is None else _decoded(body_type, record)

    async def page(
        self, body_type: type[Body], parent: str, *, after: tuple[int, str] | None, limit: int
    ) -> tuple[list[Body], tuple[int, str] | None]:
        """Up to `limit` records below a parent in order, and the place where the next page starts, if there is one."""
        found = await self.catalog.list_entries(
            KINDS[body_type], parent, after=after, limit=limit + 1, newest_first=False
        )
        place = (found[limit - 1].sort, found[limit - 1].key) if len(found) > limit else None
        return [_decoded(body_type, record) for record in found[:limit]], place

    async def all(self, body_type: type[Body], parent: str) -> list[Body]:
        """Every record below a parent."""
        kept: list[Body] = []
        after: tuple[int, str] | None = None
        while True:
            page, after = await self.page(body_type, parent, after=after, limit=PAGE)
            kept += page
            if after is None:
                return kept

    async def keys(self, kind: str, parent: str) -> list[tuple[str, str]]:
        """What every record of a kind below a parent is deleted by."""
        found: list[tuple[str, str]] = []
        after: tuple[int, str] | None = None
        while True:
            page = await self.catalog.list_entries(kind, parent, after=after, limit=PAGE, newest_first=False)
            found += [(record.kind, record.key) for record in page]
            if len(page) < PAGE:
                return found
            after = (page[-1].sort, page[-1].key)

    async def write(self, *kept: Kept, delete: Sequence[tuple[str, str]] = ()) -> None:
        """Write and delete, all or nothing. Raises: ApiError (`ResourceConflictException`) when somebody was faster."""
        if not await self.catalog.write([one.record() for one in kept], delete):
            raise refusal("ResourceConflictException", "The resource is being changed by other requests. Try again.")


def key_of(kept: Kept) -> tuple[str, str]:
    """What `Records.write` is told to delete it."""
    record = kept.record()
    return record.kind, record.key


def qualifier_or_latest(qualifier: str | None) -> str:
    """The key part of a qualifier that may be absent."""
    return qualifier or LATEST
