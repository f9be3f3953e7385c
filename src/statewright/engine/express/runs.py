"""The EXPRESS executions of an engine: synchronous ones, and asynchronous ones with their two commits."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from statewright import chance
from statewright.arn import express_arn
from statewright.engine.executions.views import Head, Started, SyncOutcome, Tail
from statewright.engine.express.run import BILLED_MB, EXPRESS, ExpressRun, billed_ms
from statewright.engine.heavy.steps import Source
from statewright.engine.machines.machines import Target
from statewright.engine.turnstile import EXPRESS as EXPRESS_WEIGHT
from statewright.errors import ApiError, StoreError, Unavailable
from statewright.interpreter.advance import new_execution
from statewright.interpreter.codec import decode, encode
from statewright.interpreter.state import ExecutionState
from statewright.payload import Payload
from statewright.stores.protocol import Commit, InboxRow, Row

if TYPE_CHECKING:
    from statewright.engine.engine import Engine

logger = logging.getLogger(__name__)

_RETRY_MS = 200


class ExpressRuns:
    """Every EXPRESS execution under way, by ARN."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._runs: dict[str, ExpressRun] = {}
        self._stopped = False
        self.started = 0

    async def run(
        self, target: Target, name: str, input_text: str, payload: Payload, trace_header: str | None
    ) -> SyncOutcome:
        """Run one to its end; the store never hears of it."""
        runner = self._engine.runner
        if runner.busy:
            await runner.turnstile.enter(EXPRESS_WEIGHT)
        head = self._head(target, name, input_text, trace_header)
        state = self._new_state(head, name, payload)
        await self._play(target.program, state, head)
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
        self, target: Target, name: str, input_text: str, payload: Payload, trace_header: str | None
    ) -> Started:
        """Commit the start of one, and let it run."""
        engine = self._engine
        head = self._head(target, name, input_text, trace_header)
        state = self._new_state(head, name, payload)
        state_body, _, texts = encode(state)
        run = head.execution_arn.rpartition(":")[2]
        row_id = engine.runner.ids.next()
        inbox_id = engine.runner.ids.next()
        row = Row(
            row_id, 0, target.machine_id, f"{name}:{run}", "RUNNING", engine.clock.now_ms(), None, head.encode(),
            Tail().encode(),
        )  # fmt: skip
        inbox = InboxRow(inbox_id, row_id, EXPRESS, b"")
        written = {digest: text.encode() for digest, text in texts.items()}
        commit = Commit(row, 0, state_body, texts=written, inbox=[inbox])
        await engine.runner.commit_patiently(commit)
        self.started += 1
        engine.aside(self._to_its_end(row, 1, inbox_id, head, target.program, state))
        return Started(head.execution_arn, row.started_ms)

    def recover(self, execution: int, inbox_id: int) -> None:
        """Run one again whose process died."""
        self._engine.aside(self._again(execution, inbox_id))

    async def _again(self, execution: int, inbox_id: int) -> None:
        engine = self._engine
        patiently = engine.runner.patiently
        stored = await patiently(lambda: engine.store.executions.load(execution))
        if stored is None or stored.state is None:
            engine.inbox.discard(inbox_id)
            return
        head = Head.decode(stored.row.head)
        program = await patiently(lambda: engine.catalogue.programs.program_of(head.machine_id, head.revision_id))
        texts = {digest: text.decode() for digest, text in stored.texts.items()}
        state = decode(stored.state, (), texts)
        await self._to_its_end(stored.row, stored.version, inbox_id, head, program, state)

    async def _to_its_end(
        self, row: Row, version: int, inbox_id: int, head: Head, program: Any, state: ExecutionState
    ) -> None:
        """Run, and write the end in one commit."""
        try:
            await self._play(program, state, head)
        except StoreError:
            # The engine stops: the inbox row has it run again.
            return
        except Exception as problem:
            logger.error("execution %s is quarantined by a bug of ours", head.execution_arn, exc_info=problem)
            await self._engine.runner.quarantine(row.id, problem)
            return
        closed = replace(row, status=state.status, stopped_ms=state.stopped_ms, tail=Tail.of(state).encode())
        await self._engine.runner.commit_patiently(Commit(closed, version, None, inbox_done=[inbox_id]))

    def _head(self, target: Target, name: str, input_text: str, trace_header: str | None) -> Head:
        arn = express_arn(target.machine_arn, name, chance.uuid4())
        return Head(
            arn, target.machine_arn, target.machine_name, target.machine_id, target.revision_id, "EXPRESS",
            target.role_arn, target.version_arn, target.alias_arn, trace_header, input_text,
        )  # fmt: skip

    def _new_state(self, head: Head, name: str, payload: Payload) -> ExecutionState:
        engine = self._engine
        return new_execution(head.identity(name, engine.region), payload, engine.settings.make_seed())

    async def _play(self, program: Any, state: ExecutionState, head: Head) -> ExecutionState:
        engine = self._engine
        if self._stopped:
            raise Unavailable("the engine is stopping")
        limits = engine.limits_of("EXPRESS")
        source = Source(head.machine_id, head.revision_id)
        run = ExpressRun(
            program, state, limits, engine.clock, engine.dispatcher, engine.runner.heavy, source,
            engine.runner.turnstile, head.trace_header,
        )  # fmt: skip
        run.on_history = engine.history_log(head)
        self._runs[head.execution_arn] = run
        meter = engine.runner.meter
        if meter is not None:
            meter.express_started(head)
        try:
            await run.begin()
        finally:
            del self._runs[head.execution_arn]
            engine.runner.counters.transitions += state.transitions
            engine.runner.counters.ran(state.status)
            if meter is not None:
                meter.express_ended(head, state)
        return state

    def broke(self, execution_arn: str, problem: BaseException) -> None:
        """An integration raised under this execution."""
        run = self._runs.get(execution_arn)
        if run is not None:
            run.kill(ApiError("InternalServerError", f"an internal error ended the execution: {problem}"))

    def stop(self) -> None:
        """Give up every run: synchronous callers are told, asynchronous ones run again at the next start."""
        self._stopped = True
        for run in list(self._runs.values()):
            run.kill(Unavailable("the engine is stopping"))
