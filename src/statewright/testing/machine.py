"""A state machine under test: how a definition becomes one, its mocks, and how it is started."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

from statewright.asl.extensions import accepted
from statewright.asl.loading import DEFINITION_ENDINGS, Loaded, check_text, compile_checked
from statewright.asl.program import Program
from statewright.asl.reader import read_document
from statewright.config import Config
from statewright.errors import DefinitionError
from statewright.payload import Json, JsonMapping, dump_json
from statewright.testing.bench import Bench, Instant
from statewright.testing.mocking import Mock, MockBook, Numbers
from statewright.testing.run import FOR_EVER, Run
from statewright.testing.subject import Subject, Unmocked

_PLACEHOLDER: Final = re.compile(r"\$\{([A-Za-z0-9_.:-]+)\}")
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_-]+")
_RESOURCE: Final = re.compile(r"""(["']?Resource["']?\s*:\s*["']?)\$\{([A-Za-z0-9_.:-]+)\}(?=["'\s,}]|$)""")

_loaded: dict[tuple[str, str, str], tuple[str, Any, Loaded]] = {}
"""Definitions by file name, text and type: compiled once for all tests of a process."""


class Machine:
    """A machine of the system. What a task without a mock does is `unmocked`'s: it `fails` the test, or it `runs`.

    Tasks whose function or state machine the test has put into the system run in any case.
    """

    def __init__(self, bench: Bench, subject: Subject) -> None:
        self._bench = bench
        self.subject = subject

    @property
    def name(self) -> str:
        """The machine's name."""
        return self.subject.name

    @property
    def text(self) -> str:
        """The definition as JSON text."""
        return self.subject.text

    @property
    def definition(self) -> Any:
        """The definition as a value."""
        return self.subject.definition

    @property
    def program(self) -> Program:
        """The definition, compiled."""
        return self.subject.program

    @property
    def book(self) -> MockBook:
        """The machine's own mocks."""
        return self.subject.book

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
            self.subject.check_state(state)
        return self.book.add(Mock(state, resource=resource, iteration=iteration, attempt=attempt, visit=visit))

    def mock_file(self, path: str | Path) -> None:
        """Add the mocks of a file (docs/mocks.md). Raises: DefinitionError, OSError."""
        from statewright.simulator.script import load_script

        self.book.add_rules(load_script(self._bench.path(path)).rules)

    # ------------------------------------------------------------------ runs

    def run(
        self, input: Json = None, *, at: Instant | None = None, name: str | None = None,
        within: str | float = FOR_EVER,
    ) -> Run:  # fmt: skip
        """Run an execution to its end. The input is `{}` unless given; `at` is when it begins.

        Raises: UnmockedTask, Stalled.
        """
        __tracebackhide__ = True
        if self.subject.kind == "EXPRESS":
            return self._begin("StartSyncExecution", input, at, name).checked()
        return self.start(input, at=at, name=name).finish(within=within)

    def start(self, input: Json = None, *, at: Instant | None = None, name: str | None = None) -> Run:
        """Start an execution; it goes on until it waits for something."""
        return self._begin("StartExecution", input, at, name)

    def _begin(self, operation: str, input: Json, at: Instant | None, name: str | None) -> Run:
        bench, subject = self._bench, self.subject
        bench.move_to(at)
        bench.make_machines()
        subject.started += 1
        given = {
            "stateMachineArn": self.arn,
            "input": dump_json({} if input is None else input),
            "name": name or f"run-{subject.started}",
        }
        recording = bench.recorder.recordings[bench.system.call("stepfunctions", operation, given)["executionArn"]]
        bench.started.append((subject, recording))
        return Run(bench, subject, recording)

    @property
    def runs(self) -> list[Run]:
        """Its executions so far, those that other machines have started included."""
        return [Run(self._bench, self.subject, one) for one in self._bench.recorder.of_machine(self.name)]

    @property
    def arn(self) -> str:
        """The machine's ARN; it is created in the system when it is first asked for."""
        return self._bench.arn_of(self.subject)

    def __repr__(self) -> str:
        return f"<Machine {self.name}>"


def load_machine(
    bench: Bench, definition: str | Path | JsonMapping, *, name: str | None = None, type: str = "STANDARD",
    values: Mapping[str, str] | None = None, unmocked: Unmocked = "fails", **settings: Any,
) -> Machine:  # fmt: skip
    """See `Sfn.load`. Raises: DefinitionError with every mistake; OSError; ValueError for a name that is taken."""
    if isinstance(definition, Mapping):
        path, text, origin = "definition.asl.json", dump_json(dict(definition)), None
    else:
        found = bench.path(definition)
        path, text, origin = str(found), found.read_text("utf-8"), found
    filled = _filled(text, values or {})
    with accepted() if bench.config.extensions else nullcontext():
        text, value, loaded = _compiled(path, filled, type)
    stem = _stem(origin) if origin is not None else f"machine-{len(bench.subjects) + 1}"
    subject = Subject(
        name or _NOT_IN_NAMES.sub("-", stem), text, value, loaded.program, MockBook(bench.book), kind=type,
        unmocked=unmocked, origin=None if origin is None else str(origin), settings=settings,
    )  # fmt: skip
    bench.add(subject)
    return Machine(bench, subject)


def _filled(text: str, values: Mapping[str, str]) -> str:
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
    return config.arn("lambda", f"function:{plain}")


def _compiled(path: str, text: str, kind: str) -> tuple[str, Json, Loaded]:
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
