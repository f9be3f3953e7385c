"""The fixture `sfn`: one system in virtual time for one test, and all that a test can do with it.

The façade over `bench.py`, which holds the state. Machines are `machine.py`'s, runs `run.py`'s, time and clients the
virtual system's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from statewright.payload import JsonMapping
from statewright.testing.bench import Bench, Instant, instant_of
from statewright.testing.case import Case, read_cases
from statewright.testing.machine import Machine, load_machine
from statewright.testing.mocking import Mock, Numbers
from statewright.testing.project import ProjectUnderTest, deployed
from statewright.testing.run import Run
from statewright.testing.subject import Unmocked
from statewright.testing.trial import Trial, try_state
from statewright.virtual.system import VirtualSystem

# A first test imports no functions (tests/plugin/test_imports.py).
if TYPE_CHECKING:
    from statewright.functions.workers.models import Model


class Sfn:
    """A system under test; the options are those of `Bench`."""

    def __init__(self, base: Path | None = None, **options: Any) -> None:
        self.bench = Bench(base, **options)

    # ------------------------------------------------------------------ machines

    def load(
        self, definition: str | Path | JsonMapping, *, name: str | None = None, type: str = "STANDARD",
        values: Mapping[str, str] | None = None, unmocked: Unmocked = "fails", **settings: Any,
    ) -> Machine:  # fmt: skip
        """A machine from a definition's file, or from the definition itself.

        `values` fill in `${Placeholders}`; those without one become names. `settings` are further members of
        CreateStateMachine, such as `tags`.

        Raises: DefinitionError with every mistake; OSError.
        """
        return load_machine(self.bench, definition, name=name, type=type, values=values, unmocked=unmocked, **settings)

    @property
    def machines(self) -> dict[str, Machine]:
        """The machines by name."""
        return {name: Machine(self.bench, subject) for name, subject in self.bench.subjects.items()}

    @property
    def runs(self) -> list[Run]:
        """The executions that the test has started, in order."""
        return [Run(self.bench, subject, recording) for subject, recording in self.bench.started]

    def project(
        self, path: str | Path = ".", *, parameters: Mapping[str, str] | None = None, stage: str | None = None
    ) -> ProjectUnderTest:
        """A project (SAM, CDK output, serverless.yml, a folder), deployed into the system.

        `sfn.project("template.yaml")["Order"]` is a machine of it, by its id or its name. What has no mock runs: its
        functions, queues and tables are there.

        Raises: ProjectError; AssertionError with what could not be deployed.
        """
        return deployed(self.bench, self.bench.path(path), parameters or {}, stage)

    def mock(
        self, *, resource: str, iteration: Numbers | tuple[Numbers, ...] = None, attempt: Numbers = None,
        visit: Numbers = None,
    ) -> Mock:  # fmt: skip
        """A mock for a resource, whichever machine uses it; a machine's own go first."""
        return self.bench.book.add(Mock(resource=resource, iteration=iteration, attempt=attempt, visit=visit))

    def cases(
        self, file: str | Path, machine: str | None = None, *,
        definitions: str | Path | Mapping[str, str | Path] | None = None,
    ) -> list[Case]:  # fmt: skip
        """The cases of a `MockConfigFile.json` or a `*.cases.yaml`; `@sfn.cases(...)` above a test parametrises it."""
        return [case.bound(self.bench) for case in read_cases(self.bench.path(file), machine, definitions)]

    def test_state(
        self, definition: str | Path | Mapping[str, Any] | Machine, state: str | None = None, **given: Any
    ) -> Trial:
        """Run one state alone: `test_state("order.asl.json", "Charge", input={...}, returns={...})`; see `trial.py`."""
        return try_state(self.bench, definition, state, **given)

    def replay(
        self, history: str | Path | Any, machine: Machine | str | Path | Mapping[str, Any], *, path: bool = True
    ) -> Run:
        """Run a recorded execution again on a definition, its tasks answering as they did, and compare.

        `history` is what `aws stepfunctions get-execution-history` prints, or its file. The way must be the same
        unless `path=False`; the calls and the end in any case.

        Raises: AssertionError, UnmockedTask for a call that is not in the record, ValueError.
        """
        from statewright.testing.replay import replayed

        __tracebackhide__ = True
        found = machine if isinstance(machine, Machine) else self.load(machine)
        return replayed(self.bench, history, found, compare_path=path)

    # ------------------------------------------------------------------ the system

    @property
    def system(self) -> VirtualSystem:
        """The system, which begins when it is first asked for."""
        return self.bench.system

    def client(self, service: str, **settings: Any) -> Any:
        """A boto3 client of the system: `sfn.client("stepfunctions")`. It needs no endpoint and no port."""
        return self.system.client(service, **settings)

    def model(self, function: str, model: Model, *, timeout: int = 900) -> str:
        """Have a model (a duration, a failure rate) stand in for a function; returns its ARN."""
        return self.system.model(function, model, timeout=timeout)

    def advance(self, duration: str | float) -> None:
        """Let time pass for everything."""
        self.system.advance(duration)

    def run_until(self, condition: Callable[[], object] | Instant, *, within: str | float = "365d") -> None:
        """Let time pass until an instant or until a condition holds. Raises: NeverHappened."""
        self.system.run_until(condition if callable(condition) else instant_of(condition), within=within)

    @property
    def now(self) -> datetime:
        """The present instant."""
        return self.system.now

    def restart(self) -> None:
        """Kill the system as it stands, and open its store again, at the same instant."""
        self.system.restart()

    def close(self) -> None:
        """End the system."""
        self.bench.close()
