"""The data that a trial returns for one state (`inspectionData`), and the made-up context of the state.

`advance` fills an `Inspection` if it gets one. The table below lists the members that each kind of state shows;
handlers note all the data they have. Trials themselves are in `trial.py`.
"""

from __future__ import annotations

from typing import Final

from statewright.asl.program import PassDef, StateDef
from statewright.errors import Failure
from statewright.payload import Json

_AFTER: Final = ("afterResultSelector", "afterResultPath")
_MAP: Final = (
    "input", "afterItemsPointer", "afterItemSelector", "afterItemBatcher",
    "maxConcurrency", "toleratedFailureCount", "toleratedFailurePercentage",
)  # fmt: skip

_JSONPATH: Final[dict[str, frozenset[str]]] = {
    "Pass": frozenset({"input", "afterInputPath", "afterParameters", *_AFTER}),
    "Task": frozenset({"input", "afterInputPath", "afterParameters", "result", *_AFTER}),
    "Choice": frozenset({"input", "afterInputPath"}),
    "Wait": frozenset({"input", "afterInputPath"}),
    "Succeed": frozenset({"input", "afterInputPath"}),
    "Fail": frozenset({"input", "afterInputPath"}),
    "Parallel": frozenset({"input", *_AFTER}),
    "Map": frozenset({*_MAP, "afterInputPath", "afterItemsPath", *_AFTER}),
}
"""Source: observed, for every type but Wait (taken as Choice) and a Map that succeeds (its end taken as Parallel's)."""

_PASS_WITH_RESULT: Final = frozenset({"input", "result", *_AFTER})
"""Observed: with a literal Result, the results of InputPath and Parameters are not shown."""

_JSONATA: Final[dict[str, frozenset[str]]] = {
    "Task": frozenset({"input", "afterArguments", "result"}),
    "Map": frozenset(_MAP),
}
_JSONATA_OTHERS: Final = frozenset({"input"})


class Inspection:
    """Collects `inspectionData` of one state: member name (as in the API) to value, a JSON value rather than text.

    `context` replaces the context object; `item` is shown as `Map.Item` if no context is given.
    """

    __slots__ = ("_shown", "caught", "choice", "context", "data", "error_details", "failure", "item")

    def __init__(self, definition: StateDef, context: Json = None, item: Json = None) -> None:
        self._shown = shown_members(definition)
        self.context = context
        self.item = item
        self.data: dict[str, Json] = {}
        self.error_details: dict[str, Json] = {}
        """`catchIndex`, `retryIndex` and `retryBackoffIntervalSeconds`."""
        self.failure: Failure | None = None
        """A failure that a retrier or catcher has matched."""
        self.caught = False
        self.choice: int | None = None
        """The number of the rule that a Choice has taken; the API does not show it."""

    def note(self, member: str, value: Json) -> None:
        """Record a value under the API's member name, if this kind of state shows it."""
        if member in self._shown:
            self.data[member] = value

    def note_retry(self, index: int, delay_ms: int, failure: Failure) -> None:
        """A retrier has matched the failure and waits."""
        self.failure = failure
        # The API has whole seconds only; a delay of one and a half is shown as two.
        seconds = (delay_ms + 500) // 1000
        self.error_details = {"retryIndex": index, "retryBackoffIntervalSeconds": seconds}

    def note_exhausted(self, index: int) -> None:
        """The retrier of this failure has no attempts left. Observed: it is still named."""
        self.error_details = {"retryIndex": index}

    def note_catch(self, index: int, failure: Failure) -> None:
        """A catcher has matched the failure, and its own fields were valid."""
        self.failure = failure
        self.caught = True
        self.error_details["catchIndex"] = index

    def to_data(self, variables: Json = None) -> dict[str, Json]:
        """Everything noted, with the variables after the state, if there are any."""
        data = dict(self.data)
        if self.error_details:
            data["errorDetails"] = self.error_details
        if variables:
            data["variables"] = variables
        return data


def shown_members(definition: StateDef) -> frozenset[str]:
    """The members of `inspectionData` that may show for a state, `errorDetails` and `variables` aside."""
    if definition.jsonata:
        return _JSONATA.get(definition.type, _JSONATA_OTHERS)
    body = definition.body
    if isinstance(body, PassDef) and body.has_result:
        return _PASS_WITH_RESULT
    return _JSONPATH[definition.type]
