"""A whole system in virtual time: engine, queues, functions, mappings and schedules on one clock that the test moves.

    with VirtualSystem() as system:
        sfn = system.client("stepfunctions")
        arn = sfn.start_execution(stateMachineArn=machine)["executionArn"]
        system.advance("1h")
        assert sfn.describe_execution(executionArn=arn)["status"] == "SUCCEEDED"

Time stands still between two calls. A call runs the system until it is answered and all that follows from it at the
same instant is done, which takes no time unless it waits for something (a long poll). `advance`, `run_until` and
`run_until_idle` let time pass: it jumps from one instant at which something is due to the next, and everything that is
due then is done before it moves on. The same seed and the same calls give the same bytes, ids included.

Owns the loop, the clock and the store of one system; what a system is made of is `assembly.py`'s. Not for several
threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import io
import logging
import sys
import tempfile
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, TypeVar

from statewright import chance
from statewright.api.lambda_.service import build_event_sources, build_functions
from statewright.api.pipes.service import build_pipes
from statewright.api.services import service_named
from statewright.asl import extensions
from statewright.assembly import NO_HOOKS, Hooks, System, assemble
from statewright.config import Config
from statewright.instants import parse_duration_ms
from statewright.payload import Json, JsonObject
from statewright.stores.memory.store import MemoryStore
from statewright.stores.store import Store
from statewright.virtual import transport
from statewright.virtual_clock import VIRTUAL_START_MS, VirtualClock, VirtualLoop

if TYPE_CHECKING:
    from statewright.api.app import Api
    from statewright.functions.functions import Functions
    from statewright.functions.workers.models import Model, ModelRunner

T = TypeVar("T")
Instant = datetime | int
"""A date with its zone, or epoch milliseconds."""
ROLE: Final = "arn:aws:iam::{}:role/virtual"
ANY_TIME: Final = "365d"
"""How long is waited for something unless told otherwise."""
MODELLED_CODE: Final = (
    "def handler(event, context):\n    raise NotImplementedError('a model stands in for this function')\n"
)

log = logging.getLogger("statewright.virtual")


class NeverHappened(AssertionError):
    """The awaited event did not happen: nothing is due any more, or not within the time."""


class VirtualSystem:
    """A system in virtual time; use it in a `with` block.

    `start` is when time begins, `seed` what all ids and draws derive from, `config` as for a server (credentials are
    left out: there is no stranger). `data` is the folder of a SQLite store; without one all is in memory. `prepare` is
    given the parts before they start, also at a restart. `hooks` are added when they are assembled.
    """

    def __init__(
        self,
        *,
        start: Instant = VIRTUAL_START_MS,
        seed: int = 0,
        config: Config | None = None,
        data: Path | None = None,
        prepare: Callable[[System], None] | None = None,
        hooks: Hooks = NO_HOOKS,
    ) -> None:
        self._prepare = prepare
        self._hooks = hooks
        self.config = replace(config or Config(), credentials={})
        self._start_ms = _ms_of(start)
        self._seed = seed
        self._data = data
        self._files: tempfile.TemporaryDirectory[str] | None = None
        self._memory = MemoryStore() if data is None else None
        self._clients: dict[str, transport.Line] = {}
        self._running: _Running | None = None
        self._while_open = contextlib.ExitStack()

    def __enter__(self) -> Self:
        if self.config.extensions:
            self._while_open.enter_context(extensions.accepted())
        if self._data is None:
            self._files = tempfile.TemporaryDirectory(prefix="statewright-virtual-")
        self._running = self._started(self._start_ms, self._seed)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        running, self._running = self._live, None
        self._while_open.close()
        while self._clients:
            service, line = self._clients.popitem()
            transport.give_back(service, self.config.region, line)
        running.stop()
        if self._files is not None:
            self._files.cleanup()

    # ------------------------------------------------------------------ time

    @property
    def now_ms(self) -> int:
        """The present instant, in epoch milliseconds."""
        return self._live.clock.now_ms()

    @property
    def now(self) -> datetime:
        """The present instant."""
        return datetime.fromtimestamp(self.now_ms / 1000, UTC)

    def advance(self, duration: str | float) -> None:
        """Let time pass (`90`, `"1h30m"`): all that is due until then is done, and what is due at its end too."""
        self._live.run_to(self.now_ms + parse_duration_ms(duration))

    def run_until(self, condition: Instant | Callable[[], object], *, within: str | float = ANY_TIME) -> None:
        """Let time pass until an instant, or until a condition holds, which is looked at before each jump.

        The condition may call the system. Raises: NeverHappened.
        """
        if not callable(condition):
            self._live.run_to(_ms_of(condition))
            return
        until_ms = self.now_ms + parse_duration_ms(within)
        self._live.run_to(self.now_ms)
        while not condition():
            due_ms = self._live.loop.next_due_ms()
            if due_ms is None or due_ms > until_ms:
                raise NeverHappened(
                    f"{condition!r} did not come true "
                    + ("before nothing more was due" if due_ms is None else f"within {within}")
                )
            self._live.run_to(due_ms)

    @property
    def next_due_ms(self) -> int | None:
        """When something is due next, in epoch milliseconds; `None` when nothing is."""
        return self._live.loop.next_due_ms()

    @property
    def is_idle(self) -> bool:
        """True if nothing is under way: see `run_until_idle`."""
        return self._live.is_idle()

    def run_until_idle(self, *, within: str | float = ANY_TIME) -> None:
        """Let time pass until nothing is under way any more.

        No execution is running, no invocation is under way or waits to be repeated, no event is on its way to a target,
        and no queue that a mapping polls holds a message. Schedules and rules of the future do not count.

        Raises: NeverHappened.
        """
        self.run_until(self._live.is_idle, within=within)

    # ------------------------------------------------------------------ calls

    def call(self, service: str, operation: str, request: Mapping[str, Json] | None = None) -> Any:
        """Call an operation by its name in the service model; instants in the answer are epoch milliseconds.

        Raises: ApiError.
        """
        live = self._live
        invoke = live.system.calls.service(service_named(service))
        request_id = live.enter(chance.uuid4)
        return live.settled(invoke(operation, dict(request or {}), request_id=request_id))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run what asks the system until it is done, and all that follows from it at the same instant."""
        return self._live.settled(work)

    async def ask(self, service: str, operation: str, request: Mapping[str, Json] | None = None) -> Any:
        """As `call`, for what runs within the system: the answer of a model that calls services as its handler does."""
        invoke = self._live.system.calls.service(service_named(service))
        return await invoke(operation, dict(request or {}), request_id=chance.uuid4())

    def client(self, service: str, **settings: Any) -> Any:
        """A boto3 client of this system; it goes on working after `restart`."""
        if settings:
            return transport.make_client(service, self.config.region, self._answer, **settings)
        if service not in self._clients:
            self._clients[service] = transport.take_client(service, self.config.region, self._answer)
        return self._clients[service].client

    def model(self, function: str, model: Model, *, timeout: int = 900, memory: int = 128) -> str:
        """Have a model stand in for a function, which is created if it is not there; returns its ARN."""
        live = self._live
        client = self.client("lambda")
        live.enter(lambda: live.system.app.services.functions.model_with(function, model))
        try:
            found: str = client.get_function(FunctionName=function)["Configuration"]["FunctionArn"]
        except client.exceptions.ResourceNotFoundException:
            found = client.create_function(
                FunctionName=function,
                Runtime="python{}.{}".format(*sys.version_info),
                Role=ROLE.format(self.config.account),
                Handler="modelled.handler",
                Code={"ZipFile": _modelled_code()},
                Timeout=timeout,
                MemorySize=memory,
            )["FunctionArn"]
        return found

    def restart(self) -> None:
        """Kill the system as it stands and start it again on its store, at the same instant.

        What was not committed is gone, and so are invocations under way. Models stay.
        """
        live = self._live
        functions = live.functions
        now_ms, models = live.clock.now_ms(), dict(functions.invoker.models) if functions is not None else {}
        self._running = None
        live.kill()
        self._seed += 1
        self._running = self._started(now_ms, self._seed, models)

    @property
    def parts(self) -> System:
        """The system with all its parts, to look inside. Parts that nothing has used so far are started."""
        live = self._live
        live.complete()
        return live.system

    # ------------------------------------------------------------------ what runs

    @property
    def _live(self) -> _Running:
        if self._running is None:
            raise RuntimeError("this system does not run: use it in a `with` block")
        return self._running

    def _started(self, start_ms: int, seed: int, models: Mapping[str, ModelRunner] | None = None) -> _Running:
        """Start on the store. `models` are given when it is not the first start."""
        folder = self._data if self._data is not None else Path(self._files.name) if self._files is not None else None
        assert folder is not None
        return _Running(self.config, start_ms, seed, folder, self._memory, models, self._prepare, self._hooks)

    def _answer(self, request: Any) -> Any:
        live = self._live
        return live.settled(transport.answered(live.api, request))


