"""Mocks as a test writes them: `m.mock("Charge").throws("Declined", times=2).then.returns({"id": 1})`.

Owns the words of the builder and which mock answers a call. What mocks can answer is `simulator.mocks`'; carrying an
answer out, with its delays and tokens, is `tasks.py`'s.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Self, TypeVar

from statewright.instants import parse_duration_ms
from statewright.payload import Json, dump_json
from statewright.simulator.mocks import (
    Ending,
    Hung,
    Outcome,
    Result,
    Returned,
    Rule,
    Script,
    Spans,
    TaskCall,
    Threw,
    payload_result,
    resource_names,
)
from statewright.simulator.script import read_spans

Numbers = int | str | None
"""Which numbers are meant, from 0: `3`, `"0-2"`, `"5+"`; None for any."""
Duration = float | str

T = TypeVar("T", bound=BaseException)


class TaskFailure(Exception):
    """Raised by a function of `calls` or `handles` to have its task fail with this error."""

    def __init__(self, error: str, cause: str | None = None) -> None:
        super().__init__(error if cause is None else f"{error}: {cause}")
        self.error = error
        self.cause = cause


class Real:
    """An outcome that leaves the call to the system itself."""


REAL: Final[Any] = Real()


class Mock:
    """The answers of a task, or of every task of a resource. Answers come one after the other; the last one repeats."""

    def __init__(
        self,
        state: str | None = None,
        *,
        resource: str | None = None,
        iteration: Numbers | tuple[Numbers, ...] = None,
        attempt: Numbers = None,
        visit: Numbers = None,
    ) -> None:
        if (state is None) == (resource is None):
            raise ValueError('a mock is for a state, mock("Charge"), or for a resource, mock(resource="lambda:Charge")')
        self.state = state
        self.resource = resource
        levels = iteration if isinstance(iteration, tuple) else (iteration,)
        self._iterations = None if iteration is None else tuple(_spans(level) for level in levels)
        self._attempts = _spans(attempt)
        self._visits = _spans(visit)
        self._results: list[Result] = []
        self._ending: Ending = "repeat"
        self._rule: Rule | None = None
        self.calls_made: list[TaskCall] = []
        """The calls that it has answered."""

    @staticmethod
    def of_rule(rule: Rule) -> Mock:
        """The mock that a file's rule is."""
        made = Mock(rule.state, resource=rule.resource)
        made._rule = rule
        return made

    # ------------------------------------------------------------------ answers

    def returns(
        self, value: Json, *, times: int = 1, delay: Duration = 0, submitted: Json = None,
        heartbeats: Sequence[Duration] = (),
    ) -> Self:  # fmt: skip
        """Succeed with the whole result of the integration."""
        return self._add(Returned(value), times, delay, submitted, heartbeats)

    def returns_payload(
        self, value: Json, *, times: int = 1, delay: Duration = 0, submitted: Json = None,
        heartbeats: Sequence[Duration] = (),
    ) -> Self:  # fmt: skip
        """Succeed with what a function returned; through `lambda:invoke` it arrives inside `Payload`."""
        return self._add(lambda call: Returned(payload_result(value, call)), times, delay, submitted, heartbeats)

    def throws(
        self, error: str, cause: str | None = None, *, times: int = 1, delay: Duration = 0, submitted: Json = None,
        heartbeats: Sequence[Duration] = (),
    ) -> Self:  # fmt: skip
        """Fail, as Retry and Catch see it."""
        return self._add(Threw(error, cause), times, delay, submitted, heartbeats)

    def hangs(self, *, times: int = 1, submitted: Json = None, heartbeats: Sequence[Duration] = ()) -> Self:
        """Never answer, so that a timeout strikes, or `run.token()` answers."""
        return self._add(Hung(), times, 0, submitted, heartbeats)

    def waits(self, submitted: Json = None) -> Self:
        """Take the call and wait for `run.token()`; `submitted` is what the service answers to the call itself."""
        return self.hangs(submitted=submitted)

    def calls(
        self, function: Callable[[Json, TaskCall], Json], *, times: int = 1, delay: Duration = 0, submitted: Json = None
    ) -> Self:
        """Succeed with what a function makes of the request and its circumstances (state, iteration, attempt ...).

        To fail it raises `TaskFailure`; any other exception is the test's own.
        """
        return self._add(lambda call: _called(lambda: function(call.parameters, call)), times, delay, submitted, ())

    def handles(
        self, function: Callable[[Json, TaskCall], Json], *, times: int = 1, delay: Duration = 0, submitted: Json = None
    ) -> Self:
        """As `calls`, for a function's handler: it gets the payload and answers with its result.

        What it raises is the function's error, but for AssertionError, which is the test's own.
        """
        return self._add(lambda call: _handled(function, call), times, delay, submitted, ())

    def runs(self, *, times: int = 1) -> Self:
        """Let the system carry the call out: its own function, queue, table."""
        return self._add(REAL, times, 0, None, ())

    @property
    def then(self) -> Self:
        """The same mock, for the answers that follow."""
        return self

    def again(self) -> Self:
        """After the last answer, begin with the first."""
        self._ending, self._rule = "cycle", None
        return self

    def never_again(self) -> Self:
        """After the last answer there is none: a further call fails the test."""
        self._ending, self._rule = "stop", None
        return self

    @property
    def requests(self) -> list[Json]:
        """The arguments of the calls that it answered."""
        return [call.parameters for call in self.calls_made]

    def _add(
        self, outcome: Outcome | Callable[[TaskCall], Outcome], times: int, delay: Duration, submitted: Json,
        heartbeats: Sequence[Duration],
    ) -> Self:  # fmt: skip
        if times < 1:
            raise ValueError(f"times={times}: an answer is given once at least")
        beats = tuple(sorted(parse_duration_ms(beat) for beat in heartbeats))
        self._results.append(Result(outcome, times, parse_duration_ms(delay), submitted, beats))
        self._rule = None
        return self

    # ------------------------------------------------------------------ which calls

    @property
    def rule(self) -> Rule | None:
        """The rule that it stands for; None as long as it has no answer."""
        if self._rule is None and self._results:
            self._rule = Rule(
                tuple(self._results), self.state, self.resource, self._iterations, self._attempts, self._visits,
                self._ending,
            )  # fmt: skip
        return self._rule

    @property
    def exactness(self) -> int:
        """The number of counters (iteration, attempt, visit) that narrow its calls."""
        rule = self.rule
        return 0 if rule is None else sum(one is not None for one in (rule.iterations, rule.attempts, rule.visits))

    def __repr__(self) -> str:
        rule = self.rule
        return f"mock({self.state if self.state is not None else self.resource!r})" if rule is None else rule.label


