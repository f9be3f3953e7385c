"""The fixture `sfn`: one system in virtual time for one test, and whatever a test does with it.

Owns when the system begins (with the first thing that needs it, so that a run can say `at=`), and how definitions and
files are found. Machines are `machine.py`'s, runs `run.py`'s.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from statewright.asl.extensions import accepted
from statewright.asl.loading import DEFINITION_ENDINGS, Loaded, check_text, compile_checked
from statewright.asl.reader import read_document
from statewright.config import Config
from statewright.errors import DefinitionError
from statewright.limits import PROFILES
from statewright.payload import dump_json
from statewright.testing.machine import Machine, Unmocked
from statewright.testing.mocking import Mock, MockBook, Numbers
from statewright.testing.recordings import Recorder
from statewright.testing.tasks import Tasks
from statewright.virtual.system import VirtualSystem

if TYPE_CHECKING:
    from statewright.assembly import System
    from statewright.functions.workers.models import Model
    from statewright.testing.case import Case
    from statewright.testing.coverage import Coverage
    from statewright.testing.project import ProjectUnderTest
    from statewright.testing.run import Run
    from statewright.testing.snapshots import Snapshots
    from statewright.testing.trial import Trial

Instant = str | datetime
_PLACEHOLDER: Final = re.compile(r"\$\{([A-Za-z0-9_.:-]+)\}")
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_-]+")
_RESOURCE: Final = re.compile(r"""(["']?Resource["']?\s*:\s*["']?)\$\{([A-Za-z0-9_.:-]+)\}(?=["'\s,}]|$)""")

_loaded: dict[tuple[str, str, str], tuple[str, Any, Loaded]] = {}
"""Definitions by file name, text and type: compiled once for all tests of a process."""


class Sfn:
    """A system under test. `base` is where relative files are looked for first."""

    def __init__(
        self, base: Path | None = None, *, start: Instant | None = None, seed: int = 0, extensions: bool = False,
        limits: str = "aws", snapshots: Snapshots | None = None, coverage: Coverage | None = None,
    ) -> None:  # fmt: skip
        self.base = base or Path()
        self.snapshots = snapshots
        self.coverage = coverage
        self.recorder = Recorder()
        self.tasks = Tasks(self, self.recorder)
        self.book = MockBook()
        self.machines: dict[str, Machine] = {}
        self.runs: list[Run] = []
        self._start = start
        self._seed = seed
        self._config = replace(Config(), limits=PROFILES[limits], extensions=extensions)
        self._system: VirtualSystem | None = None

    # ------------------------------------------------------------------ machines

    def load(
        self, definition: str | Path | Mapping[str, Any], *, name: str | None = None, type: str = "STANDARD",
        values: Mapping[str, str] | None = None, unmocked: Unmocked = "fails", **settings: Any,
    ) -> Machine:  # fmt: skip
        """A machine from a definition's file, or from the definition itself.

        `values` fill in `${Placeholders}`; those without one become names. `settings` are further members of
        CreateStateMachine, such as `tags`.

        Raises: DefinitionError with every mistake; OSError.
        """
        if isinstance(definition, Mapping):
            path, text, origin = "definition.asl.json", dump_json(dict(definition)), None
        else:
            found = self.path(definition)
            path, text, origin = str(found), found.read_text("utf-8"), found
        filled = fill(text, values or {})
        with accepted() if self._config.extensions else nullcontext():
            text, value, loaded = _compiled(path, filled, type)
        named = name or _NOT_IN_NAMES.sub(
            "-", _stem(origin) if origin is not None else f"machine-{len(self.machines) + 1}"
        )
        machine = Machine(
            self, named, text, value, loaded.program, kind=type, unmocked=unmocked,
            origin=None if origin is None else str(origin), settings=settings,
        )  # fmt: skip
        return self.add(machine)

    def add(self, machine: Machine) -> Machine:
        """Take in a machine. Raises: ValueError when there is one of the name."""
        if machine.name in self.machines:
            raise ValueError(f"there is a machine {machine.name} already: give this one a name=")
        self.machines[machine.name] = machine
        return machine

    def project(
        self, path: str | Path = ".", *, parameters: Mapping[str, str] | None = None, stage: str | None = None
    ) -> ProjectUnderTest:
        """A project (SAM, CDK output, serverless.yml, a folder), deployed into the system.

        `sfn.project("template.yaml")["Order"]` is a machine of it, by its id or its name. What has no mock runs: its
        functions, queues and tables are there.

        Raises: ProjectError; AssertionError with what could not be deployed.
        """
        from statewright.testing.project import deployed

        return deployed(self, self.path(path), parameters or {}, stage)

    def mock(
        self, *, resource: str, iteration: Numbers | tuple[Numbers, ...] = None, attempt: Numbers = None,
        visit: Numbers = None,
    ) -> Mock:  # fmt: skip
        """A mock for a resource, whichever machine uses it; a machine's own go first."""
        return self.book.add(Mock(resource=resource, iteration=iteration, attempt=attempt, visit=visit))

    def cases(
        self, file: str | Path, machine: str | None = None, *,
        definitions: str | Path | Mapping[str, str | Path] | None = None,
    ) -> list[Case]:  # fmt: skip
        """The cases of a `MockConfigFile.json` or a `*.cases.yaml`; `@sfn.cases(...)` above a test parametrises it."""
        from statewright.testing.case import read_cases

        return [case.bound(self) for case in read_cases(self.path(file), machine, definitions)]

    def test_state(
        self, definition: str | Path | Mapping[str, Any] | Machine, state: str | None = None, **given: Any
    ) -> Trial:
        """Run one state alone: `test_state("order.asl.json", "Charge", input={...}, returns={...})`; see `trial.py`."""
        from statewright.testing.trial import try_state

        return try_state(self, definition, state, **given)

    def replay(
        self, history: str | Path | Any, machine: Machine | str | Path | Mapping[str, Any], *, path: bool = True
    ) -> Run:
        """Run a recorded execution again on a definition, its tasks answering as they did, and compare.

        `history` is what `aws stepfunctions get-execution-history` prints, or its file. The way must be the same
        unless `path=False`; the calls and the end in any case.

        Raises: AssertionError, UnmockedTask for a call that is not in the record, ValueError.
        """
        from statewright.testing.replay import replayed

        found = machine if isinstance(machine, Machine) else self.load(machine)
        return replayed(self, history, found, compare_path=path)

    # ------------------------------------------------------------------ the system

    @property
    def system(self) -> VirtualSystem:
        """The system, which begins when it is first asked for."""
        if self._system is None:
            options: dict[str, Any] = {} if self._start is None else {"start": _instant(self._start)}
            made = VirtualSystem(seed=self._seed, config=self._config, prepare=self._prepare, **options)
            self._system = made.__enter__()
        return self._system

    @property
    def has_begun(self) -> bool:
        """Whether there is a system yet, so that time cannot begin earlier."""
        return self._system is not None

    def client(self, service: str, **settings: Any) -> Any:
        """A boto3 client of the system: `sfn.client("stepfunctions")`. It needs no endpoint and no port."""
        return self.system.client(service, **settings)

    def model(self, function: str, model: Model, *, timeout: int = 900) -> str:
        """Have a model (a duration, a failure rate) stand in for a function; returns its ARN."""
        return self.system.model(function, model, timeout=timeout)

    def make_machines(self) -> None:
        """Have every machine in the system, since one may start another."""
        for machine in self.machines.values():
            assert machine.arn

    def advance(self, duration: str | float) -> None:
        """Let time pass for everything."""
        self.system.advance(duration)

    def run_until(self, condition: Callable[[], object] | Instant, *, within: str | float = "365d") -> None:
        """Let time pass until an instant or until a condition holds. Raises: NeverHappened."""
        self.system.run_until(condition if callable(condition) else _instant(condition), within=within)

    @property
    def now(self) -> datetime:
        """The present instant."""
        return self.system.now

    def restart(self) -> None:
        """Kill the system as it stands, and open its store again, at the same instant."""
        self.system.restart()

    def move_to(self, at: Instant | None) -> None:
        """Let it be that instant. Raises: ValueError for one that has passed."""
        if at is None:
            return
        instant = _instant(at)
        if self._system is None:
            self._start = instant
            return
        if instant < self.system.now:
            raise ValueError(f"at={at}: it is {self.system.now:%Y-%m-%dT%H:%M:%SZ} already, and time goes forward only")
        self.system.run_until(instant)

    def path(self, path: str | Path) -> Path:
        """A file beside the test, or from the current folder."""
        beside = self.base / path
        return beside if beside.exists() else Path(path)

    def close(self) -> None:
        """End the system."""
        if self.coverage is not None:
            self.coverage.note_test(self)
        system, self._system = self._system, None
        if system is not None:
            system.__exit__(None, None, None)

    # ------------------------------------------------------------------ what tasks ask

    def book_of(self, machine: str) -> tuple[MockBook, bool]:
        """See `tasks.Books`. A machine that the test has made by a client has no mocks of its own."""
        found = self.machines.get(machine)
        return (self.book, True) if found is None else (found.book, found.unmocked == "runs")

    def knows(self, machine: str) -> bool:
        """See `tasks.Books`."""
        found = self.machines.get(machine)
        return found is not None and found.is_there

    def _prepare(self, system: System) -> None:
        self.tasks.take_over(system)
        if self.coverage is not None:
            system.engine.catalogue.programs.refine = self.coverage.counted


def fill(text: str, values: Mapping[str, str]) -> str:
    """A definition without placeholders: filled with values, else with names; of a Resource, with an ARN."""
    if "${" not in text:
        return text
    for name, value in values.items():
        text = text.replace(f"${{{name}}}", value)
    text = _RESOURCE.sub(lambda match: f"{match[1]}{_function_arn(match[2])}", text)
    return _PLACEHOLDER.sub(lambda match: match[1], text)


def _function_arn(name: str) -> str:
    config = Config()
    plain = _NOT_IN_NAMES.sub("-", name.removesuffix(".Arn"))
    return f"arn:aws:lambda:{config.region}:{config.account}:function:{plain}"


def _compiled(path: str, text: str, kind: str) -> tuple[str, Any, Loaded]:
    """The definition as JSON text, as a value, and compiled. Raises: DefinitionError."""
    key = (path, text, kind)
    found = _loaded.get(key)
    if found is None:
        document, findings = check_text(
            text, path, machine_type="EXPRESS" if kind == "EXPRESS" else "STANDARD", lints=False
        )
        try:
            loaded = compile_checked(document, findings)
        except DefinitionError as wrong:
            lines = [f"{path}:{one.line}:{one.column} {one.code} {one.message}" for one in wrong.diagnostics]
            wrong.args = ("\n" + "\n".join(lines),)
            raise
        as_json = text if path.endswith(".json") else dump_json(loaded.document.value)
        found = _loaded[key] = (as_json, read_document(text, name=path).value, loaded)
    return found


def _stem(path: Path) -> str:
    for ending in (*DEFINITION_ENDINGS, ".json", ".yaml", ".yml"):
        if path.name.endswith(ending):
            return path.name.removesuffix(ending)
    return path.stem


def _instant(at: Instant) -> datetime:
    """An instant with its zone; without one, UTC. Raises: ValueError."""
    if isinstance(at, str):
        try:
            at = datetime.fromisoformat(at.strip())
        except ValueError:
            raise ValueError(f"'{at}' is no instant: write it like 2026-01-01T00:00:00Z") from None
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)
