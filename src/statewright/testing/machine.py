"""A state machine under test: its mocks, and how it is started."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from statewright.asl.findings import did_you_mean
from statewright.errors import ApiError
from statewright.payload import Json, dump_json
from statewright.testing.mocking import Mock, MockBook, Numbers
from statewright.testing.run import FOR_EVER, Run

if TYPE_CHECKING:
    from statewright.asl.program import Program
    from statewright.testing.workbench import Sfn

_ROLE = "arn:aws:iam::{}:role/test"
Unmocked = Literal["fails", "runs"]


class Machine:
    """A machine of the system. What a task without a mock does is `unmocked`'s: it `fails` the test, or it `runs`.

    Tasks whose function or state machine the test has put into the system run in any case.
    """

    def __init__(
        self, sfn: Sfn, name: str, text: str, definition: Any, program: Program, *, kind: str = "STANDARD",
        arn: str | None = None, unmocked: Unmocked = "fails", origin: str | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.sfn = sfn
        self.name = name
        self.text = text
        self.definition = definition
        self.program = program
        self.kind = kind
        self.unmocked = unmocked
        self.origin = origin
        """The definition's file, as reports name it."""
        self.book = MockBook(sfn.book)
        self._arn = arn
        self._settings = dict(settings or {})
        self._started = 0

    # ------------------------------------------------------------------ mocks

    def mock(
        self, state: str | None = None, *, resource: str | None = None, iteration: Numbers | tuple[Numbers, ...] = None,
        attempt: Numbers = None, visit: Numbers = None,
    ) -> Mock:  # fmt: skip
        """A mock for a state, or for every task of a resource (`sqs:sendMessage`, `lambda:Charge`; `*` fits any text).

        `iteration` (of the Map around), `attempt` and `visit` count from 0: `3`, `"0-2"`, `"5+"`. A mock that is
        written later goes before an earlier one for as much.

        Raises: ValueError for a state that the machine does not have.
        """
        if state is not None and "*" not in state:
            self.check_state(state)
        return self.book.add(Mock(state, resource=resource, iteration=iteration, attempt=attempt, visit=visit))

    def mock_file(self, path: str | Path) -> None:
        """Add the mocks of a file (docs/mocks.md). Raises: DefinitionError, OSError."""
        from statewright.simulator.script import load_script

        self.book.add_rules(load_script(self.sfn.path(path)).rules)

    def check_state(self, state: str) -> None:
        """Raises: ValueError for a state that the machine does not have."""
        if state not in self._states:
            raise ValueError(f"{self.name} has no state '{state}'" + _meant(state, list(self._states)))

    @cached_property
    def _states(self) -> frozenset[str]:
        return frozenset(name for scope in self.program.scopes for name in scope.states)

    # ------------------------------------------------------------------ runs

    def run(
        self, input: Json = None, *, at: str | datetime | None = None, name: str | None = None,
        within: str | float = FOR_EVER,
    ) -> Run:  # fmt: skip
        """Run an execution to its end. The input is `{}` unless given; `at` is when it begins.

        Raises: UnmockedTask, Stalled.
        """
        __tracebackhide__ = True
        if self.kind == "EXPRESS":
            return self._run_express(input, at, name)
        return self.start(input, at=at, name=name).finish(within=within)

    def start(self, input: Json = None, *, at: str | datetime | None = None, name: str | None = None) -> Run:
        """Start an execution; it goes on until it waits for something."""
        self.sfn.move_to(at)
        self.sfn.make_machines()
        self._started += 1
        given = {
            "stateMachineArn": self.arn,
            "input": dump_json({} if input is None else input),
            "name": name or f"run-{self._started}",
        }
        arn = self.sfn.system.call("stepfunctions", "StartExecution", given)["executionArn"]
        return self._run_of(arn)

    def _run_express(self, input: Json, at: str | datetime | None, name: str | None) -> Run:
        self.sfn.move_to(at)
        self.sfn.make_machines()
        self._started += 1
        given = {
            "stateMachineArn": self.arn,
            "input": dump_json({} if input is None else input),
            "name": name or f"run-{self._started}",
        }
        return self._run_of(
            self.sfn.system.call("stepfunctions", "StartSyncExecution", given)["executionArn"]
        ).checked()

    def _run_of(self, arn: str) -> Run:
        run = Run(self, self.sfn.recorder.recordings[arn])
        self.sfn.runs.append(run)
        return run

    @property
    def runs(self) -> list[Run]:
        """Its executions so far, whoever has started them."""
        return [Run(self, recording) for recording in self.sfn.recorder.of_machine(self.name)]

    @property
    def is_there(self) -> bool:
        """Whether the system has it already."""
        return self._arn is not None

    @property
    def arn(self) -> str:
        """The machine's ARN; it is created in the system when it is first asked for."""
        if self._arn is None:
            for activity in self.program.activities:
                self._make_activity(activity)
            config = self.sfn.system.config
            self._arn = self.sfn.system.call(
                "stepfunctions",
                "CreateStateMachine",
                {
                    "name": self.name, "definition": self.text, "roleArn": _ROLE.format(config.account),
                    "type": self.kind, **self._settings,
                },
            )["stateMachineArn"]  # fmt: skip
        assert self._arn is not None
        return self._arn

    def _make_activity(self, arn: str) -> None:
        try:
            self.sfn.system.call("stepfunctions", "CreateActivity", {"name": arn.rpartition(":")[2]})
        except ApiError as refused:
            if refused.code != "ActivityAlreadyExists":
                raise

    def __repr__(self) -> str:
        return f"<Machine {self.name}>"


def _meant(state: str, states: list[str]) -> str:
    hint = did_you_mean(state, states)
    return f": {hint}" if hint else ""
