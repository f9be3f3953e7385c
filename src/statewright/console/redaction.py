"""Redaction: what the console shows of payloads, by the patterns of `[console]` in `statewright.toml`.

1. A pattern names members by their path; a list's items have the path of the list, and a text that is itself JSON is
   looked into, both at its path and as a document of its own. Names are compared without regard to case.
2. A value of any kind at such a path is shown as `MASK`.
3. Within one history, the same value is hidden wherever it occurs in data: a state may have given it another name, or
   an error may quote it. That needs a value that is not found by accident, of `LEAST_SECRET` characters.
4. A text that begins as JSON but cannot be read, since it was cut, is hidden whole if it has a name of a pattern.
5. A text that is no JSON has no paths: what follows the last name of a pattern and `=`, `:` or `>` is hidden to the end
   of the line, and to the end of the text if it opens a bracket.
6. What Secrets Manager answers is always hidden (`ALWAYS`).

Everything here is about showing: nothing that is stored or executed changes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from statewright.interpreter.history import Details, HistoryEvent
from statewright.payload import Json, JsonTextError, dump_json, parse_json
from statewright.settings.server import ConsoleSettings, steps_of

MASK: Final = "•••"
ALWAYS: Final = ("**.SecretString", "**.SecretBinary")
LEAST_SECRET: Final = 6
MOST_WITHIN: Final = 100
"""Values that are looked for within longer texts; further ones are hidden only where they stand alone."""
_DEEPEST: Final = 300
_PLAIN: Final = re.compile(r"[A-Za-z0-9 _.:,;@+=#*!?-]+")
_BEGIN: Final = re.compile(r"\s*(?:\{\s*[\"}]|\[)")
_MOST_TRANSITIONS: Final = 20_000
_LONGEST_PIECE: Final = 60
"""Characters that a `*` stands for in a name within a text that is no JSON."""
STRUCTURE: Final = frozenset({
    "name", "index", "length", "state", "location", "resource", "resourceType", "region", "roleArn", "resourceArn",
    "mapRunArn", "redriveCount", "timeoutInSeconds", "heartbeatInSeconds", "taskCredentials",
    "stateMachineAliasArn", "stateMachineVersionArn",
})  # fmt: skip
"""Members of history events that hold no data of users."""
_KEPT_WHEN_HIDDEN: Final = STRUCTURE | {"error"}

_Places = frozenset[tuple[int, int]]
"""The places at which patterns stand: their number, and the number of steps that are done."""


@dataclass(slots=True)
class _Matcher:
    """Patterns, stepped through by names; transitions are remembered."""

    patterns: list[tuple[re.Pattern[str] | None, ...]]
    start: _Places = field(init=False)
    _known: dict[tuple[_Places, str], tuple[_Places, bool]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.start = self._closed((number, 0) for number in range(len(self.patterns)))

    def step(self, places: _Places, name: str) -> tuple[_Places, bool]:
        """The places after a name, and whether a pattern ends there."""
        key = (places, name)
        found = self._known.get(key)
        if found is None:
            moved = set()
            for number, done in places:
                steps = self.patterns[number]
                if done == len(steps):
                    continue
                wanted = steps[done]
                if wanted is None:
                    moved.add((number, done))
                elif wanted.fullmatch(name) is not None:
                    moved.add((number, done + 1))
            after = self._closed(moved)
            found = (after, any(done == len(self.patterns[number]) for number, done in after))
            if len(self._known) > _MOST_TRANSITIONS:
                self._known.clear()
            self._known[key] = found
        return found

    def _closed(self, places: Iterable[tuple[int, int]]) -> _Places:
        """With what `**`, which may stand for no step, leads to."""
        found = set(places)
        pending = list(found)
        while pending:
            number, done = pending.pop()
            steps = self.patterns[number]
            # At the end of a pattern, `**` needs a step: `a.**` hides what is within a, not a itself.
            if done < len(steps) - 1 and steps[done] is None and (number, done + 1) not in found:
                found.add((number, done + 1))
                pending.append((number, done + 1))
        return frozenset(found)


class Redactor:
    """Hides what the settings say; made once. Without settings it hides only what Secrets Manager answers."""

    def __init__(self, settings: ConsoleSettings | None = None) -> None:
        settings = settings or ConsoleSettings()
        self.is_hidden: Final = settings.payloads == "hidden"
        every = [steps_of(one) for one in (*ALWAYS, *settings.redact)]
        self._matcher = _Matcher([tuple(None if step == "**" else _glob(step) for step in steps) for steps in every])
        self._words = _words_of(every)
        self._named = _named(every)

    def may_hide(self, text: str) -> bool:
        """False if a text has no name of a pattern; nearly all payloads have none."""
        if self._words is None or "\\u" in text:
            return True
        lowered = text.lower()
        return any(word in lowered for word in self._words)

    def text(self, payload: str) -> str:
        """A payload, a JSON text or any other, as it may be shown."""
        if self.is_hidden:
            return dump_json(MASK)
        return self._text(payload, None)

    def texts(self, payloads: Sequence[str | None]) -> list[str | None]:
        """Payloads of one execution as they may be shown: what is hidden in one of them is hidden in the others."""
        if self.is_hidden:
            return [None if one is None else MASK for one in payloads]
        secrets: set[str] = set()
        shown = [None if one is None else self._text(one, secrets) for one in payloads]
        values = _values_of(secrets)
        return shown if values is None else [None if one is None else values.text(one) for one in shown]

    def value(self, value: Json) -> Json:
        """A document as it may be shown."""
        return self._walk(None).value(value, self._matcher.start, 0)

    def answer(self, value: Json) -> Json:
        """An answer of an operation, whose texts may be payloads; with hidden payloads, those that are JSON are."""
        secrets: set[str] = set()
        shown = self._walk(secrets).value(value, self._matcher.start, 0)
        # The cause of a failure may quote what its input had.
        values = _values_of(secrets)
        if values is not None:
            shown = values.value(shown)
        return _without_documents(shown) if self.is_hidden else shown

    def events(self, events: Sequence[HistoryEvent]) -> list[HistoryEvent]:
        """A history as it may be shown; events with nothing to hide are the same objects."""
        return RunRedaction(self).note(events)

    def event(self, event: HistoryEvent, secrets: set[str]) -> HistoryEvent:
        """One event by the patterns alone; `secrets` takes the texts of what was hidden."""
        if self.is_hidden:
            return _hidden(event)
        changed: Details = {}
        for name, value in _data(event):
            if isinstance(value, str):
                changed[name] = self._text(value, secrets)
            elif isinstance(value, dict | list):
                changed[name] = self._walk(secrets).value(value, self._matcher.start, 0)
        return _with(event, changed)

    def _text(self, payload: str, secrets: set[str] | None) -> str:
        if not self.may_hide(payload):
            return payload
        return self._walk(secrets).text(payload, self._matcher.start, 0)

    def _walk(self, secrets: set[str] | None) -> _Walk:
        return _Walk(self._matcher, self.may_hide, self._named, secrets)


class RunRedaction:
    """Redaction of one history, which may grow: what was hidden once is hidden in all of it."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._secrets: set[str] = set()
        self._values: Values | None = None
        self._latest: Values | None = None

    @property
    def values(self) -> Values | None:
        """The values that were hidden so far, to hide them elsewhere; None if there are none."""
        return self._values

    @property
    def has_more(self) -> bool:
        """True if the last events had values that were not known before: `again` hides them in those before."""
        return self._latest is not None

    def note(self, events: Sequence[HistoryEvent]) -> list[HistoryEvent]:
        """Events that follow those noted before, as they may be shown."""
        found: set[str] = set()
        shown = [self._redactor.event(event, found) for event in events]
        more = found - self._secrets
        self._latest = _values_of(more)
        if self._latest is not None:
            self._secrets |= more
            self._values = _values_of(self._secrets)
        return shown if self._values is None else [self._values.event(event) for event in shown]

    def again(self, shown: Sequence[HistoryEvent]) -> list[HistoryEvent]:
        """Events noted before the last ones, without the values that those had."""
        latest = self._latest
        return list(shown) if latest is None else [latest.event(event) for event in shown]