class MockBook:
    """The mocks of one machine, later ones first, before those for all machines."""

    def __init__(self, parent: MockBook | None = None) -> None:
        self.mocks: list[Mock] = []
        self._parent = parent
        self.remedy: str | None = None
        """Advice for a call without a mock, where that is not to write one in the test."""

    def add(self, mock: Mock) -> Mock:
        """One more."""
        self.mocks.append(mock)
        return mock

    def add_rules(self, rules: Iterable[Rule]) -> None:
        """Those of a file, of which the first goes first."""
        self.mocks += [Mock.of_rule(rule) for rule in reversed(list(rules))]

    def find(self, call: TaskCall) -> Mock | None:
        """The mock that answers a call."""
        names = resource_names(call)
        best: tuple[Any, ...] | None = None
        found: Mock | None = None
        for order, mock in enumerate(self._all()):
            rule = mock.rule
            rank = rule.rank(call, names) if rule is not None else None
            if rule is None or rank is None or not rule.covers(call):
                continue
            key = (rank, -mock.exactness, order)
            if best is None or key < best:
                best, found = key, mock
        return found

    def hint(self, call: TaskCall, counts: Counter[Mock]) -> str:
        """Why a call has no answer, and how to give it one."""
        mock = self.find(call)
        if mock is not None and mock.rule is not None:
            given = counts[mock]
            which = f"call {given + 1} of state '{call.state}'"
            return f"the mock for {mock.rule.label} has given {given} answers and has none for {which}"
        empty = next((one for one in self._all() if one.rule is None and call.state == one.state), None)
        if empty is not None:
            return f'mock("{call.state}") says nothing yet: add .returns(...) or .throws(...)'
        rules = tuple(mock.rule for mock in self._all() if mock.rule is not None)
        return Script(rules, remedy=self.remedy or _remedy(call)).start().hint(call)

    def _all(self) -> Iterable[Mock]:
        yield from reversed(self.mocks)
        if self._parent is not None:
            yield from self._parent._all()


def _remedy(call: TaskCall) -> str:
    names = resource_names(call)
    function = next((name for name in names if name.startswith("lambda:") and name != "lambda:invoke"), None)
    state = dump_json(call.state)
    if function is not None:
        return f"add m.mock({state}).returns_payload({{...}}), or m.mock(resource={dump_json(function)})."
    return f"add m.mock({state}).returns({{...}}), or m.mock(resource={dump_json(names[-1])})."


def _spans(numbers: Numbers) -> Spans | None:
    if numbers is None:
        return None
    spans = read_spans(str(numbers))
    if spans is None:
        raise ValueError(f'{numbers!r} is neither a number from 0 nor a range like "0-2", "5+" or "1,3"')
    return spans


def _called(function: Callable[[], Json]) -> Outcome:
    try:
        return Returned(function())
    except TaskFailure as failure:
        return Threw(failure.error, failure.cause)


def _handled(function: Callable[[Json, TaskCall], Json], call: TaskCall) -> Outcome:
    given = call.parameters
    payload = given.get("Payload") if isinstance(given, dict) and "FunctionName" in given else given
    try:
        return Returned(payload_result(function(payload, call), call))
    except TaskFailure as failure:
        return Threw(failure.error, failure.cause)
    except AssertionError:
        raise
    except Exception as problem:
        # As the service reports a handler's exception.
        told = {"errorMessage": str(problem), "errorType": type(problem).__name__, "stackTrace": []}
        return Threw(type(problem).__name__, dump_json(told))
