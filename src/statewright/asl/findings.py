"""The codes that a finding can carry, and the list that the checks fill.

The checks decide when to report a finding.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Final

from statewright.errors import Diagnostic, Step

Path = tuple[Step, ...]

SCHEMA: Final = "SCHEMA_VALIDATION_FAILED"
MISSING_TARGET: Final = "MISSING_TRANSITION_TARGET"
MISSING_END: Final = "MISSING_END_STATE"
DUPLICATE_NAME: Final = "DUPLICATE_STATE_NAME"
INVALID_NAME: Final = "INVALID_STATE_NAME"
DUPLICATE_LABEL: Final = "DUPLICATE_LABEL_NAME"
INVALID_LABEL: Final = "INVALID_LABEL_NAME"
TOO_DEEP: Final = "TOO_DEEPLY_NESTED"
BAD_JSONATA: Final = "INVALID_JSONATA_EXPRESSION"
UNSUPPORTED_JSONATA: Final = "UNSUPPORTED_JSONATA_EXPRESSION"
NO_DOLLAR: Final = "NO_DOLLAR"
NO_PATH: Final = "NO_PATH"
STATIC_RESULT: Final = "PASS_RESULT_IS_STATIC"

SERVICE_CODES: Final[dict[str, str]] = {
    SCHEMA: "A field is missing, unknown, of the wrong type or out of its range.",
    MISSING_TARGET: "A transition names no state of its scope, or no transition leads to a state.",
    MISSING_END: "No state of the scope is terminal.",
    DUPLICATE_NAME: "Two states of the document have the same name.",
    INVALID_NAME: "A state's name is empty or longer than 80 characters.",
    DUPLICATE_LABEL: "Two Map states have the same Label.",
    INVALID_LABEL: "A Label is too long or holds a character that is not allowed in an ARN.",
    TOO_DEEP: "The definition is nested too deeply.",
    BAD_JSONATA: "A JSONata expression does not parse.",
    UNSUPPORTED_JSONATA: "A JSONata expression refers to something that is not available in its field.",
    NO_DOLLAR: "A value looks like a path or an intrinsic call, but its key does not end in `.$`.",
    NO_PATH: "A value looks like a path, but its field does not end in `Path`.",
    STATIC_RESULT: "The Result of a Pass state holds a path; a Result is never evaluated.",
}
"""The service's codes that a parsed definition can get. Source: API reference, ValidateStateMachineDefinition."""

LINT_CODES: Final[dict[str, str]] = {
    "LOOP_NEVER_ENDS": "A loop whose exits depend on values that no state of the loop changes.",
    "LOOP_WITHOUT_BOUND": "A loop that ends only when a task says so, in a machine without TimeoutSeconds.",
    "FAILURE_ENDS_IN_SUCCESS": "A branch taken after a failure leads only to a successful end.",
    "HISTORY_LIMIT": "The execution would exceed the service's limit of 25,000 history events.",
    "CHOICE_WITHOUT_DEFAULT": "A Choice without Default fails the execution when no rule matches.",
    "RETRY_ON_UNCATCHABLE": "An error that Retry or Catch names can never be matched there.",
    "UNKNOWN_ERROR_NAME": "An error name begins with `States.` but is not one of the service's.",
    "NEVER_ENTERED": "A state is a target, but only of states that are themselves never entered.",
    "UNKNOWN_FIELD": "A field next to StartAt and States that the language does not have.",
    "UNASSIGNED_VARIABLE": "A variable is read that no state in scope assigns.",
    "DISTRIBUTED_MAP_VARIABLE": "A distributed Map's states read a variable from outside, which they cannot see.",
    "NOT_EVALUATED": "An expression or a path stands where the state's query language does not evaluate it.",
    "DISTRIBUTED_ONLY_FIELD": "A field of distributed Maps on a Map in INLINE mode, where it has no effect.",
    "HEARTBEAT_TOO_LONG": "HeartbeatSeconds is not below TimeoutSeconds, so the timeout always comes first.",
    "VALUE_OUT_OF_RANGE": "A value is outside its documented range, though the service accepts the definition.",
    "EXPRESS_CHILD_INTEGRATION": "A Task of an EXPRESS child execution waits for a job or a token.",
    "REGION_IN_RESOURCE": "The Resource of a service integration has a region or an account, which have no effect.",
    "UNQUOTED_TEXT": "A filter of a JSONPath compares with a text without quotes.",
}
"""Our own codes. They never change their meaning; `docs/diagnostics.md` repeats them for users."""