@dataclass(slots=True)
class _Walk:
    """One walk through a document; `secrets` takes the texts of what was hidden."""

    matcher: _Matcher
    may_hide: Callable[[str], bool]
    named: re.Pattern[str] | None
    secrets: set[str] | None

    def value(self, value: Json, places: _Places, depth: int) -> Json:
        """The same object if nothing in it is hidden."""
        if depth > _DEEPEST:
            return MASK
        if isinstance(value, dict):
            shown = {name: self._member(name, member, places, depth) for name, member in value.items()}
            return shown if any(shown[name] is not member for name, member in value.items()) else value
        if isinstance(value, list):
            items = [self.value(item, places, depth + 1) for item in value]
            return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
        if isinstance(value, str):
            return self.text(value, places, depth)
        return value

    def _member(self, name: str, member: Json, places: _Places, depth: int) -> Json:
        after, is_hidden = self.matcher.step(places, name)
        if not is_hidden:
            return self.value(member, after, depth + 1)
        if member is None or member == MASK:
            return member
        if self.secrets is not None:
            _leaves(member, self.secrets)
        return MASK

    def text(self, text: str, places: _Places, depth: int) -> str:
        """A text, which may itself be JSON: at its path, and a document of its own."""
        inner = _document(text, scalars=depth == 0)
        if inner is None:
            if _begins_as_document(text) and self.may_hide(text):
                return MASK
            return text if self.named is None else self.named.sub(rf"\1{MASK}", text)
        shown = self.value(inner, places | self.matcher.start, depth + 1)
        return text if shown is inner else dump_json(shown)


