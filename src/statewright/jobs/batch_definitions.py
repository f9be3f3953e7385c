"""Job definitions, job queues and compute environments of Batch: registering, finding by name, and refusals.

Compute environments are accepted and shown; jobs run on this machine regardless of them. Source: Batch API reference;
texts are the service's as far as SDK users report them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from statewright import chance
from statewright.clock import Clock
from statewright.config import Config
from statewright.errors import ApiError
from statewright.jobs.containers import Container, named_values
from statewright.jobs.rows import JobEntries
from statewright.jobs.sizes import of_batch
from statewright.payload import Json, JsonObject
from statewright.stores.entries import EntryKind
from statewright.stores.protocol import CatalogueStore

LEAST_TIMEOUT_SECONDS: Final = 60
MOST_ATTEMPTS: Final = 10
_NAME: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_-]{0,127}")
_REFERENCE: Final = re.compile(r"Ref::([a-zA-Z0-9_.\-]+)")


def refused(message: str) -> ApiError:
    """The error of Batch for every mistake of a caller."""
    return ApiError("ClientException", message)


def check_name(name: str, what: str) -> None:
    """Check a name. Raises: ApiError."""
    if not _NAME.fullmatch(name):
        raise refused(f"Error executing request, Exception : {what} should match valid pattern")


@dataclass(slots=True)
class Definition:
    """A revision of a job definition; `given` are the members of RegisterJobDefinition."""

    arn: str
    name: str
    revision: int
    given: JsonObject
    is_active: bool = True
    stored: int = 0

    @property
    def container(self) -> JsonObject:
        """Its container's properties."""
        found: JsonObject = self.given["containerProperties"]
        return found


@dataclass(slots=True)
class Queue:
    """A job queue; jobs of a higher priority start first."""

    name: str
    arn: str
    state: str
    priority: int
    shown: JsonObject
    stored: int = 0


@dataclass(slots=True)
class Environment:
    """A compute environment: stored and shown, without effect."""

    name: str
    arn: str
    shown: JsonObject
    stored: int = 0


DEFINITION: Final = EntryKind("batchJobDefinition", Definition, lambda definition: definition.arn)
QUEUE: Final = EntryKind("batchJobQueue", Queue, lambda queue: queue.name)
ENVIRONMENT: Final = EntryKind("batchComputeEnvironment", Environment, lambda environment: environment.name)


