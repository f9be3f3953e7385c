"""Metrics of a worker, on their way to the home, which keeps those of all nodes: once a second, by the second.

Counts alone: a level is that of the process that has the thing. What a process has not sent when it dies is not sent,
and what was sent without an answer is not sent again: a missing figure is better than one that is there twice.
"""

from __future__ import annotations

from collections import deque
from typing import Final

import orjson

from statewright.api.nodes.apps import Apps
from statewright.api.nodes.client import NodeClient
from statewright.api.nodes.home_calls import tell_home
from statewright.api.nodes.peers import Directory
from statewright.background import Background
from statewright.clock import Clock
from statewright.errors import Unreadable
from statewright.metrics.points import Point
from statewright.metrics.recorder import Recorder
from statewright.metrics.series import MetricId

METRICS: Final = "/_statewright/node/metrics"
EVERY_MS: Final = 1_000
MOST_HELD: Final = 120
"""Messages that wait for a home; further ones push out the oldest."""
_SECONDS: Final = 10.0

Points = list[tuple[MetricId, str, list[Point]]]
"""Metrics with their units and points of seconds."""


def encode_points(points: Points) -> bytes:
    """The body of a message."""
    return orjson.dumps(
        [
            [
                [metric.namespace, metric.name, metric.dimensions], unit,
                [[*one[:-1], None if one.spread is None else list(one.spread.items())] for one in several],
            ]
            for metric, unit, several in points
        ]
    )  # fmt: skip


def decode_points(body: bytes) -> Points:
    """Read the body of a message. Raises: Unreadable."""
    try:
        return [
            (
                MetricId(namespace, name, tuple((key, value) for key, value in dimensions)),
                unit,
                [
                    Point(at, samples, total, low, high, last, None if spread is None else dict(spread))
                    for at, samples, total, low, high, last, spread in several
                ],
            )
            for (namespace, name, dimensions), unit, several in orjson.loads(body)
        ]
    except (TypeError, ValueError) as problem:
        raise Unreadable(f"it has no metrics: {problem!r}") from None


def add_points(recorder: Recorder, points: Points) -> None:
    """Add the points of another process."""
    for metric, unit, several in points:
        recorder.put(metric, unit, several)


class MetricFeed:
    """Takes the counts of a worker's `recorder` to the home."""

    def __init__(self, apps: Apps, directory: Directory, client: NodeClient, recorder: Recorder, clock: Clock) -> None:
        self._apps = apps
        self._directory = directory
        self._client = client
        self._recorder = recorder
        self._clock = clock
        self._sent_to = recorder.now()
        self._held: deque[Points] = deque(maxlen=MOST_HELD)
        self._background = Background("passing metrics on")

    def start(self) -> None:
        """Send from now on."""
        self._background.spawn(self._run())

    async def _run(self) -> None:
        while True:
            await self._clock.sleep_until(self._clock.now_ms() + EVERY_MS)
            await self.send()

    async def send(self) -> None:
        """Send what has been counted in the seconds that are over."""
        await self._send(self._recorder.now())

    async def _send(self, end: int) -> None:
        points = self._taken(end)
        if points:
            self._held.append(points)
        while self._held:
            # Taken out first: what `stop` cancels may have been sent, and is not sent again.
            first = self._held.popleft()
            if not await self._sent(first):
                self._held.appendleft(first)
                return

    def _taken(self, end: int) -> Points:
        """The points of seconds from the end of the last call on, before `end`."""
        recorder = self._recorder
        recorder.settle()
        start, self._sent_to = self._sent_to, end
        found = [
            (series.id, series.unit, series.seconds.between(start, end))
            for series in recorder.all()
            if not series.is_gauge and series.last_at >= start
        ]
        return [one for one in found if one[2]]

    async def _sent(self, points: Points) -> bool:
        """True if the home has these points, or may have them."""
        home = self._apps.at_home(self._directory)
        if home is not None:
            add_points(home.services.metrics, points)
            return True
        return await tell_home(self._directory, self._client, METRICS, encode_points(points), _SECONDS)

    async def stop(self) -> None:
        """Send what is left, also of the present second, and nothing more."""
        await self._background.stop()
        await self._send(self._recorder.now() + 1)
