"""Cases of a file, one test each: a `MockConfigFile.json` of Step Functions Local, or our own `*.cases.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from statewright.asl.loading import DEFINITION_ENDINGS
from statewright.payload import Json
from statewright.simulator.mocks import Script
from statewright.testing.bench import Bench
from statewright.testing.machine import Machine, load_machine
from statewright.testing.run import Run

if TYPE_CHECKING:
    from statewright.simulator.cases import Case as WrittenCase


@dataclass(frozen=True)
class Case:
    """One case. `machine_name` and `name` are the file's."""

    machine_name: str
    name: str
    definition: Path
    script: Script
    written: WrittenCase | None = None
    bench: Bench | None = None

    @property
    def id(self) -> str:
        """How the test is named after it."""
        return self.name if self.written is not None else f"{self.machine_name}#{self.name}"

    def bound(self, bench: Bench) -> Case:
        """The case in a test's system."""
        return replace(self, bench=bench)

    @property
    def machine(self) -> Machine:
        """The machine with the case's mocks; more may be added."""
        assert self.bench is not None, "a case runs in a test: take `case` as the test's argument"
        known = self.bench.subjects.get(self.machine_name)
        if known is None:
            found = load_machine(self.bench, self.definition, name=self.machine_name)
        else:
            found = Machine(self.bench, known)
        if found.book.remedy is None:
            found.book.add_rules(self.script.rules)
            found.book.remedy = self.script.remedy or "add it to the case's mocks."
        return found

    def run(self, input: Json = None, **options: Any) -> Run:
        """Run the machine with the case's mocks, on the case's input unless one is given."""
        written = self.written
        if written is None:
            return self.machine.run(input, **options)
        options.setdefault("at", _iso(written.start_ms))
        return self.machine.run(written.input if input is None else input, **options)

    def check(self) -> None:
        """Run a case of a `*.cases.yaml` and compare with what it expects, as `statewright test` does.

        Raises: AssertionError with everything that is not as expected.
        """
        from statewright.simulator.cases import run_case

        __tracebackhide__ = True
        if self.written is None:
            raise ValueError("a MockConfigFile.json expects nothing: run the case and assert")
        result = run_case(self.written)
        if not result.passed:
            from statewright.testing.showing import differences_text, path_text

            lines = [result.problem] if result.problem is not None else []
            for one in result.mismatches:
                lines.append(f"{one.what}: wanted {one.wanted!r}, got {one.got!r}")
                if one.what == "path":
                    lines.append(path_text(list(one.wanted), list(one.got)))  # type: ignore[arg-type]
                elif one.differences:
                    lines.append(differences_text(one.differences))
            raise AssertionError(f"{self.name}\n" + "\n".join(lines))


def read_cases(
    file: Path, machine: str | None, definitions: str | Path | Mapping[str, str | Path] | None
) -> list[Case]:
    """The cases of a file, of one machine or of all.

    Raises: DefinitionError, OSError, LookupError for a machine without a definition.
    """
    # Imported here: most tests write their mocks in Python.
    from statewright.simulator.cases import CASE_ENDINGS, load_cases
    from statewright.simulator.mock_config import load_mock_config

    if file.name.endswith(CASE_ENDINGS):
        read = load_cases(file)
        name = _name_of(read.subject.path)
        return [Case(name, case.name, case.subject.path, case.script, case) for case in read.cases]
    config = load_mock_config(file, name=file.name)
    found = []
    for name in (machine,) if machine is not None else config.machines():
        definition = _definition(file, name, definitions)
        found += [Case(name, case, definition, config.script(name, case)) for case in config.cases(name)]
    return found


def _definition(file: Path, machine: str, given: str | Path | Mapping[str, str | Path] | None) -> Path:
    named = given.get(machine) if isinstance(given, Mapping) else given
    if named is not None:
        beside = file.parent / named
        return beside if beside.exists() else Path(named)
    plain = _plain(machine)
    for path in sorted(file.parent.iterdir()):
        if path.name.endswith(DEFINITION_ENDINGS) and _plain(_name_of(path)) in (
            plain,
            plain.removesuffix("statemachine"),
        ):
            return path
    raise LookupError(
        f"there is no definition of {machine} beside {file}: name it with definitions={{'{machine}': 'order.asl.json'}}"
    )


def _name_of(path: Path) -> str:
    return path.name.partition(".")[0]


def _plain(name: str) -> str:
    return "".join(char for char in name.lower() if char.isalnum())


def _iso(at_ms: int) -> str:
    from statewright.asl.timestamps import format_timestamp

    return format_timestamp(at_ms)
