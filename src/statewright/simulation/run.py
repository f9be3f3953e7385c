"""One simulation from its scenario to its result: the system is built, its load comes, time passes, all is counted.

Owns what is done next (arrivals, faults, samples of the cost, the end) and why a simulation ends. The
document of its outcomes is `outcomes.py`'s.
"""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from statewright.assembly import Hooks
from statewright.cost.bill import bill
from statewright.cost.prices import PriceTable, load
from statewright.payload import JsonObject
from statewright.simulation.arrivals import Arriving, Sender, groups
from statewright.simulation.building import build, config_of
from statewright.simulation.outcomes import gather
from statewright.simulation.played import Parts, Played
from statewright.simulation.scenario import Scenario
from statewright.simulation.usage_meter import UsageMeter
from statewright.virtual import VirtualSystem

FIRST_STEP_MS: Final = 5_000
"""How often the cost is looked at to begin with; twice as rarely whenever there are too many samples."""
MOST_SAMPLES: Final = 240
NEVER: Final = 1 << 62


@dataclass(slots=True)
class Progress:
    """How far a simulation is: milliseconds since its start, what has come, invocations and executions under way.

    `share` is how much of what has come is done, as far as one can tell.
    """

    elapsed_ms: int
    sent: int
    open: int
    share: float


def simulate(scenario: Scenario, tell: Callable[[Progress], None] = lambda _progress: None) -> JsonObject:
    """Run a scenario; the result is its document (see `outcomes.gather`), the same for the same seed.

    Raises: DefinitionError for what cannot be built.
    """
    table = load(scenario.prices)
    quiet = _Quiet()
    meter = UsageMeter(scenario)
    system = VirtualSystem(
        start=scenario.start_ms, seed=scenario.seed, config=config_of(scenario), hooks=Hooks(around=meter)
    )
    with quiet, system:
        built = build(system, scenario)
        sender = Sender(system, scenario)
        meter.start(system)
        played = _Play(system, scenario, meter, sender, table, tell).run()
        meter.stop()
        return gather(system, scenario, Parts(built, meter, sender, played, table))


class _Play:
    """The loop of a simulation."""

    def __init__(
        self, system: VirtualSystem, scenario: Scenario, meter: UsageMeter, sender: Sender, table: PriceTable,
        tell: Callable[[Progress], None],
    ) -> None:  # fmt: skip
        self._system = system
        self._scenario = scenario
        self._meter = meter
        self._sender = sender
        self._table = table
        self._tell = tell
        self._began_ms = system.now_ms
        self._end_ms = self._began_ms + scenario.until_ms
        self._arrivals = groups(scenario)
        self._coming: tuple[int, list[Arriving]] | None = next(self._arrivals, None)
        self._switches = _switches(scenario)
        self._step_ms = FIRST_STEP_MS
        self._next_sample_ms = self._began_ms
        self._costs: list[tuple[int, float]] = []
        self._jumps = 0

    def run(self) -> Played:
        """Let everything come and pass."""
        reason = self._pass()
        if self._coming is not None:
            reason += "; not everything had come"
        self._sample()
        return Played(reason, self._began_ms, self._system.now_ms, self._jumps, self._costs)

    def _pass(self) -> str:
        system = self._system
        while True:
            now_ms = system.now_ms
            if now_ms >= self._next_sample_ms:
                self._sample()
            self._do_what_is_due(now_ms)
            planned_ms = min(
                self._began_ms + self._coming[0] if self._coming is not None else NEVER,
                self._began_ms + self._switches[0][0] if self._switches else NEVER,
            )
            if planned_ms == NEVER and system.is_idle:
                return "idle: nothing was left to do"
            if now_ms >= self._end_ms:
                return f"until: {self._scenario.until_ms // 1000} s of virtual time were over"
            if self._jumps >= self._scenario.jumps:
                return f"maximumEvents: {self._scenario.jumps} instants had come"
            due_ms = system.next_due_ms
            if planned_ms == NEVER and due_ms is None:
                return "stuck: something waits for what never comes, and nothing more is due"
            # While more is to come there is no need to check for the end, so time may pass in one go.
            to_ms = planned_ms if planned_ms != NEVER else max(due_ms or 0, now_ms)
            system.run_until(max(now_ms, min(to_ms, self._next_sample_ms, self._end_ms)))
            self._jumps += 1

    def _do_what_is_due(self, now_ms: int) -> None:
        while self._switches and self._began_ms + self._switches[0][0] <= now_ms:
            _, _, slots = heapq.heappop(self._switches)
            self._system.parts.app.services.functions.invoker.concurrency.account = slots
        while self._coming is not None and self._began_ms + self._coming[0] <= now_ms:
            self._sender.send(self._coming[1])
            self._coming = next(self._arrivals, None)

    def _sample(self) -> None:
        now_ms = self._system.now_ms
        usd = bill(self._meter.usage(), self._table).usd
        if not self._costs or self._costs[-1][0] != now_ms - self._began_ms:
            self._costs.append((now_ms - self._began_ms, usd))
        else:
            self._costs[-1] = (now_ms - self._began_ms, usd)
        if len(self._costs) > MOST_SAMPLES:
            self._costs = self._costs[::2]
            self._step_ms *= 2
        self._next_sample_ms = now_ms + self._step_ms
        sent = sum(self._sender.sent.sent.values())
        app = self._system.parts.app
        meter = self._system.parts.engine.meter
        runs = meter.open if meter is not None else 0
        sources = app.services.event_sources
        done = sum(sources.counts(one.uuid).done for one in sources.all())
        if not self._scenario.mappings:
            done = sent - runs
        running = app.services.functions.invoker.concurrency.total_running
        share = min(max(done / sent, 0.0), 1.0) if sent and self._coming is None else 0.0
        self._tell(Progress(now_ms - self._began_ms, sent, running + runs, share))


def _switches(scenario: Scenario) -> list[tuple[int, int, int]]:
    """When the account's concurrency changes: instant, an order, and slots."""
    found = []
    for number, fault in enumerate(scenario.faults):
        if fault.kind == "concurrency":
            found.append((fault.at_ms, 2 * number, fault.slots))
            found.append((fault.at_ms + fault.for_ms, 2 * number + 1, scenario.concurrency))
    heapq.heapify(found)
    return found


class _Quiet(logging.Filter):
    """Keeps log lines of failing batches from the terminal; lines on what really blocks are shown."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.name == "statewright.virtual" or record.levelno >= logging.ERROR or "real" in record.getMessage()

    def __enter__(self) -> None:
        self._loggers = [logging.getLogger(name) for name in ("statewright.functions", "statewright.queues")]
        for logger in self._loggers:
            logger.addFilter(self)

    def __exit__(self, *_: object) -> None:
        for logger in self._loggers:
            logger.removeFilter(self)
