"""Jobs of Batch: submitting, dependencies, attempts, endings, and keeping ended jobs for a while.

Owns the life of a job, whose row is stored before any of its processes starts, the slots that jobs wait for, and the
recovery of both after a restart. That a job waits is derived from its row and those of others, never stored.

Source: Batch user guide, "Job states", "Job dependencies", "Array jobs".
"""

from __future__ import annotations

import hashlib
import heapq
import logging
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from statewright import chance
from statewright.background import Background
from statewright.clock import Clock
from statewright.config import Config
from statewright.jobs.batch_definitions import Definitions, check_name, container_of, refused
from statewright.jobs.batch_records import (
    CHILD_FAILED,
    DEPENDENCY_FAILED,
    JOB,
    OVER,
    Job,
    attempt_of,
    is_tried_again,
)
from statewright.jobs.containers import Machine
from statewright.jobs.processes import End, Running
from statewright.jobs.rows import JobEntries
from statewright.jobs.sweeper import Sweeper
from statewright.payload import Json, JsonObject
from statewright.stores.protocol import CatalogueStore

ARRAY_SIZES: Final = (2, 10_000)
MOST_DEPENDENCIES: Final = 20
REMEMBERED_MS: Final = 7 * 24 * 3600 * 1000
"""Source: Batch user guide: jobs are shown for seven days after they have ended."""
LEAST_SLOTS: Final = 2
RAY_SLOTS: Final = 100
"""Jobs at once on Ray: what they need limits them there, and each waits with an actor."""

log = logging.getLogger("statewright.jobs")


