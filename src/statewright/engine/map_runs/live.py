"""One active Map Run: passes events to `advance_map_run`, writes the changes, and executes its commands."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, Protocol, cast

from statewright.asl.program import Program
from statewright.at_work import AT_WORK
from statewright.engine.executions.live import LiveExecution
from statewright.engine.executions.redrives import Redrive
from statewright.engine.executions.starting import new_live
from statewright.engine.executions.views import Head, Tail
from statewright.engine.express.run import ExpressRun
from statewright.engine.heavy.steps import on_loop
from statewright.engine.inputs import AlreadyThere, Input, no_result
from statewright.engine.map_runs.files import RunFiles
from statewright.engine.map_runs.head import RunHead
from statewright.engine.map_runs.requests import RunRequest
from statewright.engine.map_runs.selecting import select_items_of
from statewright.engine.map_runs.site import Site
from statewright.engine.turnstile import CHILD
from statewright.errors import ApiError, OwnershipLost, StoreError, Unavailable, shortage
from statewright.interpreter import events
from statewright.interpreter.advance import new_execution
from statewright.interpreter.map_run import messages
from statewright.interpreter.map_run.advance import SLICE_ITEMS, advance_map_run
from statewright.interpreter.map_run.codec import MapRunEncoder, decode_map_run
from statewright.interpreter.map_run.messages import MapRunCommand, MapRunEvent
from statewright.interpreter.map_run.results import bucket_of, folder_of
from statewright.interpreter.map_run.state import (
    RUNNING,
    MapRunState,
    child_execution_arn,
    child_machine_arn,
    child_name,
    child_seed,
    labelled_machine,
)
from statewright.interpreter.phases import CLOSED, OPEN, STOPPING, WRITING
from statewright.payload import Payload
from statewright.stores.protocol import Commit, Committed, Existing, Row

logger = logging.getLogger(__name__)

SOME_CHILDREN: Final = 8
"""Children that are started in one go."""
MOST_EVENTS: Final = 256
"""Events that go into one commit."""


class OpenRuns(Protocol):
    """The runs that are open, as one of them sees them."""

    def retask(self, run: LiveRun, task_id: int, /) -> None:
        """The parent waits for the run under another task id."""

    def release(self, run: LiveRun, /) -> None:
        """A run is closed: forget it."""


async def load_run(site: Site, runs: OpenRuns, run_id: int) -> LiveRun:
    """A run as the store has it."""
    stored = await site.shard.retrying.executions.load(run_id)
    assert stored is not None
    assert stored.state is not None
    head = RunHead.decode(stored.row.head)
    program = await site.programs.program_of(head.machine_id, head.revision_id)
    texts = {digest: text.decode() for digest, text in stored.texts.items()}
    state = decode_map_run(stored.state, [stored.frames[index] for index in sorted(stored.frames)], texts)
    run = LiveRun(site, runs, run_id, head, state, program, stored.row)
    run.version = stored.version
    run.known_texts = set(stored.texts)
    return run


class LiveRun:
    """A run as its owner holds it. One commit is in flight at most; what arrives meanwhile goes into the next."""

    def __init__(
        self, site: Site, runs: OpenRuns, run_id: int, head: RunHead, state: MapRunState, program: Program,
        row: Row | None,
    ) -> None:  # fmt: skip
        self._site = site
        self._shard = site.shard
        self._runner = site.runner
        self._written = site.shard.retrying.executions
        self._runs = runs
        self.id = run_id
        self.head = head
        self.state = state
        self.row = row
        self.version = 0
        self.known_texts: set[bytes] = set()
        self.program = program.child_program(head.scope)
        self.definition = program.map_of(head.scope)
        self._events: deque[tuple[MapRunEvent, asyncio.Future[None] | None]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._recovered = row is None
        """True if the work that the store has as under way is under way here; a new Map Run has none there."""
        self._stops: list[int] = []
        self._standard: dict[int, int] = {}
        """Index to execution id, of STANDARD children that run."""
        self._express: dict[int, ExpressRun] = {}
        self._files = RunFiles(site.data, head, self.definition)
        self._killed = False
        self._to_start: deque[messages.StartChild] = deque()

    # ------------------------------------------------------------------ events

    def tell(self, event: MapRunEvent, answer: asyncio.Future[None] | None = None) -> None:
        """Something has happened."""
        if self._killed and self._task is None:
            if answer is not None:
                answer.set_exception(Unavailable("the Map Run takes nothing more"))
            return
        self._events.append((event, answer))
        if self._task is None:
            self._task = asyncio.create_task(self._work())

    async def ask(self, event: MapRunEvent) -> None:
        """As `tell`, and wait until it is durable."""
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.tell(event, answer)
        await answer

    def stop(self, inbox_id: int) -> None:
        """The parent does not wait any more. The inbox row goes when the run is closed."""
        self._stops.append(inbox_id)
        self.tell(messages.RunStopped())

    def attempt_of(self, index: int) -> int:
        """The attempt that a child is at."""
        return self.state.children[index].attempt if index < len(self.state.children) else 0

    async def go_on(self, request: RunRequest | None) -> None:
        """Recover the Map Run after a restart, or for a new request of its parent."""
        state = self.state
        if request is not None and (request.redrive_count > state.redrive_count or request.task_id != state.task_id):
            self._runs.retask(self, request.task_id)
            if state.phase != CLOSED:
                self._recover()
            self.tell(messages.RunRedriven(request.task_id, request.redrive_count))
            return
        self._recover()

    def _recover(self) -> None:
        state = self.state
        if state.phase == CLOSED:
            self._report()
            return
        if self._recovered:
            return
        self._recovered = True
        for child in state.children:
            if child.status == RUNNING:
                self._shard.spawn(self._resume_child(child.index, child.attempt))
        if state.phase == OPEN and state.reading and state.settings.items is not None:
            # Its own items were away for the ItemSelector: they are taken once more.
            state.reading = False
        elif state.phase == OPEN and state.reading:
            self._shard.spawn(self._read_items(messages.ReadItems(state.items_read, SLICE_ITEMS)))
        elif state.phase == WRITING:
            command = messages.WriteResults(bucket_of(state), folder_of(state), state.settings.writer)
            self._shard.spawn(self._write_results(command))
        self.tell(messages.RunContinued())

    def _report(self) -> None:
        """Tell the parent how the run ended, once more."""
        state = self.state
        event: events.Event
        if state.status == "SUCCEEDED" and state.output is not None:
            event = events.MapRunSucceeded(state.task_id, state.output)
        else:
            event = events.MapRunFailed(state.task_id, state.error, state.cause)
        self._runner.tell(self.head.parent, Input(event))
        self._runs.release(self)

    # ------------------------------------------------------------------ working

    async def _work(self) -> None:
        answers: list[asyncio.Future[None]] = []
        try:
            while self._events:
                commands: list[MapRunCommand] = []
                answers = []
                AT_WORK.begin("Map Run", self.head.map_run_arn)
                commit = on_loop(self._apply, commands, answers)
                outcome = await self._written.commit(commit)
                if not isinstance(outcome, Committed):
                    raise StoreError(f"a Map Run's commit was refused: {outcome}")
                self.version = outcome.version
                for answer in answers:
                    if not answer.done():
                        answer.set_result(None)
                for command in commands:
                    _DO[type(command)](self, command)
                if self.state.phase == CLOSED and not self._events:
                    self._runs.release(self)
        except asyncio.CancelledError:
            self._refuse(answers, Unavailable("the engine is stopping"))
            raise
        except (OwnershipLost, MemoryError) as problem:
            self._killed = True
            self._refuse(answers, shortage(problem) or Unavailable(str(problem)))
            self._shard.notices(problem)
        except Exception as problem:
            logger.exception("the Map Run %s is held back because of a bug in Statewright", self.head.map_run_arn)
            self._killed = True
            self._refuse(answers, problem)
        finally:
            self._task = None

    def _refuse(self, answers: list[asyncio.Future[None]], problem: BaseException) -> None:
        for answer in (*answers, *(one for _, one in self._events if one is not None)):
            if not answer.done():
                answer.set_exception(problem)

    def _apply(self, commands: list[MapRunCommand], answers: list[asyncio.Future[None]]) -> Commit:
        state = self.state
        now_ms = self._shard.clock.now_ms()
        limits = self._shard.limits_of("STANDARD")
        changed: set[int] = set()
        dropped: set[int] = set()
        for _ in range(min(MOST_EVENTS, len(self._events))):
            event, answer = self._events.popleft()
            before = len(state.children)
            step = advance_map_run(self.definition, state, event, now_ms, limits=limits)
            commands += step.commands
            changed |= step.changed
            if step.cleared:
                dropped |= set(range(before))
            if answer is not None:
                answers.append(answer)
        encoder = MapRunEncoder()
        body = encoder.map_run(state)
        frames = {index: encoder.child(state.children[index]) for index in changed if index < len(state.children)}
        texts = {digest: text.encode() for digest, text in encoder.texts.items() if digest not in self.known_texts}
        self.known_texts.update(texts)
        if self.row is None:
            name = self.head.map_run_arn.rpartition(":")[2]
            self.row = Row(
                self.id, self._shard.number, -self.head.parent, name, state.status, state.started_ms, None,
                self.head.encode(), b"",
            )  # fmt: skip
        self.row = replace(self.row, status=state.status, stopped_ms=state.stopped_ms)
        done: list[int] = []
        if state.phase == CLOSED:
            done, self._stops = self._stops, []
        return Commit(self.row, self.version, body, frames, tuple(dropped - frames.keys()), texts, inbox_done=done)

    async def drain(self) -> None:
        """Write what is at hand, and take nothing more."""
        self._killed = True
        if self._task is not None:
            await asyncio.wait([self._task])
        for run in list(self._express.values()):
            run.kill(Unavailable("the engine is stopping"))

    def kill(self) -> None:
        """Drop everything."""
        self._killed = True
        if self._task is not None:
            self._task.cancel()
            # It may not have taken its first step yet, and then answers no caller.
            self._refuse([], Unavailable("the engine is stopping"))
            self._task = None
        for run in list(self._express.values()):
            run.kill(Unavailable("the engine is stopping"))

    # ------------------------------------------------------------------ items and results

    def read_items(self, command: messages.ReadItems) -> None:
        """Hand out a slice of the items."""
        self._shard.spawn(self._read_items(command))

    async def _read_items(self, command: messages.ReadItems) -> None:
        try:
            part = await self._shard.retrying.retry(self._files.items, command.first, command.count)
        except ApiError as problem:
            self.tell(messages.ReadFailed(problem.message))
            return
        self.tell(messages.ItemsRead(command.first, part.values, part.last, part.keys, part.total, part.source))

    def select_items(self, command: messages.SelectItems) -> None:
        """Have the ItemSelector evaluated in another process."""
        self._shard.spawn(self._select_items(command))

    async def _select_items(self, command: messages.SelectItems) -> None:
        head = self.head
        try:
            definition = await self._site.programs.definition_of(head.machine_id, head.revision_id)
            selected = await self._site.heavy.run_elsewhere(select_items_of, definition, head.scope, command.selection)
        except Unavailable:
            # The engine stops: after the next start the slice is read again.
            return
        self.tell(messages.ItemsSelected(command.selection.first, selected, command.last))

    def write_results(self, command: messages.WriteResults) -> None:
        """Write the result files."""
        self._shard.spawn(self._write_results(command))

    async def _write_results(self, command: messages.WriteResults) -> None:
        try:
            await self._shard.retrying.retry(self._files.write, self.state, command)
        except ApiError as problem:
            self.tell(messages.WriteFailed(problem.message))
        else:
            self.tell(messages.ResultsWritten())

    # ------------------------------------------------------------------ children

    def start_child(self, command: messages.StartChild) -> None:
        """Start a child execution from its first state, when it is its turn among all that the loop has to do."""
        self._to_start.append(command)
        if len(self._to_start) == 1:
            self._shard.turnstile.pass_later(SOME_CHILDREN * CHILD, self._start_some)

    def _start_some(self) -> None:
        turnstile = self._shard.turnstile
        turnstile.make_way()
        for _ in range(min(SOME_CHILDREN, len(self._to_start))):
            if self._killed:
                return
            self._start_now(self._to_start.popleft())
        if self._to_start:
            turnstile.pass_later(SOME_CHILDREN * CHILD, self._start_some)

    def _start_now(self, command: messages.StartChild) -> None:
        if self.head.child_type == "EXPRESS":
            self._shard.spawn(self._run_express(command.index, command.attempt, command.input, command.item_count))
        else:
            self._start_standard(command.index, command.attempt, command.input, command.item_count)

    def _head_of(self, index: int, given: Payload, item_count: int) -> Head:
        arn = self.head.map_run_arn
        return Head(
            child_execution_arn(arn, child_name(arn, index)), child_machine_arn(arn), labelled_machine(arn),
            self.head.machine_id, self.head.revision_id, self.head.child_type, self.head.role_arn, None, None, None,
            given.text, arn, self.id, self.head.scope, index, item_count,
        )  # fmt: skip

    def _start_standard(self, index: int, attempt: int, given: Payload, item_count: int) -> None:
        head = self._head_of(index, given, item_count)
        name = child_name(self.head.map_run_arn, index)
        seed = child_seed(self.state, index)
        live = new_live(self._shard, self.id, name, head, given, self.program, seed)
        self._standard[index] = live.id
        self._shard.spawn(self._begin(live, index, attempt))

    async def _begin(self, live: LiveExecution, index: int, attempt: int) -> None:
        try:
            await self._runner.begin(live)
        except AlreadyThere as taken:
            self._adopt_child(taken.row, index, attempt)
        except Unavailable:
            # The engine stops, or keeps trying: in both cases the row says that the child runs.
            return

    def _adopt_child(self, row: Row, index: int, attempt: int) -> None:
        self._standard[index] = row.id
        if row.status != "RUNNING":
            self._child_closed(row, index, attempt)

    def _child_closed(self, row: Row, index: int, attempt: int) -> None:
        tail = Tail.decode(row.tail)
        output = Payload.from_text(tail.output) if tail.output is not None else None
        most = self._shard.limits_of(self.head.child_type).history_events
        redrivable = most is None or tail.last_event < most - 1
        status = cast(messages.ChildStatus, row.status)
        self.tell(messages.ChildEnded(index, attempt, status, output, tail.error, tail.cause, redrivable))

    async def _resume_child(self, index: int, attempt: int) -> None:
        """Resume a child that ran when the process died: it has ended, continues by itself, or is started again."""
        child = self.state.children[index]
        name = child_name(self.head.map_run_arn, index)
        row = await self._written.find(self.id, name)
        # An EXPRESS child notes its attempt where a STANDARD one counts its redrives.
        expected = attempt if self.head.child_type == "EXPRESS" else child.redrives
        if row is not None and (row.status == "RUNNING" or Tail.decode(row.tail).redrive_count >= expected):
            self._adopt_child(row, index, attempt)
        elif row is not None and self.head.child_type == "STANDARD":
            await self._redrive(row.id, index, attempt)
        else:
            assert child.input is not None
            self.start_child(messages.StartChild(index, attempt, name, child.input, child.item_count))

    def redrive_child(self, command: messages.RedriveChild) -> None:
        """Go on with a STANDARD child that failed."""
        self._shard.spawn(self._redrive_by_name(command))

    async def _redrive_by_name(self, command: messages.RedriveChild) -> None:
        row = await self._written.find(self.id, command.name)
        assert row is not None
        await self._redrive(row.id, command.index, command.attempt)

    async def _redrive(self, execution: int, index: int, attempt: int) -> None:
        self._standard[index] = execution
        redrive = Redrive(self._shard.clock, self._site.deleting, None, by_map_run=True)
        try:
            await self._runner.ask(execution, events.ExecutionRedriven(), accept=redrive.accept, result=no_result)
        except ApiError:
            # It cannot be redriven after all: it stays as it ended.
            row = await self._written.row(execution)
            if row is not None and row.status != "RUNNING":
                self._child_closed(row, index, attempt)
        except Unavailable:
            return

    async def _run_express(self, index: int, attempt: int, given: Payload, item_count: int) -> None:
        shard = self._shard
        head = self._head_of(index, given, item_count)
        name = child_name(self.head.map_run_arn, index)
        state = new_execution(head.identity(name, shard.region), given, child_seed(self.state, index))
        try:
            with self._site.express.running(self.program, state, head) as run:
                await self._until_closed(index, run)
        except StoreError:
            return
        # Its tail says which attempt it was, for the recovery of the run after a crash.
        tail = replace(Tail.of(state), redrive_count=attempt)
        row = Row(
            shard.ids.next(), shard.number, self.id, name, state.status, state.started_ms, state.stopped_ms,
            head.encode(), tail.encode(),
        )  # fmt: skip
        outcome = await self._written.commit(Commit(row, 0, None))
        if isinstance(outcome, Existing):
            before = await self._written.load(outcome.row.id)
            assert before is not None
            again = replace(before.row, status=row.status, stopped_ms=row.stopped_ms, tail=row.tail)
            await self._written.commit(Commit(again, before.version, None))
        self._child_closed(row, index, attempt)

    async def _until_closed(self, index: int, run: ExpressRun) -> None:
        self._express[index] = run
        try:
            ended = run.begin()
            if self.state.phase == STOPPING:
                # The stop came while this one stood in line.
                run.deliver(events.ExecutionStopped())
            await ended
        finally:
            if self._express.get(index) is run:
                del self._express[index]

    def stop_children(self, _command: messages.StopChildren) -> None:
        """Stop all that run; each still answers with its end."""
        # Those that the run's row says are running have to be there to be stopped.
        while self._to_start:
            self._start_now(self._to_start.popleft())
        for child in self.state.children:
            if child.status != RUNNING:
                continue
            execution = self._standard.get(child.index)
            if execution is not None:
                self._runner.tell(execution, Input(events.ExecutionStopped()))
        for run in list(self._express.values()):
            run.deliver(events.ExecutionStopped())

    # ------------------------------------------------------------------ the end

    def succeed(self, command: messages.SucceedRun) -> None:
        """Tell the parent; its outbox row goes with the commit that this causes."""
        event = events.MapRunSucceeded(command.task_id, command.output)
        self._runner.tell(self.head.parent, Input(event))

    def fail(self, command: messages.FailRun) -> None:
        """Tell the parent."""
        event = events.MapRunFailed(command.task_id, command.error, command.cause)
        self._runner.tell(self.head.parent, Input(event))

    def continue_run(self, _command: messages.ContinueRun) -> None:
        """Continue after the events that wait already."""
        self.tell(messages.RunContinued())


_DO: Final[dict[type, Callable[[LiveRun, Any], None]]] = {
    messages.ReadItems: LiveRun.read_items,
    messages.SelectItems: LiveRun.select_items,
    messages.StartChild: LiveRun.start_child,
    messages.RedriveChild: LiveRun.redrive_child,
    messages.StopChildren: LiveRun.stop_children,
    messages.WriteResults: LiveRun.write_results,
    messages.SucceedRun: LiveRun.succeed,
    messages.FailRun: LiveRun.fail,
    messages.ContinueRun: LiveRun.continue_run,
}
