"""The scheduler: schedules and their groups, and their firing.

Only schedules that are due within a minute are in memory. One transaction moves a schedule to its next instant and
writes the delivery of this one, so that each instant fires at least once, even after a crash. An instant that has
passed while the server was down fires late, unless it is older than its target's greatest age; then it is dropped with
a warning in the log. The instants of a disabled schedule pass without effect, and never fire later.

Source: EventBridge Scheduler user guide and API reference.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import orjson

from statewright.clock import Clock
from statewright.config import Config
from statewright.engine.catalogue_timers import timer_key
from statewright.errors import ApiError, Conflict
from statewright.events.deliveries import ATTEMPT, Deliveries, policy_of
from statewright.events.delivery_records import Delivery, call_id_of, execution_id
from statewright.events.due_work import DueWork
from statewright.events.outcomes import Outcome
from statewright.events.schedule_records import (
    DEFAULT_GROUP,
    DUE,
    GROUP,
    SCHEDULE,
    Group,
    Schedule,
    check,
    invalid,
    requested,
)
from statewright.events.targets import UNIVERSAL
from statewright.instants import iso_seconds
from statewright.payload import JsonMapping
from statewright.stores.completion import Completion, adapted, if_made
from statewright.stores.entries import Entries
from statewright.stores.store import Store
from statewright.tags import retagged

PAGE: Final = 500
CONFLICTS: Final = 20
MOST_GROUPS: Final = 500
"""Source: EventBridge Scheduler quotas."""

log = logging.getLogger("statewright.events")


class Scheduler:
    """The schedules of one store."""

    def __init__(self, store: Store, clock: Clock, config: Config, deliveries: Deliveries) -> None:
        self._catalogue = store.catalogue
        self._schedules = Entries(store.catalogue, SCHEDULE)
        self._groups = Entries(store.catalogue, GROUP)
        self._clock = clock
        self._config = config
        self._deliveries = deliveries
        self._due = DueWork(store.catalogue, DUE, clock, "schedule", self._fire)

    async def start(self) -> None:
        """Recover the schedules from the store. Deliveries must have been started."""
        if await self._groups.get(DEFAULT_GROUP) is None:
            now_ms = self._clock.now_ms()
            await self._groups.write(Group(DEFAULT_GROUP, now_ms, now_ms))
        await self._due.start()
        async for group in self._groups.walk():
            if group.state == "DELETING":
                self._due.spawn(self._clear(group))

    async def stop(self) -> None:
        """Stop firing."""
        await self._due.stop()

    # ------------------------------------------------------------------ schedules

    async def create(self, name: str, request: JsonMapping, completion: Completion[Schedule] | None = None) -> Schedule:
        """Create a schedule. The request has the members of CreateSchedule.

        Raises: ApiError (`ValidationException`, `ConflictException`, `ResourceNotFoundException`).
        """
        group = request.get("GroupName") or DEFAULT_GROUP
        await self._active_group(group)
        now_ms = self._clock.now_ms()
        number = await self._catalogue.next_number("schedule")
        fields = requested(request)
        made = Schedule(name, group, number, created_ms=now_ms, modified_ms=now_ms, token=request.get("ClientToken"),
                        **fields)  # fmt: skip
        check(made, now_ms, self._deliveries.calls, self._config)
        made = self._armed(replace(made, anchor_ms=_anchor(made, now_ms)), now_ms)
        if await self._write(made, completion):
            self._deliveries.outcomes.forget(made.arn(self._config))
            self._arm(made)
            return made
        there = await self._find(group, name)
        if there is not None and made.token is not None and there.token == made.token:
            return there
        raise ApiError("ConflictException", f"Schedule {name} already exists.")

    async def update(self, name: str, request: JsonMapping, completion: Completion[Schedule] | None = None) -> Schedule:
        """Replace a schedule: what the request leaves out has its default again. Raises: ApiError, as `create`.

        A rate keeps its phase as long as expression and start stay the same.
        """
        for _ in range(CONFLICTS):
            there = await self.get(request.get("GroupName") or DEFAULT_GROUP, name)
            now_ms = self._clock.now_ms()
            fields = requested(request)
            made = Schedule(there.name, there.group, there.number, created_ms=there.created_ms, modified_ms=now_ms,
                            stored=there.stored, token=there.token, **fields)  # fmt: skip
            same = (made.expression, made.start_ms) == (there.expression, there.start_ms)
            made = replace(made, anchor_ms=there.anchor_ms if same else _anchor(made, now_ms))
            check(made, now_ms, self._deliveries.calls, self._config, there)
            made = self._armed(made, now_ms)
            if await self._write(made, completion):
                self._due.disarm(made.number)
                self._arm(made)
                return made
        raise ApiError("ConflictException", f"Schedule {name} is being changed; try again.")

    async def _write(self, schedule: Schedule, completion: Completion[Schedule] | None) -> bool:
        rows = [SCHEDULE.row(schedule), schedule.timer()]
        return await self._catalogue.write(rows, (), if_made(completion, schedule))

    async def delete(self, group: str, name: str, completion: Completion[bool] | None = None) -> None:
        """Delete a schedule; invocations under way continue. Raises: ApiError (`ResourceNotFoundException`)."""
        await self._drop(await self.get(group, name), completion)

    async def get(self, group: str, name: str) -> Schedule:
        """A schedule. Raises: ApiError (`ResourceNotFoundException`)."""
        found = await self._find(group, name)
        if found is None:
            raise ApiError("ResourceNotFoundException", f"Schedule {name} does not exist.")
        return found

    async def list_schedules(
        self, group: str | None, prefix: str, state: str | None, after: str | None, limit: int
    ) -> tuple[list[Schedule], str | None]:
        """Schedules by group and name, after a key; also the key to continue after, if any. Raises: ApiError."""
        if group is not None:
            groups = [(await self.group(group)).name]
        else:
            groups = [one.name async for one in self._groups.walk()]
        found: list[Schedule] = []
        for name in groups:
            start = _before(f"{name}/{prefix}") if prefix else f"{name}/"
            if after is not None:
                if after.partition("/")[0] > name:
                    continue
                start = max(start, after)
            async for schedule in self._schedules.walk(name, (0, start)):
                if not schedule.name.startswith(prefix):
                    break
                if state is not None and schedule.state != state:
                    continue
                if len(found) == limit:
                    return found, found[-1].key
                found.append(schedule)
        return found, None

    async def _find(self, group: str, name: str) -> Schedule | None:
        return await self._schedules.get(f"{group}/{name}")

    async def _drop(self, schedule: Schedule, completion: Completion[bool] | None = None) -> None:
        self._due.disarm(schedule.number)
        await self._catalogue.write([], [SCHEDULE.name_of(schedule), (DUE, timer_key(schedule.number))], completion)

    # ------------------------------------------------------------------ groups

    async def create_group(
        self, name: str, tags: Mapping[str, str], token: str | None, completion: Completion[Group] | None = None
    ) -> Group:
        """Create a group. Raises: ApiError (`ConflictException`, `ServiceQuotaExceededException`)."""
        there = await self._groups.get(name)
        if there is None:
            if len(await self._groups.names()) >= MOST_GROUPS:
                raise ApiError("ServiceQuotaExceededException", f"There may be {MOST_GROUPS} schedule groups at most.")
            now_ms = self._clock.now_ms()
            made = Group(name, now_ms, now_ms, tags=dict(tags), token=token)
            try:
                return await self._groups.write(made, completion=adapted(completion, lambda _: made))
            except Conflict:
                there = await self._groups.get(name)
        if there is not None and token is not None and there.token == token:
            return there
        raise ApiError("ConflictException", f"Schedule group {name} already exists.")

    async def group(self, name: str) -> Group:
        """A group. Raises: ApiError (`ResourceNotFoundException`)."""
        found = await self._groups.get(name)
        if found is None:
            raise ApiError("ResourceNotFoundException", f"Schedule group {name} does not exist.")
        return found

    async def delete_group(self, name: str, completion: Completion[bool] | None = None) -> None:
        """Delete a group with its schedules, in the background. Raises: ApiError."""
        group = await self.group(name)
        if name == DEFAULT_GROUP:
            # The text is Statewright's own.
            raise invalid("The default schedule group cannot be deleted.")
        if group.state != "DELETING":
            going = replace(group, state="DELETING", modified_ms=self._clock.now_ms())
            group = await self._write_group(going, completion)
            self._due.spawn(self._clear(group))

    async def list_groups(self, prefix: str, after: str | None, limit: int) -> tuple[list[Group], str | None]:
        """Groups by name, after one; also the name to continue after, if there are more."""
        found: list[Group] = []
        start = max(_before(prefix) if prefix else "", after or "")
        async for group in self._groups.walk(after=(0, start)):
            if not group.name.startswith(prefix):
                break
            if len(found) == limit:
                return found, found[-1].name
            found.append(group)
        return found, None

    async def tag_group(self, name: str, tags: Mapping[str, str], remove: tuple[str, ...] = ()) -> None:
        """Add tags to a group and remove others. Raises: ApiError."""
        group = await self.group(name)
        await self._write_group(replace(group, tags=retagged(group.tags, tags, remove)))

    async def _write_group(self, group: Group, completion: Completion[bool] | None = None) -> Group:
        try:
            return await self._groups.write(group, completion=completion)
        except Conflict:
            raise ApiError("ConflictException", f"Schedule group {group.name} is being changed; try again.") from None

    async def _active_group(self, name: str) -> None:
        group = await self.group(name)
        if group.state != "ACTIVE":
            raise ApiError("ConflictException", f"Schedule group {name} is being deleted.")

    async def _clear(self, group: Group) -> None:
        async for schedule in self._schedules.walk(group.name):
            await self._drop(schedule)
        await self._groups.delete(group)

    # ------------------------------------------------------------------ firing

    def _armed(self, schedule: Schedule, now_ms: int) -> Schedule:
        """A schedule with its next instant from now on; one at exactly `now_ms` counts."""
        following = schedule.following(now_ms - 1) if schedule.state == "ENABLED" else None
        if following is None and schedule.state == "ENABLED":
            log.warning("schedule %s has no instant that is to come: it never fires", schedule.key)
        next_ms, due_ms = following or (None, None)
        return replace(schedule, next_ms=next_ms, due_ms=due_ms)

    def _arm(self, schedule: Schedule) -> None:
        if schedule.due_ms is not None:
            self._due.arm(schedule.number, schedule.due_ms)

    async def _fire(self, number: int) -> None:
        while not await self._advance(number):
            pass

    async def _advance(self, number: int) -> bool:
        """Fire a schedule once and move it to its next instant; False if it was changed meanwhile."""
        timer = await self._catalogue.get(DUE, timer_key(number))
        schedule = None if timer is None else await self._schedules.get(timer.body.decode())
        if schedule is None:
            return True
        now_ms = self._clock.now_ms()
        if schedule.number != number or schedule.next_ms is None or schedule.due_ms is None or schedule.due_ms > now_ms:
            return True
        oldest_ms = now_ms - policy_of(schedule.target)[0]
        fires = schedule.due_ms >= oldest_ms
        if not fires:
            log.warning(
                "schedule %s was due at %s while no server ran: it is too old to fire now and is dropped, "
                "with all other instants before %s",
                schedule.key, iso_seconds(schedule.next_ms), iso_seconds(oldest_ms),
            )  # fmt: skip
        following = schedule.following(schedule.next_ms if fires else max(schedule.next_ms, oldest_ms - 1))
        next_ms, due_ms = following or (None, None)
        moved = replace(schedule, next_ms=next_ms, due_ms=due_ms)
        deliveries = [self._delivery(schedule, now_ms)] if fires else []
        if following is None and schedule.after_completion == "DELETE":
            gone = [SCHEDULE.name_of(schedule), (DUE, timer_key(number))]
            return await self._deliveries.accept(deliveries, [], gone)
        if not await self._deliveries.accept(deliveries, [SCHEDULE.row(moved), moved.timer()]):
            return False
        self._arm(moved)
        return True

    async def run_now(self, group: str, name: str) -> Delivery:
        """Invoke the target of a schedule once, enabled or not, as if it were due now; its instants stay the same.

        Returns once the delivery is durable. Raises: ApiError (`ResourceNotFoundException`).
        """
        schedule = await self.get(group, name)
        now_ms = self._clock.now_ms()
        delivery = self._delivery(replace(schedule, next_ms=now_ms, due_ms=now_ms), now_ms)
        await self._deliveries.accept([delivery])
        return delivery

    def last_outcome(self, schedule: Schedule) -> Outcome | None:
        """The outcome of the last delivery of a schedule, since the server started."""
        return self._deliveries.outcomes.of(schedule.arn(self._config))

    def _delivery(self, schedule: Schedule, now_ms: int) -> Delivery:
        """The invocation that a schedule is due for."""
        assert schedule.next_ms is not None
        number = self._deliveries.next_number()
        call_id = call_id_of(number)
        arn, at = schedule.arn(self._config), iso_seconds(schedule.next_ms)
        keywords = {"schedule-arn": arn, "scheduled-time": at, "execution-id": execution_id(number)}
        payload: str = schedule.target.get("Input") or self._default_input(schedule, call_id, at)
        for name, value in keywords.items():
            payload = payload.replace(f"<aws.scheduler.{name}>", value)
        origin = {"SCHEDULE_ARN": arn, "SCHEDULED_TIME": at, "EXECUTION_ID": keywords["execution-id"]}
        return Delivery(
            number, schedule.target, payload, schedule.due_ms or now_ms, now_ms, origin,
            counts_attempts=ATTEMPT in payload,
        )  # fmt: skip

    def _default_input(self, schedule: Schedule, call_id: str, at: str) -> str:
        """The payload for a schedule without an Input: an event that names the schedule (observed by SDK users)."""
        arn: str = schedule.target["Arn"]
        if UNIVERSAL.fullmatch(arn) or arn.split(":")[2] in ("events", "ecs"):
            return "{}"
        event = {
            "version": "0", "id": call_id, "detail-type": "Scheduled Event", "source": "aws.scheduler",
            "account": self._config.account, "time": at, "region": self._config.region,
            "resources": [schedule.arn(self._config)], "detail": "{}",
        }  # fmt: skip
        return orjson.dumps(event).decode()


def _anchor(schedule: Schedule, now_ms: int) -> int:
    """The instant from which the rate of a new schedule counts: its start, or now."""
    return schedule.start_ms if schedule.start_ms is not None else now_ms


def _before(prefix: str) -> str:
    """A text that sorts just before all texts with a prefix, in the alphabet of names (letters, digits, `.-_`)."""
    return prefix[:-1] + chr(ord(prefix[-1]) - 1) + "\x7f"
