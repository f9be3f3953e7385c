"""One visit as its history has it: the variables it began with and who assigned them, its results, its context.

The values are those that were recorded; what may be shown of them is for `explain.py` to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from statewright.asl.timestamps import format_timestamp
from statewright.errors import Failure
from statewright.interpreter.history import HistoryEvent
from statewright.interpreter.state import Identity
from statewright.interpreter.trial import Mock
from statewright.payload import Json, JsonObject, JsonTextError, Payload, dump_json, parse_json
from statewright.simulator.story import Attempt, Strand, Visit

TOKEN: Final = "(the token of this task)"
"""Stands for a task's token, which the history does not hold."""
_TIMEOUT: Final = "States.Timeout"


@dataclass(frozen=True, slots=True)
class Assigned:
    """A variable that a visit could read: its JSON text, and the state and event that assigned it."""

    text: str
    state: str
    event: int


class History:
    """The events of a run, by id."""

    def __init__(self, events: Sequence[HistoryEvent]) -> None:
        self.events = events

    def details(self, event: int | None) -> JsonObject:
        """The details of an event; nothing for none."""
        return (self.events[event - 1].details or {}) if event else {}

    def type(self, event: int | None) -> str:
        """The type of an event; empty for none."""
        return self.events[event - 1].type if event else ""

    def value(self, event: int | None, member: str) -> Json:
        """A member of an event that is JSON."""
        text = self.details(event).get(member)
        try:
            return parse_json(text) if isinstance(text, str) else None
        except JsonTextError:
            return text

    # ------------------------------------------------------------------ variables

    def variables(self, visit: Visit) -> dict[str, Assigned]:
        """The variables that a visit could read, inner ones before outer ones of the same name."""
        found: dict[str, Assigned] = {}
        for strand, until in reversed(_around(visit)):
            for earlier in strand.visits:
                if earlier is until:
                    break
                found.update(self.assigned(earlier))
        return found

    def assigned(self, visit: Visit) -> dict[str, Assigned]:
        """The variables that a visit assigned as it ended."""
        details = self.details(visit.ended_event)
        texts = details.get("assignedVariables")
        # A state that fails inside a Parallel or Map may be ended by the exit of that.
        if not isinstance(texts, dict) or visit.ended_event is None or details.get("name") != visit.name:
            return {}
        return {name: Assigned(str(text), visit.name, visit.ended_event) for name, text in texts.items()}

    # ------------------------------------------------------------------ results

    def arguments(self, attempt: Attempt) -> Json:
        """The recorded arguments of a call; None if it made none."""
        details = self.details(attempt.began_event)
        text = details.get("parameters", details.get("input"))
        return parse_json(text) if isinstance(text, str) and "Scheduled" in self.type(attempt.began_event) else None

    def result(self, visit: Visit, attempt: Attempt | None) -> Mock | None:
        """The recorded result of an attempt; None if there is none, or if the history does not hold it."""
        if attempt is None or attempt.ended_event is None:
            return None
        kind = self.type(attempt.ended_event)
        if attempt.failed:
            return Failure(attempt.error, attempt.cause)
        if visit.definition.type == "Task":
            if kind.endswith("Succeeded"):
                return Payload(self.value(attempt.ended_event, "output"))
            return Failure(_TIMEOUT, None) if kind.endswith("TimedOut") else None
        if visit.status not in ("succeeded", "caught") or not attempt.strands:
            return Payload([]) if attempt.length == 0 else None
        texts = [self._output(strand) for strand in sorted(attempt.strands, key=lambda one: one.index)]
        if any(text is None for text in texts):
            return None
        return Payload.from_text("[" + ",".join(text or "" for text in texts) + "]")

    def fell_silent(self, attempt: Attempt) -> bool:
        """True if a call that timed out did so for want of a heartbeat, which its event does not say."""
        if not self.type(attempt.ended_event).endswith("TimedOut"):
            return False
        scheduled = self.details(attempt.began_event)
        heartbeat, timeout = scheduled.get("heartbeatInSeconds"), scheduled.get("timeoutInSeconds")
        took_ms = (attempt.ended_ms or attempt.began_ms) - attempt.began_ms
        return bool(heartbeat) and (not timeout or took_ms < 1000 * float(timeout))

    def _output(self, strand: Strand) -> str | None:
        last = strand.visits[-1] if strand.visits else None
        output = self.details(last.ended_event).get("output") if last is not None else None
        return output if isinstance(output, str) else None

    # ------------------------------------------------------------------ context

    def context(self, visit: Visit, identity: Identity, number: int, item: Json) -> dict[str, Json]:
        """The context object of an attempt, counted from 0, as far as the history holds it."""
        begun = self.events[0]
        execution: JsonObject = {
            "Id": identity.execution_arn,
            "Input": self.value(1, "input"),
            "Name": identity.name,
            "RoleArn": identity.role_arn,
            "StartTime": format_timestamp(begun.at_ms),
            "RedriveCount": 0,
        }
        state: JsonObject = {"EnteredTime": format_timestamp(visit.entered_ms), "Name": visit.name}
        if visit.definition.type in ("Task", "Parallel", "Map"):
            state["RetryCount"] = number
        context: dict[str, Json] = {
            "Execution": execution,
            "State": state,
            "StateMachine": {"Id": identity.state_machine_arn, "Name": identity.state_machine_name},
        }
        if item is not None:
            context["Map"] = {"Item": item}
        return context


def _around(visit: Visit) -> list[tuple[Strand, Visit]]:
    """The strands around a visit, the innermost first, each with the visit in it that holds the rest."""
    found = [(visit.strand, visit)]
    while (owner := found[-1][0].owner) is not None:
        found.append((owner.strand, owner))
    return found


def item_around(visit: Visit) -> tuple[Visit, Strand] | None:
    """The Map and the item that a visit is in; None for neither. Branches in between do not count."""
    for strand, _ in _around(visit):
        if strand.kind == "item" and strand.owner is not None:
            return strand.owner, strand
    return None


def as_text(mock: Mock) -> str:
    """A result as a JSON text: of a failure, its error and cause."""
    if isinstance(mock, Failure):
        return dump_json({"Error": mock.error, "Cause": mock.cause})
    return mock.text
