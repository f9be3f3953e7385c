"""Our own format of mock files, YAML or JSON: what `--mock FILE` reads.

Owns the format and everything that can be wrong with a file. How mocks are matched and answered is in `mocks.py`,
whose names are offered here too; the published format of Step Functions Local is in `mock_config.py`. The format is
described for users in `docs/mocks.md`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, cast

from statewright.asl.findings import closest
from statewright.asl.reader import read_document
from statewright.asl.text.document import Document, Syntax
from statewright.errors import DefinitionError, Diagnostic, ExecutionFailure, Step
from statewright.instants import parse_duration_ms
from statewright.payload import Json, JsonMapping, dump_json
from statewright.query.scope import Entropy, Scope
from statewright.simulator.mocks import (
    Answer,
    Compute,
    Ending,
    Hung,
    Outcome,
    Result,
    Returned,
    Rule,
    Script,
    ScriptRun,
    Spans,
    TaskCall,
    Threw,
    mock_failure,
    payload_result,
)

__all__ = [
    "Answer",
    "Hung",
    "MockFile",
    "Result",
    "Returned",
    "Rule",
    "Script",
    "ScriptRun",
    "Spans",
    "TaskCall",
    "Threw",
    "is_sound",
    "load_script",
    "read_mocks",
    "read_spans",
]

At = tuple[Step, ...]

UNKNOWN_FIELD: Final = "MOCK_UNKNOWN_FIELD"
NO_RESULT: Final = "MOCK_WITHOUT_RESULT"
BAD_EXPRESSION: Final = "MOCK_INVALID_EXPRESSION"

MAX_CHARACTERS: Final = 16 * 1_048_576
"""The longest mock file. Ours: results may be large, unlike definitions."""

_OUTCOMES: Final = ("returns", "returns_payload", "throws", "expression", "payload_expression", "hangs")
_RESULT_FIELDS: Final = (*_OUTCOMES, "times", "delay", "submitted", "heartbeats", "then", "comment")
_SPLITS: Final = ("iterations", "attempts", "visits")
_ENDINGS: Final = ("repeat", "cycle", "stop")
_SYNONYMS: Final = {
    "result": "returns", "output": "returns", "value": "returns", "payload": "returns_payload",
    "error": "throws", "fails": "throws", "raises": "throws", "catch": "throws",
    "wait": "delay", "sleep": "delay", "after": "delay", "duration": "delay", "latency": "delay",
    "repeat": "times", "count": "times", "timeout": "hangs", "never": "hangs",
    "iteration": "iterations", "attempt": "attempts", "retries": "attempts", "visit": "visits",
}  # fmt: skip
_START_HINT: Final = "start with `mocks:` and below it a state, such as `Charge: {returns: {id: 1}}`"
_SPAN: Final = re.compile(r"([0-9]{1,9})(?:\s*-\s*([0-9]{1,9})|(\+))?")


def load_script(source: str | Path | MockFile, *, name: str = "mocks", syntax: Syntax | None = None) -> Script:
    """Read a mock file: its text, the path of the file, or what has been read of it.

    Raises:
        DefinitionError: everything that is wrong with it, each with line and column.
        OSError: the file cannot be read.
    """
    file = source if isinstance(source, MockFile) else MockFile(source, name, syntax)
    rules = _top_rules(file)
    file.check()
    return Script(rules)


def read_mocks(file: MockFile, at: At) -> tuple[Rule, ...]:
    """The rules of the `mocks` at a place of a file; what is wrong with them is noted in the file."""
    return tuple(_Reading(file).rules(at))


def read_spans(text: str) -> Spans | None:
    """Read numbers as mock files write them: `3`, `0-2`, `5+`, `0,4-6`; None when it is none of these."""
    ranges: list[tuple[int, int | None]] = []
    for part in text.split(","):
        match = _SPAN.fullmatch(part.strip())
        if match is None:
            return None
        low = int(match[1])
        high = None if match[3] else int(match[2] or low)
        if high is not None and high < low:
            return None
        ranges.append((low, high))
    return Spans(tuple(ranges), text)


class MockFile:
    """A file that holds mocks, of any format: its value, and what has been found wrong with it.

    `kind` begins the codes of what is wrong; `synonyms` are what people write instead of a field's name.
    """

    def __init__(
        self,
        source: str | Path,
        name: str,
        syntax: Syntax | None = None,
        *,
        kind: str = "MOCK",
        synonyms: Mapping[str, str] = _SYNONYMS,
    ) -> None:
        """Read the text. Raises: DefinitionError when it is neither YAML nor JSON."""
        if isinstance(source, Path):
            name = str(source)
        self.name = name
        text = source.read_bytes() if isinstance(source, Path) else source
        if not text.strip():
            raise DefinitionError([Diagnostic(f"{kind}_INVALID_VALUE", f"{name} is empty", (), line=1, column=1)])
        self._document: Document = read_document(
            text, name=name, syntax=syntax, max_characters=MAX_CHARACTERS, placeholders=False
        )
        self._problems: list[Diagnostic] = []
        self._kind = kind
        self._synonyms = synonyms

    @property
    def value(self) -> Json:
        """The whole file."""
        return self._document.value

    def place(self, at: At) -> tuple[int, int]:
        """Line and column of the name of a member, or of an item."""
        return self._document.key_position(at)

    def problem(self, message: str, at: At, hint: str | None = None, code: str | None = None) -> None:
        """Note that something is wrong at a place."""
        line, column = self.place(at)
        code = code or f"{self._kind}_INVALID_VALUE"
        self._problems.append(Diagnostic(code, message, at, "ERROR", line, column, hint))

    def check(self) -> None:
        """Raise: DefinitionError with every problem, if there is any."""
        if self._problems:
            raise DefinitionError(sorted(self._problems, key=lambda found: (found.line, found.column)))

    def at(self, at: At) -> Json:
        """The value at a place."""
        value = self.value
        for step in at:
            value = value[step]
        return value

    def members(
        self, at: At, what: str, known: Sequence[str] | None = None, hint: str | None = None
    ) -> dict[str, Json] | None:
        """The object at a place, without the members that are not `known`; None when it is no object.

        Notes what is wrong in either case.
        """
        value = self.at(at)
        if not isinstance(value, dict):
            self.problem(f"{what} must be an object", at, hint)
            return None
        if known is None:
            return value
        for key in value:
            if key not in known:
                self.unknown(key, at, what, known)
        return {key: member for key, member in value.items() if key in known}

    def unknown(self, key: str, at: At, what: str, known: Sequence[str]) -> None:
        """Note that an object has a member it should not have."""
        synonym = self._synonyms.get(key.casefold())
        near = synonym if synonym in known else closest(key, known)
        hint = f"did you mean {near}?" if near else "there are " + ", ".join(known)
        self.problem(f"{what} has no field '{key}'", (*at, key), hint, f"{self._kind}_UNKNOWN_FIELD")


def _top_rules(file: MockFile) -> tuple[Rule, ...]:
    """The rules of a file that holds nothing but mocks."""
    if isinstance(file.value, dict) and "MockedResponses" in file.value:
        hint = "name a test case of it instead: --case NAME"
        file.problem("this is a MockConfigFile.json, not a file of `mocks`", (), hint)
        return ()
    top = file.members((), "a mock file", ("mocks", "comment"), _START_HINT)
    if top is not None and "mocks" not in top and top == file.value:
        file.problem("there is no `mocks` in this file", (), _START_HINT)
    return read_mocks(file, ("mocks",)) if top is not None and "mocks" in top else ()


class _Reading:
    """One pass over a file; `selects` holds what a rule selects by, as arguments of `Rule`."""

    def __init__(self, file: MockFile) -> None:
        self.file = file
        self.found: list[Rule] = []

    def rules(self, at: At) -> list[Rule]:
        file = self.file
        for key, entry in (file.members(at, "`mocks`", hint=_START_HINT) or {}).items():
            kind, _, target = key.partition(":")
            if kind not in ("resource", "state"):
                kind, target = ("resource", key) if key.startswith("arn:") else ("state", key)
            if target:
                self.entry(entry, {kind: target}, (*at, key))
            else:
                file.problem(f"'{key}' names no {kind}", (*at, key))
        return self.found

    def entry(self, entry: Json, selects: JsonMapping, at: At) -> None:
        """Results, or a choice of entries by number."""
        if isinstance(entry, dict) and not entry.keys().isdisjoint(_SPLITS):
            self.split(entry, selects, at)
        elif isinstance(entry, list):
            self.sequence(entry, [(*at, index) for index in range(len(entry))], selects, at)
        else:
            self.sequence([entry], [at], selects, at)

    def split(self, entry: dict[str, Json], selects: JsonMapping, at: At) -> None:
        by = next(field for field in _SPLITS if field in entry)
        hint = f"put it under `{by}`, for example into `default`"
        for key in entry:
            if key not in (by, "comment"):
                self.file.problem(f"'{key}' cannot stand beside '{by}'", (*at, key), hint, UNKNOWN_FIELD)
        at = (*at, by)
        if by in selects:
            self.file.problem(f"'{by}' inside '{by}'", at, "once is enough")
            return
        hint = 'write numbers and results below it, such as "0-2": {returns: ok}'
        choices = self.file.members(at, f"'{by}'", hint=hint)
        if choices == {}:
            self.file.problem(f"'{by}' is empty", at, hint, NO_RESULT)
        # The default comes last, wherever it is written: the first rule that is for a call answers it.
        for key in sorted(choices or {}, key=lambda key: key == "default"):
            numbers = None if key == "default" else self.numbers(by, key, (*at, key))
            self.entry(entry[by][key], {**selects, by: numbers}, (*at, key))

    def numbers(self, by: str, key: str, at: At) -> Spans | tuple[Spans | None, ...] | None:
        if by != "iterations":
            spans = read_spans(key)
            if spans is None:
                self.file.problem(f"'{key}' is no number of {by}", at, "write 3, 0-2, 5+, 0,4-6 or default")
            return spans
        levels = [None if level.strip() == "*" else read_spans(level) for level in key.split("/")]
        if any(level is None and text.strip() != "*" for level, text in zip(levels, key.split("/"), strict=True)):
            hint = "write 3, 0-2, 5+, 0,4-6 or default; 1/3 is item 3 in item 1 of a Map around, */3 in any"
            self.file.problem(f"'{key}' is no number of iterations", at, hint)
        return tuple(levels)

    def sequence(self, items: list[Json], places: list[At], selects: JsonMapping, at: At) -> None:
        if not items:
            self.file.problem("there are no results", at, "add one, such as {returns: ok}", NO_RESULT)
            return
        results = []
        ending: Ending = "repeat"
        for item, place in zip(items, places, strict=True):
            result = self.result(item, place)
            if result is not None:
                results.append(result)
            then = item.get("then") if isinstance(item, dict) else None
            if then is None:
                continue
            if then not in _ENDINGS:
                self.file.problem(f"then: {_shown(then)} is none of " + ", ".join(_ENDINGS), (*place, "then"))
            elif place != places[-1]:
                self.file.problem("'then' belongs to the last result", (*place, "then"))
            else:
                ending = cast(Ending, then)
        if results:
            self.found.append(Rule(tuple(results), ending=ending, place=self.file.place(at), **selects))

    def result(self, item: Json, at: At) -> Result | None:
        hint = f"for a task that succeeds with this value write {{returns: {_shown(item)}}}"
        fields = self.file.members(at, "a result", _RESULT_FIELDS, hint)
        if fields is None:
            return None
        given = [field for field in _OUTCOMES if field in fields]
        if len(given) > 1:
            self.file.problem(f"a result is one of {' or '.join(given)}, not several", at)
            return None
        if not given:
            # A misspelt field has been reported already.
            if fields == item:
                one_of = "add one of " + ", ".join(_OUTCOMES)
                self.file.problem("this says nothing about the result", at, one_of, NO_RESULT)
            return None
        outcome = self.outcome(given[0], fields[given[0]], (*at, given[0]))
        delay_ms = self.duration(fields["delay"], (*at, "delay")) if "delay" in fields else None
        if "hangs" in fields and "delay" in fields:
            self.file.problem("a task that hangs has no delay", (*at, "delay"), "it never answers")
        times = fields.get("times", 1)
        if not isinstance(times, int) or isinstance(times, bool) or times < 1:
            self.file.problem(f"times: {_shown(times)} is not a whole number from 1", (*at, "times"))
            times = 1
        heartbeats = self.heartbeats(fields.get("heartbeats", []), delay_ms, (*at, "heartbeats"))
        return Result(outcome, times, delay_ms or 0, fields.get("submitted"), heartbeats)

    def duration(self, value: Json, at: At) -> int | None:
        if not isinstance(value, (str, int, float)):
            self.file.problem(f"{_shown(value)} is not a length of time: write it like 1.5s, 2m or 1h", at)
            return None
        try:
            return parse_duration_ms(value)
        except ValueError as problem:
            self.file.problem(str(problem), at)
            return None

    def heartbeats(self, value: Json, delay_ms: int | None, at: At) -> tuple[int, ...]:
        if not isinstance(value, list):
            self.file.problem("heartbeats must be a list of times since the task's start, such as [20s, 40s]", at)
            return ()
        found: list[int] = []
        for index, item in enumerate(value):
            beat_ms = self.duration(item, (*at, index))
            if beat_ms is None:
                continue
            if found and beat_ms <= found[-1]:
                self.file.problem(
                    "heartbeats are times since the task's start, each later than the one before", (*at, index)
                )
            elif delay_ms is not None and beat_ms >= delay_ms:
                self.file.problem("this heartbeat would come after the answer", (*at, index), "raise the delay")
            else:
                found.append(beat_ms)
        return tuple(found)

    def outcome(self, kind: str, value: Json, at: At) -> Outcome | Compute | None:
        match kind:
            case "returns":
                return Returned(value)
            case "returns_payload":
                return lambda call: Returned(payload_result(value, call))
            case "throws":
                return self.throws(value, at)
            case "hangs":
                if value is not True:
                    self.file.problem("hangs can only be true", at, "leave it out for a task that answers")
                return Hung()
        evaluate = self.expression(value, at)
        if evaluate is None or kind == "expression":
            return evaluate and (lambda call: Returned(evaluate(call)))
        return lambda call: Returned(payload_result(evaluate(call), call))

    def throws(self, value: Json, at: At) -> Outcome:
        if isinstance(value, str):
            return Threw(value, None)
        hint = "write throws: Name, or throws: {error: Name, cause: why}"
        fields = self.file.members(at, "'throws'", ("error", "cause"), hint) or {}
        error, cause = fields.get("error"), fields.get("cause")
        if fields == value and "error" not in fields:
            self.file.problem("'throws' has no error", at, hint)
        if error is not None and not isinstance(error, str):
            self.file.problem("an error is a name", (*at, "error"))
            error = None
        return Threw(error, cause if cause is None or isinstance(cause, str) else dump_json(cause))

    def expression(self, value: Json, at: At) -> Callable[[TaskCall], Json] | None:
        """A value with JSONata in it, evaluated for each call with the task's parameters as `$states.input`."""
        texts = list(_expressions(value, at))
        if not texts:
            hint = f'write {at[-1]}: "{{% $states.input %}}", or returns for a value as it is'
            self.file.problem(f"there is no expression in '{at[-1]}'", at, hint, BAD_EXPRESSION)
        unsound = [text for text, place in texts if not is_sound(self.file, text, place)]
        if unsound or not texts:
            return None
        # Loaded here, because the expression library is large and few scripts need it.
        from statewright.asl.templates import compile_jsonata

        evaluate = compile_jsonata(value, str(at[-1]), set())
        place = self.file.place(at)

        def compute(call: TaskCall) -> Json:
            try:
                return evaluate(_scope_of(call))
            except ExecutionFailure as failure:
                raise mock_failure(call, failure.cause.rstrip("."), place) from None

        return compute


