"""The published mock format, `MockConfigFile.json`: named test cases that name mocked responses by state.

Owns the format, the `machine#case` notation, and the turning of a test case into a `Script`. Our own format, which can
say more, is in `script.py`; how mocks are answered is in `mocks.py`.

Source: developer guide, "Configuration file for mocked service integrations". Observed in the tool it belongs to: each
state counts its calls through the whole execution, retries, iterations and later visits included; a response is looked
at only when its state is entered, so an empty one does no harm elsewhere; `Return` takes any JSON value.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from statewright.asl.findings import did_you_mean
from statewright.errors import DefinitionError, Diagnostic
from statewright.payload import Json
from statewright.simulator.mocks import Outcome, Result, Returned, Rule, Script, Threw
from statewright.simulator.script import MockFile, read_spans

UNKNOWN_NAME: Final = "MOCK_UNKNOWN_NAME"

_ATTEMPTS_HINT: Final = 'name calls from 0 by number or range: {"0": {"Throw": {...}}, "1-2": {"Return": {...}}}'
_LARGEST_CALL: Final = 1_000_000


@dataclass(frozen=True)
class MockConfig:
    """A mock file's test cases by state machine; each maps states to the names of mocked responses."""

    name: str
    test_cases: dict[str, dict[str, dict[str, str]]]
    responses: dict[str, tuple[Result, ...]]
    places: dict[str, tuple[int, int]]
    """Line and column of each response."""

    def machines(self) -> tuple[str, ...]:
        """The state machines that have test cases."""
        return tuple(self.test_cases)

    def cases(self, machine: str) -> tuple[str, ...]:
        """The test cases of a state machine. Raises: DefinitionError for an unknown one."""
        return tuple(self._cases(machine))

    def script(self, machine: str, case: str) -> Script:
        """The mocks of a test case. States that it does not name stay without one.

        Raises: DefinitionError for an unknown machine or case.
        """
        cases = self._cases(machine)
        if case not in cases:
            raise _unknown(f"state machine '{machine}' has no test case '{case}' in {self.name}", case, list(cases))
        rules = (
            Rule(self.responses[response], state=state, ending="stop", place=self.places[response])
            for state, response in cases[case].items()
        )
        return Script(
            tuple(rules), remedy=f"name a response for it in test case '{case}' of '{machine}' in {self.name}."
        )

    def _cases(self, machine: str) -> dict[str, dict[str, str]]:
        if machine not in self.test_cases:
            message = f"there are no test cases for state machine '{machine}' in {self.name}"
            raise _unknown(message, machine, list(self.test_cases))
        return self.test_cases[machine]


def load_mock_config(source: str | Path | MockFile, *, name: str = "MockConfigFile.json") -> MockConfig:
    """Read a mock file: its text, the path of the file, or what has been read of it.

    Raises:
        DefinitionError: everything that is wrong with it, each with line and column.
        OSError: the file cannot be read.
    """
    if isinstance(source, MockFile):
        file = source
    else:
        file = MockFile(source, name, None if isinstance(source, Path) else "json")
    top = file.members((), "a mock configuration", ("StateMachines", "MockedResponses"))
    sections: dict[str, dict[str, Json]] = {"StateMachines": {}, "MockedResponses": {}}
    for section in sections if top is not None else ():
        if section in file.value:
            sections[section] = file.members((section,), section) or {}
        else:
            file.problem(f"there is no {section} in this file", ())
    responses = {response: _response(file, response) for response in sections["MockedResponses"]}
    known = list(responses)
    test_cases = {machine: _test_cases(file, machine, known) for machine in sections["StateMachines"]}
    file.check()
    places = {response: file.place(("MockedResponses", response)) for response in responses}
    return MockConfig(file.name, test_cases, responses, places)


def machine_name(target: str) -> str:
    """The name of the machine that a name or an ARN, with or without a version or an alias, is for."""
    return target.split(":stateMachine:", 1)[-1].partition(":")[0]


def _test_cases(file: MockFile, machine: str, responses: list[str]) -> dict[str, dict[str, str]]:
    at: tuple[str, ...] = ("StateMachines", machine)
    fields = file.members(at, f"state machine '{machine}'", ("TestCases",))
    if fields is None or "TestCases" not in fields:
        if fields is not None:
            file.problem(f"state machine '{machine}' has no TestCases", at)
        return {}
    at = (*at, "TestCases")
    found: dict[str, dict[str, str]] = {}
    for case in file.members(at, "TestCases") or {}:
        found[case] = {}
        for state, response in (file.members((*at, case), f"test case '{case}'") or {}).items():
            where = (*at, case, state)
            if not isinstance(response, str):
                file.problem(f"state '{state}' must have the name of a mocked response", where)
            elif response not in responses:
                hint = did_you_mean(response, responses)
                file.problem(f"there is no mocked response '{response}'", where, hint, UNKNOWN_NAME)
            else:
                found[case][state] = response
    return found


def _response(file: MockFile, response: str) -> tuple[Result, ...]:
    """The results of a mocked response in the order of its calls; what is left out stays without an answer."""
    at = ("MockedResponses", response)
    ranged: list[tuple[int, int, str, Outcome]] = []
    for key in file.members(at, f"mocked response '{response}'", hint=_ATTEMPTS_HINT) or {}:
        outcome = _outcome(file, (*at, key))
        spans = None if "," in key or "+" in key else read_spans(key)
        if spans is None:
            file.problem(f"'{key}' is neither the number of a call nor a range", (*at, key), _ATTEMPTS_HINT)
            continue
        ((first, last),) = spans.ranges
        assert last is not None
        if last > _LARGEST_CALL:
            file.problem(f"call {last} is more than there can be", (*at, key))
        elif outcome is not None:
            ranged.append((first, last, key, outcome))
    results: list[Result] = []
    covered = 0
    before = ""
    for first, last, key, outcome in sorted(ranged, key=lambda entry: entry[:2]):
        if first < covered:
            file.problem(f"call {first} is in '{before}' already", (*at, key), "let no two ranges overlap")
            continue
        if first > covered:
            results.append(Result(None, times=first - covered))
        results.append(Result(outcome, times=last + 1 - first))
        covered, before = last + 1, key
    return tuple(results) or (Result(None),)


def _outcome(file: MockFile, at: tuple[str, ...]) -> Outcome | None:
    fields = file.members(at, "a mocked response's result", ("Return", "Throw"), "write {Return: ...} or {Throw: ...}")
    if fields is None:
        return None
    if len(fields) > 1:
        file.problem("a result is either Return or Throw, not both", at)
        return None
    if "Return" in fields:
        return Returned(fields["Return"])
    if "Throw" not in fields:
        # A misspelt field has been reported already.
        if file.at(at) == {}:
            file.problem("a result has a Return or a Throw", at)
        return None
    at = (*at, "Throw")
    failure = file.members(at, "Throw", ("Error", "Cause"), 'write {"Error": "Name", "Cause": "why"}')
    return None if failure is None else Threw(_text(file, failure, "Error", at), _text(file, failure, "Cause", at))


def _text(file: MockFile, fields: dict[str, Json], field: str, at: tuple[str, ...]) -> str | None:
    value = fields.get(field)
    if not isinstance(value, str):
        file.problem(f"Throw needs {field}, a text", (*at, field) if field in fields else at)
        return None
    return value


def _unknown(message: str, name: str, known: list[str]) -> DefinitionError:
    hint = did_you_mean(name, known) or ("there are " + ", ".join(known) if known else None)
    return DefinitionError([Diagnostic(UNKNOWN_NAME, message, hint=hint)])
