"""Test cases of a `MockConfigFile.json` on a server: a start of `ARN#TestCase` has its tasks answered by mocks.

Owns which execution is of which test case, and which answer each call gets; for STANDARD executions both outlive the
server. The file's format is `mock_config.py`'s. States that a test case does not name call their services, as do
executions without a test case.

1. The test case of an execution is noted before it starts, and stays as long as the execution has its name.
2. A call gets its number when it is first made; a repeat after a crash has the same key, hence the same number.
3. An answer ends its task at once, also one that would wait for a job or a token.
4. Without the file, or without the test case in it, no task of such an execution calls a service.

Source: developer guide, "Testing with mocked service integrations", of Step Functions Local.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from statewright import chance
from statewright.api.operations import App, Call, Run
from statewright.arn import execution_arn
from statewright.asl.program import MapDef, Program
from statewright.assembly import Hooks, System
from statewright.engine.dispatch import Failed, Integrations, Later, ScheduledCall, Succeeded, TaskResult
from statewright.engine.machines.machines import Target
from statewright.errors import RUNTIME, ApiError, DefinitionError
from statewright.payload import Json
from statewright.simulator.mock_config import MockConfig, machine_name
from statewright.simulator.mocks import Returned, Rule, TaskCall, Threw
from statewright.stores.entries import MarkKind, rows_below
from statewright.stores.protocol import CatalogueStore

_SYNC: Final = "StartSyncExecution"
_STARTS: Final = frozenset({"StartExecution", _SYNC})
_KNOWN: Final = 10_000
"""Executions held in memory."""
CASE: Final = MarkKind("mocked-case")
"""The test case of a STANDARD execution, by the execution's ARN."""
CALL: Final = MarkKind("mocked-call")
"""A call that has its number, which is the row's sort; its parent is the execution's ARN."""


@dataclass(eq=False, slots=True)
class _Run:
    """One execution of a test case. `rules` are by state; `numbers` are those of its calls, by key and state."""

    machine: str
    case: str
    rules: Mapping[str | None, Rule]
    missing: str | None = None
    """Why the test case cannot be read any more."""
    counts: Counter[str] = field(default_factory=Counter)
    numbers: dict[tuple[str, str], int] = field(default_factory=dict)


