"""Task definitions and clusters of ECS: registering, finding by name, and refusals.

Source: ECS API reference; texts are the service's as far as SDK users report them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from statewright.clock import Clock
from statewright.config import Config
from statewright.errors import ApiError
from statewright.jobs.containers import STOP_SECONDS, Container, named_values
from statewright.jobs.rows import JobEntries
from statewright.jobs.sizes import of_ecs
from statewright.payload import Json, JsonObject
from statewright.stores.entries import EntryKind
from statewright.stores.protocol import CatalogueStore

DEFAULT_CLUSTER: Final = "default"
_FAMILY: Final = re.compile(r"[A-Za-z0-9_-]{1,255}")
_CONDITIONS: Final = ("START", "COMPLETE", "SUCCESS")


def client_error(message: str) -> ApiError:
    """The error of ECS for a mistake without a code of its own."""
    return ApiError("ClientException", message)


def invalid(message: str) -> ApiError:
    """The error of ECS for an invalid member."""
    return ApiError("InvalidParameterException", message)


@dataclass(slots=True)
class Definition:
    """A revision of a task definition; `given` are the members of RegisterTaskDefinition."""

    arn: str
    family: str
    revision: int
    given: JsonObject
    registered_ms: int
    deregistered_ms: int | None = None
    stored: int = 0

    @property
    def is_active(self) -> bool:
        """True while tasks can be run from it."""
        return self.deregistered_ms is None

    def containers(self, overrides: Mapping[str, Json]) -> list[Container]:
        """Its containers, with the overrides of a task."""
        changed = {one.get("name"): one for one in overrides.get("containerOverrides") or ()}
        role = overrides.get("taskRoleArn") or self.given.get("taskRoleArn") or ""
        found = []
        for one in self.given["containerDefinitions"]:
            over = changed.get(one["name"], {})
            variables = named_values(one.get("environment")) | named_values(over.get("environment"))
            found.append(
                Container(
                    one["name"],
                    one["image"],
                    one.get("entryPoint") or (),
                    over.get("command") or one.get("command") or (),
                    variables,
                    one.get("workingDirectory") or "",
                    one.get("user") or "",
                    STOP_SECONDS if one.get("stopTimeout") is None else one["stopTimeout"],
                    role=role,
                    sizes=partial(of_ecs, self.given, overrides, one["name"]),
                )
            )
        return found


@dataclass(slots=True)
class Cluster:
    """A cluster: a name that tasks are grouped by."""

    name: str
    arn: str
    tags: list[dict[str, str]] = field(default_factory=list)
    settings: list[dict[str, str]] = field(default_factory=list)
    capacity_providers: list[str] = field(default_factory=list)
    strategy: list[JsonObject] = field(default_factory=list)
    status: str = "ACTIVE"
    stored: int = 0


DEFINITION: Final = EntryKind("ecsTaskDefinition", Definition, lambda definition: definition.arn)
CLUSTER: Final = EntryKind("ecsCluster", Cluster, lambda cluster: cluster.name)


class Definitions:
    """Task definitions by family and revision."""

    def __init__(self, catalogue: CatalogueStore, clock: Clock, config: Config) -> None:
        self._entries = JobEntries(catalogue, clock, DEFINITION)
        self._clock = clock
        self._prefix = config.arn("ecs", "task-definition/")
        self._by_family: dict[str, dict[int, Definition]] = {}
        self._newest: dict[str, int] = {}

    async def start(self) -> None:
        """Read the catalogue."""
        async for one in self._entries.walk():
            self._by_family.setdefault(one.family, {})[one.revision] = one
            self._newest[one.family] = max(self._newest.get(one.family, 0), one.revision)

    async def register(self, request: Mapping[str, Json]) -> Definition:
        """Register the next revision of a family. Raises: ApiError (`ClientException`)."""
        _check(request)
        family = request["family"]
        # Counted before the write, so that two concurrent calls get different revisions.
        revision = self._newest[family] = self._newest.get(family, 0) + 1
        arn = f"{self._prefix}{family}:{revision}"
        made = Definition(arn, family, revision, dict(request), self._clock.now_ms())
        await self._entries.put(made)
        self._by_family.setdefault(family, {})[revision] = made
        return made

    async def deregister(self, name: str) -> Definition:
        """Refuse further tasks from a revision. Raises: ApiError."""
        if ":" not in name.removeprefix(self._prefix):
            raise invalid(f"Task definition must have a revision: {name[:200]}")
        found = self.find(name)
        if found is None:
            raise client_error("The specified task definition does not exist.")
        if found.is_active:
            found.deregistered_ms = self._clock.now_ms()
            await self._entries.put(found)
        return found

    def find(self, name: str) -> Definition | None:
        """A definition by `family`, which means its newest active revision, `family:revision` or ARN."""
        family, colon, revision = name.removeprefix(self._prefix).partition(":")
        revisions = self._by_family.get(family, {})
        if colon:
            return revisions.get(int(revision)) if revision.isdigit() else None
        return max((one for one in revisions.values() if one.is_active), key=lambda one: one.revision, default=None)

    def arns(self, prefix: str | None, status: str, *, descending: bool) -> list[str]:
        """ARNs of a status, by family and revision; `prefix` is a family's whole name."""
        families = [prefix] if prefix is not None else sorted(self._by_family)
        found = [
            one.arn
            for family in families
            for _, one in sorted(self._by_family.get(family, {}).items())
            if one.is_active == (status == "ACTIVE") and status in ("ACTIVE", "INACTIVE")
        ]
        return found[::-1] if descending else found


