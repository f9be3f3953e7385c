"""Topics and queues in virtual time over a store in memory, with targets that note what reaches them and can fail."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from statewright.config import Config
from statewright.errors import ApiError
from statewright.events.deliveries import Deliveries
from statewright.metrics.points import statistic
from statewright.metrics.reading import points_of, range_of
from statewright.metrics.recorder import Recorder
from statewright.metrics.series import MetricId
from statewright.queues.messages import Received
from statewright.queues.queues import Queues
from statewright.stores.memory.store import MemoryStore
from statewright.topics.messages import read_message
from statewright.topics.meter import NAMESPACE
from statewright.topics.publishing import Receipt
from statewright.topics.topics import Topics
from statewright.virtual_clock import VirtualClock
from tests.unit.rigs import run_rig, started_again

TOPIC = "arn:aws:sns:us-east-1:000000000000:"
QUEUE = "arn:aws:sqs:us-east-1:000000000000:"
FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:f"
URL = "http://127.0.0.1:9/hook"
ADDRESS = "http://127.0.0.1:4566"
SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000


class Calls:
    """Notes calls as (instant, service, request), and sends to queues for real. `failing` is raised first."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.made: list[tuple[int, str, dict[str, Any]]] = []
        self.failing: list[ApiError] = []
        self.always: ApiError | None = None
        self.queues: Queues | None = None

    def knows(self, _service: str, _action: str) -> bool:
        return True

    async def __call__(
        self, service: str, action: str, request: Mapping[str, Any], *, request_id: str
    ) -> Mapping[str, Any]:
        self.made.append((self.clock.now_ms(), service, dict(request)))
        if service == "sqs":
            assert self.queues is not None
            await self.queues.deliver(
                QUEUE + request["QueueUrl"].rpartition("/")[2], request["MessageBody"], request["MessageAttributes"]
            )
            return {}
        if self.failing:
            raise self.failing.pop(0)
        if self.always is not None:
            raise self.always
        return {}

    def instants(self, service: str) -> list[int]:
        return [at for at, name, _ in self.made if name == service]

    def requests(self, service: str) -> list[dict[str, Any]]:
        return [request for _, name, request in self.made if name == service]


class Rig:
    """Topics with short ways to use them."""

    def __init__(self, clock: VirtualClock, store: MemoryStore | None = None) -> None:
        self.clock = clock
        self.store = store or MemoryStore()
        self.config = Config()
        self.calls = Calls(clock)
        self.deliveries = Deliveries(self.store.catalogue, clock, self.calls)
        self.queues = Queues(self.store, clock, self.config)
        self.calls.queues = self.queues
        self.recorder = Recorder(clock)
        self.topics = Topics(
            self.store, clock, self.config, self.queues, self.deliveries, lambda: ADDRESS, self.recorder
        )

    async def start(self) -> None:
        await self.queues.start()
        await self.topics.start()
        await self.deliveries.start()

    async def stop(self) -> None:
        await self.deliveries.stop()
        await self.topics.stop()
        await self.queues.stop()

    async def restarted(self) -> Rig:
        """Another one over the same store."""
        return await started_again(self, Rig)

    async def topic(self, name: str = "t", **attributes: str) -> str:
        fifo = {"FifoTopic": "true"} if name.endswith(".fifo") else {}
        return await self.topics.create(name, {**fifo, **attributes}, {})

    async def queue(self, name: str, **attributes: str) -> str:
        fifo = {"FifoQueue": "true"} if name.endswith(".fifo") else {}
        await self.queues.create(name, {**fifo, **attributes})
        return QUEUE + name

    async def subscribe(self, topic: str, endpoint: str, **attributes: Any) -> str:
        """Subscribe an endpoint whose protocol its form tells; objects among the attributes become JSON."""
        protocol = endpoint.partition(":")[0] if endpoint.startswith("http") else endpoint.split(":")[2]
        given = {name: one if isinstance(one, str) else json.dumps(one) for name, one in attributes.items()}
        return (await self.topics.subscribe(topic, protocol, endpoint, given)).arn

    async def publish(self, topic: str, text: str = "hello", **more: Any) -> Receipt:
        """Publish a message. Raises: ApiError."""
        [receipt] = await self.topics.publish(topic, [read_message({"Message": text, **more})])
        if isinstance(receipt, ApiError):
            raise receipt
        return receipt

    async def received(self, queue: str, most: int = 10) -> list[Received]:
        """What a queue has, received and deleted."""
        found = self.queues.find(queue)
        messages = await self.queues.receive(found, most=most, wait_ms=0)
        await self.queues.delete(found, [one.handle for one in messages])
        return messages

    async def bodies(self, queue: str) -> list[str]:
        return [one.body for one in await self.received(queue)]

    async def confirm(self, topic: str) -> str:
        """Confirm by the last token that was posted."""
        posted = json.loads(self.calls.requests("http")[-1]["Body"])
        done = await self.topics.confirm(topic, posted["Token"], signed=False, needs_signature=False)
        return done.arn

    async def counted(self, topic: str = "t") -> dict[str, float]:
        """The sums of a topic's metrics of AWS/SNS."""
        end_ms = self.clock.now_ms() + 1_000
        asked = range_of(end_ms - HOUR, end_ms, 60, self.recorder.now())
        found = {}
        for series in self.recorder.all():
            if series.id == MetricId.of(NAMESPACE, series.id.name, {"TopicName": topic}):
                points = await points_of(self.recorder, series.id, asked)
                found[series.id.name] = sum(statistic(point, "Sum") or 0 for point in points)
        return found

    async def let(self, milliseconds: int) -> None:
        """Let time pass."""
        await self.clock.sleep_until(self.clock.now_ms() + milliseconds)


def on_rig(test: Callable[[Rig], Awaitable[None]]) -> None:
    """Run a test in virtual time."""
    run_rig(Rig, test)


def failing(status: int) -> ApiError:
    return ApiError("Broken", "it does not work", status=status)


def text(value: str) -> dict[str, str]:
    return {"DataType": "String", "StringValue": value}
