"""Archives of buses, and the replays of their events to the rules of the bus.

A replay works in pages: the deliveries of a page and its place in the archive are one transaction, so that a killed
server continues behind the last page. Events of a replay carry its name, and no archive keeps them.

Source: EventBridge user guide, "Archiving and replaying events"; API reference; refusals recorded or observed.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import orjson

from statewright.background import Background
from statewright.clock import Clock
from statewright.config import Config
from statewright.errors import ApiError, StoreError
from statewright.events.archives.records import ARCHIVE, ARCHIVED, DAY_MS, REPLAY, Archive, ArchivedEvent, Replay
from statewright.events.bus_records import invalid, read_pattern, too_many
from statewright.events.buses import Buses
from statewright.events.deliveries import Deliveries
from statewright.events.delivery_records import Delivery
from statewright.payload import JsonMapping, dump_json
from statewright.stores.entries import Entries
from statewright.stores.protocol import CatalogueStore

PAGE: Final = 50
MOST_REPLAYS: Final = 10
"""Replays at a time. Source: user guide."""
REPLAYS_MS: Final = 90 * DAY_MS
"""How long replays are shown. Source: user guide."""
RETRY_MS: Final = 1_000
RUNNING: Final = ("STARTING", "RUNNING")
DELETED: Final = 500
"""Events of an archive that one transaction deletes."""
COUNTED: Final = 10_000
COUNTED_MS: Final = 60_000
"""An archive of so many events is counted anew only after this time; the service counts once in a day."""

log = logging.getLogger("statewright.events")


class Archives:
    """The archives and replays of one store."""

    def __init__(
        self, catalogue: CatalogueStore, clock: Clock, config: Config, buses: Buses, deliveries: Deliveries
    ) -> None:
        self._catalogue = catalogue
        self._clock = clock
        self._config = config
        self._buses = buses
        self._deliveries = deliveries
        self._archives = Entries(catalogue, ARCHIVE)
        self._events = Entries(catalogue, ARCHIVED)
        self._replays = Entries(catalogue, REPLAY)
        self._background = Background("replaying events")
        self._extents: dict[str, tuple[int, int, int]] = {}
        """Until when the extent of a large archive counts, and that extent."""

    async def start(self) -> None:
        """Continue replays. The buses must have been started."""
        await self._buses.load()
        for archive in await self._archives.all():
            await self._put_rule(archive)
        for replay in await self._replays.all():
            if replay.state in RUNNING:
                self._background.spawn(self._run(replay.name))

    async def stop(self) -> None:
        """Stop replaying; the next process continues."""
        await self._background.stop()

    # ------------------------------------------------------------------ archives

    async def create(self, name: str, source: str, request: JsonMapping) -> Archive:
        """Create an archive of a bus, given the bus's ARN. Raises: ApiError."""
        bus = self._buses.name_of(source)
        if await self._archives.get(name) is not None:
            raise ApiError("ResourceAlreadyExistsException", f"Archive {name} already exists.")
        archive = Archive(
            name, bus, self._clock.now_ms(), request.get("EventPattern") or None, request.get("RetentionDays") or 0,
            request.get("Description"), request.get("KmsKeyIdentifier"),
        )  # fmt: skip
        if archive.pattern is not None:
            read_pattern(archive.pattern, is_new=True)
        archive = await self._archives.write(archive)
        await self._put_rule(archive)
        return archive

    async def update(self, name: str, request: JsonMapping) -> Archive:
        """Change an archive; members that are not given stay. Raises: ApiError."""
        archive = await self.get(name)
        if all(request.get(member) is None for member in ("EventPattern", "RetentionDays", "Description")):
            raise invalid("At least one of EventPattern, RetentionDays or Description must be provided.")
        if request.get("EventPattern"):
            read_pattern(request["EventPattern"], is_new=True)
        days = request.get("RetentionDays")
        archive = await self._archives.write(
            replace(
                archive,
                pattern=request.get("EventPattern") or archive.pattern,
                retention_days=archive.retention_days if days is None else days,
                description=request.get("Description", archive.description),
            )
        )
        await self._put_rule(archive)
        return archive

    async def delete(self, name: str) -> None:
        """Delete an archive with its events. Raises: ApiError."""
        archive = await self.get(name)
        rules = self._buses.rules
        if any(rule.name == archive.rule for rule in rules.of(archive.bus)):
            await rules.remove_targets(archive.rule, archive.bus, [name])
            await rules.delete(archive.rule, archive.bus)
        while names := await self._events.names(name):
            for place in range(0, len(names), DELETED):
                await self._catalogue.write([], names[place : place + DELETED])
        await self._archives.delete(archive)
        self._extents.pop(name, None)

    async def get(self, name: str) -> Archive:
        """An archive. Raises: ApiError (`ResourceNotFoundException`)."""
        found = await self._archives.get(name)
        if found is None:
            raise ApiError("ResourceNotFoundException", f"Archive {name} does not exist.")
        return found

    async def all(self) -> list[Archive]:
        """Every archive by name."""
        return await self._archives.all()

    async def extent(self, archive: Archive) -> tuple[int, int]:
        """The number of an archive's events, and their bytes. Source: API reference, DescribeArchive."""
        now_ms = self._clock.now_ms()
        until_ms, count, size = self._extents.get(archive.name, (0, 0, 0))
        if now_ms < until_ms:
            return count, size
        count = size = 0
        async for event in self._events.walk(archive.name, (archive.oldest_ms(now_ms), "")):
            count += 1
            size += len(event.text.encode("utf-8", "replace"))
        if count >= COUNTED:
            self._extents[archive.name] = now_ms + COUNTED_MS, count, size
        return count, size

    async def _put_rule(self, archive: Archive) -> None:
        """Put the managed rule of an archive where it is not as it should be."""
        pattern = orjson.loads(archive.pattern) if archive.pattern is not None else {}
        text = dump_json({**pattern, "replay-name": [{"exists": False}]})
        rules = self._buses.rules
        there = next((one for one in rules.of(archive.bus) if one.name == archive.rule), None)
        if there is None or there.pattern != text:
            await rules.put(archive.rule, archive.bus, {"EventPattern": text})
        if there is None or not there.targets:
            arn = self._config.arn("events", f"archive/{archive.name}")
            await rules.put_targets(archive.rule, archive.bus, [{"Id": archive.name, "Arn": arn}])

    # ------------------------------------------------------------------ replays

    async def replay(self, request: JsonMapping) -> Replay:
        """Start a replay, given the members of StartReplay. Raises: ApiError."""
        name, destination = request["ReplayName"], request["Destination"]
        archive = await self._archives.get(request["EventSourceArn"].rpartition("archive/")[2])
        if archive is None:
            source = request["EventSourceArn"].rpartition("/")[2]
            raise invalid(f"Parameter EventSourceArn is not valid. Reason: Archive {source} does not exist.")
        if ":event-bus/" not in destination["Arn"]:
            raise invalid("Parameter Destination.Arn is not valid. Reason: Must contain an event bus ARN.")
        if self._buses.name_in(destination["Arn"]) != archive.bus:
            raise invalid("Parameter Destination.Arn is not valid. Reason: Cross event bus replay is not permitted.")
        if request["EventStartTime"] >= request["EventEndTime"]:
            raise invalid("Parameter EventEndTime is not valid. Reason: EventStartTime must be before EventEndTime.")
        replays = await self._kept_replays()
        if any(one.name == name for one in replays):
            raise ApiError("ResourceAlreadyExistsException", f"Replay {name} already exists.")
        if sum(one.state in RUNNING for one in replays) >= MOST_REPLAYS:
            raise too_many()
        from_ms = request["EventStartTime"]
        rules = [arn.rpartition("/")[2] for arn in destination.get("FilterArns") or ()]
        made = Replay(
            name, archive.name, archive.bus, from_ms, request["EventEndTime"], self._clock.now_ms(), rules,
            request.get("Description"), place_ms=from_ms,
        )  # fmt: skip
        made = await self._replays.write(made)
        self._background.spawn(self._run(name))
        return made

    async def _kept_replays(self) -> list[Replay]:
        """Every replay by age; those that are too old are deleted."""
        found = await self._replays.all()
        old = [one for one in found if one.started_ms < self._clock.now_ms() - REPLAYS_MS]
        if old:
            await self._replays.delete(*old)
        return [one for one in found if one not in old]

    async def replays(self) -> list[Replay]:
        """Every replay by name."""
        return sorted(await self._kept_replays(), key=lambda one: one.name)

    async def get_replay(self, name: str) -> Replay:
        """A replay. Raises: ApiError (`ResourceNotFoundException`)."""
        found = await self._replays.get(name)
        if found is None:
            raise ApiError("ResourceNotFoundException", f"Replay {name} does not exist.")
        return found

    async def cancel(self, name: str) -> Replay:
        """Cancel a replay that runs; its last page is delivered. Raises: ApiError (`IllegalStatusException`)."""
        found = await self.get_replay(name)
        if found.state not in RUNNING:
            raise ApiError("IllegalStatusException", f"Replay {name} is not in a valid state for this operation.")
        return await self._replays.write(replace(found, state="CANCELLED", ended_ms=self._clock.now_ms()))

    async def _run(self, name: str) -> None:
        try:
            while await self._replay_page(name):
                pass
        except StoreError as problem:
            log.warning("the replay %s is continued later: %s", name, problem)
            self._clock.call_at(self._clock.now_ms() + RETRY_MS, lambda: self._background.spawn(self._run(name)))

    async def _replay_page(self, name: str) -> bool:
        """Deliver the next events of a replay; False at its end. A replay that was changed meanwhile is read again."""
        replay = await self._replays.get(name)
        if replay is None or replay.state not in RUNNING:
            return False
        archive = await self._archives.get(replay.archive)
        if archive is None:
            failed = replace(replay, state="FAILED", reason=f"Archive {replay.archive} does not exist.")
            return not await self._moved(replace(failed, ended_ms=self._clock.now_ms()), [])
        place = max((replay.place_ms, replay.place_key), (archive.oldest_ms(self._clock.now_ms()), ""))
        page, _ = await self._events.page(replay.archive, place, PAGE)
        events = [one for one in page if one.at_ms <= replay.to_ms]
        if not events:
            ended = replace(replay, state="COMPLETED", ended_ms=self._clock.now_ms())
            return not await self._moved(ended, [])
        last = events[-1]
        moved = replace(
            replay, state="RUNNING", last_ms=last.at_ms, place_ms=last.at_ms, place_key=ARCHIVED.key_of(last)
        )
        await self._moved(moved, await self._deliveries_of(replay, archive, events))
        return True

    async def _moved(self, replay: Replay, deliveries: Sequence[Delivery]) -> bool:
        return await self._deliveries.accept(deliveries, [REPLAY.row(replay)])

    async def _deliveries_of(self, replay: Replay, archive: Archive, kept: Sequence[ArchivedEvent]) -> list[Delivery]:
        events = [(archive.bus, {**orjson.loads(one.text), "replay-name": replay.name}) for one in kept]
        found: list[Delivery] = []
        for (_, event), matches in zip(events, await self._buses.matched(events, replay.rules), strict=True):
            if matches is None:
                log.warning("the event %s of the archive %s takes too much work to replay", event["id"], archive.name)
            else:
                found += self._buses.rules.deliveries_of(event, matches)
        return found
