"""Coverage of machines: states, Choice rules, Retry and Catch that no test of a session has taken (`--sfn-coverage`).

Counts are plain values, so that those of several processes add up. A Choice rule is counted where it comes true; which
retrier and catcher has matched an error follows from the history.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from statewright.asl.program import ChoiceDef, ChoiceRule, Program, ScopeDef, StateDef
from statewright.errors import TIMEOUT
from statewright.graph.summary import error_words, rule_words
from statewright.interpreter.retry import first_match
from statewright.payload import Json, JsonMapping, JsonObject
from statewright.simulator.story import Visit
from statewright.testing.bench import Bench
from statewright.testing.showing import inner_scopes
from statewright.testing.subject import Subject

Key = str
"""A key: `state|Charge`, `choice|Route|0`, `choice|Route|default`, `retry|Charge|1`, `catch|Charge|0`."""


@dataclass(slots=True)
class Coverage:
    """One session's counts by machine. `root` is what files' names are relative to."""

    root: Path
    machines: dict[str, JsonObject] = field(default_factory=dict)
    _rules: dict[int, dict[Key, int]] = field(default_factory=dict)

    # ------------------------------------------------------------------ counting

    def counted(self, machine_id: int, program: Program) -> Program:
        """The same program, whose Choice rules count how often they come true."""
        counts = self._rules.setdefault(machine_id, {})
        scopes = tuple(_counting(scope, counts) for scope in program.scopes)
        return replace(program, scopes=scopes)

    def note_test(self, bench: Bench) -> None:
        """Take in what a test's machines have done."""
        for machine in bench.subjects.values():
            taken = self._entry(machine)["taken"]
            found: Counter[Key] = Counter()
            for recording in bench.recorder.of_machine(machine.name):
                # Each machine of a test has one id; its rules are added once.
                found.update(self._rules.pop(recording.head.machine_id, {}))
                for visit in recording.story(machine.program).visits():
                    found.update(_taken_by(visit))
            for key, count in _with_defaults(machine.program, found).items():
                taken[key] = taken.get(key, 0) + count
        self._rules.clear()

    def _entry(self, machine: Subject) -> JsonObject:
        name = machine.name
        if machine.origin is not None:
            name = os.path.relpath(machine.origin, self.root)
        entry = self.machines.setdefault(name, {"names": {}, "taken": {}})
        if not entry["names"]:
            entry["names"] = dict(_all(machine.definition))
        return entry

    # ------------------------------------------------------------------ several processes

    def to_data(self) -> JsonObject:
        """The counts as plain values."""
        return self.machines

    def merge(self, data: JsonMapping) -> None:
        """Add another process's counts."""
        for name, theirs in data.items():
            entry = self.machines.setdefault(name, {"names": {}, "taken": {}})
            entry["names"].update(theirs["names"])
            for key, count in theirs["taken"].items():
                entry["taken"][key] = entry["taken"].get(key, 0) + count

    # ------------------------------------------------------------------ the report

    def missed(self, name: str) -> list[str]:
        """The parts of a machine that were never taken, in words and in the order of its definition."""
        entry = self.machines[name]
        return [words for key, words in entry["names"].items() if not entry["taken"].get(key)]

    def shares(self, name: str) -> tuple[int, int]:
        """How much of a machine was taken, and how much there is."""
        entry = self.machines[name]
        return sum(bool(entry["taken"].get(key)) for key in entry["names"]), len(entry["names"])

    def percent(self) -> float:
        """How much of all machines was taken."""
        shares = [self.shares(name) for name in self.machines]
        whole = sum(total for _, total in shares)
        return 100 * sum(taken for taken, _ in shares) / whole if whole else 100.0

    def lines(self) -> Iterator[str]:
        """The report."""
        width = max((len(name) for name in self.machines), default=0)
        for name in sorted(self.machines):
            taken, total = self.shares(name)
            yield f"{name:<{width}}  {100 * taken // max(total, 1):3d} %  {taken} of {total}"
            for words in self.missed(name):
                yield f"    never: {words}"
        yield f"{'all':<{width}}  {int(self.percent()):3d} %"


def _counting(scope: ScopeDef, counts: dict[Key, int]) -> ScopeDef:
    states = {name: _counting_state(state, counts) for name, state in scope.states.items()}
    return replace(scope, states=states)


def _counting_state(state: StateDef, counts: dict[Key, int]) -> StateDef:
    body = state.body
    if not isinstance(body, ChoiceDef):
        return state
    rules = tuple(
        replace(rule, condition=_watched(rule, f"choice|{state.name}|{index}", counts))
        for index, rule in enumerate(body.rules)
    )
    return replace(state, body=replace(body, rules=rules))


def _watched(rule: ChoiceRule, key: Key, counts: dict[Key, int]) -> Callable[[Json], bool]:
    condition = rule.condition

    def watched(scope: Any) -> bool:
        holds = condition(scope)
        if holds:
            counts[key] = counts.get(key, 0) + 1
        return holds

    return watched


def _taken_by(visit: Visit) -> Iterator[Key]:
    """The parts that one visit of a state has taken, but for Choice rules."""
    state = visit.definition
    yield f"state|{state.name}"
    for attempt in visit.attempts:
        if attempt.failed and attempt.retried_after_ms is not None:
            found = _first(state.retry, attempt.error)
            if found is not None:
                yield f"retry|{state.name}|{found}"
    if visit.status == "caught":
        error = visit.failure.error if visit.failure is not None else None
        found = _first(state.catch, error)
        if found is None or state.catch[found].next != visit.next:
            found = next((i for i, one in enumerate(state.catch) if one.next == visit.next), found)
        if found is not None:
            yield f"catch|{state.name}|{found}"


def _with_defaults(program: Program, found: Counter[Key]) -> Counter[Key]:
    """With the visits of each Choice for which no rule came true."""
    for scope in program.scopes:
        for state in scope.states.values():
            if isinstance(state.body, ChoiceDef):
                by_rule = sum(found[f"choice|{state.name}|{index}"] for index in range(len(state.body.rules)))
                found[f"choice|{state.name}|default"] = max(found[f"state|{state.name}"] - by_rule, 0)
    return found


def _first(rules: Json, error: str | None) -> int | None:
    found = first_match(rules, error)
    if found is None and error == TIMEOUT:
        found = first_match(rules, error, heartbeat=True)
    return found[0] if found is not None else None


def _all(definition: Json) -> Iterator[tuple[Key, str]]:
    """Everything of a definition that can be taken, with its words."""
    for name, state in definition["States"].items():
        yield f"state|{name}", f"state {name}"
        for index, rule in enumerate(state.get("Choices", ())):
            yield f"choice|{name}|{index}", f"{name}: rule {index + 1}, {rule_words(rule)} → {rule.get('Next')}"
        if state.get("Type") == "Choice" and "Default" in state:
            yield f"choice|{name}|default", f"{name}: Default → {state['Default']}"
        for index, retrier in enumerate(state.get("Retry", ())):
            if retrier.get("MaxAttempts", 3):
                yield f"retry|{name}|{index}", f"{name}: Retry {index + 1} on {error_words(retrier)}"
        for index, catcher in enumerate(state.get("Catch", ())):
            yield (
                f"catch|{name}|{index}",
                f"{name}: Catch {index + 1} on {error_words(catcher)} → {catcher.get('Next')}",
            )
        for scope in inner_scopes(state):
            yield from _all(scope)