class Definitions:
    """Job definitions, job queues and compute environments by name."""

    def __init__(self, catalogue: CatalogueStore, clock: Clock, config: Config) -> None:
        self._definition_entries = JobEntries(catalogue, clock, DEFINITION)
        self._queue_entries = JobEntries(catalogue, clock, QUEUE)
        self._environment_entries = JobEntries(catalogue, clock, ENVIRONMENT)
        self._prefix = config.arn("batch")
        self._is_strict = config.limits.payload_bytes is not None
        self._revisions: dict[str, dict[int, Definition]] = {}
        self._newest: dict[str, int] = {}
        self.queues: dict[str, Queue] = {}
        self.environments: dict[str, Environment] = {}

    async def start(self) -> None:
        """Read the catalogue."""
        async for one in self._definition_entries.walk():
            self._revisions.setdefault(one.name, {})[one.revision] = one
            self._newest[one.name] = max(self._newest.get(one.name, 0), one.revision)
        self.queues = {queue.name: queue async for queue in self._queue_entries.walk()}
        self.environments = {one.name: one async for one in self._environment_entries.walk()}

    # -------------------------------------------------------------- job definitions

    async def register(self, request: Mapping[str, Json]) -> Definition:
        """Register the next revision of a name. Raises: ApiError."""
        name = request["jobDefinitionName"]
        check_name(name, "Job definition name")
        if request["type"] != "container" or not request.get("containerProperties"):
            raise refused(
                "This version of Statewright runs job definitions of type container with containerProperties."
            )
        container = request["containerProperties"]
        if not container.get("image"):
            raise refused("Error executing request, Exception : Container image is required.")
        if container.get("secrets"):
            raise refused("This version of Statewright runs no container with secrets.")
        self.check_limits(request.get("retryStrategy"), request.get("timeout"))
        revision = self._newest[name] = self._newest.get(name, 0) + 1
        arn = f"{self._prefix}job-definition/{name}:{revision}"
        made = Definition(arn, name, revision, dict(request))
        await self._definition_entries.put(made)
        self._revisions.setdefault(name, {})[revision] = made
        return made

    async def deregister(self, name: str) -> None:
        """Refuse further jobs with a revision; harmless when repeated."""
        found = self._named(name)
        if found is not None and found.is_active:
            found.is_active = False
            await self._definition_entries.put(found)

    def require(self, name: str) -> Definition:
        """The active definition by name, `name:revision` or ARN. Raises: ApiError."""
        found = self._named(name)
        if found is None or not found.is_active:
            if name.startswith("arn:"):
                raise refused(f"JobDefinition {name} not found.")
            raise refused(f"JobDefinition name {name} does not exist or is not in ACTIVE status")
        return found

    def of_arn(self, arn: str) -> Definition | None:
        """A definition by ARN, active or not."""
        return self._named(arn)

    def _named(self, name: str) -> Definition | None:
        short, colon, revision = name.removeprefix(f"{self._prefix}job-definition/").partition(":")
        revisions = self._revisions.get(short, {})
        if colon:
            return revisions.get(int(revision)) if revision.isdigit() else None
        return max((one for one in revisions.values() if one.is_active), key=lambda one: one.revision, default=None)

    def all_of(self, name: str | None, status: str | None, names: Sequence[str]) -> list[Definition]:
        """Definitions of a name, of a status, or those in `names`, newest revision first."""
        if names:
            wanted = {one.removeprefix(f"{self._prefix}job-definition/") for one in names}
            return [
                one
                for one in self.all_of(None, None, ())
                if one.name in wanted or f"{one.name}:{one.revision}" in wanted
            ]
        found = [one for short in sorted(self._revisions) for one in self._revisions[short].values()]
        found.sort(key=lambda one: (one.name, -one.revision))
        wants = None if status is None else status == "ACTIVE"
        return [one for one in found if name in (None, one.name) and wants in (None, one.is_active)]

    def check_limits(self, retry: Mapping[str, Json] | None, timeout: Mapping[str, Json] | None) -> None:
        """Check the number of attempts and the timeout. Raises: ApiError."""
        attempts = (retry or {}).get("attempts")
        if attempts is not None and not 1 <= attempts <= MOST_ATTEMPTS:
            raise refused(f"Error executing request, Exception : Retry strategy attempts must be between 1 and "
                          f"{MOST_ATTEMPTS}.")  # fmt: skip
        seconds = (timeout or {}).get("attemptDurationSeconds")
        least = LEAST_TIMEOUT_SECONDS if self._is_strict else 1
        if seconds is not None and seconds < least:
            raise refused(f"Error executing request, Exception : attemptDurationSeconds must be at least {least}.")

    # -------------------------------------------------------------- queues and compute environments

    async def create_queue(self, request: Mapping[str, Json]) -> Queue:
        """Create a job queue. Raises: ApiError."""
        name = request["jobQueueName"]
        check_name(name, "Job queue name")
        if name in self.queues:
            raise refused(f"Object already exists: {name}")
        for one in request.get("computeEnvironmentOrder") or ():
            short = one["computeEnvironment"].rpartition("/")[2]
            if short not in self.environments:
                raise refused(f"Compute environment {one['computeEnvironment']} not found.")
        rest = {key: value for key, value in request.items() if key not in ("jobQueueName", "state", "priority")}
        made = Queue(
            name, f"{self._prefix}job-queue/{name}", request.get("state") or "ENABLED", request["priority"], rest
        )
        await self._queue_entries.put(made)
        self.queues[name] = made
        return made

    async def update_queue(self, request: Mapping[str, Json]) -> Queue:
        """Change a job queue. Raises: ApiError."""
        queue = self.queue(request["jobQueue"])
        rest = {key: value for key, value in request.items() if key not in ("jobQueue", "state", "priority")}
        queue.state = request.get("state") or queue.state
        queue.priority = queue.priority if request.get("priority") is None else request["priority"]
        queue.shown = {**queue.shown, **rest}
        await self._queue_entries.put(queue)
        return queue

    async def delete_queue(self, name: str) -> None:
        """Delete a disabled job queue. Raises: ApiError."""
        queue = self.queues.get(self._name(name))
        if queue is None:
            return
        if queue.state != "DISABLED":
            raise refused("Cannot delete, found existing JobQueue relationship: the queue must be DISABLED first.")
        await self._queue_entries.delete([queue])
        del self.queues[queue.name]

    def _name(self, name_or_arn: str) -> str:
        """The name in an ARN; one of another region stays as it is."""
        is_elsewhere = name_or_arn.startswith("arn:") and not name_or_arn.startswith(self._prefix)
        return name_or_arn if is_elsewhere else name_or_arn.rpartition("/")[2]

    def queue(self, name: str) -> Queue:
        """A job queue by name or ARN. Raises: ApiError."""
        found = self.queues.get(name.removeprefix(f"{self._prefix}job-queue/"))
        if found is None:
            raise refused(f"JobQueue {name} not found.")
        return found

    async def create_environment(self, request: Mapping[str, Json]) -> Environment:
        """Create a compute environment. Raises: ApiError."""
        name = request["computeEnvironmentName"]
        check_name(name, "Compute environment name")
        if name in self.environments:
            raise refused(f"Object already exists: {name}")
        rest = {"state": "ENABLED", **request, "uuid": chance.uuid4()}
        made = Environment(name, f"{self._prefix}compute-environment/{name}", rest)
        await self._environment_entries.put(made)
        self.environments[name] = made
        return made

    async def update_environment(self, request: Mapping[str, Json]) -> Environment:
        """Change a compute environment. Raises: ApiError."""
        name = self._name(request["computeEnvironment"])
        if name not in self.environments:
            raise refused(f"Compute environment {request['computeEnvironment']} not found.")
        before = self.environments[name]
        rest = {key: value for key, value in request.items() if key != "computeEnvironment"}
        resources = {**(before.shown.get("computeResources") or {}), **(rest.pop("computeResources", None) or {})}
        shown = {**before.shown, **rest, **({"computeResources": resources} if resources else {})}
        made = Environment(name, before.arn, shown, before.stored)
        await self._environment_entries.put(made)
        self.environments[name] = made
        return made

    async def delete_environment(self, name: str) -> None:
        """Delete a disabled compute environment that no job queue uses. Raises: ApiError."""
        found = self.environments.get(self._name(name))
        if found is None:
            return
        orders = (queue.shown.get("computeEnvironmentOrder") or () for queue in self.queues.values())
        if any(one["computeEnvironment"].rpartition("/")[2] == found.name for order in orders for one in order):
            raise refused("Cannot delete, found existing JobQueue relationship")
        if found.shown.get("state") != "DISABLED":
            raise refused("Cannot delete, state must be DISABLED")
        await self._environment_entries.delete([found])
        del self.environments[found.name]


def container_of(definition: Definition, request: Mapping[str, Json], extra: Mapping[str, str]) -> Container:
    """The container of a job: definition with overrides, parameters for `Ref::name`, and Batch's own variables."""
    properties, over = definition.container, request.get("containerOverrides") or {}
    parameters = {**(definition.given.get("parameters") or {}), **(request.get("parameters") or {})}
    command = over.get("command") or properties.get("command") or []
    timeout = request.get("timeout") or definition.given.get("timeout") or {}
    return Container(
        "job",
        properties["image"],
        (),
        [substituted(part, parameters) for part in command],
        {**named_values(properties.get("environment")), **named_values(over.get("environment")), **extra},
        "",
        properties.get("user") or "",
        timeout_seconds=timeout.get("attemptDurationSeconds"),
        role=over.get("jobRoleArn") or properties.get("jobRoleArn") or "",
        sizes=partial(of_batch, properties, over),
    )


def substituted(text: str, parameters: Mapping[str, str]) -> str:
    """Substitute parameters in a part of a command; a reference to an unknown parameter stays unchanged."""
    return _REFERENCE.sub(lambda found: parameters.get(found[1], found[0]), text)