class BatchJobs:
    """The Batch jobs of one server. `on_end` is called with the id of each ended job."""

    def __init__(
        self, catalogue: CatalogueStore, processes: Running, machine: Machine, clock: Clock, config: Config,
        on_end: Callable[[str], None],
    ) -> None:  # fmt: skip
        self.definitions = Definitions(catalogue, clock, config)
        self._entries = JobEntries(catalogue, clock, JOB)
        self._processes = processes
        self._machine = machine
        self._clock = clock
        self._on_end = on_end
        is_on_ray = config.jobs.backend == "ray"
        self._slots = config.jobs.slots or (RAY_SLOTS if is_on_ray else max(os.cpu_count() or 1, LEAST_SLOTS))
        self._jobs: dict[str, Job] = {}
        self._children: dict[str, list[str]] = {}
        self._summaries: dict[str, Counter[str]] = {}
        self._missing: dict[str, set[str]] = {}
        """Ids of the jobs that a job still waits for, by its id."""
        self._waiting: dict[str, set[str]] = {}
        """Ids of the jobs that wait for a job, by its id."""
        self._runnable: list[tuple[int, int, str]] = []
        self._started = 0
        self._numbers = 0
        self._background = Background("work on jobs of Batch")
        self._sweeper = Sweeper(clock, REMEMBERED_MS, lambda: bool(self._jobs), self._forget_before)

    async def start(self) -> None:
        """Read the catalogue, recover running attempts, and continue with waiting jobs."""
        await self.definitions.start()
        async for job in self._entries.walk():
            self._keep(job)
        for job in sorted(self._jobs.values(), key=lambda one: one.number):
            if job.is_over:
                continue
            if job.task is not None:
                self._started += 1
                self._background.spawn(self._recover(job))
            else:
                self._settle(job)
        self._pump()
        self._sweeper.sweep()

    async def stop(self) -> None:
        """Release the jobs; their processes continue."""
        self._sweeper.stop()
        await self._background.stop()

    # -------------------------------------------------------------- requests

    async def submit(self, request: Mapping[str, Json], unique: str) -> Job:
        """Submit a job. The request has the members of SubmitJob; `unique` is equal in repetitions of one call.

        Raises: ApiError.
        """
        digest = hashlib.blake2b(unique.encode(), digest_size=16).digest()
        id_ = chance.uuid_of(digest)
        if id_ in self._jobs:
            return self._jobs[id_]
        check_name(request["jobName"], "Job name")
        queue = self.definitions.queue(request["jobQueue"])
        if queue.state != "ENABLED":
            raise refused(f"JobQueue {request['jobQueue']} is DISABLED and takes no jobs.")
        definition = self.definitions.require(request["jobDefinition"])
        self.definitions.check_limits(request.get("retryStrategy"), request.get("timeout"))
        for member in ("nodeOverrides", "eksPropertiesOverride", "ecsPropertiesOverride", "shareIdentifier"):
            if request.get(member):
                raise refused(f"This version of Statewright runs no job with {member}.")
        size = (request.get("arrayProperties") or {}).get("size")
        if size is not None and not ARRAY_SIZES[0] <= size <= ARRAY_SIZES[1]:
            raise refused(f"Array size must be between {ARRAY_SIZES[0]} and {ARRAY_SIZES[1]}.")
        self._check_dependencies(request.get("dependsOn") or (), size)
        self._numbers += 1
        job = Job(
            id_, request["jobName"], queue.name, definition.arn, self._clock.now_ms(), self._numbers, dict(request),
            size=size,
        )  # fmt: skip
        made = [job, *(self._child(job, index) for index in range(size or 0))]
        for one in made:
            self._keep(one)
        try:
            await self._entries.put(*made)
        except BaseException:
            for one in made:
                self._drop(one)
            raise
        for one in made:
            self._settle(one)
        self._pump()
        return job

    async def end(self, id_: str, reason: str, *, also_running: bool) -> None:
        """Cancel a job with its children; started ones only if `also_running`. Raises: ApiError."""
        job = self._jobs.get(id_)
        if job is None:
            raise refused(f"Job {id_} not found.")
        for one in [*(self._jobs[child] for child in self._children.get(id_, ())), job]:
            if one.is_over or (one is job and one.size is not None):
                # An array ends with the last of its children.
                continue
            if one.status not in ("STARTING", "RUNNING"):
                one.is_cancelled = True
                await self._finish(one, "FAILED", reason)
            elif also_running and one.ending is None:
                one.ending, one.is_terminated = reason, True
                await self._write(one)
                if one.task is not None:
                    await self._processes.stop(self.place(one.task))
        self._pump()

    def find(self, id_: str) -> Job | None:
        """A job by id or ARN."""
        return self._jobs.get(id_.partition(":job/")[2] or id_)

    def of_queue(self, name: str) -> list[Job]:
        """The jobs of a queue except children, newest first."""
        queue = self.definitions.queue(name).name
        found = [job for job in self._jobs.values() if job.queue == queue and job.parent is None]
        return sorted(found, key=lambda job: -job.number)

    def children(self, id_: str) -> list[Job]:
        """The children of an array. Raises: ApiError."""
        if id_ not in self._children:
            raise refused(f"Job {id_} is no array job.")
        return [self._jobs[child] for child in self._children[id_]]

    def summary(self, job: Job) -> dict[str, int] | None:
        """Numbers of an array's children by status."""
        return dict(self._summaries[job.id]) if job.id in self._summaries else None

    def request_of(self, job: Job) -> JsonObject:
        """The SubmitJob request of a job; of a child, its parent's."""
        return self._jobs[job.parent].request if job.parent is not None else job.request

    def place(self, task: str) -> str:
        """Folder of an attempt, relative to the folder of all jobs."""
        return f"batch/{task}"

    def variables(self, job: Job) -> dict[str, str]:
        """Environment variables that Batch adds to a job's next attempt."""
        queue = self.definitions.queues.get(job.queue)
        order = (queue.shown.get("computeEnvironmentOrder") if queue is not None else None) or ()
        found = {
            "AWS_BATCH_JOB_ID": job.id,
            "AWS_BATCH_JOB_ATTEMPT": str(len(job.attempts) + 1),
            "AWS_BATCH_JQ_NAME": job.queue,
            "AWS_BATCH_CE_NAME": order[0]["computeEnvironment"].rpartition("/")[2] if order else "statewright",
        }
        if job.parent is not None:
            found["AWS_BATCH_JOB_ARRAY_INDEX"] = str(job.index)
            found["AWS_BATCH_JOB_ARRAY_SIZE"] = str(self._jobs[job.parent].size)
        return found

    # -------------------------------------------------------------- waiting

    def _child(self, job: Job, index: int) -> Job:
        self._numbers += 1
        return Job(
            f"{job.id}:{index}", job.name, job.queue, job.definition, job.created_ms, self._numbers, {}, job.id, index
        )

    def _check_dependencies(self, wanted: Iterable[Mapping[str, Json]], size: int | None) -> None:
        for number, one in enumerate(wanted):
            if number >= MOST_DEPENDENCIES:
                raise refused(f"A job can depend on at most {MOST_DEPENDENCIES} jobs.")
            other, kind = one.get("jobId"), one.get("type")
            if kind is not None and size is None:
                raise refused(f"Only an array job has dependencies of type {kind}.")
            if other is None:
                if kind != "SEQUENTIAL":
                    raise refused("A dependency needs a jobId, unless its type is SEQUENTIAL.")
            elif other not in self._jobs:
                raise refused(f"Job {other} that is depended on was not found.")
            elif kind == "N_TO_N" and self._jobs[other].size != size:
                raise refused(f"Job {other} is no array job of size {size}.")

    def _dependencies(self, job: Job) -> set[str]:
        """Ids of the jobs that must succeed before a job can start."""
        found = set()
        for one in self.request_of(job).get("dependsOn") or ():
            if one.get("jobId") is None:
                if job.index:
                    found.add(f"{job.parent}:{job.index - 1}")
            elif one.get("type") == "N_TO_N":
                found.add(f"{one['jobId']}:{job.index}")
            else:
                found.add(one["jobId"])
        return found

    def _settle(self, job: Job) -> None:
        """Determine what a job that has not started waits for, and its status."""
        if job.size is not None:
            self._set(job, "PENDING")
            # A crash may have happened between the end of the last child and that of the array.
            self._background.spawn(self._end_array(job.id))
            return
        others = [self._jobs[one] for one in self._dependencies(job) if one in self._jobs]
        if any(other.status == "FAILED" for other in others):
            self._background.spawn(self._finish(job, "FAILED", DEPENDENCY_FAILED))
            return
        missing = {other.id for other in others if not other.is_over}
        if not missing:
            self._ready(job)
            return
        self._set(job, "PENDING")
        self._missing[job.id] = missing
        for one in missing:
            self._waiting.setdefault(one, set()).add(job.id)

    def _ready(self, job: Job) -> None:
        self._set(job, "RUNNABLE")
        queue = self.definitions.queues.get(job.queue)
        heapq.heappush(self._runnable, (-queue.priority if queue is not None else 0, job.number, job.id))

    def _pump(self) -> None:
        """Start runnable jobs while slots are free."""
        while self._runnable and self._started < self._slots:
            job = self._jobs.get(heapq.heappop(self._runnable)[2])
            if job is not None and job.status == "RUNNABLE":
                self._started += 1
                self._set(job, "STARTING")
                self._background.spawn(self._attempt(job))

    # -------------------------------------------------------------- attempts

    async def _attempt(self, job: Job) -> None:
        """Store the next attempt, then start its process."""
        name = f"{job.id}\0{len(job.attempts)}"
        job.task = hashlib.blake2b(name.encode(), digest_size=16).hexdigest()
        await self._write(job)
        await self._begin(job, may_start=True)

    async def _recover(self, job: Job) -> None:
        """Recover the attempt that was under way before a restart."""
        await self._begin(job, may_start=job.status == "STARTING")

    async def _begin(self, job: Job, *, may_start: bool) -> None:
        task, definition = job.task, self.definitions.of_arn(job.definition)
        assert task is not None
        request = None
        if may_start and definition is not None:
            container = container_of(definition, self.request_of(job), self.variables(job))
            request = await self._machine.request(container, task, f"statewright-{task}")

        def on_end(end: End) -> None:
            self._background.spawn(self._attempt_ended(job, task, end))

        runs = await self._processes.start(self.place(task), request, on_end, born_ms=job.created_ms)
        if job.ending is not None:
            await self._processes.stop(self.place(task))
        if runs and job.status == "STARTING" and job.task == task:
            self._set(job, "RUNNING")
            job.started_ms = self._clock.now_ms()
            await self._write(job)

    async def _attempt_ended(self, job: Job, task: str, end: End) -> None:
        if job.task != task:
            return
        definition = self.definitions.of_arn(job.definition)
        attempt = attempt_of(task, end, job.ending)
        job.attempts.append(attempt)
        job.task = None
        self._started -= 1
        if job.started_ms is None and end.started_ms:
            job.started_ms = end.started_ms
        given = definition.given if definition is not None else {}
        if end.code == 0 and end.why == "":
            await self._finish(job, "SUCCEEDED", attempt.status_reason)
        elif job.ending is None and end.why != "timeout" and is_tried_again(
            self.request_of(job), given, attempt, len(job.attempts)
        ):  # fmt: skip
            self._set(job, "SUBMITTED")
            await self._write(job)
            self._ready(job)
        else:
            await self._finish(job, "FAILED", attempt.status_reason)
        self._pump()

    # -------------------------------------------------------------- ends

    async def _finish(self, job: Job, status: str, reason: str) -> None:
        """Give a job its final status, and settle the jobs that wait for it."""
        if job.is_over:
            return
        self._set(job, status)
        job.status_reason, job.stopped_ms = reason, self._clock.now_ms()
        for one in self._missing.pop(job.id, ()):
            self._waiting.get(one, set()).discard(job.id)
        await self._write(job)
        self._on_end(job.id)
        for name in sorted(self._waiting.pop(job.id, ())):
            waiting = self._jobs.get(name)
            if waiting is None or waiting.is_over:
                continue
            if status == "FAILED":
                self._background.spawn(self._finish(waiting, "FAILED", DEPENDENCY_FAILED))
                continue
            self._missing[name].discard(job.id)
            if not self._missing[name]:
                del self._missing[name]
                self._ready(waiting)
        if job.parent is not None:
            await self._end_array(job.parent)
        self._pump()

    async def _end_array(self, id_: str) -> None:
        """End an array once all of its children have ended."""
        job, counts = self._jobs[id_], self._summaries[id_]
        if not job.is_over and sum(counts[status] for status in OVER) == job.size:
            failed = counts["FAILED"] > 0
            await self._finish(job, "FAILED" if failed else "SUCCEEDED", CHILD_FAILED if failed else "")

    # -------------------------------------------------------------- rows and memory

    def _set(self, job: Job, status: str) -> None:
        if job.parent is not None:
            counts = self._summaries[job.parent]
            counts[job.status] -= 1
            counts[status] += 1
        job.status = status

    async def _write(self, job: Job) -> None:
        await self._entries.put_surely(job)

    def _keep(self, job: Job) -> None:
        self._jobs[job.id] = job
        self._sweeper.sweep_later()
        self._numbers = max(self._numbers, job.number)
        if job.size is not None:
            self._children.setdefault(job.id, [f"{job.id}:{index}" for index in range(job.size)])
            self._summaries.setdefault(job.id, Counter())
        if job.parent is not None:
            self._summaries.setdefault(job.parent, Counter())[job.status] += 1

    def _drop(self, job: Job) -> None:
        self._jobs.pop(job.id, None)
        self._children.pop(job.id, None)
        self._summaries.pop(job.id, None)

    def _forget_before(self, before_ms: int) -> None:
        """Delete jobs that ended before an instant; children are deleted with their array."""
        old = [
            job
            for job in self._jobs.values()
            if job.parent is None and job.stopped_ms is not None and job.stopped_ms < before_ms
        ]
        if old:
            self._background.spawn(self._forget([one for job in old for one in (job, *self.children_of(job))]))

    def children_of(self, job: Job) -> list[Job]:
        """The children of a job, if it has any."""
        return [self._jobs[child] for child in self._children.get(job.id, ())]

    async def _forget(self, old: list[Job]) -> None:
        await self._entries.delete(old)
        for job in old:
            self._drop(job)
            for attempt in job.attempts:
                await self._processes.remove(self.place(attempt.task))