class Port(Protocol):
    """The address at which workers reach a system."""

    def address(self) -> str:
        """Its address; the port is opened by the first worker that asks."""

    async def close(self) -> None:
        """Take no more calls."""


class _Running:
    """A system from its start to its end or its death: a loop, a clock, an open store and the parts."""

    def __init__(
        self, config: Config, start_ms: int, seed: int, folder: Path, memory: MemoryStore | None,
        models: Mapping[str, ModelRunner] | None, prepare: Callable[[System], None] | None, hooks: Hooks,
    ) -> None:  # fmt: skip
        self._prepare = prepare
        self._hooks = hooks
        # An empty store in memory: the parts are built when they are first used.
        self._is_complete = memory is None or models is not None
        self.clock = VirtualClock(start_ms)
        self.loop = VirtualLoop(self.clock, stall_is_error=True)
        self.loop.nothing_comes_from_outside()
        self.loop.works_inline = True
        self.loop.set_exception_handler(self._note)
        self._context = contextvars.copy_context()
        self._context.run(chance.sow, seed)
        self._is_killed = False
        self.store = memory if memory is not None else _store_in(folder, self.clock)
        self._port: Port | None = None
        self.run(self._start(config, folder, models or {}))

    async def _start(self, config: Config, folder: Path, models: Mapping[str, ModelRunner]) -> None:
        await self.store.open("virtual")
        complete = self._is_complete
        system = assemble(
            config, self.clock, self.store, folder, self._worker_address, has_all_parts=complete, hooks=self._hooks
        )
        self.system = system
        if models:
            system.app.services.functions.invoker.models.update(models)
        if self._prepare is not None:
            self._prepare(system)
        await system.start()

    @cached_property
    def api(self) -> Api:
        """The application that answers the requests of clients."""
        # Imported here: a system without clients needs no protocols.
        from statewright.api.app import Api

        return Api(self.system.app)

    def _worker_address(self) -> str:
        """The address at which workers reach the system; its port is opened for the first of them."""
        if self._port is None:
            # Imported here, because it brings the whole web server.
            from statewright.virtual.port import WorkerPort

            self._port = WorkerPort(self.clock, self.api, self.system.app.services.functions.invoker.pools)
        return self._port.address()

    async def _close_port(self) -> None:
        if self._port is not None:
            await self._port.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run until a coroutine is done; time goes on if it waits for some."""
        try:
            self._refuse_nesting()
        except RuntimeError:
            work.close()
            raise
        return self.loop.run_until_complete(self.loop.create_task(work, context=self._context))

    def settled(self, work: Coroutine[Any, Any, T]) -> T:
        """Run until a coroutine is done and nothing more is to be done at the instant at which it is."""
        try:
            return self.run(work)
        finally:
            self.run_to(self.clock.now_ms())

    def run_to(self, due_ms: int) -> None:
        """Run until an instant, with all that is due then."""
        self._refuse_nesting()
        self._context.run(self.loop.run_to, due_ms)

    def _refuse_nesting(self) -> None:
        if self.loop.is_running():
            raise RuntimeError("a virtual system is called from within itself, or by two threads at once")

    def enter(self, function: Callable[[], T]) -> T:
        """Call a function that draws from the system's chance or uses parts that may not have been used before."""
        if self.loop.is_running():
            return function()

        async def called() -> T:
            return function()

        return self.run(called())

    def complete(self) -> None:
        """Build and start the parts that nothing has used so far."""
        if not self._is_complete:
            self.enter(self.system.app.services.build_all)
            self._is_complete = True

    @property
    def functions(self) -> Functions | None:
        """The functions; `None` if nothing has used them."""
        return self.system.app.services.make.found(build_functions)

    def systems(self) -> list[System]:
        """The systems of all regions and accounts, the default one first."""
        return self.system.all()

    def is_idle(self) -> bool:
        """True if nothing is under way in any region: see `VirtualSystem.run_until_idle`."""
        return all(self._is_idle(system) for system in self.systems())

    def _is_idle(self, system: System) -> bool:
        functions = system.app.services.make.found(build_functions)
        if functions is not None and (functions.invoker.concurrency.running or functions.events.count):
            return False
        return self.run(self._has_nothing_to_do(system))

    async def _has_nothing_to_do(self, system: System) -> bool:
        services = system.app.services
        if (await self.store.executions.count_by_status(None))["RUNNING"]:
            return False
        if await system.deliveries.is_busy() or await system.posts.is_busy():
            return False
        event_sources = services.make.found(build_event_sources)
        if event_sources is not None and event_sources.is_behind():
            return False
        pipes = services.make.found(build_pipes)
        if pipes is not None and pipes.is_behind():
            return False
        for queue_arn in event_sources.polled() if event_sources is not None else ():
            with contextlib.suppress(Exception):
                counts = await services.queues.counts(services.queues.find(queue_arn))
                if counts.visible or counts.in_flight or counts.delayed:
                    return False
        return True

    def stop(self) -> None:
        """End in order."""
        try:
            self.run(self._stop())
        finally:
            self._end()

    async def _stop(self) -> None:
        await self._close_port()
        await self.system.stop()
        await self.store.close()

    def kill(self) -> None:
        """End as a process does that dies: nothing more reaches the store."""
        self._is_killed = True
        self.run(self.store.close())
        for system in self.systems():
            functions = system.app.services.make.found(build_functions)
            if functions is not None:
                functions.invoker.close()
        self._end()

    def _end(self) -> None:
        async def last() -> None:
            me = asyncio.current_task()
            left = [task for task in asyncio.all_tasks() if task is not me]
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)
            await self._close_port()
            await self.loop.shutdown_asyncgens()
            await self.loop.shutdown_default_executor()

        logging_was = logging.root.manager.disable
        if self._is_killed:
            # Parts that find their store closed log it; these lines are of no use here.
            logging.disable(logging.CRITICAL)
        try:
            self.run(last())
        finally:
            logging.disable(logging_was)
            self.loop.close()

    def _note(self, loop: asyncio.AbstractEventLoop, context: JsonObject) -> None:
        if not self._is_killed:
            loop.default_exception_handler(context)


def _store_in(folder: Path, clock: VirtualClock) -> Store:
    # Imported here: most systems keep their state in memory.
    from statewright.stores.sqlite.store import SqliteStore

    return SqliteStore(folder, clock=clock)


def _ms_of(instant: Instant) -> int:
    if isinstance(instant, datetime):
        if instant.tzinfo is None:
            raise ValueError(f"{instant} has no time zone: write datetime(..., tzinfo=UTC)")
        return round(instant.timestamp() * 1000)
    return instant


def _modelled_code() -> bytes:
    import zipfile

    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(zipfile.ZipInfo("modelled.py", (1980, 1, 1, 0, 0, 0)), MODELLED_CODE)
    return made.getvalue()
