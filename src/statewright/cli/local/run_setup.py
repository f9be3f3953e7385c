"""Preparation of `statewright run`: the definition, its input, its mocks, and a test case of any kind.

Owns finding these and saying what is missing. Nothing here runs anything.
"""

from __future__ import annotations

import codecs
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from statewright.cli.output import NOT_FOUND, USAGE, Refused, Stop, count_words, reason_of
from statewright.errors import DefinitionError, Diagnostic
from statewright.limits import EXPRESS, PROFILES, Limits

if TYPE_CHECKING:
    from statewright.asl.loading import Loaded
    from statewright.asl.program import MachineType
    from statewright.payload import Json
    from statewright.simulator.cases import Case
    from statewright.simulator.mock_config import MockConfig
    from statewright.simulator.mocks import Script
    from statewright.simulator.script import MockFile

_MACHINE: Final = re.compile(r"[A-Za-z0-9_-]{1,80}(?::[A-Za-z0-9_.-]+)?|arn:[^/\\]*")
STDIN: Final = Path("-")
"""The definition is read from the standard input."""
_LONGEST_NAME: Final = 200
_PATH_LIKE: Final = re.compile(r"[^\s{}\[\]\"]+\.(?:json|ya?ml)|[./~][^\s{}\[\]\"]*")


@dataclass(frozen=True, slots=True)
class Wishes:
    """The options of the command that decide what runs."""

    file: str
    input: str | None
    case: str | None
    mock: str | None
    machine: str | None
    limits: str | None
    start: str | None
    type: MachineType = "STANDARD"


@dataclass(frozen=True, slots=True)
class Setup:
    """Everything that a run is made of. `mock_name` is the file that mocks come from, for what is wrong with them."""

    path: Path
    loaded: Loaded
    input: Json
    script: Script
    must_be_used: int
    """How many of the script's first rules are there for this very run; those common to several cases are not."""
    mock_name: str
    case: str | None
    limits: Limits
    start_ms: int | None
    type: MachineType = "STANDARD"


def prepare(wishes: Wishes) -> Setup:
    """Find and read everything. Raises: Stop, Refused."""
    from statewright.simulator.cases import read_instant_ms

    path, case_in_file = find_definition(wishes.file)
    case_name = wishes.case if wishes.case is not None else case_in_file
    start_ms = None
    if wishes.start is not None:
        try:
            start_ms = read_instant_ms(wishes.start)
        except ValueError as problem:
            raise Stop(USAGE, f"--start: {problem}") from None
    if path == STDIN and wishes.input == "-":
        raise Stop(USAGE, "The definition and the input cannot both be the standard input.", "the input: -i @FILE")
    given = read_input(wishes.input) if wishes.input is not None else None
    try:
        loaded = _load(path, wishes.type)
    except DefinitionError as problem:
        raise Refused("<stdin>" if path == STDIN else str(path), problem.diagnostics) from None
    except OSError as problem:
        raise Stop(NOT_FOUND, f"{path}: {reason_of(problem)}") from None
    script, mock_name, case = choose_mocks(path, case_name, wishes.mock, wishes.machine)
    limits = PROFILES[wishes.limits or (case.limits.profile if case is not None else "aws")]
    if wishes.type == "EXPRESS" and limits.profile == EXPRESS.profile:
        limits = EXPRESS
    value = given[0] if given is not None else case.input if case is not None else {}
    check_size(value, limits)
    if start_ms is None and case is not None:
        start_ms = case.start_ms
    must_be_used = len(script.rules) if case is None else case.own_rules
    return Setup(path, loaded, value, script, must_be_used, mock_name, case_name, limits, start_ms, wishes.type)


def _load(path: Path, machine_type: MachineType) -> Loaded:
    from statewright.asl.loading import check_text, compile_checked, load_program

    if path != STDIN:
        return load_program(path, machine_type=machine_type)
    return compile_checked(*check_text(sys.stdin.buffer.read(), "<stdin>", machine_type=machine_type))


def names_machine(target: str) -> bool:
    """True if the target is a state machine of a server, not a file: `order`, `order:prod`, or an ARN."""
    path = Path(target)
    if path == STDIN:
        return False
    return _MACHINE.fullmatch(target) is not None and (path.is_dir() or not path.exists())