_PLACEHOLDER = re.compile(r"\$\{[^{}\"'\s]+\}")
_PATH_LIKE = re.compile(r"\$(?:\$?(?:\.[^\s.]|\[).*|\$)")
_CALL_LIKE = re.compile(r"States\.[A-Za-z0-9]+\(.*\)", re.DOTALL)
_MAX_SUGGESTIONS = 100
"""Most findings of one definition that get a suggestion. Ours: a hostile definition could need hundreds of
thousands."""
_SUGGESTION_CANDIDATES = 500
_SUGGESTION_CHARACTERS = 120


class Findings:
    """Findings in the order they were made."""

    __slots__ = ("items", "suggestions_left")

    def __init__(self) -> None:
        self.items: list[Diagnostic] = []
        self.suggestions_left = _MAX_SUGGESTIONS

    def error(self, code: str, message: str, path: Path | None, hint: str | None = None) -> None:
        """Add an ERROR: the service refuses the definition."""
        self.items.append(Diagnostic(code, message, path, "ERROR", hint=hint))

    def warn(self, code: str, message: str, path: Path | None, hint: str | None = None) -> None:
        """Add a WARNING: the service accepts the definition."""
        self.items.append(Diagnostic(code, message, path, "WARNING", hint=hint))

    def schema(self, message: str, path: Path, hint: str | None = None) -> None:
        """Add an ERROR with the code `SCHEMA`."""
        self.error(SCHEMA, message, path, hint)

    def closest(self, word: str, candidates: Iterable[str], cutoff: float = 0.6) -> str | None:
        """The candidate that was probably meant, if any is similar enough (0 to 1) and the budget is not spent."""
        if not self.suggestions_left:
            return None
        self.suggestions_left -= 1
        return closest(word, candidates, cutoff)

    def did_you_mean(self, word: object, candidates: Iterable[str]) -> str | None:
        """A hint that names the probable candidate."""
        match = self.closest(word, candidates) if isinstance(word, str) else None
        return None if match is None else f"did you mean {match}?"


def has_placeholder(value: object) -> bool:
    """True if a template tool has yet to fill in a string (`${Name}` of SAM, Terraform, Serverless), so that its form
    is unknown."""
    return isinstance(value, str) and _PLACEHOLDER.search(value) is not None


def looks_like_path(value: object) -> bool:
    """True if a string was probably meant as a path: `$.a`, `$['a']`, `$$.Task.Token`, `$$`."""
    return isinstance(value, str) and _PATH_LIKE.fullmatch(value) is not None and not has_placeholder(value)


def looks_like_call(value: object) -> bool:
    """True if a string was probably meant as an intrinsic call: `States.Format(...)`."""
    return isinstance(value, str) and _CALL_LIKE.fullmatch(value) is not None


def closest(word: str, candidates: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The candidate that was probably meant, if any is similar enough (0 to 1)."""
    if len(word) > _SUGGESTION_CHARACTERS:
        return None
    near = [name for name in candidates if len(name) <= _SUGGESTION_CHARACTERS][:_SUGGESTION_CANDIDATES]
    folded = {name.casefold(): name for name in near}
    if word.casefold() in folded:
        return folded[word.casefold()]
    matches = difflib.get_close_matches(word, near, 1, cutoff)
    return matches[0] if matches else None


def did_you_mean(word: str, candidates: Iterable[str]) -> str | None:
    """A hint that names the probable candidate."""
    match = closest(word, candidates)
    return None if match is None else f"did you mean {match}?"
