"""Tasks of ECS: running, watching and stopping them, and keeping ended tasks for a while.

Owns the life of a task, whose row is stored before any of its processes starts, and its recovery after a restart.
Processes are in `processes.py`, definitions and clusters in `ecs_definitions.py`.

Source: ECS developer guide, "Task lifecycle"; stopped reasons as SDK users report them.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import orjson

from statewright.background import Background
from statewright.clock import Clock
from statewright.config import Config
from statewright.errors import ApiError
from statewright.jobs.containers import Machine
from statewright.jobs.ecs_definitions import (
    Cluster,
    Clusters,
    Definition,
    Definitions,
    client_error,
    invalid,
    is_essential,
)
from statewright.jobs.processes import End, Running
from statewright.jobs.rows import JobEntries
from statewright.jobs.sweeper import Sweeper
from statewright.payload import Json, JsonObject
from statewright.stores.entries import EntryKind
from statewright.stores.protocol import CatalogueStore

MOST_AT_ONCE: Final = 10
"""Source: ECS API reference, RunTask, count."""
REMEMBERED_MS: Final = 24 * 3600 * 1000
"""The service shows stopped tasks for at least an hour."""
ESSENTIAL_EXITED: Final = "Essential container in task exited"
STOPPED_BY_USER: Final = "Task stopped by user"

log = logging.getLogger("statewright.jobs")


@dataclass(slots=True)
class TaskContainer:
    """One container of a task. `began` is set before its process starts."""

    name: str
    image: str
    id: str
    essential: bool
    waits_for: list[dict[str, str]]
    began: bool = False
    status: str = "PENDING"
    exit_code: int | None = None
    reason: str | None = None


@dataclass(slots=True)
class Task:
    """A task. `shown` are members of the request that its description repeats."""

    id: str
    arn: str
    cluster: str
    definition: str
    family: str
    created_ms: int
    containers: list[TaskContainer]
    overrides: JsonObject
    started_by: str | None
    launch_type: str
    token: str
    digest: str
    shown: JsonObject
    status: str = "PROVISIONING"
    desired: str = "RUNNING"
    started_ms: int | None = None
    stopping_ms: int | None = None
    stopped_ms: int | None = None
    stop_code: str | None = None
    stopped_reason: str | None = None
    version: int = 1
    stored: int = 0

    @property
    def is_over(self) -> bool:
        """True once none of its containers runs any more."""
        return self.stopped_ms is not None


TASK: Final = EntryKind("ecsTask", Task, lambda task: task.id)


class Tasks:
    """The ECS tasks of one server. `on_end` is called with the ARN of each stopped task."""

    def __init__(
        self, catalogue: CatalogueStore, processes: Running, machine: Machine, clock: Clock, config: Config,
        on_end: Callable[[str], None],
    ) -> None:  # fmt: skip
        self.clusters = Clusters(catalogue, clock, config)
        self.definitions = Definitions(catalogue, clock, config)
        self._entries = JobEntries(catalogue, clock, TASK)
        self._processes = processes
        self._machine = machine
        self._clock = clock
        self._prefix = config.arn("ecs")
        self._has_engine = bool(config.jobs.engine)
        self._where = "nodes of the Ray cluster" if config.jobs.backend == "ray" else "this machine"
        self._on_end = on_end
        self._tasks: dict[str, Task] = {}
        self._by_token: dict[tuple[str, str], list[str]] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._background = Background("work on tasks of ECS")
        self._has_warned_of_images = False
        self._sweeper = Sweeper(clock, REMEMBERED_MS, lambda: bool(self._tasks), self._forget_before)

    async def start(self) -> None:
        """Read the catalogue, and recover every task that has not stopped."""
        await self.definitions.start()
        await self.clusters.start()
        async for task in self._entries.walk():
            self._keep(task)
        for task in self._tasks.values():
            if not task.is_over:
                self._background.spawn(self._recover(task))
        self._sweeper.sweep()

    async def stop(self) -> None:
        """Release the tasks; their processes continue."""
        self._sweeper.stop()
        await self._background.stop()

    # -------------------------------------------------------------- requests

    async def run(self, request: Mapping[str, Json], token: str) -> list[Task]:
        """Run tasks. The request has the members of RunTask; a repeated token returns the tasks of its first use.

        Raises: ApiError.
        """
        cluster = self.clusters.require(request.get("cluster"))
        definition = self._runnable(request)
        count = 1 if request.get("count") is None else request["count"]
        if not 1 <= count <= MOST_AT_ONCE:
            raise invalid(f"count must be between 1 and {MOST_AT_ONCE}.")
        digest = hashlib.sha256(orjson.dumps(request, option=orjson.OPT_SORT_KEYS)).hexdigest()
        found = [self._tasks[one] for one in self._by_token.get((cluster.name, token), ()) if one in self._tasks]
        if found:
            if found[0].digest != digest:
                raise ApiError(
                    "ConflictException",
                    "The RunTask request could not be processed due to conflicts. The provided clientToken is already "
                    "in use with a different RunTask request.",
                    details={"resourceIds": [task.arn for task in found]},
                )
            return found
        tasks = [self._made(cluster, definition, request, token, digest, number) for number in range(count)]
        for task in tasks:
            self._keep(task)
        try:
            await self._entries.put(*tasks)
        except BaseException:
            for task in tasks:
                self._drop(task)
            raise
        self._warn_of_images(definition)
        for task in tasks:
            self._background.spawn(self._advance(task))
        return tasks

    async def stop_task(self, cluster_name: str | None, name: str, reason: str | None) -> Task:
        """Stop a task: SIGTERM to its containers, and SIGKILL after their grace. Raises: ApiError."""
        cluster = self.clusters.require(cluster_name)
        task = self.find(cluster, name)
        if task is None:
            raise invalid("The referenced task was not found.")
        async with self._lock(task):
            if task.stopping_ms is None and not task.is_over:
                self._stopping(task, "UserInitiated", reason or STOPPED_BY_USER)
                await self._write(task)
                self._background.spawn(self._stop_containers(task))
        return task

    def find(self, cluster: Cluster, name: str) -> Task | None:
        """A task of a cluster by id or ARN."""
        task = self._tasks.get(name.rpartition("/")[2])
        if task is None or task.cluster != cluster.name or (name.startswith("arn:") and name != task.arn):
            return None
        return task

    def of_cluster(self, cluster: Cluster) -> list[Task]:
        """The tasks of a cluster, oldest first."""
        found = [task for task in self._tasks.values() if task.cluster == cluster.name]
        return sorted(found, key=lambda task: (task.created_ms, task.id))

    def place(self, task: Task, container: TaskContainer) -> str:
        """Folder of a container, relative to the folder of all jobs."""
        return f"ecs/{task.id}/{container.name}"

    async def delete_cluster(self, name: str) -> Cluster:
        """Delete a cluster without tasks. Raises: ApiError."""
        cluster = self.clusters.require(name)
        if any(not task.is_over for task in self.of_cluster(cluster)):
            raise ApiError("ClusterContainsTasksException", "The Cluster cannot be deleted while Tasks are active.")
        await self.clusters.delete(cluster)
        return cluster

    # -------------------------------------------------------------- creating a task

    def _runnable(self, request: Mapping[str, Json]) -> Definition:
        definition = self.definitions.find(request["taskDefinition"])
        if definition is None:
            raise client_error("TaskDefinition not found.")
        if not definition.is_active:
            raise client_error("TaskDefinition is inactive")
        names = {one["name"] for one in definition.given["containerDefinitions"]}
        for over in (request.get("overrides") or {}).get("containerOverrides") or ():
            if over.get("name") not in names:
                raise invalid(f"Override for container named {over.get('name')} is not a container in the "
                              "TaskDefinition.")  # fmt: skip
            if over.get("environmentFiles"):
                raise client_error("This version of Statewright runs no container with environmentFiles.")
        if definition.given.get("networkMode") == "awsvpc" and not request.get("networkConfiguration"):
            raise invalid("Network Configuration must be provided when networkMode 'awsvpc' is specified.")
        return definition

    def _made(
        self, cluster: Cluster, definition: Definition, request: Mapping[str, Json], token: str, digest: str,
        number: int,
    ) -> Task:  # fmt: skip
        id_ = hashlib.blake2b(f"{cluster.name}\0{token}\0{number}".encode(), digest_size=16).hexdigest()
        containers = [
            TaskContainer(
                one["name"],
                one["image"],
                hashlib.blake2b(f"{id_}\0{one['name']}".encode(), digest_size=16).hexdigest(),
                is_essential(one),
                one.get("dependsOn") or [],
            )
            for one in definition.given["containerDefinitions"]
        ]
        tags = list(request.get("tags") or ())
        if request.get("propagateTags") == "TASK_DEFINITION":
            taken = {one.get("key") for one in tags}
            tags += [one for one in definition.given.get("tags") or () if one.get("key") not in taken]
        overrides = request.get("overrides") or {}
        shown = {
            "cpu": overrides.get("cpu") or definition.given.get("cpu"),
            "memory": overrides.get("memory") or definition.given.get("memory"),
            "group": request.get("group") or f"family:{definition.family}",
            "enableExecuteCommand": bool(request.get("enableExecuteCommand")),
            "platformVersion": request.get("platformVersion"),
            "tags": tags,
        }
        return Task(
            id_, f"{self._prefix}task/{cluster.name}/{id_}", cluster.name, definition.arn, definition.family,
            self._clock.now_ms(), containers, overrides, request.get("startedBy"),
            request.get("launchType") or ("FARGATE" if request.get("capacityProviderStrategy") else "EC2"),
            token, digest, {name: value for name, value in shown.items() if value is not None},
        )  # fmt: skip

    def _warn_of_images(self, definition: Definition) -> None:
        if self._has_engine or self._has_warned_of_images:
            return
        self._has_warned_of_images = True
        image = definition.given["containerDefinitions"][0]["image"]
        log.warning("containers run as processes on %s; images such as %s are ignored", self._where, image)

    # -------------------------------------------------------------- the life of a task

    async def _recover(self, task: Task) -> None:
        """Find the running containers of a task after a restart, and continue the task."""
        begun = [one for one in task.containers if one.began and one.status != "STOPPED"]
        # At once, as in `_advance`.
        await asyncio.gather(*(self._recover_container(task, one) for one in begun))
        if task.stopping_ms is not None:
            await self._stop_containers(task)
        else:
            await self._advance(task)

    async def _recover_container(self, task: Task, container: TaskContainer) -> None:
        is_known = container.status == "RUNNING"
        runs = await self._begin(task, container, may_start=not is_known)
        if runs and not is_known:
            await self._runs(task, container)

    async def _advance(self, task: Task) -> None:
        """Start the containers whose dependencies are met."""
        async with self._lock(task):
            if task.stopping_ms is not None:
                return
            due = [one for one in task.containers if not one.began and self._may_start(task, one)]
            if not due:
                return
            for container in due:
                container.began = True
            task.status = "PENDING" if task.status == "PROVISIONING" else task.status
            await self._write(task)
        # At once: on Ray each one may wait long for its place.
        await asyncio.gather(*(self._start_container(task, one) for one in due))

    async def _start_container(self, task: Task, container: TaskContainer) -> None:
        if await self._begin(task, container, may_start=True):
            await self._runs(task, container)

    def _may_start(self, task: Task, container: TaskContainer) -> bool:
        others = {one.name: one for one in task.containers}
        for needed in container.waits_for:
            other, condition = others[needed["containerName"]], needed["condition"]
            if condition == "START" and other.status == "PENDING":
                return False
            if condition != "START" and other.status != "STOPPED":
                return False
            if condition == "SUCCESS" and other.exit_code != 0:
                return False
        return True

    async def _begin(self, task: Task, container: TaskContainer, *, may_start: bool) -> bool:
        definition = self.definitions.find(task.definition)
        request = None
        if may_start and definition is not None:
            found = next(one for one in definition.containers(task.overrides) if one.name == container.name)
            unique_name = f"statewright-{task.id}-{container.name}"
            request = await self._machine.request(found, task.id, unique_name)

        def on_end(end: End) -> None:
            self._background.spawn(self._container_ended(task, container, end))

        return await self._processes.start(self.place(task, container), request, on_end, born_ms=task.created_ms)

    async def _runs(self, task: Task, container: TaskContainer) -> None:
        async with self._lock(task):
            if container.status != "PENDING" or task.is_over:
                return
            container.status = "RUNNING"
            if task.started_ms is None:
                task.started_ms = self._clock.now_ms()
            if task.stopping_ms is None:
                task.status = "RUNNING"
            await self._write(task)
            stops = task.stopping_ms is not None
        if stops:
            await self._processes.stop(self.place(task, container))
        else:
            await self._advance(task)

    async def _container_ended(self, task: Task, container: TaskContainer, end: End) -> None:
        async with self._lock(task):
            if container.status == "STOPPED":
                return
            container.status = "STOPPED"
            container.exit_code = end.code
            if end.why in ("unstartable", "vanished"):
                container.reason = f"CannotStartContainerError: {end.text}" if end.why == "unstartable" else end.text
            if end.why == "stopped" and end.text:
                # It never ran; why it did not is of more use than that it was stopped.
                container.reason = end.text
                task.stopped_reason = f"{task.stopped_reason} ({end.text})"[:1024]
            if task.started_ms is None and end.started_ms:
                task.started_ms = end.started_ms
            if task.stopping_ms is None:
                if end.why == "unstartable":
                    self._stopping(task, "TaskFailedToStart", container.reason or "")
                elif container.essential:
                    self._stopping(task, "EssentialContainerExited", end.text or ESSENTIAL_EXITED)
                elif self._is_stuck(task):
                    self._stopping(
                        task, "TaskFailedToStart", f"A container that depends on {container.name} cannot start"
                    )
            stops = task.stopping_ms is not None
            if not stops:
                await self._write(task)
        await (self._stop_containers(task) if stops else self._advance(task))

    def _is_stuck(self, task: Task) -> bool:
        """True if a container can never start, because one that it depends on has failed."""
        others = {one.name: one for one in task.containers}
        return any(
            needed["condition"] == "SUCCESS"
            and others[needed["containerName"]].status == "STOPPED"
            and others[needed["containerName"]].exit_code != 0
            for one in task.containers
            if not one.began
            for needed in one.waits_for
        )

    def _stopping(self, task: Task, code: str, reason: str) -> None:
        task.stopping_ms = self._clock.now_ms()
        task.desired, task.status = "STOPPED", "STOPPING"
        task.stop_code, task.stopped_reason = code, reason[:1024]

    async def _stop_containers(self, task: Task) -> None:
        """Stop the running containers of a task; end the task if none runs."""
        running = []
        async with self._lock(task):
            for container in task.containers:
                if not container.began:
                    container.status = "STOPPED"
                elif container.status != "STOPPED":
                    running.append(container)
            if task.is_over:
                return
            if not running:
                task.status = "STOPPED"
                task.stopped_ms = self._clock.now_ms()
            await self._write(task)
        for container in running:
            await self._processes.stop(self.place(task, container))
        if task.is_over:
            self._locks.pop(task.id, None)
            self._on_end(task.arn)

    # -------------------------------------------------------------- rows and memory

    async def _write(self, task: Task) -> None:
        task.version += 1
        await self._entries.put_surely(task)

    def _lock(self, task: Task) -> asyncio.Lock:
        return self._locks.setdefault(task.id, asyncio.Lock())

    def _keep(self, task: Task) -> None:
        self._tasks[task.id] = task
        self._by_token.setdefault((task.cluster, task.token), []).append(task.id)
        self._sweeper.sweep_later()

    def _drop(self, task: Task) -> None:
        self._tasks.pop(task.id, None)
        self._by_token.pop((task.cluster, task.token), None)

    def _forget_before(self, before_ms: int) -> None:
        old = [one for one in self._tasks.values() if one.stopped_ms is not None and one.stopped_ms < before_ms]
        if old:
            self._background.spawn(self._forget(old))

    async def _forget(self, old: list[Task]) -> None:
        await self._entries.delete(old)
        for task in old:
            self._drop(task)
            await self._processes.remove(f"ecs/{task.id}")
