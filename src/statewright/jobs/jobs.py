"""Jobs of one server, ECS tasks and Batch jobs: their start, recovery and release with the server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from statewright.clock import Clock
from statewright.config import Config
from statewright.credentials import Issue, dummies
from statewright.functions.workers.ray_link import RayLink
from statewright.jobs.batch_jobs import BatchJobs
from statewright.jobs.containers import Machine
from statewright.jobs.ecs_tasks import Tasks
from statewright.jobs.processes import Processes, Running
from statewright.jobs.ray_processes import RayProcesses
from statewright.jobs.runner import OUTPUT
from statewright.stores.store import Store


class Jobs:
    """All jobs of one store.

    `folder` is for the output and exit codes of their processes; without one they end with the server. `endpoint`
    returns the server's address, `issue` issues credentials of the roles of jobs. `ray` is the link to the Ray cluster
    that processes run on, `None` for this machine; with `owns_ray` it is closed at the end.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        config: Config,
        folder: Path | None,
        endpoint: Callable[[], str],
        issue: Issue = dummies,
        ray: RayLink | None = None,
        *,
        owns_ray: bool = False,
    ) -> None:
        root = folder.resolve() if folder is not None else None
        self.ray = ray
        self._owns_ray = owns_ray
        self._processes: Running = Processes(clock, root) if ray is None else RayProcesses(clock, root, ray)
        self._on_end: list[Callable[[str], None]] = []
        address = endpoint if ray is None else lambda: ray.settings.endpoint or endpoint()
        machine = Machine(config, address, issue, is_on_ray=ray is not None)
        self.tasks = Tasks(store.catalogue, self._processes, machine, clock, config, self._ended)
        self.batch = BatchJobs(store.catalogue, self._processes, machine, clock, config, self._ended)

    def subscribe(self, on_end: Callable[[str], None]) -> None:
        """Call `on_end` with the ARN or id of each task and job once its end is stored."""
        self._on_end.append(on_end)

    async def start(self) -> None:
        """Read the stored tasks and jobs, and recover the running ones."""
        await self.tasks.start()
        await self.batch.start()

    async def stop(self) -> None:
        """Release tasks and jobs. With a folder their processes continue, and the next start recovers them."""
        await self.tasks.stop()
        await self.batch.stop()
        await self._processes.close()
        if self.ray is not None and self._owns_ray:
            self.ray.close()

    def output(self, place: str) -> Path:
        """The file with what the process of a place has written, which is absent before it begins."""
        return self._processes.folder(place) / OUTPUT

    def _ended(self, name: str) -> None:
        for on_end in self._on_end:
            on_end(name)
