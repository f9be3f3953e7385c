"""Entries of functions and layers in the catalogue, and their encoding.

Owns the entries, their keys and bodies. `definitions.py`, `versions.py`, `layers.py`, `invoke_settings.py` and
`provisioned.py` change them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from statewright.functions.names import refusal
from statewright.payload import Json, JsonObject
from statewright.stores.entries import Entries, EntryKind, Name
from statewright.stores.protocol import CatalogueStore, EntryRow


@dataclass(frozen=True, slots=True)
class Configuration:
    """Code and settings of a version.

    `code` names the package by the hex SHA-256 of its zip. `layers` are package names by the ARN of the layer version,
    in order. `shown` are members that the API returns unchanged. `timeout` is in seconds, `memory` in MiB.
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
    shown: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Function:
    """A function: its `$LATEST`, and what all of its versions share. Its row guards everything that belongs to it."""

    name: str
    number: int
    created_ms: int
    latest: Configuration
    last_version: int = 0
    reserved: int | None = None
    recursion: str = "Terminate"
    tags: dict[str, str] = field(default_factory=dict)
    stored: int = 0


@dataclass(frozen=True, slots=True)
class Version:
    """A published version."""

    name: str
    number: int
    configuration: Configuration
    stored: int = 0


@dataclass(frozen=True, slots=True)
class Alias:
    """A name for a version, possibly with a share of the calls for a second one; `weights` are by version."""

    name: str
    alias: str
    version: str
    revision_id: str
    description: str = ""
    weights: dict[str, float] = field(default_factory=dict)
    stored: int = 0


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer's name and its newest version; versions are never numbered twice."""

    name: str
    last_version: int
    stored: int = 0


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


@dataclass(frozen=True, slots=True)
class InvokeSettings:
    """The event invoke configuration of a qualifier; `None` means not set."""

    name: str
    qualifier: str
    modified_ms: int
    most_retries: int | None = None
    most_age_seconds: int | None = None
    on_success: str | None = None
    on_failure: str | None = None
    stored: int = 0


@dataclass(frozen=True, slots=True)
class Policy:
    """The resource policy of a qualifier (empty: the function itself): stored and shown, not enforced."""

    name: str
    qualifier: str
    statements: Sequence[dict[str, Json]]
    revision_id: str
    stored: int = 0


@dataclass(frozen=True, slots=True)
class Provisioned:
    """The provisioned concurrency of a version or an alias."""

    name: str
    qualifier: str
    workers: int
    modified_ms: int
    stored: int = 0


@dataclass(frozen=True, slots=True)
class FunctionUrl:
    """The URL of a function, or of one of its aliases if `qualifier` is not empty.

    `cors` has the members of the service model.
    """

    id: str
    name: str
    qualifier: str
    auth_type: str
    created_ms: int
    modified_ms: int
    cors: JsonObject | None
    invoke_mode: str
    stored: int = 0


FUNCTION: Final = EntryKind("function", Function, lambda function: function.name)
VERSION: Final = EntryKind(
    "functionVersion",
    Version,
    lambda version: f"{version.name}:{version.number}",
    parent=lambda version: version.name,
    sort=lambda version: version.number,
)
ALIAS: Final = EntryKind(
    "functionAlias", Alias, lambda alias: f"{alias.name}:{alias.alias}", parent=lambda alias: alias.name
)
LAYER: Final = EntryKind("functionLayer", Layer, lambda layer: layer.name)
LAYER_VERSION: Final = EntryKind(
    "functionLayerVersion",
    LayerVersion,
    lambda version: f"{version.name}:{version.number}",
    parent=lambda version: version.name,
    sort=lambda version: version.number,
)
INVOKE_SETTINGS: Final = EntryKind(
    "functionInvokeSettings", InvokeSettings, lambda one: f"{one.name}:{one.qualifier}", parent=lambda one: one.name
)
POLICY: Final = EntryKind(
    "functionPolicy", Policy, lambda policy: f"{policy.name}:{policy.qualifier}", parent=lambda policy: policy.name
)
PROVISIONED: Final = EntryKind(
    "functionProvisioned", Provisioned, lambda one: f"{one.name}:{one.qualifier}", parent=lambda one: one.name
)
URL: Final = EntryKind("functionUrl", FunctionUrl, lambda url: url.id, parent=lambda url: url.name)


class FunctionEntries:
    """The entries above, one repository for each kind."""

    def __init__(self, catalogue: CatalogueStore) -> None:
        self._catalogue = catalogue
        self.functions = Entries(catalogue, FUNCTION)
        self.versions = Entries(catalogue, VERSION)
        self.aliases = Entries(catalogue, ALIAS)
        self.layers = Entries(catalogue, LAYER)
        self.layer_versions = Entries(catalogue, LAYER_VERSION)
        self.invoke_settings = Entries(catalogue, INVOKE_SETTINGS)
        self.policies = Entries(catalogue, POLICY)
        self.provisioned = Entries(catalogue, PROVISIONED)
        self.urls = Entries(catalogue, URL)

    async def write(self, *put: EntryRow, delete: Sequence[Name] = ()) -> None:
        """Write and delete in one transaction. Raises: ApiError (`ResourceConflictException`) after another change."""
        if not await self._catalogue.write(put, delete):
            raise refusal("ResourceConflictException", "The resource is being changed by other requests. Try again.")

    async def remove(self, of_function: Name) -> None:
        """Delete a version or an alias with its policy, settings, provisioned concurrency and URL."""
        key = of_function[1]
        name, _, qualifier = key.partition(":")
        urls = [URL.name_of(one) for one in await self.urls.all(name) if one.qualifier == qualifier]
        own = [(kind.name, key) for kind in (POLICY, INVOKE_SETTINGS, PROVISIONED)]
        await self._catalogue.write([], [of_function, *own, *urls])

    async def below(self, name: str) -> list[Name]:
        """Names of all rows that belong to a function, for deleting them."""
        of_function = (self.versions, self.aliases, self.invoke_settings, self.policies, self.provisioned, self.urls)
        return [found for entries in of_function for found in await entries.names(name)]
