"""History events in a few words, for `execution history` and `machine logs`.

Owns which state a task's event belongs to, and what the task calls: only the first event of an attempt names the
function, so the later ones take it from the events before them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from statewright.cli.output import Span, Tone

if TYPE_CHECKING:
    from statewright.payload import Json, JsonObject

_OF_TASKS: Final = ("Task", "LambdaFunction", "Activity", "MapRun")
"""Beginnings of the types of events that name no state of their own."""
_OF_STATES: Final = ("StateEntered", "StateExited")
_BAD: Final = ("Failed", "TimedOut", "Aborted")
UNPUBLISHED: Final = ":$LATEST"


class Words:
    """Says what events are about, in the order of their ids."""

    def __init__(self) -> None:
        self._states: dict[int, str] = {}
        self._calls: dict[int, str] = {}

    def note(self, number: int, previous: int, kind: str, details: JsonObject) -> tuple[str, str]:
        """The state of an event, and what its task calls: `lambda:invoke price`; either may be empty."""
        name = details.get("name") or details.get("state") or ""
        belongs = kind.startswith(_OF_TASKS) and not kind.endswith(_OF_STATES)
        if not name and belongs:
            name = self._states.get(previous, "")
        call = ""
        if belongs:
            before = self._calls.get(previous, "")
            # Later events of an attempt have the resource without the function.
            call = called(details) if kind.endswith("Scheduled") else before or called(details)
            self._calls[number] = call
        self._states[number] = name
        return name, call


def of_history(found: Iterable[JsonObject]) -> dict[int, tuple[str, str]]:
    """State and call of each event of GetExecutionHistory, by its id."""
    words = Words()
    return {
        one["id"]: words.note(one["id"], one.get("previousEventId", 0), one["type"], details_of(one))
        for one in sorted(found, key=_id)
    }


def _id(one: JsonObject) -> int:
    return int(one["id"])


def details_of(one: JsonObject) -> JsonObject:
    """The details of an event of GetExecutionHistory, whose member is named after its type."""
    found: JsonObject = next((value for name, value in one.items() if name.endswith("EventDetails")), {})
    return found


def tone_of(kind: str) -> Tone:
    """The tone of an event's type."""
    return "fail" if any(word in kind for word in _BAD) else ""


def what_happened(details: JsonObject, call: str) -> str:
    """An error with its cause, what is called, or the payload."""
    if details.get("error"):
        cause = f" ({details['cause']})" if details.get("cause") else ""
        return " · ".join(filter(None, (call, f"{details['error']}{cause}")))
    return str(call or details.get("output") or details.get("input") or "")


def event_spans(kind: str, name: str, details: JsonObject, call: str) -> tuple[Span, Span, Span]:
    """Type, state and words of an event."""
    return (kind, tone_of(kind)), name, what_happened(details, call)


def called(details: JsonObject) -> str:
    """The call that the details of a task's first event name: `lambda:invoke price`, `sqs:sendMessage`."""
    resource, service = details.get("resource"), details.get("resourceType")
    if not isinstance(resource, str):
        return ""
    if isinstance(service, str):
        target = _FUNCTIONS[service](details.get("parameters")) if service in _FUNCTIONS else ""
        return f"{service}:{resource} {target}".rstrip()
    parts = resource.split(":", 5)
    if len(parts) < 6:
        return resource
    if parts[2] == "states" and parts[5].startswith("activity:"):
        return "activity " + parts[5].removeprefix("activity:")
    return f"{parts[2]} {parts[5].removeprefix('function:').removesuffix(UNPUBLISHED)}"


def _function(parameters: Json) -> str:
    """The function's name in the parameters of a task, a JSON text."""
    from statewright.payload import parse_json

    if not isinstance(parameters, str):
        return ""
    try:
        given = parse_json(parameters)
    except ValueError:  # cut, because it is long
        return ""
    name = given.get("FunctionName") if isinstance(given, dict) else None
    if not isinstance(name, str):
        return ""
    return (name.split(":function:", 1)[-1] if name.startswith("arn:") else name).removesuffix(UNPUBLISHED)


_FUNCTIONS: Final[dict[str, Callable[[Json], str]]] = {"lambda": _function}