class Values:
    """Hides values themselves, within texts and where they stand alone. `size` is their length together."""

    def __init__(self, secrets: set[str]) -> None:
        self._all = secrets
        self.size: Final = sum(map(len, secrets))
        longest = sorted(secrets, key=lambda one: (-len(one), one))[:MOST_WITHIN]
        # Others are written with escapes in JSON, in one of several ways.
        are_plain = len(secrets) <= MOST_WITHIN and all(_PLAIN.fullmatch(one) for one in secrets)
        self._plain_ones = secrets if are_plain else None
        self._within = re.compile("|".join(re.escape(one) for one in longest))

    def event(self, event: HistoryEvent) -> HistoryEvent:
        """An event without the values; the same object if it has none."""
        changed = {name: self._value(value, 0) for name, value in _data(event) if self._may_be_in(value)}
        return _with(event, changed)

    def text(self, text: str) -> str:
        """A text without the values."""
        return self._text(text, 0)

    def value(self, value: Json) -> Json:
        """A document without the values."""
        return self._value(value, 0)

    def _may_be_in(self, value: Json) -> bool:
        """False for a text without any of the values, which need not be read."""
        return self._plain_ones is None or not isinstance(value, str) or any(one in value for one in self._plain_ones)

    def _value(self, value: Json, depth: int) -> Json:
        if depth > _DEEPEST:
            return MASK
        if isinstance(value, str):
            return self._text(value, depth)
        if isinstance(value, dict):
            shown = {self._plain(name): self._value(member, depth + 1) for name, member in value.items()}
            is_same = all(new is old for new, old in zip(shown.values(), value.values(), strict=False))
            return value if is_same and shown.keys() == value.keys() else shown
        if isinstance(value, list):
            items = [self._value(item, depth + 1) for item in value]
            return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
        if isinstance(value, int | float) and not isinstance(value, bool) and str(value) in self._all:
            return MASK
        return value

    def _text(self, text: str, depth: int) -> str:
        # Values of assigned variables are texts, too.
        inner = _document(text, scalars=depth <= 1)
        if inner is None:
            return self._plain(text)
        shown = self._value(inner, depth + 1)
        return text if shown is inner else dump_json(shown)

    def _plain(self, text: str) -> str:
        if text in self._all:
            return MASK
        return self._within.sub(MASK, text) if self._within.search(text) else text


def _values_of(secrets: set[str]) -> Values | None:
    """The values that are not found by accident; None if there are none."""
    lasting = {one for one in secrets if len(one) >= LEAST_SECRET}
    return Values(lasting) if lasting else None


