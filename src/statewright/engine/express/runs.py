"""The EXPRESS executions of a cell: synchronous ones, and asynchronous ones with their two commits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from statewright import chance
from statewright.arn import express_arn
from statewright.asl.program import Program
from statewright.engine.dispatch import Dispatcher
from statewright.engine.executions.history_log import HistoryLog
from statewright.engine.executions.starting import head_of
from statewright.engine.executions.views import Head, Started, SyncOutcome, Tail
from statewright.engine.express.billing import BILLED_MB, billed_ms
from statewright.engine.express.ends import ExpressEnds
from statewright.engine.express.run import EXPRESS, ExpressRun
from statewright.engine.heavy.steps import HeavySteps, Source
from statewright.engine.inbox import Inbox
from statewright.engine.machines.machines import Target
from statewright.engine.machines.programs import RetryingPrograms
from statewright.engine.runner import Runner
from statewright.engine.shard import Shard
from statewright.engine.turnstile import EXPRESS as EXPRESS_WEIGHT
from statewright.errors import OwnershipLost, StoreError, Unavailable
from statewright.interpreter.advance import new_execution
from statewright.interpreter.codec import decode, encode
from statewright.interpreter.state import NO_REDRIVES, ExecutionState
from statewright.payload import Payload
from statewright.stores.completion import Completion, completed
from statewright.stores.protocol import Commit, InboxRow, Row

logger = logging.getLogger(__name__)


class ExpressRuns:
    """Every EXPRESS execution under way."""

    def __init__(
        self,
        shard: Shard,
        runner: Runner,
        dispatcher: Dispatcher,
        heavy: HeavySteps,
        programs: RetryingPrograms,
        inbox: Inbox,
        history: HistoryLog,
        ends: ExpressEnds,
    ) -> None:
        self._shard = shard
        self._runner = runner
        self._dispatcher = dispatcher
        self._heavy = heavy
        self._programs = programs
        self._inbox = inbox
        self._history = history
        self._ends = ends
        self._runs: dict[ExpressRun, None] = {}
        self._stopped = False
        self._writing = 0
        """How many starts and ends are being written."""
        self._written = asyncio.Event()
        inbox.register(EXPRESS, self.recover)

    @contextmanager
    def running(self, program: Program, state: ExecutionState, head: Head) -> Iterator[ExpressRun]:
        """Make a run that is still to begin, and count it, to its end unless the engine stops.

        Raises: Unavailable while the engine stops.
        """
        shard = self._shard
        if self._stopped:
            raise Unavailable("the engine is stopping")
        source = Source(head.machine_id, head.revision_id, head.scope)
        on_history = self._history.of_express(head)
        run = ExpressRun(shard, self._dispatcher, self._heavy, program, state, source, head.trace_header, on_history)
        self._runs[run] = None
        if shard.meter is not None:
            shard.meter.express_started(head)
        try:
            yield run
        finally:
            del self._runs[run]
            shard.counters.transitions += state.transitions
            shard.counters.ran(state.status)
            if shard.meter is not None:
                shard.meter.express_ended(head, state)

    async def run(
        self, target: Target, name: str, input_text: str, payload: Payload, trace_header: str | None
    ) -> SyncOutcome:
        """Run one to its end; the store never hears of it."""
        if self._runner.busy:
            await self._shard.turnstile.enter(EXPRESS_WEIGHT)
        head = self._head(target, name, input_text, trace_header)
        state = self._new_state(head, name, payload)
        state.redrive_count = NO_REDRIVES
        with self.running(target.program, state, head) as run:
            try:
                await run.begin(input_text)
            except OwnershipLost as problem:
                # Whose shard that is, the caller cannot know: it may be a task of an execution in another one.
                raise Unavailable(str(problem)) from problem
        assert state.stopped_ms is not None
        return SyncOutcome(
            head.execution_arn,
            head.machine_arn,
            name,
            state.started_ms,
            state.stopped_ms,
            state.status,
            input_text,
            state.output.text if state.output is not None else None,
            state.error,
            state.cause,
            trace_header,
            billed_ms(state),
            BILLED_MB,
        )

    async def start(
        self,
        target: Target,
        name: str,
        input_text: str,
        payload: Payload,
        trace_header: str | None,
        completion: Completion[Started] | None = None,
    ) -> Started:
        """Commit the start of one, and let it run. Raises: Unavailable while the engine stops."""
        if self._stopped:
            raise Unavailable("the engine is stopping")
        shard = self._shard
        head = self._head(target, name, input_text, trace_header)
        state = self._new_state(head, name, payload)
        state_body, _, texts = encode(state)
        run = head.execution_arn.rpartition(":")[2]
        row_id = shard.ids.next()
        inbox_id = shard.ids.next()
        row = Row(
            row_id, shard.number, target.machine_id, f"{name}:{run}", "RUNNING", shard.clock.now_ms(), None,
            head.encode(), Tail().encode(),
        )  # fmt: skip
        inbox = InboxRow(inbox_id, row_id, EXPRESS, b"")
        written = {digest: text.encode() for digest, text in texts.items()}
        started = Started(head.execution_arn, row.started_ms)
        asked = completed([(completion, started)])
        await self._commit(Commit(row, 0, state_body, texts=written, inbox=[inbox], completed=asked))
        shard.spawn(self._to_its_end(row, 1, inbox_id, head, target.program, state))
        return started

    def recover(self, row: InboxRow) -> None:
        """Run one again whose process died."""
        self._shard.spawn(self._again(row.execution, row.id))

    async def _again(self, execution: int, inbox_id: int) -> None:
        stored = await self._shard.retrying.executions.load(execution)
        if stored is None or stored.state is None:
            self._inbox.discard(inbox_id)
            return
        head = Head.decode(stored.row.head)
        program = await self._programs.program_of(head.machine_id, head.revision_id)
        texts = {digest: text.decode() for digest, text in stored.texts.items()}
        state = decode(stored.state, (), texts)
        await self._to_its_end(stored.row, stored.version, inbox_id, head, program, state)

    async def _to_its_end(
        self, row: Row, version: int, inbox_id: int, head: Head, program: Program, state: ExecutionState
    ) -> None:
        """Run, and write the end in one commit."""
        try:
            with self.running(program, state, head) as run:
                await run.begin(head.input)
        except StoreError as problem:
            # The engine stops, or another process has the store: the inbox row has it run again.
            self._shard.notices(problem)
            return
        except Exception as problem:
            if self._shard.notices(problem):
                return
            logger.error(
                "execution %s is quarantined because of a bug in Statewright", head.execution_arn, exc_info=problem
            )
            await self._runner.quarantine(row.id, problem)
            return
        closed = replace(row, status=state.status, stopped_ms=state.stopped_ms, tail=Tail.of(state).encode())
        await self._commit(Commit(closed, version, None, inbox_done=[inbox_id]))
        self._ends.publish(head.execution_arn)

    async def _commit(self, commit: Commit) -> None:
        """Write the start or the end of one. Raises: Unavailable, also once the shard is another process's."""
        self._writing += 1
        self._written.clear()
        try:
            await self._shard.retrying.executions.commit(commit, is_wanted=self._is_wanted)
        except OwnershipLost as problem:
            self._shard.notices(problem)
            raise Unavailable(str(problem)) from problem
        finally:
            self._writing -= 1
            if not self._writing:
                self._written.set()

    def _is_wanted(self) -> bool:
        return self._shard.is_held

    def _head(self, target: Target, name: str, input_text: str, trace_header: str | None) -> Head:
        return head_of(target, express_arn(target.machine_arn, name, chance.uuid4()), input_text, trace_header)

    def _new_state(self, head: Head, name: str, payload: Payload) -> ExecutionState:
        return new_execution(head.identity(name, self._shard.region), payload, self._shard.make_seed())

    def stop(self) -> None:
        """Give up every run: synchronous callers get `Unavailable`, asynchronous runs begin again at the next start."""
        self._stopped = True
        for run in list(self._runs):
            run.kill(Unavailable("the engine is stopping"))

    async def drain(self) -> None:
        """As `stop`, and return once no start and no end is being written."""
        self.stop()
        while self._writing:
            await self._written.wait()
