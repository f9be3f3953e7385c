"""Event buses: an event put on a bus goes to the targets of the matching rules, once it is durable.

Owns the catalogue of buses, the checks of events, and the events about executions whose status changes. Rules are in
`rules.py`.

Source: EventBridge API reference, PutEvents; Step Functions developer guide, "Automating event delivery"; texts and the
detail of status changes observed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from statewright.background import Background, beyond_in_thread, in_thread
from statewright.clock import Clock
from statewright.config import Config
from statewright.engine.executions.views import ExecutionView, StatusChange
from statewright.errors import ApiError, Conflict
from statewright.events.bus_records import BUS, DEFAULT_BUS, MOST_BUSES, Bus, invalid, no_bus, too_many
from statewright.events.connections import Connections
from statewright.events.deliveries import Deliveries
from statewright.events.delivery_records import Delivery, call_id_of
from statewright.events.rules import Event, Match, Rules
from statewright.instants import iso_seconds
from statewright.metrics.recorder import Recorder
from statewright.payload import Json, JsonMapping, JsonObject, JsonTextError, dump_json, parse_json
from statewright.query.matching import LOOP_WORK, MOST_WORK, Matching, TooMuchWork
from statewright.stores.completion import Completion, adapted
from statewright.stores.entries import Entries
from statewright.stores.store import Store
from statewright.tags import retagged

PAGE: Final = 500
ENTRIES_BYTES: Final = 1_048_576
"""The limit of all entries of one request together. Source: API reference, PutEvents."""
POLICY_LENGTH: Final = 10_240
"""Source: EventBridge quotas."""
STATUS_BYTES: Final = 253_952
"""An event about a status change leaves out longer input and output. Source: developer guide: 248 KiB."""
SOURCE: Final = "aws.states"
STATUS_CHANGE: Final = "Step Functions Execution Status Change"
TOO_MUCH_WORK: Final = (
    "Matching the event with the rules of its bus takes too much work for Statewright; send shorter arrays and texts, "
    "or use fewer wildcards."
)

log = logging.getLogger("statewright.events")

OnEvent = Callable[[str, Event], None]
"""Called with the name of a bus and an event that was put on it."""


class Buses:
    """The buses of one store."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        config: Config,
        deliveries: Deliveries,
        recorder: Recorder | None = None,
    ) -> None:
        self._entries = Entries(store.catalogue, BUS)
        self._clock = clock
        self._config = config
        self._deliveries = deliveries
        self._buses: dict[str, Bus] = {}
        self._taps: list[OnEvent] = []
        self._background = Background("delivering an event about an execution")
        self.rules = Rules(store.catalogue, clock, config, deliveries, recorder)
        self.connections = Connections(store.catalogue, clock, config)

    async def load(self) -> None:
        """Load the buses and rules from the store; harmless when repeated."""
        if DEFAULT_BUS in self._buses:
            return
        await self.rules.load()
        async for bus in self._entries.walk():
            self._buses[bus.name] = bus
        if DEFAULT_BUS not in self._buses:
            now_ms = self._clock.now_ms()
            await self._write(Bus(DEFAULT_BUS, now_ms, now_ms))

    async def start(self) -> None:
        """Start the rules. Deliveries must have been started."""
        await self.load()
        await self.rules.start()

    async def stop(self) -> None:
        """Stop the rules; the next process continues with pending deliveries."""
        await self.rules.stop()
        await self._background.at_rest()

    # ------------------------------------------------------------------ the catalogue

    async def create(self, name: str, description: str | None, tags: Mapping[str, str], shown: JsonMapping) -> Bus:
        """Create a bus. Raises: ApiError (`ResourceAlreadyExistsException`, `ValidationException`)."""
        if name in self._buses:
            raise ApiError("ResourceAlreadyExistsException", f"Event bus {name} already exists.")
        if "/" in name:
            raise invalid("Event bus name must not contain '/'.")
        if len(self._buses) >= MOST_BUSES:
            raise too_many()
        now_ms = self._clock.now_ms()
        return await self._write(Bus(name, now_ms, now_ms, description, dict(tags), dict(shown)))

    async def update(self, name: str, description: str | None, shown: JsonMapping) -> Bus:
        """Change what a bus shows. Raises: ApiError."""
        bus = self.get(name)
        return await self._write(
            replace(bus, description=description, shown=dict(shown), modified_ms=self._clock.now_ms())
        )

    async def delete(self, name: str) -> None:
        """Delete a bus without rules. Raises: ApiError."""
        if name == DEFAULT_BUS:
            raise invalid("Cannot delete event bus default.")
        if self.rules.of(name):
            raise invalid("Event bus can't be deleted since it has rules.")
        await self._entries.delete(self.get(name))
        self._buses.pop(name, None)

    def get(self, name: str) -> Bus:
        """A bus. Raises: ApiError (`ResourceNotFoundException`)."""
        found = self._buses.get(name)
        if found is None:
            raise no_bus(name)
        return found

    def name_of(self, name_or_arn: str | None) -> str:
        """The name of an existing bus. Raises: ApiError (`ResourceNotFoundException`)."""
        return self.get(self.name_in(name_or_arn)).name

    def name_in(self, name_or_arn: str | None) -> str:
        """The name of a bus from its name or ARN, the default bus for None. An ARN of another region stays as it is."""
        text = name_or_arn or DEFAULT_BUS
        return text if self._config.is_elsewhere(text) else text.rpartition(":event-bus/")[2]

    def all(self, prefix: str = "") -> list[Bus]:
        """Buses by name."""
        return [bus for name, bus in sorted(self._buses.items()) if name.startswith(prefix)]

    async def permit(self, name: str, statement: JsonMapping) -> None:
        """Add a statement to the policy of a bus, or replace the one with its id. Raises: ApiError."""
        bus = self.get(name)
        kept = tuple(one for one in bus.statements if one.get("Sid") != statement["Sid"])
        await self.set_policy(name, (*kept, dict(statement)))

    async def set_policy(self, name: str, statements: Sequence[JsonMapping]) -> None:
        """Replace the policy of a bus. Raises: ApiError (`PolicyLengthExceededException`)."""
        bus = replace(self.get(name), statements=tuple(statements))
        if len(bus.policy or "") > POLICY_LENGTH:
            raise ApiError("PolicyLengthExceededException", "The policy of the event bus is too long.")
        await self._write(bus)

    async def forbid(self, name: str, statement_id: str) -> None:
        """Remove a statement from the policy of a bus. Raises: ApiError (`ResourceNotFoundException`)."""
        bus = self.get(name)
        kept = [one for one in bus.statements if one.get("Sid") != statement_id]
        if len(kept) == len(bus.statements):
            raise ApiError("ResourceNotFoundException", "Statement with the provided id does not exist.")
        await self.set_policy(name, kept)

    async def tag(self, name: str, tags: Mapping[str, str], remove: Iterable[str] = ()) -> None:
        """Add tags to a bus and remove others. Raises: ApiError."""
        bus = self.get(name)
        await self._write(replace(bus, tags=retagged(bus.tags, tags, remove)))

    async def _write(self, bus: Bus) -> Bus:
        try:
            bus = await self._entries.write(bus)
        except Conflict:
            raise ApiError(
                "ConcurrentModificationException", f"Event bus {bus.name} was changed concurrently; try again."
            ) from None
        self._buses[bus.name] = bus
        return bus

    # ------------------------------------------------------------------ events

    async def put(
        self, entries: Sequence[JsonMapping], completion: Completion[list[dict[str, str]]] | None = None
    ) -> list[dict[str, str]]:
        """Put events; the answer has an id or an error for each, in order. Returns once their deliveries are durable.

        Raises: ApiError (`ValidationException`) for entries that are too long together.
        """
        if sum(entry_bytes(entry) for entry in entries) >= ENTRIES_BYTES:
            raise invalid("Total size of the entries in the request is over the limit.")
        answers: list[dict[str, str]] = []
        events: list[tuple[str, Event]] = []
        for entry in entries:
            refused, detail = _checked(entry)
            bus = entry.get("EventBusName") or ""
            if refused is None and self._config.is_of_other_account(bus):
                refused = "AccessDeniedException", f"The caller has no permission to put events on {bus}."
            if refused is not None:
                answers.append({"ErrorCode": refused[0], "ErrorMessage": refused[1]})
                continue
            event = self.event(
                entry["Source"], entry["DetailType"], detail, entry.get("Resources") or (), entry.get("Time")
            )
            answers.append({"EventId": event["id"]})
            # An unknown bus accepts the event, which is then dropped (observed).
            events.append((self.name_in(entry.get("EventBusName")), event))
        deliveries: list[Delivery] = []
        for (_, event), matches in zip(events, await self.matched(events), strict=True):
            if matches is None:
                at = answers.index({"EventId": event["id"]})
                answers[at] = {"ErrorCode": "InternalFailure", "ErrorMessage": TOO_MUCH_WORK}
            else:
                deliveries += self.rules.deliveries_of(event, matches)
        await self._deliveries.accept(deliveries, completion=adapted(completion, lambda _: answers))
        for bus, event in events if self._taps else ():
            self._show(bus, event)
        if self.rules.meter is not None:
            self.rules.meter.put(len(answers), sum("ErrorCode" in one for one in answers))
        return answers

    async def matched(
        self, events: Sequence[tuple[str, Event]], only: Collection[str] = ()
    ) -> list[list[Match] | None]:
        """The rules that the event of each bus matches; None for an event that would take too much work.

        `only` names the rules of the bus that may see it, if not all. What takes long is done in a thread.
        """

        def brief() -> list[list[Match] | None]:
            matching = Matching(LOOP_WORK)
            return [self.rules.matched(bus, event, matching, only) for bus, event in events]

        return await beyond_in_thread(
            self._clock, TooMuchWork, brief, lambda: [self._bounded(*one, only) for one in events]
        )

    def _bounded(self, bus: str, event: Event, only: Collection[str] = ()) -> list[Match] | None:
        try:
            return self.rules.matched(bus, event, Matching(MOST_WORK), only)
        except TooMuchWork:
            return None

    def tap(self, on_event: OnEvent) -> Callable[[], None]:
        """Call a listener with every event from now on, matched or not; returns the function that ends it.

        Events that services put themselves are seen as they are decided, others once they are durable. Events that no
        rule expects are made for listeners alone, so a listener costs time, and none costs nothing.
        """
        self._taps.append(on_event)
        return lambda: self._taps.remove(on_event)

    def _show(self, bus: str, event: Event) -> None:
        for on_event in self._taps:
            try:
                on_event(bus, event)
            except Exception:
                # The event is on the bus, whether it can be shown or not.
                log.exception("a watcher of event buses failed because of a bug in Statewright")

    def event(
        self, source: str, detail_type: str, detail: Json, resources: Iterable[str], at_ms: int | None = None
    ) -> Event:
        """An event as targets see it."""
        at_ms = self._clock.now_ms() if at_ms is None else at_ms
        return {
            "version": "0", "id": call_id_of(self._deliveries.next_number()), "detail-type": detail_type,
            "source": source, "account": self._config.account, "time": iso_seconds(at_ms),
            "region": self._config.region, "resources": list(resources), "detail": detail,
        }  # fmt: skip

    def of_service(self, source: str, detail_type: str, detail: Json, resources: Iterable[str]) -> list[Delivery]:
        """The deliveries of an event that a service of this server puts on the default bus; the caller writes them."""
        if not self.rules.expects(DEFAULT_BUS, source) and not self._taps:
            return []
        event = self.event(source, detail_type, detail, resources)
        self._show(DEFAULT_BUS, event)
        return self.rules.deliveries_of(event, self._bounded(DEFAULT_BUS, event) or ())

    def status_changed(self, change: StatusChange) -> None:
        """Put a status change of an execution on the default bus, best effort, as the service does."""
        if not self.rules.expects(DEFAULT_BUS, SOURCE) and not self._taps:
            return
        view = change.view
        event = self.event(SOURCE, STATUS_CHANGE, _status_detail(view), [view.execution_arn])
        self._show(DEFAULT_BUS, event)
        try:
            matches = self.rules.matched(DEFAULT_BUS, event, Matching(LOOP_WORK))
        except TooMuchWork:
            self._background.spawn(self._deliver_status(event))
            return
        if matches:
            self._background.spawn(self._deliveries.accept(self.rules.deliveries_of(event, matches)))

    async def _deliver_status(self, event: Event) -> None:
        """Deliver an event whose matching takes long."""
        matches = await in_thread(self._clock, lambda: self._bounded(DEFAULT_BUS, event))
        if matches is None:
            log.warning("an event about %s reaches no rule: %s", event["detail"]["executionArn"], TOO_MUCH_WORK)
        elif matches:
            await self._deliveries.accept(self.rules.deliveries_of(event, matches))