def _glob(step: str) -> re.Pattern[str]:
    # In ASCII alone: else `s` would be the long s of old prints, too, which `_words_of` does not know.
    flags = re.IGNORECASE | re.DOTALL | (re.ASCII if step.isascii() else 0)
    return re.compile(".*".join(re.escape(part) for part in step.split("*")), flags)


def _words_of(patterns: Iterable[Sequence[str]]) -> tuple[str, ...] | None:
    """Texts, in lower case, of which a payload with something to hide has one; None if nothing can be said."""
    found = set()
    for steps in patterns:
        # All of a path is in a document, but a text that is no JSON may have its last name alone.
        for part in (steps, _last_name(steps)):
            pieces = [piece for step in part if step != "**" for piece in step.split("*") if piece.isascii()]
            best = max(pieces, key=len, default="")
            # A name outside ASCII may fold to other characters, and quotes and backslashes are escaped in JSON.
            if (part and not best) or any(character in best for character in '"\\/'):
                return None
            if part:
                found.add(best.lower())
    return tuple(found)


def _last_name(steps: Sequence[str]) -> tuple[str, ...]:
    """The last step of a pattern that names something; empty if none does."""
    return next(((step,) for step in reversed(steps) if step.strip("*")), ())


def _named(patterns: Iterable[Sequence[str]]) -> re.Pattern[str] | None:
    """A name of a pattern in a text that is no JSON, with all before the value as group 1, and the value."""
    within = rf"[\w.-]{{0,{_LONGEST_PIECE}}}"
    names = {within.join(map(re.escape, one.split("*"))) for steps in patterns for one in _last_name(steps)}
    if not names:
        return None
    # Quotes may be escaped, and the value may stand on the next line.
    before = rf"(?<![\w-])(?:{'|'.join(sorted(names))})[\\\"')\]]{{0,8}}\s*(?:=>|:=|[=:>])\s*"
    bracket, quoted = r"[\\\"']*[\[{(|<].*", r"\\*(?:\"[^\"]*|'[^']*)[^\r\n]*"
    return re.compile(rf"({before})(?:{bracket}|{quoted}|[^\r\n]+)", re.IGNORECASE | re.DOTALL)


def _document(text: str, *, scalars: bool = False) -> Json:
    """The object or list that a text is as JSON; None for any other text. With `scalars` also a text or a number."""
    is_scalar = scalars and text.lstrip()[:1] in {'"', "-", *"0123456789"}
    if not is_scalar and not _begins_as_document(text):
        return None
    try:
        return parse_json(text)
    except (JsonTextError, RecursionError):
        return None


def _begins_as_document(text: str) -> bool:
    return _BEGIN.match(text) is not None


def _leaves(value: Json, secrets: set[str]) -> None:
    """The texts and numbers within a value that is hidden, and within texts that are JSON."""
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, dict):
            pending.extend(one.values())
        elif isinstance(one, list):
            pending.extend(one)
        elif isinstance(one, str):
            inner = _document(one, scalars=True)
            if inner is not None and inner != one:
                pending.append(inner)
            secrets.add(one)
        elif isinstance(one, int | float) and not isinstance(one, bool):
            secrets.add(str(one))


def _data(event: HistoryEvent) -> list[tuple[str, Json]]:
    return [(name, value) for name, value in (event.details or {}).items() if name not in STRUCTURE]


def _with(event: HistoryEvent, changed: Details) -> HistoryEvent:
    details = event.details or {}
    if all(details[name] is value for name, value in changed.items()):
        return event
    return HistoryEvent(event.id, event.previous_id, event.at_ms, event.type, {**details, **changed})


def _hidden(event: HistoryEvent) -> HistoryEvent:
    changed: Details = {
        name: MASK if name == "cause" else dump_json(MASK)
        for name, value in (event.details or {}).items()
        if name not in _KEPT_WHEN_HIDDEN and value is not None
    }
    return _with(event, changed)


def _without_documents(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: member if name == "definition" else _without_documents(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_without_documents(member) for member in value]
    return MASK if isinstance(value, str) and _document(value) is not None else value