def files_like(path: Path) -> list[str]:
    """Definitions that are probably meant by a name without its ending."""
    return [name for name in (f"{path}.asl.json", f"{path}.asl.yaml", f"{path}.json") if Path(name).is_file()]


def find_definition(target: str) -> tuple[Path, str | None]:
    """The file that is meant, and the test case after a `#`. Raises: Stop when there is no such file."""
    path = Path(target)
    case: str | None = None
    if path == STDIN:
        return path, None
    if not path.exists() and "#" in target:
        name, _, case = target.rpartition("#")
        path = Path(name)
    if path.is_file():
        return path, case
    if path.is_dir():
        raise Stop(NOT_FOUND, f"{path} is a folder", "name the file of a definition in it, or try: statewright test")
    if path.exists():
        return path, case  # a pipe, such as <(...) in a shell
    near = files_like(path)
    if near:
        raise Stop(NOT_FOUND, f"There is no file '{path}'.", f"did you mean {near[0]}?")
    raise Stop(NOT_FOUND, f"There is no file '{path}'.")


# ------------------------------------------------------------------ input


def read_input(text: str) -> tuple[Json]:
    """The execution's input: JSON, `@file`, or `-` for the standard input. Raises: Stop."""
    if text == "-":
        return (parse_input(sys.stdin.buffer.read(), "standard input"),)
    if not text.startswith("@"):
        return (parse_input(text, "--input"),)
    path = Path(text[1:])
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise Stop(NOT_FOUND, f"--input: {path}: {reason_of(problem)}") from None
    return (parse_input(content, str(path)),)


def parse_input(text: str | bytes, name: str) -> Json:
    """A JSON value, or a YAML one from a file whose name says so. Raises: Stop with line and column."""
    from statewright.payload import JsonTextError, parse_json

    if isinstance(text, bytes):
        text = text.removeprefix(codecs.BOM_UTF8)
    if not text.strip():
        raise Stop(USAGE, f"{name} is empty, expected a JSON value", "the empty object is {}")
    if name.endswith((".yaml", ".yml")):
        return _read(text, name)
    try:
        return parse_json(text)
    except JsonTextError as problem:
        line, column, message = problem.line, problem.column, problem.message
    # Our own reader says more, and is slower.
    try:
        _read(text, name)
    except Stop as better:
        better.hint = _input_hint(text, name) or better.hint
        raise
    raise Stop(USAGE, f"{name} is not JSON, line {line}, column {column}: {message}", _input_hint(text, name))


def _read(text: str | bytes, name: str) -> Json:
    from statewright.asl.reader import ReadError, read_document

    is_yaml = name.endswith((".yaml", ".yml"))
    try:
        document = read_document(
            text, name=name, syntax="yaml" if is_yaml else "json", placeholders=False, max_characters=64 * 1_048_576
        )
    except ReadError as problem:
        first = problem.diagnostics[0]
        kind = "YAML" if is_yaml else "JSON"
        where = f"line {first.line}, column {first.column}"
        raise Stop(USAGE, f"{name} is not {kind}, {where}: {first.message}", first.hint) from None
    return document.value


def _input_hint(text: str | bytes, name: str) -> str | None:
    if name != "--input" or not isinstance(text, str):
        return None
    if len(text) < _LONGEST_NAME and (Path(text).is_file() or _PATH_LIKE.fullmatch(text)):
        return f"to read a file put @ before its name: -i @{text}"
    if re.fullmatch(r"\s*\{?\s*'.*", text, re.DOTALL):
        return "JSON has double quotes; in a shell put single ones around them: -i '{\"order\": 7}'"
    if re.fullmatch(r"[A-Za-z_]\w*", text):
        return f"text is in double quotes: -i '\"{text}\"'"
    return None


def check_size(value: Json, limits: Limits) -> None:
    """Refuse an input that the service would not take. Raises: Stop."""
    from statewright.errors import ExecutionFailure
    from statewright.payload import Payload

    try:
        size = Payload(value).size_bytes
    except ExecutionFailure as problem:
        raise Stop(USAGE, f"--input: {problem.cause}") from None
    if limits.payload_bytes is not None and size > limits.payload_bytes:
        message = f"The input has {size:,} bytes; the service takes {limits.payload_bytes:,}."
        raise Stop(USAGE, message, "--limits open lifts this limit")


# ------------------------------------------------------------------ mocks and test cases