def entry_bytes(entry: JsonMapping) -> int:
    """The size of an entry as the quota counts it. Source: user guide, "Calculating event entry size"."""
    size = 14 if entry.get("Time") is not None else 0
    for text in (entry.get("Source"), entry.get("DetailType"), entry.get("Detail"), *(entry.get("Resources") or ())):
        size += len((text or "").encode("utf-8", "replace"))
    return size


def _checked(entry: JsonMapping) -> tuple[tuple[str, str] | None, Json]:
    """The error of an entry as code and text, or None; and its detail."""
    for name in ("Source", "DetailType", "Detail"):
        if not entry.get(name):
            text = f"Parameter {name} is not valid. Reason: {name} is a required argument."
            return ("InvalidArgument", text), None
    if entry["Source"].startswith("aws."):
        return ("NotAuthorizedForSourceException", "Not authorized for the source."), None
    try:
        detail = parse_json(entry["Detail"])
    except JsonTextError:
        detail = None
    if not isinstance(detail, dict):
        return ("MalformedDetail", "Detail is malformed."), None
    return None, detail


def _status_detail(view: ExecutionView) -> JsonObject:
    output_size = _escaped_bytes(view.output)
    input_fits = _escaped_bytes(view.input) + output_size <= STATUS_BYTES
    output_fits = output_size <= STATUS_BYTES
    redrivable = view.redrive_status == "REDRIVABLE"
    reason = f"Execution is {view.status} and is redrivable" if redrivable else view.redrive_reason
    return {
        "executionArn": view.execution_arn, "stateMachineArn": view.machine_arn, "name": view.name,
        "status": view.status, "startDate": view.started_ms, "stopDate": view.stopped_ms,
        "input": view.input if input_fits else None, "inputDetails": {"included": input_fits},
        "output": view.output if output_fits else None,
        "outputDetails": {"included": output_fits} if view.output is not None else None,
        "stateMachineVersionArn": view.version_arn, "stateMachineAliasArn": view.alias_arn,
        "redriveCount": view.redrive_count, "redriveDate": view.redriven_ms, "redriveStatus": view.redrive_status,
        "redriveStatusReason": reason, "error": view.error, "cause": view.cause,
    }  # fmt: skip


def _escaped_bytes(text: str | None) -> int:
    return len(dump_json(text).encode("utf-8", "replace")) if text is not None else 0
