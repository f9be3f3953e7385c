"""Engines of which there is only what operations on executions ask, and applications over them at nodes."""

from __future__ import annotations

import base64
from types import SimpleNamespace
from typing import Any

from statewright.api.nodes.around import NodeRouter
from statewright.api.operations import App
from statewright.config import Config
from statewright.engine.executions.status_changes import StatusChanges
from statewright.engine.executions.tokens import WaitingTask
from statewright.errors import ApiError, ElsewhereError
from statewright.stores.ids import cell_shard, first_id
from statewright.stores.protocol import OutboxRow
from tests.unit.api.apps import app_of
from tests.unit.api.nodes.cluster import Node

MACHINE = "arn:aws:states:us-east-1:000000000000:stateMachine:m"
SHARD = cell_shard(1)


def execution(shard: int, name: str = "e") -> str:
    """The ARN of an execution in a cell."""
    return f"arn:aws:states:us-east-1:000000000000:execution:m:{shard}-{name}"


def token(shard: int) -> str:
    """A token of a task of such an execution."""
    return base64.urlsafe_b64encode(b"0" * 16 + f"{execution(shard)}|1|1".encode()).decode()


class Rows:
    """The outbox rows of a store, as the home looks for answers in them."""

    def __init__(self) -> None:
        self.rows: dict[int, OutboxRow] = {}

    async def sent(self, number: int) -> OutboxRow | None:
        return self.rows.get(number)


class FakeEngine:
    """Notes what it is asked to do; an execution's cell is in its name."""

    def __init__(self, name: str, clock: Any, config: Config) -> None:
        self.name = name
        self.done: list[tuple[Any, ...]] = []
        self.problem: Exception | None = None
        self.catalogue = SimpleNamespace(config=config)
        self.names = SimpleNamespace(id_of=self._id_of)
        self.machines = SimpleNamespace(resolve=self._resolve)
        self.status_changes = StatusChanges(clock)
        self.outbox = Rows()
        self.store = SimpleNamespace(executions=self.outbox)

    async def _id_of(self, arn: str) -> int:
        if "-" not in arn.rpartition(":")[2]:
            raise ApiError("ExecutionDoesNotExist", f"Execution Does Not Exist: '{arn}'")
        return first_id(int(arn.rpartition(":")[2].partition("-")[0]))

    async def _resolve(self, arn: str) -> Any:
        return SimpleNamespace(type="STANDARD", arn=arn)

    def _note(self, *what: Any) -> None:
        if self.problem is not None:
            raise self.problem
        self.done.append(what)

    async def stop_execution(self, arn: str, error: str | None, cause: str | None) -> int:
        self._note("stop", arn)
        return 1_700_000_000_000

    async def waiting_tasks(self, arn: str) -> list[Any]:
        self._note("waiting", arn)
        return [WaitingTask("S", 2, token(SHARD), "r", False, True, 0, 9)]

    async def task_succeeded(self, given: str, output: str, completed: Any = None) -> None:
        self._note("succeeded", given, output, completed)

    async def start_execution(
        self, target: Any, name: str, text: str, trace: Any, sent_by: Any, completion: Any
    ) -> Any:
        self._note("start", name, sent_by)
        return SimpleNamespace(arn=execution(SHARD, name), start_ms=1)


async def of_the_home(_app: App, request: Any) -> bool:
    """True for the machine that needs the home."""
    return str(request["stateMachineArn"]).endswith(":limited")


def placed(node: Node, *, has_home: bool) -> tuple[FakeEngine, FakeEngine]:
    """Give a node applications; the engines of its worker and its home, which it has or not."""
    clock, config = node.directory.rows.clock, Config()
    engines = []
    for is_home in (False, True):
        engine = FakeEngine(f"{'home' if is_home else 'worker'} {node.name}", clock, config)
        engines.append(engine)
        router = NodeRouter(node.apps, node.directory, node.client, clock, of_the_home, is_home_app=is_home)
        app = app_of(config, clock, engine=engine)
        app = App(app.engine, app.clock, app.config, app.services, app.integrations, around=router)
        if not is_home:
            node.apps.worker = app
        elif has_home:
            node.apps.home = app
    return engines[0], engines[1]


def lost() -> ElsewhereError:
    """The error of an engine that does not have a cell."""
    return ElsewhereError(SHARD)
