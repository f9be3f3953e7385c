"""JSONata expressions: compiled once per text, evaluated against a scope.

Owns the facade and the choice between the two tiers: `closures` (ours, a narrow subset, no conversion) evaluates what
it is certain of; `library` (jsonatapy) the rest. Without jsonatapy an expression outside tier 0 does not compile.
Leaves the service's text around an error, and the type that a field expects of a result, to the caller.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from statewright.at_work import AT_WORK
from statewright.payload import Json
from statewright.query.fence import FENCE, LARGE_CHARACTERS, LeavesTheLoop, is_large, verdict
from statewright.query.jsonata.analysis import ADDED, BUILT_INS, analyse
from statewright.query.jsonata.closures import compile_closure
from statewright.query.jsonata.errors import (
    JsonataError,
    JsonataMemory,
    JsonataStackOverflow,
    JsonataSyntaxError,
    JsonataTimeout,
    UnsupportedResult,
)
from statewright.query.jsonata.library import Program, require_library
from statewright.query.jsonata.parser import parse
from statewright.query.scope import Scope

__all__ = [
    "Expression",
    "JsonataError",
    "JsonataMemory",
    "JsonataStackOverflow",
    "JsonataSyntaxError",
    "JsonataTimeout",
    "UnsupportedResult",
    "compile_expression",
]

LONG_TEXT: Final = 20_000
"""Characters of an expression that is not even compiled for the loop. Ours."""
MANY_VARIABLES: Final = 6
MUCH_DATA: Final = 1_000_000
"""Characters that are not converted for the library on the loop; few variables cannot hold as many."""
STAYS_AWAY: Final = 64
"""Evaluations for which an expression leaves the loop at once after it has run out of time there."""


class Expression:
    """One compiled expression; immutable, shared by all callers that compile the same text.

    `variables` are the workflow variables it reads; `hideable`, the built-in functions it mentions, which a workflow
    variable of the same name would hide. `states_fields` are the members of `$states` it touches. `problems` are
    the service's objections to it, to be reported when a definition is validated. `tier0`: it may be evaluated without
    the library. `amplifies`: it can produce much data from little, or take time out of proportion to its data, and is
    tried first if a driver has set a trial (`query.fence`); `is_unbounded`: even over little data. What changes:
    `is_slow` says that it has run out of time before, and is tried first, too; `stays_away` counts the evaluations for
    which it leaves the loop at once.
    """

    __slots__ = (
        "_facts",
        "_is_wary",
        "_program",
        "_tree",
        "amplifies",
        "evaluate",
        "hideable",
        "is_slow",
        "is_unbounded",
        "problems",
        "states_fields",
        "stays_away",
        "text",
        "tier0",
        "variables",
    )

    evaluate: Callable[[Scope], Json]
    """The value, or UNDEFINED if JSONata returns nothing; it may share structure with the scope's data.

    Raises: JsonataError, or one of its kinds for a limit or a result that JSON cannot hold.
    """

    def __init__(self, text: str) -> None:
        self.text = text.strip()
        tree = parse(self.text)
        facts = analyse(tree)
        self.variables = facts.variables
        self.hideable = (facts.calls | facts.values) & (BUILT_INS | ADDED)
        self.states_fields = facts.states_fields
        self.problems = facts.problems
        self.is_unbounded = facts.unbounded or len(self.text) > LONG_TEXT
        self.amplifies = facts.loops or facts.crosses or facts.costly or self.is_unbounded
        self.is_slow = False
        self.stays_away = 0
        self._is_wary = self.amplifies or len(self.variables) > MANY_VARIABLES
        self._facts = facts
        self._tree = tree
        self._program: Program | None = None
        closure = compile_closure(tree, self.evaluate_by_library)
        self.tier0 = closure is not None
        # An attribute rather than a method: the smallest expressions take no longer than a call or two.
        if closure is None:
            if facts.loops or facts.crosses or len(self.text) > LONG_TEXT:
                require_library(self.text)
            else:
                self._library()
        self.evaluate = closure or self.evaluate_by_library

    def evaluate_by_library(self, scope: Scope) -> Json:
        """As `evaluate`, without tier 0."""
        try:
            program = self._program or self._library()
        except JsonataSyntaxError as error:  # tier 0 accepts it, the library does not or is missing
            raise JsonataError(error.code, error.message) from None
        allowance = FENCE.allowance
        if allowance is not None:
            if self._is_wary or self.stays_away:
                self._leave_if_heavy(scope)
            if allowance.clock() > allowance.until and allowance.is_spent():
                raise LeavesTheLoop
            AT_WORK.expression = self.text
            try:
                return program.evaluate(scope, True)
            except JsonataTimeout:
                self.stays_away = STAYS_AWAY
                raise LeavesTheLoop from None
            except JsonataMemory:
                raise LeavesTheLoop from None
        if FENCE.trial is not None and (self.amplifies or self.is_slow):
            outcome = verdict(lambda: program.evaluate(scope), self.is_slow or self._is_suspect(scope))
            if outcome != "fine":
                raise JsonataTimeout if outcome == "time" else JsonataMemory
        try:
            return program.evaluate(scope)
        except JsonataTimeout:
            self.is_slow = True
            raise

    def _leave_if_heavy(self, scope: Scope) -> None:
        """Raises: LeavesTheLoop, unless the evaluation is certain to be quick."""
        if self.stays_away > 0:
            self.stays_away -= 1
            raise LeavesTheLoop
        if self.is_slow or (self.amplifies and self._is_suspect(scope)):
            raise LeavesTheLoop
        if len(self.variables) > MANY_VARIABLES and is_large(scope, MUCH_DATA):
            raise LeavesTheLoop

    def _is_suspect(self, scope: Scope) -> bool:
        return self.is_unbounded or len(self.text) > LARGE_CHARACTERS or is_large(scope)

    def _library(self) -> Program:
        if self._program is None:
            self._program = Program(self.text, self._tree, self._facts)
        return self._program

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"


@lru_cache(maxsize=8_192)
def compile_expression(text: str) -> Expression:
    """The expression in `text` (without its delimiters).

    Raises: JsonataSyntaxError, also for an expression that needs the library if that is not installed.
    """
    return Expression(text)