class Clusters:
    """Clusters by name; `default` always exists."""

    def __init__(self, catalogue: CatalogueStore, clock: Clock, config: Config) -> None:
        self._entries = JobEntries(catalogue, clock, CLUSTER)
        self._prefix = config.arn("ecs", "cluster/")
        default = Cluster(DEFAULT_CLUSTER, self._prefix + DEFAULT_CLUSTER)
        self.by_name: dict[str, Cluster] = {DEFAULT_CLUSTER: default}

    async def start(self) -> None:
        """Read the catalogue."""
        async for cluster in self._entries.walk():
            self.by_name[cluster.name] = cluster

    async def create(self, request: Mapping[str, Json]) -> Cluster:
        """Create a cluster, or return the existing one. Raises: ApiError."""
        name = request.get("clusterName") or DEFAULT_CLUSTER
        if not _FAMILY.fullmatch(name):
            raise invalid("Invalid identifier: Identifier is for cluster. Your identifier is " + name[:300])
        found = self.by_name.get(name)
        if found is None or found.status != "ACTIVE":
            found = Cluster(
                name,
                self._prefix + name,
                request.get("tags") or [],
                request.get("settings") or [],
                request.get("capacityProviders") or [],
                request.get("defaultCapacityProviderStrategy") or [],
                stored=found.stored if found is not None else 0,
            )
            await self._entries.put(found)
            self.by_name[name] = found
        return found

    async def delete(self, cluster: Cluster) -> None:
        """Make a cluster inactive; it is shown until the server forgets it."""
        cluster.status = "INACTIVE"
        await self._entries.put(cluster)

    def find(self, name: str | None) -> Cluster | None:
        """A cluster by name or ARN."""
        return self.by_name.get((name or DEFAULT_CLUSTER).removeprefix(self._prefix))

    def require(self, name: str | None) -> Cluster:
        """An active cluster. Raises: ApiError (`ClusterNotFoundException`)."""
        found = self.find(name)
        if found is None or found.status != "ACTIVE":
            raise ApiError("ClusterNotFoundException", "Cluster not found.")
        return found


def _check(request: Mapping[str, Json]) -> None:
    family, containers = request["family"], request["containerDefinitions"]
    if not family:
        raise client_error("Family should not be null or empty.")
    if not _FAMILY.fullmatch(family):
        raise client_error("Family contains invalid characters.")
    if not containers:
        raise client_error("Container list cannot be empty.")
    names: list[str] = []
    for one in containers:
        if not one.get("name"):
            raise client_error("Container.name should not be null or empty.")
        if not one.get("image"):
            raise client_error("Container.image should not be null or empty.")
        if not _FAMILY.fullmatch(one["name"]):
            raise client_error("Container.name contains invalid characters.")
        if one["name"] in names:
            raise client_error(f"Container names must be unique: {one['name']} occurs twice.")
        names.append(one["name"])
        _refuse_what_is_missing(one)
    if not any(is_essential(one) for one in containers):
        raise client_error("At least one essential container is required.")
    for one in containers:
        _check_order(one, names)


def is_essential(definition: Mapping[str, Json]) -> bool:
    """True if the end of a container ends its task, which is the default."""
    return definition.get("essential") is not False


def _refuse_what_is_missing(one: Mapping[str, Json]) -> None:
    """Refuse members that would change how a container runs and that Statewright does not support."""
    for member in ("secrets", "environmentFiles", "volumesFrom", "firelensConfiguration"):
        if one.get(member):
            raise client_error(f"This version of Statewright runs no container with {member}.")
    if (one.get("restartPolicy") or {}).get("enabled"):
        raise client_error("This version of Statewright has no restartPolicy.")


def _check_order(one: Mapping[str, Json], names: Sequence[str]) -> None:
    for other in one.get("dependsOn") or ():
        if other["containerName"] not in names or other["containerName"] == one["name"]:
            raise client_error(
                f"Container {one['name']} depends on {other['containerName']}, which is not another one."
            )
        if other["condition"] not in _CONDITIONS:
            raise client_error("This version of Statewright has no health checks: dependsOn HEALTHY is never met.")