def choose_mocks(
    definition: Path, case_name: str | None, mock: str | None, machine: str | None
) -> tuple[Script, str, Case | None]:
    """The mocks of a run, the file that they come from, and our own case if one was meant. Raises: Stop, Refused."""
    if mock is None:
        if machine is not None:
            raise Stop(USAGE, "--machine names a state machine of a MockConfigFile.json, which --mock must give")
        return _from_cases(definition, case_name) if case_name is not None else (_no_mocks(), "", None)
    path = Path(mock)
    if not path.exists() and "#" in mock and case_name is None:
        name, _, case_name = mock.rpartition("#")
        path = Path(name)
    try:
        from statewright.simulator.script import MockFile, load_script

        # Read once: of a pipe, such as <(...) in a shell, nothing is left for a second time.
        file = MockFile(path, str(path))
        if _is_mock_config(file):
            return _from_mock_config(file, path, definition, case_name, machine), str(path), None
        script = load_script(file)
    except OSError as problem:
        raise Stop(NOT_FOUND, f"--mock: {path}: {reason_of(problem)}") from None
    except DefinitionError as problem:
        raise Refused(str(path), problem.diagnostics) from None
    if case_name is not None or machine is not None:
        option = "--case" if case_name is not None else "--machine"
        hint = "leave --mock out to run a case of the .cases.yaml file beside the definition"
        raise Stop(USAGE, f"{option}: {path} has only mocks, no test cases", hint if case_name else None)
    return script, str(path), None


def _no_mocks() -> Script:
    from statewright.simulator.mocks import Script

    return Script(())


def _from_cases(definition: Path, name: str) -> tuple[Script, str, Case]:
    from statewright.simulator.cases import CASE_ENDINGS, cases_beside, load_cases

    path = cases_beside(definition)
    if path is None:
        stem = definition.name.split(".")[0]
        config = definition.with_name("MockConfigFile.json")
        hint = f"for a test case of {config} add --mock {config}" if config.is_file() else None
        raise Stop(NOT_FOUND, f"--case: there is no {stem}{CASE_ENDINGS[0]} beside {definition}", hint)
    try:
        case = load_cases(path).case(name)
    except DefinitionError as problem:
        if any(found.line for found in problem.diagnostics):
            raise Refused(str(path), problem.diagnostics) from None
        raise _unknown(problem.diagnostics[0]) from None
    return case.script, str(path), case


def _is_mock_config(file: MockFile) -> bool:
    value = file.value
    return isinstance(value, dict) and not value.keys().isdisjoint(("MockedResponses", "StateMachines"))


def _from_mock_config(file: MockFile, path: Path, definition: Path, case: str | None, machine: str | None) -> Script:
    from statewright.simulator.mock_config import load_mock_config, machine_name

    config = load_mock_config(file)
    name = machine_name(machine) if machine is not None else _machine_for(config, definition, path)
    try:
        cases = config.cases(name)
        if case is None and len(cases) == 1:
            case = cases[0]
        if case is None:
            hint = "there are " + ", ".join(cases) if cases else None
            raise Stop(USAGE, f"{path} has {count_words(len(cases), 'test case')} for {name}: name one, --case", hint)
        return config.script(name, case)
    except DefinitionError as problem:
        raise _unknown(problem.diagnostics[0]) from None


def _machine_for(config: MockConfig, definition: Path, path: Path) -> str:
    """The machine of a mock configuration that a definition's file is probably about."""
    machines = config.machines()
    if len(machines) == 1:
        return machines[0]
    stem = _folded(definition.name.split(".")[0])
    alike = [name for name in machines if _folded(name) in (stem, stem.removesuffix("statemachine"))]
    if len(alike) == 1:
        return alike[0]
    hint = "there are " + ", ".join(machines) if machines else None
    raise Stop(USAGE, f"{path} has {count_words(len(machines), 'state machine')}: name one, --machine", hint)


def _folded(name: str) -> str:
    return re.sub(r"[\W_]", "", name).casefold()


def _unknown(finding: Diagnostic) -> Stop:
    return Stop(NOT_FOUND, finding.message[:1].upper() + finding.message[1:], finding.hint)


def input_text(option: str | None) -> str:
    """The JSON text of `-i JSON|@FILE|-`. Raises: Stop."""
    from statewright.payload import Payload

    return "{}" if option is None else Payload(read_input(option)[0]).text
