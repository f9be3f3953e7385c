"""Throttles: rates and bursts of routes, methods and API keys, as token buckets in memory.

Owns what the settings of a stage mean for its routes or methods, and the buckets, which outlive the compiled stage.
A restart fills them. Refusals are left to the stages, checks of new settings to the operations.

Source: API Gateway developer guide, "Throttle requests to your REST APIs" and "Throttle requests to your HTTP APIs".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from statewright.apis.errors import bad_request
from statewright.clock import Clock
from statewright.payload import Json, JsonMapping

RATE: Final = 10_000.0
"""Requests per second of a throttle that sets only a burst. Source: quotas, throttle quota per account and Region."""
BURST: Final = 5_000
"""Burst of a throttle that sets only a rate. Source: as for `RATE`."""
UNLIMITED: Final = -1
"""A rate or burst that takes a method's limit away. Source: observed, as Terraform sends it."""
MOST: Final = 2**31 - 1
"""Source: the service model, bursts are integers of 32 bits."""
_ALMOST: Final = 1 - 1e-9
"""Tokens that let a request in: sums of fractions may miss 1 by a rounding error."""


@dataclass(frozen=True, slots=True)
class Throttle:
    """A limit: `rate` is in requests per second, `burst` the size of the bucket. If one is 0, no request passes."""

    rate: float
    burst: int


class Bucket:
    """A token bucket, full when it is made."""

    __slots__ = ("_at_ms", "_clock", "_tokens", "throttle")

    def __init__(self, throttle: Throttle, clock: Clock) -> None:
        self.throttle: Final = throttle
        self._clock = clock
        self._tokens = float(throttle.burst) if throttle.rate > 0 else 0.0
        self._at_ms = self._now_ms()

    def take(self) -> bool:
        """Take a token; false if there is none."""
        now_ms = self._now_ms()
        if now_ms > self._at_ms:
            refilled = self._tokens + (now_ms - self._at_ms) * self.throttle.rate / 1000
            self._tokens = min(float(self.throttle.burst), refilled)
            self._at_ms = now_ms
        if self._tokens < _ALMOST:
            return False
        self._tokens -= 1
        return True

    def _now_ms(self) -> int:
        """An instant on the timeline that keeps its pace when the wall is set back."""
        return self._clock.now_ms() + self._clock.held_back_ms()


ThrottleOf = Callable[[str], Throttle | None]
"""The throttle of a route or method by its key; `None` if it has none."""


class Buckets:
    """The buckets of a stage as it is compiled; a bucket of `before` goes on if its throttle is the same."""

    def __init__(self, clock: Clock, throttle_of: ThrottleOf, before: Buckets | None) -> None:
        self._clock = clock
        self._throttle_of = throttle_of
        self._former: Mapping[str, Bucket] = before.made if before is not None else {}
        self.made: Final[dict[str, Bucket]] = {}

    def bucket(self, key: str) -> Bucket | None:
        """The bucket of a route or method; `None` without a throttle."""
        throttle = self._throttle_of(key)
        if throttle is None:
            return None
        found = self._former.get(key)
        if found is None or found.throttle != throttle:
            found = Bucket(throttle, self._clock)
        self.made[key] = found
        return found

    def compiled(self) -> Buckets:
        """Forget the former buckets, which nothing asks for once the stage is compiled."""
        self._former = {}
        return self


def throttle_of(rate: Json, burst: Json) -> Throttle | None:
    """The throttle of two settings, of which one or both may be missing or `UNLIMITED`."""
    has_rate, has_burst = rate not in (None, UNLIMITED), burst not in (None, UNLIMITED)
    if not has_rate and not has_burst:
        return None
    return Throttle(float(rate) if has_rate else RATE, int(burst) if has_burst else BURST)


def check_throttle(rate: Json, burst: Json) -> None:
    """Check the two settings of a throttle. Raises: ApiError (`BadRequestException`)."""
    for name, value in (("rate", rate), ("burst", burst)):
        if value is not None and value != UNLIMITED and not 0 <= value <= MOST:
            raise bad_request(f"Invalid throttling {name} limit: it must be a number from 0 to {MOST}, or -1 for none")


def throttles_of_routes(stage: JsonMapping) -> ThrottleOf:
    """The throttles of an HTTP API's stage: `DefaultRouteSettings`, and `RouteSettings` by route key."""
    default, own = stage.get("DefaultRouteSettings") or {}, stage.get("RouteSettings") or {}

    def of_route(key: str) -> Throttle | None:
        settings = {**default, **(own.get(key) or {})}
        return throttle_of(settings.get("ThrottlingRateLimit"), settings.get("ThrottlingBurstLimit"))

    return of_route


def throttles_of_methods(stage: JsonMapping) -> ThrottleOf:
    """The throttles of a REST API's stage: its `methodSettings`, for keys such as `/pets/GET`."""
    settings = {method_key(key): one for key, one in (stage.get("methodSettings") or {}).items()}

    def of_method(key: str) -> Throttle | None:
        path, _, _method = key.rpartition("/")
        found: dict[str, Json] = {}
        for one in ("*/*", f"{path}/*", key):
            found.update(settings.get(one) or {})
        return throttle_of(found.get("throttlingRateLimit"), found.get("throttlingBurstLimit"))

    return of_method


def method_key(written: str) -> str:
    """The path and method that a key of method settings names: `~1pets/GET` and `pets/GET` are `/pets/GET`.

    Slashes of a path are written as `~1`; the root's key is `//GET`.
    """
    path, _, method = written.rpartition("/")
    path = path.replace("~1", "/").replace("~0", "~")
    if path in ("*", "/*") and method == "*":
        return "*/*"
    return f"/{path.lstrip('/')}/{method}"
