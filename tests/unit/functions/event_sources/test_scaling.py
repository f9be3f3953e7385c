from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field

import pytest

from statewright.functions.event_sources.scaling import PROFILES, Scaling

SECOND = 1_000
MINUTE = 60_000


@dataclass
class Run:
    """A queue, a mapping and a function of which so many run at once: just enough to see the curves."""

    profile: str
    messages: int
    arrive_ms: int
    handler_ms: int
    slots: int = 1_000
    maximum: int | None = None
    receives: int = 1
    visibility_ms: int = 600_000
    now_ms: int = 0
    queue: deque[int] = field(default_factory=deque)
    """Of each message that waits, how often it was received."""
    running: int = 0
    done: int = 0
    dead: int = 0
    throttles: int = 0
    peak: int = 0
    last_start_ms: int = 0
    full_at_ms: int | None = None
    events: list[tuple[int, int, str, int]] = field(default_factory=list)

    def go(self) -> Run:
        scaling = Scaling(PROFILES[self.profile], 0, maximum=self.maximum)
        for number in range(self.messages):
            self.at(self.arrive_ms * number // self.messages, "arrive", 0)
        woken: int | None = None
        while self.events:
            self.now_ms, _, kind, receives = heapq.heappop(self.events)
            if kind == "arrive":
                self.queue.append(0)
            elif kind == "done":
                self.running -= 1
                self.done += 1
                scaling.ended(self.now_ms, "succeeded")
            elif kind == "back":
                if receives >= self.receives:
                    self.dead += 1
                else:
                    self.queue.append(receives)
            if kind == "wake":
                woken = None
            self.pull(scaling)
            change = scaling.next_change_ms(self.now_ms)
            if change is not None and self.queue and (woken is None or change < woken):
                woken = change
                self.at(change, "wake", 0)
        return self

    def pull(self, scaling: Scaling) -> None:
        scaling.saw_backlog(self.now_ms, bool(self.queue))
        # All batches that may run are pulled before any of them is invoked.
        pulled: list[int] = []
        while self.queue and scaling.in_flight < scaling.limit(self.now_ms, self.slots - self.running - len(pulled)):
            pulled.append(1 + self.queue.popleft())
            scaling.started(self.now_ms)
        for receives in pulled:
            self.invoke(scaling, receives)
        scaling.saw_backlog(self.now_ms, bool(self.queue))

    def invoke(self, scaling: Scaling, receives: int) -> None:
        if self.running >= self.slots:
            # Its messages come back when they are visible again.
            self.throttles += 1
            scaling.ended(self.now_ms, "throttled")
            self.at(self.now_ms + self.visibility_ms, "back", receives)
            return
        self.running += 1
        self.peak = max(self.peak, self.running)
        if self.running == self.slots and self.full_at_ms is None:
            self.full_at_ms = self.now_ms
        self.last_start_ms = self.now_ms
        self.at(self.now_ms + self.handler_ms, "done", 0)

    def at(self, when_ms: int, kind: str, receives: int) -> None:
        heapq.heappush(self.events, (when_ms, len(self.events), kind, receives))


def test_a_long_burst_under_the_behaviour_of_2022():
    run = Run("lambda-2022", 15_000, 68 * SECOND, 120 * SECOND).go()
    assert run.full_at_ms is not None
    assert run.full_at_ms / MINUTE == pytest.approx(16.6, abs=0.1)
    assert run.last_start_ms / MINUTE == pytest.approx(37, abs=1)
    assert run.done + run.dead == 15_000
    assert run.dead == run.throttles
    assert run.dead == pytest.approx(105, abs=5)


def test_a_second_receive_saves_them_all():
    run = Run("lambda-2022", 15_000, 68 * SECOND, 120 * SECOND, receives=2).go()
    assert (run.done, run.dead) == (15_000, 0)


@pytest.mark.parametrize("profile", ["lambda-2022", "lambda-2023"])
def test_with_a_maximum_nothing_is_pulled_that_may_not_run(profile):
    run = Run(profile, 15_000, 68 * SECOND, 120 * SECOND, maximum=1_000).go()
    assert (run.done, run.dead, run.throttles, run.peak) == (15_000, 0, 0, 1_000)


def test_ideal_fills_every_slot_at_once():
    run = Run("ideal", 3_000, 1, 3 * SECOND).go()
    assert (run.done, run.throttles, run.full_at_ms) == (3_000, 0, 0)


@pytest.mark.parametrize(("profile", "a_minute"), [("lambda-2022", 60), ("lambda-2023", 300)])
def test_ramps(profile, a_minute):
    scaling = Scaling(PROFILES[profile], 0)
    assert scaling.limit(0) == 5
    scaling.saw_backlog(0, True)
    assert scaling.limit(3 * MINUTE) == 5 + 3 * a_minute
    assert scaling.limit(1_000 * MINUTE) == 1_250
    assert scaling.next_change_ms(1_000 * MINUTE) is None


def test_without_a_backlog_nothing_grows():
    scaling = Scaling(PROFILES["lambda-2023"], 0)
    assert scaling.limit(MINUTE // 2) == 5
    scaling.saw_backlog(MINUTE // 2, True)
    assert scaling.next_change_ms(MINUTE // 2) == MINUTE // 2 + SECOND
    assert scaling.limit(MINUTE // 2 + SECOND) == 10


def test_an_idle_mapping_scales_back_to_five_and_then_to_two():
    scaling = Scaling(PROFILES["lambda-2023"], 0)
    scaling.saw_backlog(0, True)
    assert scaling.limit(MINUTE) == 305
    scaling.saw_backlog(MINUTE, False)
    assert scaling.limit(2 * MINUTE) == 5
    assert scaling.limit(3 * MINUTE) == 2
    assert scaling.next_change_ms(3 * MINUTE) is None


def test_a_maximum_is_kept_when_idle():
    scaling = Scaling(PROFILES["lambda-2023"], 0, maximum=3)
    assert scaling.limit(0) == 3
    assert scaling.limit(10 * MINUTE) == 3
    assert scaling.next_change_ms(0) is None


def test_failed_batches_take_a_step_back_unless_failures_are_reported():
    for reports, expected in ((False, 60), (True, 65)):
        scaling = Scaling(PROFILES["lambda-2023"], 0, reports_failures=reports)
        scaling.saw_backlog(0, True)
        scaling.limit(12 * SECOND)
        scaling.started(12 * SECOND)
        scaling.ended(12 * SECOND, "failed")
        assert scaling.limit(12 * SECOND) == expected


def test_one_throttle_among_many_counts():
    scaling = Scaling(PROFILES["lambda-2022"], 0)
    scaling.saw_backlog(0, True)
    assert scaling.limit(MINUTE) == 65
    for _ in range(5):
        scaling.started(MINUTE)
    for _ in range(5):
        scaling.ended(MINUTE, "throttled")
    assert scaling.limit(MINUTE) == 60
    assert scaling.limit(MINUTE + 59 * SECOND) == 60
    assert scaling.limit(MINUTE + 60 * SECOND) == 65


def test_provisioned_pollers_run_ten_batches_each():
    scaling = Scaling(PROFILES["lambda-2023"], 0, pollers=(3, 100))
    assert scaling.limit(0) == 30
    scaling.saw_backlog(0, True)
    assert scaling.limit(MINUTE) == 1_000
    assert Scaling(PROFILES["lambda-2023"], 0, pollers=(2, 2)).limit(MINUTE) == 20
