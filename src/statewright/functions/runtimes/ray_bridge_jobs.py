"""Jobs of one bridge: for each an actor that runs its process, and the files in the server's folder of the job.

Rules:

1. As `jobs/runner.py` does on the server's machine, the bridge leaves files in the job's folder: `begun` before the
   process may start, `output.log` as it is fetched, `exit.json` with the end. Only then is the actor ended. So a server
   that is killed at any moment finds what it needs: the end, or the actor by its name.
2. A process starts once. Two actors cannot have one name, an actor starts one process, and after `begun` no other
   actor is made: if there is none of that name, the process has vanished with it.
3. Without `begun` an actor waits for its place as long as it takes, and may be made again.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from ray_actors import BEGUN, Cluster, JobActor, Lost, Message, Unreachable  # type: ignore[import-not-found]
from ray_host import load  # type: ignore[import-not-found]
from ray_job_host import end_of  # type: ignore[import-not-found]

runner: Any = load("runner", str(Path(__file__).parents[2] / "jobs" / "runner.py"))
"""The names of a process's files, and how they are written."""

FOLLOW_SECONDS: Final = 10.0
"""How long an actor waits for something to tell."""
SILENT_SECONDS: Final = 20.0
"""Time after which a node that does not answer is lost; longer than for functions, because more is lost with a job."""
END_SECONDS: Final = 5.0
"""How long an actor may take to delete its files."""
WAITING_EVERY_SECONDS: Final = 1.0
"""How often the server hears that an actor waits for its place."""
TRIES: Final = 3
"""How many actors are made for a process if they are lost before it begins."""
NOT_FOUND: Final = "The Ray actor of the job is gone: its node or the Ray cluster was lost meanwhile."
BUSY: Final = "it waited for a place: the nodes of the Ray cluster that have what it needs were busy"

Report = Callable[[Message], None]


class Job:
    """One job as the bridge knows it. `order` is what to run; `None` if it runs already."""

    def __init__(self, number: int, given: Message) -> None:
        self.number = number
        self.name: str = given["name"]
        self.needs: Message = given["needs"]
        self.is_kept: bool = given["is_kept"]
        self.order: Message | None = given["order"]
        self.folder = Path(given["folder"])
        self.actor: JobActor | None = None
        self.node = ""
        self.waits = ""
        self.is_stopping = False
        self.has_begun = False
        self.task: asyncio.Task[None] | None = None

    @property
    def may_have_begun(self) -> bool:
        """True if a process may run, so that its end has to be awaited."""
        return self.has_begun or self.order is None or (self.folder / BEGUN).exists()


