"""Scaling of event source mappings: how many batches one may have in flight, by dated profile.

A pure controller: it receives what happens and when, and returns how many batches may run. It knows neither queues nor
functions and reads no clock, so that a simulation and a server scale alike.

What the service documents, and what is assumed, by profile (also in `PROFILES`, for reports):

- `lambda-2022`: five batches first, 60 more a minute, at most 1,250 (documented). That growth comes in steps of five
  every five seconds; that a throttled batch is not invoked again, so that its messages return at their visibility
  timeout; that a throttle takes one step back and pauses growth for 55 seconds: assumed. The pause is fitted to one
  published run, not validated.
- `lambda-2023`: five first, 300 more a minute, at most 1,250; a throttled batch is tried again with back-off until
  its messages' visibility timeout (documented). Steps of five a second, and one step back at a throttle: assumed.
- `ideal`: as many as there are free slots; never throttled.

With MaximumConcurrency set no profile receives more than it may run. Provisioned pollers run ten batches each
(documented) and grow threefold faster than the newest profile.

Source: Lambda developer guide, "Scaling behavior of Amazon SQS event source mappings"; the announcement of November
2023 for the older figures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

ProfileName = Literal["lambda-2022", "lambda-2023", "ideal"]
Ending = Literal["succeeded", "failed", "throttled"]

POLLER_BATCHES: Final = 10
"""Batches that one provisioned poller has in flight. Source: Lambda developer guide, "Provisioned mode"."""
PROVISIONED_STEP: Final = 50
"""Batches per step, every three seconds: 1,000 a minute. Source: the same; the steps are assumed."""
IDLE_MS: Final = 60_000
"""Without a message for so long a mapping is idle, and scales back by a step. Assumed."""
QUIET: Final = 2
"""Batches that an idle mapping still polls for, without MaximumConcurrency. Source: developer guide."""


@dataclass(frozen=True, slots=True)
class Profile:
    """One dated behaviour. `step_ms` of 0: no ramp.

    `pause_ms` is how long growth stops after a throttle; with `retries_throttles` a throttled batch is invoked again
    while its messages are hidden.
    """

    name: ProfileName
    first: int
    step: int
    step_ms: int
    ceiling: int | None
    pause_ms: int
    retries_throttles: bool
    assumed: str


PROFILES: Final[dict[str, Profile]] = {
    "lambda-2022": Profile(
        "lambda-2022", 5, 5, 5_000, 1_250, 55_000, False,
        "growth in steps of 5 every 5 s; a throttled batch is not invoked again; a throttle takes one step back and "
        "pauses growth for 55 s (fitted to one published run, not validated)",
    ),
    "lambda-2023": Profile(
        "lambda-2023", 5, 5, 1_000, 1_250, 1_000, True,
        "growth in steps of 5 a second; a throttle or a failed batch takes one step back",
    ),
    "ideal": Profile("ideal", 1, 0, 0, None, 0, False, "nothing of the service: as many batches as free slots"),
}  # fmt: skip
"""The dated profiles, by name."""

DEFAULT_PROFILE: Final[ProfileName] = "lambda-2023"


class Scaling:
    """One mapping's concurrency.

    `maximum` is MaximumConcurrency. `pollers` are the least and most provisioned pollers. `free` of `limit` is how
    many further invocations of the function could start now: `ideal` and mappings with a maximum stay within it.
    Instants are epoch milliseconds and never go back.
    """

    def __init__(
        self,
        profile: Profile,
        now_ms: int,
        *,
        maximum: int | None = None,
        pollers: tuple[int, int] | None = None,
        reports_failures: bool = False,
    ) -> None:
        self.profile = profile
        self._maximum = maximum
        self._reports_failures = reports_failures
        self._least, self._most = QUIET, profile.ceiling
        self._step, self._step_ms = profile.step, profile.step_ms
        self._granted = profile.first
        if pollers is not None:
            self._least, self._most = pollers[0] * POLLER_BATCHES, pollers[1] * POLLER_BATCHES
            self._step, self._step_ms = PROVISIONED_STEP, 3_000
            self._granted = self._least
        if maximum is not None:
            self._most = maximum
            self._granted = min(self._granted, maximum)
        self.in_flight = 0
        self._grown_at_ms = now_ms
        self._busy_at_ms = now_ms
        self._backlog = False

    def limit(self, now_ms: int, free: int | None = None) -> int:
        """Number of batches that may be in flight at an instant; `free` are the function's free slots, if known."""
        self._grow(now_ms)
        if not self._step_ms and self._maximum is None:
            allowed = self.in_flight + free if free is not None else self.in_flight + 1
            return allowed if self._most is None else min(allowed, self._most)
        allowed = self._granted
        keeps_within = self._maximum is not None or not self._step_ms
        if keeps_within and free is not None:
            allowed = min(allowed, self.in_flight + free)
        return allowed

    def started(self, now_ms: int) -> None:
        """Count a started batch."""
        self._grow(now_ms)
        self.in_flight += 1
        self._busy_at_ms = now_ms

    def ended(self, now_ms: int, ending: Ending) -> None:
        """Count a batch that has ended, and scale by its ending."""
        self._grow(now_ms)
        self.in_flight -= 1
        if ending == "throttled":
            self.throttled(now_ms)
        elif ending == "failed" and self.profile.retries_throttles and not self._reports_failures:
            self._step_back(now_ms, self._step_ms)

    def throttled(self, now_ms: int) -> None:
        """Scale back by one step for a throttled invocation, unless growth is paused for one already."""
        if self._grown_at_ms <= now_ms:
            self._step_back(now_ms, self.profile.pause_ms)

    def saw_backlog(self, now_ms: int, backlog: bool) -> None:
        """Note if messages wait beyond those in flight: only then does a mapping grow."""
        self._grow(now_ms)
        if backlog and not self._backlog:
            # Time without a backlog does not count towards the next step.
            self._grown_at_ms = max(self._grown_at_ms, now_ms)
        if backlog or self._backlog:
            self._busy_at_ms = now_ms
        self._backlog = backlog

    def next_change_ms(self, now_ms: int) -> int | None:
        """Instant at which the limit changes with time alone; `None` if it does not."""
        self._grow(now_ms)
        if not self._step_ms:
            return None
        if self._backlog:
            full = self._most is not None and self._granted >= self._most
            return None if full else self._grown_at_ms + self._step_ms
        resting = self._maximum is not None or self._granted <= self._least
        return None if resting else self._busy_at_ms + IDLE_MS

    def _grow(self, now_ms: int) -> None:
        if not self._step_ms:
            return
        if self._backlog:
            steps = (now_ms - self._grown_at_ms) // self._step_ms
            if steps > 0:
                granted = self._granted + steps * self._step
                self._granted = granted if self._most is None else min(granted, self._most)
                self._grown_at_ms += steps * self._step_ms
        elif self._maximum is None:
            while self._granted > self._least and now_ms - self._busy_at_ms >= IDLE_MS:
                # Back to the initial number first, then to the few that keep polling.
                floor = self.profile.first if self._granted > self.profile.first else self._least
                self._granted = max(floor, self._least)
                self._busy_at_ms += IDLE_MS

    def _step_back(self, now_ms: int, pause_ms: int) -> None:
        self._granted = max(self._least, self._granted - self._step)
        self._grown_at_ms = now_ms + pause_ms
