"""Trials of single states, as the engine's heavy workers can compute them.

A trial is `interpreter.trial`. Here it is a value, `Attempt`, and two functions of it, which may run in this process or
in another one: `begin` runs the state up to the call of its Task, or to its end; `finish` begins again (a trial is
deterministic) and goes on with the result of the call.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from statewright.asl.compile import compile_definition
from statewright.asl.program import Program
from statewright.asl.reader import ReadError
from statewright.engine.machines.definitions import check_definition, compiled, findings_of, invalid_definition, tree_of
from statewright.interpreter.commands import ScheduleTask, StartTimer
from statewright.interpreter.events import Event
from statewright.interpreter.state import Identity
from statewright.interpreter.trial import StateTrial, TrialSetup, begin_trial, finish_trial, machine_of
from statewright.payload import dump_json

_TARGETS = frozenset({"MISSING_TRANSITION_TARGET", "MISSING_END_STATE"})
"""Findings that the definition of a single state may have, because the states around it are missing."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One trial: the definition of a machine, or of a single state; what the state is given; where its chance begins.

    `named` says that `setup` names one of the states of a machine.
    """

    definition: str
    named: bool
    setup: TrialSetup
    identity: Identity
    now_ms: int
    seed: bytes


@dataclass(frozen=True, slots=True)
class Called:
    """A trial up to the call that its Task makes, and the timers of the task."""

    task: ScheduleTask
    timers: tuple[StartTimer, ...]


@lru_cache(maxsize=16)
def program_of(definition: str, named: bool) -> Program:
    """The program of a machine if a state of it is `named`, else of a machine around a single state.

    Raises: ApiError (`InvalidDefinition`).
    """
    if named:
        check_definition(definition, "STANDARD")
        return compiled(definition)
    try:
        machine = machine_of(tree_of(definition))
    except ReadError:
        check_definition(definition, "STANDARD")
        raise
    errors = [
        finding
        for finding in findings_of(dump_json(machine), "STANDARD")
        if finding["severity"] == "ERROR" and finding["code"] not in _TARGETS
    ]
    if errors:
        raise invalid_definition(errors)
    return compile_definition(machine)


def begin(attempt: Attempt) -> StateTrial | Called:
    """Run the state up to the call of its Task, or to its end. Raises: ApiError."""
    program = program_of(attempt.definition, attempt.named)
    begun = begin_trial(program, attempt.setup, identity=attempt.identity, now_ms=attempt.now_ms, seed=attempt.seed)
    return begun if isinstance(begun, StateTrial) else Called(begun.task, begun.timers)


def finish(attempt: Attempt, event: Event, at_ms: int) -> StateTrial:
    """The whole trial, with the end of its call. Raises: ApiError."""
    program = program_of(attempt.definition, attempt.named)
    begun = begin_trial(program, attempt.setup, identity=attempt.identity, now_ms=attempt.now_ms, seed=attempt.seed)
    return begun if isinstance(begun, StateTrial) else finish_trial(begun, event, at_ms)
