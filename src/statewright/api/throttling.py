"""The throttle of Step Functions: a token bucket for each action, and the metrics of both.

Owns the buckets and the refusal. Their sizes belong to `limits.py`; `operations.py` decides which calls take from them,
so that calls by tasks count like calls from outside. Each process has its own buckets, which are full when it starts.
Of an action that several processes answer, as nodes of a cluster do, each has its share of the bucket and the refill.
They show how a workflow behaves at the service's quotas, and are off unless the settings turn them on.

Source: Step Functions developer guide, "Quotas related to API action throttling" and "API metrics".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from statewright.clock import Clock
from statewright.errors import ApiError
from statewright.limits import EXPRESS_STARTS, Rate
from statewright.metrics.recorder import Recorder
from statewright.metrics.series import Counter

NAMESPACE: Final = "AWS/States"
STARTS: Final = "StartExecution"


Processes = Callable[[str], int]
"""How many processes answer the calls of an action, by its name in the table of rates."""


class Throttle:
    """The buckets of one process, by action. `processes` tells how many answer an action now."""

    def __init__(
        self, rates: Mapping[str, Rate], clock: Clock, metrics: Recorder, processes: Processes = lambda _: 1
    ) -> None:
        self._processes = processes
        self._clock = clock
        self._rates = rates
        self._metrics = metrics
        self._buckets: dict[str, _Bucket] = {}

    def take(self, action: str) -> None:
        """Count a call. Starts are counted by `take_start`, once the kind of machine is known.

        Raises: ApiError (`ThrottlingException`) if too many have come.
        """
        if action != STARTS:
            self._take(action)

    def take_start(self, *, is_express: bool) -> None:
        """Count a StartExecution. Raises: ApiError (`ThrottlingException`)."""
        self._take(EXPRESS_STARTS if is_express else STARTS)

    def _take(self, name: str) -> None:
        rate = self._rates.get(name)
        if rate is None:
            return
        now_ms = self._clock.now_ms()
        bucket = self._buckets.get(name)
        if bucket is None:
            bucket = self._buckets[name] = _Bucket(name, rate, now_ms, self._metrics)
        if not bucket.take(now_ms, self._processes(name)):
            # The service's model has no such error, but SDKs know it and retry.
            raise ApiError("ThrottlingException", "Rate exceeded", status=400)


class _Bucket:
    __slots__ = ("_at_ms", "_consumed", "_rate", "_refill", "_size", "_throttled", "_tokens")

    def __init__(self, name: str, rate: Rate, now_ms: int, metrics: Recorder) -> None:
        def counter(metric: str) -> Counter:
            return metrics.counter(NAMESPACE, metric, {"APIName": name})

        self._rate = rate
        self._tokens = float(rate.bucket)
        self._at_ms = now_ms
        self._size = counter("ProvisionedBucketSize")
        self._refill = counter("ProvisionedRefillRate")
        self._consumed = counter("ConsumedCapacity")
        self._throttled = counter("ThrottledEvents")

    def take(self, now_ms: int, processes: int) -> bool:
        """Take a token; False if none is left."""
        rate = self._rate
        size, refill = max(1.0, rate.bucket / processes), rate.refill / processes
        self._tokens = min(size, self._tokens + refill * (now_ms - self._at_ms) / 1000)
        self._at_ms = now_ms
        self._size.add(rate.bucket)
        self._refill.add(rate.refill)
        self._consumed.add(1)
        # A second's refill may be slightly less than whole in binary fractions.
        is_allowed = self._tokens > 1 - 1e-9
        self._throttled.add(0 if is_allowed else 1)
        if is_allowed:
            self._tokens -= 1
        return is_allowed
