"""Forks: a new execution that begins at a state which an old one has reached.

The new execution has the old one's input in its context, the state's recorded input, and the variables that were
assigned by then, each unless another one is given; and its own revision, or the present one of a version or alias. The
old execution is left as it is. States inside a Parallel or Map are not places to begin at.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Final

from statewright import chance
from statewright.arn import MACHINE, execution_arn, parse_arn
from statewright.engine.concurrency.admission import Admission
from statewright.engine.executions.history_pages import decode_page
from statewright.engine.executions.names import ExecutionNames
from statewright.engine.executions.starting import head_of, new_live
from statewright.engine.executions.views import Head, Started
from statewright.engine.inputs import AlreadyThere
from statewright.engine.machines.machines import Machines, Target
from statewright.engine.runner import Runner
from statewright.engine.shard import Shard
from statewright.errors import ApiError
from statewright.interpreter import events
from statewright.interpreter.history import HistoryEvent
from statewright.interpreter.turn import variables_bytes
from statewright.payload import Json, JsonTextError, Payload, parse_json

_PAGES_AT_ONCE: Final = 100


@dataclass(frozen=True, slots=True)
class Wish:
    """The request for a fork. `visit` counts the visits to the state from 1; the default is the last one."""

    execution_arn: str
    state: str
    input: str | None = None
    variables: Mapping[str, Json] | None = None
    machine_arn: str | None = None
    name: str | None = None
    visit: int | None = None


@dataclass(slots=True)
class Moment:
    """The input and variables of an execution as it entered a state."""

    input: Payload
    variables: dict[str, Json]


class Forks:
    """Makes forks of the executions of one shard."""

    def __init__(
        self, shard: Shard, runner: Runner, names: ExecutionNames, machines: Machines, admission: Admission
    ) -> None:
        self._shard = shard
        self._runner = runner
        self._names = names
        self._machines = machines
        self._admission = admission

    async def fork(self, wish: Wish) -> Started:
        """Begin the new execution; returns once it cannot be lost.

        Raises: ApiError (`ExecutionDoesNotExist`, `StateNotReached`, `InvalidExecutionInput`, `ExecutionAlreadyExists`,
            `StateMachineDoesNotExist`, `ValidationException`).
        """
        row = await self._names.row_of(wish.execution_arn)
        old = Head.decode(row.head)
        target = await self._target(old, wish)
        _check_state(target, wish.state)
        moment = await self._moment(row.id, wish, set(target.program.scopes[0].states))
        given = _read(wish.input, "input") if wish.input is not None else moment.input
        variables = {**moment.variables, **(wish.variables or {})}
        self._check_variables(variables)
        name = wish.name if wish.name is not None else chance.uuid4()
        arn = execution_arn(target.machine_arn, name)
        await self._names.note_machine(target.machine_arn, target.machine_id)
        head = head_of(target, arn, old.input, None)
        live = new_live(self._shard, target.machine_id, name, head, Payload.from_text(old.input), target.program)
        self._admission.count(target.machine_id, live.id)
        try:
            await self._runner.begin(
                live,
                events.ExecutionForked(wish.state, given, variables),
                never_began=lambda: self._admission.left(target.machine_id, live.id),
            )
        except AlreadyThere:
            raise ApiError("ExecutionAlreadyExists", f"Execution Already Exists: '{arn}'") from None
        self._names.remember(arn, live.id)
        return Started(arn, live.row.started_ms)

    async def moment(self, wish: Wish) -> Moment:
        """The input and the variables that a fork would begin with, unless others are given. Raises: see `fork`."""
        row = await self._names.row_of(wish.execution_arn)
        target = await self._target(Head.decode(row.head), wish)
        _check_state(target, wish.state)
        return await self._moment(row.id, wish, set(target.program.scopes[0].states))

    async def _target(self, old: Head, wish: Wish) -> Target:
        """The target of the fork: another machine's or version's definition, or the old execution's own revision."""
        if old.map_run:
            raise ApiError("ValidationException", "A child execution of a Map Run cannot be forked: fork its parent.")
        if wish.machine_arn is not None:
            parse_arn(wish.machine_arn, MACHINE)
            target = await self._machines.resolve(wish.machine_arn)
            if target.type == "EXPRESS":
                raise ApiError("ValidationException", "A fork is a STANDARD execution; this machine is EXPRESS.")
            return target
        return await self._machines.revision_target(old.machine_arn, old.revision_id)

    def _check_variables(self, variables: Mapping[str, Json]) -> None:
        most = self._shard.limits_of("STANDARD").variables_bytes
        if most is not None and variables_bytes(variables) > most:
            raise ApiError("ValidationException", f"The variables are longer than {most:,} bytes of JSON.")

    async def _moment(self, execution: int, wish: Wish, top: set[str]) -> Moment:
        """The state's input and the variables of the machine's own scope when it was entered. Raises: ApiError."""
        variables: dict[str, Json] = {}
        found: Moment | None = None
        visit = 0
        async for event in self._history(execution):
            details = event.details or {}
            name = details.get("name")
            if not isinstance(name, str) or name not in top:
                continue
            if event.type.endswith("StateEntered") and name == wish.state:
                visit += 1
                found = Moment(_payload(details.get("input")), dict(variables))
                if visit == wish.visit:
                    break
            elif event.type.endswith("StateExited"):
                assigned = details.get("assignedVariables")
                if isinstance(assigned, dict):
                    variables.update({key: parse_json(str(text)) for key, text in assigned.items()})
        if found is None:
            if wish.input is not None and wish.machine_arn is not None:
                # A state that the other definition adds: its input was given with the request.
                return Moment(Payload(None), variables)
            raise ApiError("StateNotReached", f"The execution has not entered the state '{wish.state}'.")
        if wish.visit is not None and visit < wish.visit:
            text = f"The execution has not entered '{wish.state}' {wish.visit} times: {visit}."
            raise ApiError("StateNotReached", text)
        return found

    async def _history(self, execution: int) -> AsyncIterator[HistoryEvent]:
        store = self._shard.store.executions
        at = 1
        while pages := await store.history(execution, first=at, pages=_PAGES_AT_ONCE, reverse=False):
            for page in pages:
                for event in decode_page(page):
                    if event.id >= at:
                        yield event
            at = pages[-1].first + pages[-1].count


def _check_state(target: Target, state: str) -> None:
    if state not in target.program.scopes[0].states:
        inside = any(state in scope.states for scope in target.program.scopes)
        why = "is inside a Parallel or Map: begin at that" if inside else "is no state of the state machine"
        raise ApiError("ValidationException", f"'{state}' {why}.")


def _read(text: str, what: str) -> Payload:
    try:
        return Payload.from_text(text)
    except JsonTextError as problem:
        raise ApiError("InvalidExecutionInput", f"The {what} is not JSON: {problem}") from None


def _payload(text: object) -> Payload:
    return Payload.from_text(text) if isinstance(text, str) else Payload(None)
