"""Answers by token, from the home or a worker, to the execution that waits: here or in a cell of another node.

Jobs of `.sync` tasks end at the home, and their tasks wait anywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from statewright.api.nodes.apps import Apps
from statewright.api.nodes.peers import Directory
from statewright.api.nodes.rules import shard_of
from statewright.engine.dispatch import ScheduledCall, TaskResult
from statewright.engine.executions.views import ExecutionView
from statewright.integrations.states_execution import Invoke

if TYPE_CHECKING:
    from statewright.engine.concurrency.semaphores import Semaphores
    from statewright.engine.engine import Engine
    from statewright.engine.heavy.steps import HeavySteps


class AnswersAnywhere:
    """The engine of an application as its integrations see it (`Registry.connect`).

    `states` calls operations of that application (`InnerCalls.states`), which its `NodeRouter` sends where they belong.
    """

    def __init__(self, engine: Engine, states: Invoke, apps: Apps, directory: Directory) -> None:
        self._engine = engine
        self._states = states
        self._apps = apps
        self._directory = directory

    async def task_succeeded(self, token: str, output: str) -> None:
        """The result, as JSON text. Raises: ApiError when the task is over; StoreError."""
        if await self._is_here(token):
            await self._engine.task_succeeded(token, output)
        else:
            await self._states("SendTaskSuccess", {"taskToken": token, "output": output})

    async def task_failed(self, token: str, error: str | None, cause: str | None) -> None:
        """The failure. Raises: see `task_succeeded`."""
        if await self._is_here(token):
            await self._engine.task_failed(token, error, cause)
        else:
            given = {"taskToken": token, "error": error, "cause": cause}
            await self._states("SendTaskFailure", {name: text for name, text in given.items() if text is not None})

    async def _is_here(self, token: str) -> bool:
        shard = await shard_of(self._engine, "SendTaskSuccess", {"taskToken": token})
        app = self._apps.at(shard, self._directory) if shard is not None else None
        # A token of no execution is refused by the engine.
        return shard is None or (app is not None and app.engine is self._engine)

    # ------------------------------------------------------------------ of the engine itself

    @property
    def semaphores(self) -> Semaphores:
        """The semaphores."""
        return self._engine.semaphores

    @property
    def heavy(self) -> HeavySteps:
        """The worker processes for what would hold the event loop."""
        return self._engine.heavy

    def settle(self, call: ScheduledCall, result: TaskResult) -> bool:
        """Answer a call that was to be answered later."""
        return self._engine.settle(call, result)

    async def describe_express(self, execution_arn: str) -> ExecutionView:
        """Show an asynchronous EXPRESS execution. Raises: ApiError, StoreError."""
        return await self._engine.describe_express(execution_arn)
