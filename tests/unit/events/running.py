"""A scheduler in virtual time over a store in memory, with targets that note what reaches them and can fail."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from statewright.config import Config
from statewright.errors import ApiError
from statewright.events.buses import Buses
from statewright.events.deliveries import Deliveries
from statewright.events.scheduler import Scheduler
from statewright.metrics.recorder import Recorder
from statewright.stores.memory.store import MemoryStore
from statewright.virtual_clock import VirtualClock
from tests.unit.rigs import run_rig, started_again

QUEUE = "arn:aws:sqs:us-east-1:000000000000:orders"
DEAD = "arn:aws:sqs:us-east-1:000000000000:dead"
ROLE = "arn:aws:iam::000000000000:role/x"
OFF = {"Mode": "OFF"}
SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000


class Targets:
    """Notes calls as (instant, action, request). `failing` says how often each target fails first, and how."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.calls: list[tuple[int, str, dict[str, Any], str]] = []
        self.failing: list[Exception] = []
        self.always: Exception | None = None

    def knows(self, service: str, action: str) -> bool:
        return (service, action) != ("sqs", "fly")

    async def __call__(
        self, service: str, action: str, request: Mapping[str, Any], *, request_id: str
    ) -> Mapping[str, Any]:
        dead = str(request.get("QueueUrl", "")).endswith("/dead")
        self.calls.append((self.clock.now_ms(), "dead" if dead else action, dict(request), request_id))
        if not dead:
            if self.failing:
                raise self.failing.pop(0)
            if self.always is not None:
                raise self.always
        return {}

    def instants(self, action: str = "sendMessage") -> list[int]:
        return [at for at, name, _, _ in self.calls if name == action]

    def requests(self, action: str = "sendMessage") -> list[dict[str, Any]]:
        return [request for _, name, request, _ in self.calls if name == action]


class Rig:
    """A scheduler and buses with short ways to use them."""

    def __init__(self, clock: VirtualClock, store: MemoryStore | None = None) -> None:
        self.clock = clock
        self.store = store or MemoryStore()
        self.targets = Targets(clock)
        self.recorder = Recorder(clock)
        self.deliveries = Deliveries(self.store.catalogue, clock, self.targets, recorder=self.recorder)
        self.scheduler = Scheduler(self.store, clock, Config(), self.deliveries)
        self.buses = Buses(self.store, clock, Config(), self.deliveries, self.recorder)

    async def start(self) -> None:
        await self.deliveries.start()
        await self.scheduler.start()
        await self.buses.start()

    async def stop(self) -> None:
        await self.buses.stop()
        await self.scheduler.stop()
        await self.deliveries.stop()

    async def restarted(self) -> Rig:
        """Another one over the same store."""
        return await started_again(self, Rig)

    async def create(self, name: str, expression: str, **more: Any) -> None:
        await self.scheduler.create(name, request(expression, **more))

    async def rule(self, name: str, pattern: Any = None, bus: str = "default", **request: Any) -> None:
        """Put a rule whose target is a queue; members of the target may be given as `target`."""
        target = {"Id": "1", "Arn": QUEUE, **request.pop("target", {})}
        if pattern is not None:
            request["EventPattern"] = json.dumps(pattern)
        await self.buses.rules.put(name, bus, request)
        await self.buses.rules.put_targets(name, bus, [target])

    async def put(self, detail: Any = None, source: str = "shop", **more: Any) -> dict[str, str]:
        """Put one event; its answer."""
        entry = {"Source": source, "DetailType": "t", "Detail": json.dumps(detail or {}), **more}
        [answer] = await self.buses.put([entry])
        return answer

    async def let(self, milliseconds: int) -> None:
        """Let time pass."""
        await self.clock.sleep_until(self.clock.now_ms() + milliseconds)


def request(expression: str, **more: Any) -> dict[str, Any]:
    """A request for a schedule that sends to a queue; members of the target may be given beside the others."""
    own: dict[str, Any] = {
        key: more.pop(key) for key in ("Input", "RetryPolicy", "DeadLetterConfig", "SqsParameters") if key in more
    }
    target = more.pop("Target", {"Arn": QUEUE, "RoleArn": ROLE, "Input": "x", **own})
    return {"ScheduleExpression": expression, "FlexibleTimeWindow": OFF, "Target": target, **more}


def on_rig(test: Callable[[Rig], Awaitable[None]]) -> None:
    """Run a test in virtual time."""
    run_rig(Rig, test)


def ms(text: str) -> int:
    """The instant of a text in UTC."""
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def failing(status: int, code: str = "Broken") -> ApiError:
    return ApiError(code, "it does not work", status=status)
