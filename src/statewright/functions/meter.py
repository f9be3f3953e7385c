"""Metrics of functions and event source mappings.

An invocation counts when it has ended: for its function, for the name in the call, and for all functions together.

Source: Lambda developer guide, "Types of metrics for Lambda functions" and "Viewing metrics": names and dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Protocol

from statewright.metrics.recorder import Recorder
from statewright.metrics.series import Counter, Gauge

NAMESPACE: Final = "AWS/Lambda"


class _Running(Protocol):
    """The number of invocations under way; implemented by `concurrency.Concurrency`."""

    @property
    def running(self) -> Mapping[str, int]:
        """Numbers of invocations under way, by function."""

    reserved: dict[str, int]
    total_running: int
    unreserved_running: int


class _Called:
    """The metrics of one function under the name in the call."""

    __slots__ = ("durations", "errors", "invocations", "throttles")

    def __init__(self, recorder: Recorder, wanted: list[dict[str, str]]) -> None:
        def counters(name: str, unit: str = "Count") -> list[Counter]:
            return [recorder.counter(NAMESPACE, name, dimensions, unit) for dimensions in wanted]

        self.invocations = counters("Invocations")
        self.errors = counters("Errors")
        self.throttles = counters("Throttles")
        self.durations = counters("Duration", "Milliseconds")


class MappingMeter:
    """Metrics of one event source mapping. Messages are named events, as in the service."""

    def __init__(self, recorder: Recorder, uuid: str) -> None:
        def counter(name: str) -> Counter:
            return recorder.counter(NAMESPACE, f"{name}EventCount", {"EventSourceMappingUUID": uuid})

        self.polled = counter("Polled")
        self.filtered_out = counter("FilteredOut")
        self.invoked = counter("Invoked")
        self.failed_invoke = counter("FailedInvoke")
        self.deleted = counter("Deleted")


class FunctionMeter:
    """Counts invocations; `running` has the number under way."""

    def __init__(self, recorder: Recorder, running: _Running) -> None:
        self._recorder = recorder
        self._running = running
        self._called: dict[tuple[str, str, str], _Called] = {}
        self._by_name: dict[tuple[str, str], Counter] = {}
        self._concurrent: dict[str, Gauge] = {}
        self._all = self._gauge("ConcurrentExecutions", {}, lambda: running.total_running)
        self._unreserved = self._gauge("UnreservedConcurrentExecutions", {}, lambda: running.unreserved_running)
        self._claimed = self._gauge("ClaimedAccountConcurrency", {}, self._claimed_now)
        self._subscribers: list[Callable[[str, float], None]] = []

    def subscribe(self, subscriber: Callable[[str, float], None]) -> None:
        """Have `subscriber` called with the function and the milliseconds of every invocation that ends."""
        self._subscribers.append(subscriber)

    def ended(self, name: str, arn: str, version: str, duration_ms: float, *, failed: bool) -> None:
        """Count an ended invocation; `arn` is the one in the call, `version` the one that ran."""
        for subscriber in self._subscribers:
            subscriber(name, duration_ms)
        called = self._calls(name, arn, version)
        for counter in called.invocations:
            counter.add()
        for counter in called.errors:
            counter.add(1 if failed else 0)
        for counter in called.throttles:
            counter.add(0)
        for counter in called.durations:
            counter.add(duration_ms)

    def throttled(self, name: str, arn: str, version: str) -> None:
        """Count a throttled invocation."""
        for counter in self._calls(name, arn, version).throttles:
            counter.add()

    def entered(self, name: str) -> None:
        """Count an invocation that begins."""
        found = self._concurrent.get(name)
        if found is None:
            running = self._running.running
            found = self._concurrent[name] = self._gauge(
                "ConcurrentExecutions", {"FunctionName": name}, lambda: running.get(name, 0)
            )
        found.reached(self._running.running[name])
        self._all.reached(self._running.total_running)
        self._unreserved.reached(self._running.unreserved_running)
        if self._running.reserved:
            self._claimed.reached(self._claimed_now())

    def left(self, name: str) -> None:
        """Count an invocation that is over."""
        found = self._concurrent.get(name)
        if found is not None:
            found.touch()
        self._all.touch()
        self._unreserved.touch()
        if self._running.reserved:
            self._claimed.touch()

    def event(self, name: str, metric: str, value: float = 1, unit: str = "Count") -> None:
        """Add to a metric of the Event invocations of a function."""
        found = self._by_name.get((name, metric))
        if found is None:
            found = self._recorder.counter(NAMESPACE, metric, {"FunctionName": name}, unit)
            self._by_name[name, metric] = found
        found.add(value)

    def mapping(self, uuid: str) -> MappingMeter:
        """The metrics of an event source mapping."""
        return MappingMeter(self._recorder, uuid)

    def _claimed_now(self) -> float:
        return self._running.unreserved_running + sum(self._running.reserved.values())

    def _gauge(self, name: str, dimensions: Mapping[str, str], read: Callable[[], float]) -> Gauge:
        return self._recorder.gauge(NAMESPACE, name, dimensions, "Count", read)

    def _calls(self, name: str, arn: str, version: str) -> _Called:
        found = self._called.get((name, arn, version))
        if found is None:
            qualifier = arn.split(":function:", 1)[1].partition(":")[2]
            function = {"FunctionName": name}
            resource = {**function, "Resource": f"{name}:{qualifier}" if qualifier else name}
            wanted = [{}, function, resource]
            # Source: developer guide: only calls by an alias have this dimension.
            if qualifier and qualifier != version and not qualifier.startswith("$"):
                wanted.append({**resource, "ExecutedVersion": version})
            found = self._called[name, arn, version] = _Called(self._recorder, wanted)
        return found