class Jobs:
    """Jobs by number. `programs` is the parcel with the runner, `connected` is done once the cluster is."""

    def __init__(self, cluster: Cluster, programs: str, connected: asyncio.Future[None], report: Report) -> None:
        self._cluster = cluster
        self._programs = programs
        self._connected = connected
        self._report = report
        self._jobs: dict[int, Job] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, number: int, given: Message) -> None:
        """Run a job, or find the actor that runs it."""
        job = self._jobs[number] = Job(number, given)
        job.task = self._spawn(self._run(job))

    def stop(self, number: int) -> None:
        """End a job, unless it has ended: at once if it waits for its place, else by SIGTERM and SIGKILL."""
        job = self._jobs.get(number)
        if job is None or job.is_stopping:
            return
        job.is_stopping = True
        if job.has_begun:
            self._spawn(self._stop(job))
        elif not job.may_have_begun and job.task is not None:
            # Cancelled here and now: its process does not begin any more.
            job.task.cancel()
            if job.is_kept and job.actor is None:
                self.forget(job.name)
            self._spawn(self._finish(job, end_of("stopped", job.waits or "it waited for the Ray cluster")))

    def forget(self, name: str, number: int | None = None) -> None:
        """End the actor of a job whose end is known; report that under a number, if one is given."""
        self._spawn(self._forget(name, number))

    def close(self) -> None:
        """Leave the jobs: actors that are kept go on."""
        for job in self._jobs.values():
            if job.task is not None:
                job.task.cancel()
            if job.actor is not None and not job.is_kept:
                job.actor.kill()

    # ------------------------------------------------------------------ a job

    async def _run(self, job: Job) -> None:
        try:
            await asyncio.shield(self._connected)
            end = await self._to_its_end(job)
        except Exception as problem:
            words = str(problem) or type(problem).__name__
            if job.may_have_begun and isinstance(problem, Unreachable):
                # The server asks again: the process may go on.
                self._jobs.pop(job.number, None)
                self._report_end(job.number, words)
                return
            if job.may_have_begun:
                end = end_of("vanished", f"Lost on the Ray node {job.node}: {words}")
            else:
                end = end_of("unstartable", f"no Ray actor can be started for the job: {words}")
        await self._finish(job, end)

    async def _to_its_end(self, job: Job) -> Message:
        """Have the process run, and return its end. Raises: Lost, Unreachable, OSError."""
        tries = 0
        while True:
            tries += 1
            try:
                actor = await self._found(job)
                if actor is None:
                    return end_of("vanished", NOT_FOUND)
                job.node = await self._place(job, actor)
                break
            except (Lost, Unreachable):
                if job.may_have_begun or tries == TRIES:
                    raise
                await asyncio.sleep(WAITING_EVERY_SECONDS)
        if job.order is not None:
            runner.write_whole(job.folder / BEGUN, {"name": job.name, "node": job.node})
            job.has_begun = True
            end = await actor.begin(job.order, [self._programs])
            if end is not None:
                return end
        job.has_begun = True
        self._report({"did": "started", "worker": job.number, "pid": 0})
        if job.is_stopping:
            await actor.stop()
        return await self._follow(job, actor)

    async def _found(self, job: Job) -> JobActor | None:
        """The actor of a job; a new one if its process has not begun."""
        actor = await self._cluster.find(job.name) if job.is_kept else None
        if actor is None and not job.may_have_begun:
            actor = await self._cluster.job(job.name, job.needs, is_kept=job.is_kept)
        job.actor = actor
        return actor

    async def _place(self, job: Job, actor: JobActor) -> str:
        """Wait until the actor has its place; if its process may run, it has had one."""
        placing = asyncio.ensure_future(actor.place())
        deadline = time.monotonic() + SILENT_SECONDS
        try:
            while True:
                done, _ = await asyncio.wait({placing}, timeout=WAITING_EVERY_SECONDS)
                if done:
                    node: str = placing.result()
                    return node
                if not job.may_have_begun:
                    lacks = self._cluster.lacks(job.needs)
                    job.waits = f"it waited for a place: {lacks}" if lacks else BUSY
                    self._report({"did": "waiting", "worker": job.number, "why": lacks})
                elif time.monotonic() >= deadline:
                    raise Lost(f"it has not answered for {SILENT_SECONDS:.0f} s")
        finally:
            placing.cancel()

    async def _follow(self, job: Job, actor: JobActor) -> Message:
        """Fetch the output until the process has ended."""
        descriptor = os.open(job.folder / runner.OUTPUT, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            offset = os.fstat(descriptor).st_size
            while True:
                data, end = await self._next(actor, offset)
                # At its place, not at the end: the bridge of a server that was killed may write the same once more.
                offset += os.pwrite(descriptor, data, offset)
                if end is not None:
                    return end
        finally:
            os.close(descriptor)

    async def _next(self, actor: JobActor, offset: int) -> tuple[bytes, Message | None]:
        """More output, or the end. Raises: Lost."""
        for _ in range(TRIES):
            try:
                async with asyncio.timeout(FOLLOW_SECONDS + SILENT_SECONDS):
                    told: tuple[bytes, Message | None] = await actor.follow(offset, FOLLOW_SECONDS)
                    return told
            except TimeoutError:
                break
            except Lost as lost:
                try:
                    # Ray also says so if the way to the actor was broken for a moment: then it answers this.
                    async with asyncio.timeout(SILENT_SECONDS):
                        await actor.place()
                except TimeoutError:
                    break
                except Lost:
                    raise lost from None
                await asyncio.sleep(WAITING_EVERY_SECONDS)
        raise Lost(f"it has not answered for {SILENT_SECONDS:.0f} s")

    async def _stop(self, job: Job) -> None:
        # If it is lost, following it says so.
        with contextlib.suppress(Lost):
            assert job.actor is not None
            await job.actor.stop()

    async def _finish(self, job: Job, end: Message) -> None:
        """Store the end of a job, end its actor, and report."""
        if self._jobs.pop(job.number, None) is None:
            return
        problem = ""
        try:
            runner.write_whole(job.folder / runner.EXIT, end)
        except OSError as refused:
            # The server asks again: the end is still with the actor.
            problem = str(refused)
        else:
            if job.actor is not None and job.has_begun:
                await _clear(job.actor)
            elif job.actor is not None:
                job.actor.kill()
        self._report_end(job.number, problem)

    def _report_end(self, number: int, problem: str) -> None:
        self._report({"did": "ended", "worker": number, "status": None, "memory": False, "why": problem})

    async def _forget(self, name: str, number: int | None) -> None:
        await asyncio.shield(self._connected)
        problem = ""
        try:
            actor = await self._cluster.find(name)
            if actor is not None:
                await _clear(actor)
        except Unreachable as refused:
            problem = str(refused)
        if number is not None:
            self._report_end(number, problem)

    def _spawn(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def _clear(actor: JobActor) -> None:
    """End an actor, and delete its files if it is there."""
    with contextlib.suppress(Lost, TimeoutError):
        await asyncio.wait_for(actor.clear(), END_SECONDS)
    actor.kill()