class ServedMocks:
    """The test cases of a mock file, for one server."""

    is_free = False

    def __init__(self, config: MockConfig) -> None:
        self._config = config
        self._system: System | None = None
        self._integrations: Integrations | None = None
        self._runs: OrderedDict[str, _Run | None] = OrderedDict()
        """By the execution's ARN; `None` for an execution without a test case."""
        self._sync: dict[str, _Run] = {}
        """Synchronous EXPRESS executions that run, by their ARN without its last part."""

    @property
    def hooks(self) -> Hooks:
        """Stand between callers and operations, and between the engine and its integrations."""
        return Hooks(around=self, around_tasks=self._between)

    def adopt(self, system: System) -> None:
        """Set the system, once it is assembled and before it starts."""
        self._system = system

    def _between(self, real: Integrations) -> Integrations:
        self._integrations = real
        return self

    @property
    def _app(self) -> App:
        assert self._system is not None, "adopt() comes before the first call"
        return self._system.app

    @property
    def _catalogue(self) -> CatalogueStore:
        return self._app.engine.store.catalogue

    @property
    def _real(self) -> Integrations:
        assert self._integrations is not None, "the hooks are given to the system"
        return self._integrations

    # ------------------------------------------------------------------ starts

    async def __call__(self, call: Call, request: Json, run: Run, /) -> Json:
        """Answer a call; a start of a test case is noted first. Raises: ApiError."""
        if call.service != "states" or call.operation not in _STARTS or not isinstance(request, dict):
            return await run(request)
        arn, name = request.get("stateMachineArn"), request.get("name")
        if not isinstance(arn, str) or not (name is None or isinstance(name, str)):
            return await run(request)
        arn, marked, case = arn.partition("#")
        if not marked and name is None:
            return await run(request)
        target = await self._app.engine.machines.resolve(arn)
        name = name or chance.uuid4()
        request = {**request, "stateMachineArn": arn, "name": name}
        place = execution_arn(target.machine_arn, name)
        if not marked:
            if place in self._sync or await self._run_at(place) is not None:
                raise _taken(place)
        elif (target.type == "EXPRESS") == (call.operation == _SYNC):
            self._check(target, case)
            if target.type == "EXPRESS":
                return await self._run_sync(place, self._run_of(target.machine_name, case), request, run)
            await self._note(place, case)
        elif target.type == "EXPRESS":
            raise _invalid("A test case of an EXPRESS state machine is run by StartSyncExecution.")
        return await run(request)

    async def _run_sync(self, place: str, of: _Run, request: Json, run: Run) -> Json:
        if place in self._sync:
            raise _taken(place)
        self._sync[place] = of
        try:
            return await run(request)
        finally:
            del self._sync[place]

    async def _note(self, place: str, case: str) -> None:
        """Note the test case of a STANDARD execution that is to start. Raises: ApiError."""
        present = await self._run_at(place)
        if present is not None and present.case == case:
            return
        if present is not None or await self._exists(place):
            raise _taken(place)
        await self._catalogue.write([CASE.row(f"{place}#{case}")])
        self._keep(place, self._run_of(machine_name(_machine_in(place)), case))

    async def _exists(self, place: str) -> bool:
        try:
            await self._app.engine.describe(place)
        except ApiError:
            return False
        return True

    def _check(self, target: Target, case: str) -> None:
        """Refuse a test case that cannot be run. Raises: ApiError."""
        try:
            self._config.script(target.machine_name, case)
        except DefinitionError as unknown:
            finding = unknown.diagnostics[0]
            hint = "" if finding.hint is None else f" ({finding.hint})"
            raise _invalid(f"{finding.message}{hint}") from None
        if _has_map_run(target.program):
            raise _invalid(
                f"State machine '{target.machine_name}' has a distributed Map, whose child executions are out of the "
                "reach of test cases on a server: run the test case with `statewright run --mock FILE --case NAME`."
            )

    # ------------------------------------------------------------------ tasks

    async def call(self, task: ScheduledCall) -> TaskResult | Later:
        """Answer a call by its mock, or make it. See `Integrations.call`."""
        run = await self._run_for(task)
        if run is not None and run.missing is not None:
            return Failed(RUNTIME, run.missing, "refused")
        rule = run.rules.get(task.state) if run is not None else None
        if run is None or rule is None:
            return await self._real.call(task)
        number = await self._number(run, task)
        described = TaskCall(task.state, task.resource.arn, task.parameters, task.iterations, task.attempt)
        result = rule.result(number)
        answer = None if result is None else result.answer(described)
        if answer is not None and isinstance(answer.outcome, Returned):
            return Succeeded(answer.outcome.value)
        if answer is not None and isinstance(answer.outcome, Threw):
            return Failed(answer.outcome.error, answer.outcome.cause)
        cause = (
            f"Test case '{run.case}' of '{run.machine}' in {self._config.name} has no answer for call {number} of "
            f"state '{task.state}': add one to its mocked response."
        )
        return Failed(RUNTIME, cause, "refused")

    async def cancel(self, task: ScheduledCall) -> None:
        """Stop a call that no execution waits for. See `Integrations.cancel`."""
        run = await self._run_for(task)
        if run is None or (run.missing is None and task.state not in run.rules):
            await self._real.cancel(task)

    async def _run_for(self, task: ScheduledCall) -> _Run | None:
        arn = task.execution_arn
        if ":express:" in arn:
            return self._sync.get(arn.replace(":express:", ":execution:", 1).rpartition(":")[0])
        return await self._run_at(arn)

    async def _number(self, run: _Run, task: ScheduledCall) -> int:
        """The number of a call among those of its state, from 0."""
        key = task.idempotency_key, task.state
        number = run.numbers.get(key)
        if number is None:
            number = run.numbers[key] = run.counts[task.state]
            run.counts[task.state] += 1
            if task.outbox:
                arn = task.execution_arn
                row = CALL.row(f"{arn}#{task.idempotency_key}#{task.state}", parent=arn, sort=number)
                await self._catalogue.write([row])
        return number

    # ------------------------------------------------------------------ what is noted

    async def _run_at(self, place: str) -> _Run | None:
        """The test case of a STANDARD execution, if it has one, with the calls that it has made."""
        if place in self._runs:
            self._runs.move_to_end(place)
            return self._runs[place]
        case = await case_of(self._catalogue, place)
        run = None if case is None else self._run_of(machine_name(_machine_in(place)), case)
        if run is not None:
            async for row in rows_below(self._catalogue, CALL.name, place):
                _, key, state = row.key.split("#", 2)
                run.numbers[key, state] = row.sort
                run.counts[state] += 1
        # Another call may have read the same meanwhile, and numbered.
        return self._runs[place] if place in self._runs else self._keep(place, run)

    def _run_of(self, machine: str, case: str) -> _Run:
        try:
            return _Run(machine, case, {rule.state: rule for rule in self._config.script(machine, case).rules})
        except DefinitionError as unknown:
            # The file has changed since the execution started.
            return _Run(machine, case, {}, unknown.diagnostics[0].message)

    def _keep(self, place: str, run: _Run | None) -> _Run | None:
        self._runs[place] = run
        if len(self._runs) > _KNOWN:
            self._runs.popitem(last=False)
        return run


async def case_of(catalogue: CatalogueStore, execution: str) -> str | None:
    """The test case of a STANDARD execution, by its ARN."""
    prefix = f"{execution}#"
    rows = await catalogue.list_entries(CASE.name, "", after=(0, prefix), limit=1, newest_first=False)
    return rows[0].key.removeprefix(prefix) if rows and rows[0].key.startswith(prefix) else None


async def open_case(system: System) -> str | None:
    """Why a server cannot do without a mock file: an execution of a test case still runs."""
    async for row in rows_below(system.engine.store.catalogue, CASE.name):
        execution, _, case = row.key.partition("#")
        try:
            status = (await system.engine.describe(execution)).status
        except ApiError:
            continue
        if status == "RUNNING":
            return (
                f"execution {execution} of test case '{case}' still runs, and its tasks must not call services: start "
                "with --mock-config FILE, and stop the execution there if it is not needed any more"
            )
    return None


def _machine_in(execution: str) -> str:
    """The ARN of the machine of an execution."""
    return execution.rpartition(":")[0].replace(":execution:", ":stateMachine:", 1)


def _has_map_run(program: Program) -> bool:
    bodies = (state.body for scope in program.scopes for state in scope.states.values())
    return any(isinstance(body, MapDef) and body.distributed is not None for body in bodies)


def _invalid(message: str) -> ApiError:
    return ApiError("ValidationException", message)


def _taken(execution: str) -> ApiError:
    return ApiError("ExecutionAlreadyExists", f"Execution Already Exists: '{execution}'")