def is_sound(
    file: MockFile,
    text: Json,
    at: At,
    *,
    fields: Sequence[str] = ("input", "context"),
    where: str = "in a mock",
    hint: str = "the task's parameters are $states.input",
) -> bool:
    """True if a text between `{%` and `%}` can be evaluated where only these members of `$states` exist.

    Notes why not.
    """
    from statewright.query.jsonata import JsonataSyntaxError, compile_expression

    if not (isinstance(text, str) and len(text) >= 4 and text.startswith("{%") and text.endswith("%}")):
        file.problem("an expression begins with {% and ends with %}", at, None, BAD_EXPRESSION)
        return False
    try:
        expression = compile_expression(text[2:-2].strip())
    except JsonataSyntaxError as problem:
        file.problem(f"this is no JSONata: {problem}", at, None, BAD_EXPRESSION)
        return False
    problems = [str(problem) for problem in expression.problems]
    unknown = [f"$states.{field}" for field in expression.states_fields if field not in fields]
    unknown += [f"${variable}" for variable in expression.variables]
    problems += [f"there is no {name} {where}" for name in sorted(unknown)]
    for message in problems:
        file.problem(message, at, hint, BAD_EXPRESSION)
    return not problems


def _expressions(value: Json, at: At) -> Iterator[tuple[str, At]]:
    """Every text at any depth that begins or ends like an expression, with its place."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield from _expressions(member, (*at, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _expressions(item, (*at, index))
    elif isinstance(value, str) and (value.startswith("{%") or value.endswith("%}")):
        yield value, at


def _scope_of(call: TaskCall) -> Scope:
    seed = f"{call.state} {call.iteration} {call.attempt} {call.visit}".encode()
    context: dict[str, Json] = {"State": {"Name": call.state, "RetryCount": call.attempt}}
    if call.iteration:
        context["Map"] = {"Item": {"Index": call.iteration[-1]}}
    return Scope(call.parameters, make_context=lambda: context, entropy=Entropy(seed), now_ms=call.now_ms)


def _shown(value: Json) -> str:
    text = dump_json(value)
    return text if len(text) <= 60 else text[:57] + "..."
