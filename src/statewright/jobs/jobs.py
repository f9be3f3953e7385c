"""Jobs of one server, ECS tasks and Batch jobs: started, taken up again, let go."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from statewright.clock import Clock
from statewright.config import Config
from statewright.jobs.batch_jobs import BatchJobs
from statewright.jobs.containers import Machine
from statewright.jobs.ecs_tasks import Tasks
from statewright.jobs.processes import Processes
from statewright.stores.store import Store


class Jobs:
    """All jobs of one store.

    `folder` is where their processes leave output and exit codes; without one they end with the server. `endpoint`
    says where the server answers.
    """

    def __init__(
        self, store: Store, clock: Clock, config: Config, folder: Path | None, endpoint: Callable[[], str]
    ) -> None:
        self._processes = Processes(clock, folder.resolve() if folder is not None else None)
        self._hear: list[Callable[[str], None]] = []
        machine = Machine(config, endpoint)
        self.tasks = Tasks(store.catalog, self._processes, machine, clock, config, self._ended)
        self.batch = BatchJobs(store.catalog, self._processes, machine, clock, config, self._ended)

    def subscribe(self, hear: Callable[[str], None]) -> None:
        """Be told, by ARN or id, of each task and job once its end is stored."""
        self._hear.append(hear)

    async def start(self) -> None:
        """Read what the store holds, and find again what runs."""
        await self.tasks.start()
        await self.batch.start()

    async def stop(self) -> None:
        """Let go. What runs goes on, where there is a folder to find it again by."""
        await self.tasks.stop()
        await self.batch.stop()
        await self._processes.close()

    def _ended(self, name: str) -> None:
        for hear in self._hear:
            hear(name)
