"""What metrics cost: CPU of an execution, a message and an invocation's counting with them and without, in turn.

`python bench/metrics.py [--rounds 6] [--count 1600]`: the engine and the queues by themselves on a durable SQLite
store, no HTTP. Rounds with and without metrics take turns in one process, each on a store of its own, and the median
of each is printed: neighbours on the machine move both.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from pathlib import Path

from statewright.assembly import System, assemble
from statewright.clock import RealClock
from statewright.config import Config
from statewright.engine.machines.views import NewMachine
from statewright.metrics.reading import points_of, range_of
from statewright.metrics.recorder import Recorder
from statewright.metrics.series import MetricId
from statewright.queues.messages import Outgoing
from statewright.stores.sqlite.store import SqliteStore

ROLE = "arn:aws:iam::000000000000:role/bench"
STATES = {f"S{number}": {"Type": "Pass", "Next": f"S{number + 1}"} for number in range(4)}
CHAIN = {"StartAt": "S0", "States": {**STATES, "S4": {"Type": "Pass", "End": True}}}
TOGETHER = 16


def without(system: System) -> None:
    """Switch counting off."""
    engine, queues = system.engine, system.app.services.queues
    engine.runner._listeners = tuple(one for one in engine.runner._listeners if one is not engine.shard.meter)
    engine.history_log._meter = engine.shard.meter = None
    queues._site.recorder = None
    system.app.services.functions.invoker.concurrency.meter = None


async def one_round(count: int, measured: bool) -> tuple[float, float]:
    """CPU of one execution and of one message, in microseconds."""
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder))
        await store.open("bench")
        system = assemble(Config(), RealClock(), store, Path(folder), lambda: "http://nowhere")
        if not measured:
            without(system)
        await system.start()
        made = await system.engine.machines.create(NewMachine("chain", json.dumps(CHAIN), ROLE, "STANDARD"))
        target = await system.engine.machines.resolve(made.machine.arn)

        async def starts() -> None:
            for _ in range(count // TOGETHER):
                await system.engine.start_execution(target, None, '{"order": 1}')

        before = time.process_time()
        await asyncio.gather(*(starts() for _ in range(TOGETHER)))
        while system.engine.runner.busy:
            await asyncio.sleep(0)
        execution = (time.process_time() - before) / count
        queue = await system.app.services.queues.create("bench", {})

        async def sends() -> None:
            for _ in range(count // TOGETHER):
                await system.app.services.queues.send(queue, [Outgoing("x" * 100)])

        before = time.process_time()
        await asyncio.gather(*(sends() for _ in range(TOGETHER)))
        message = (time.process_time() - before) / count
        await system.stop()
        await store.close()
        return 1e6 * execution, 1e6 * message


async def bare() -> None:
    """What a count, a touch and a second of many metrics cost by themselves."""
    recorder = Recorder(RealClock())
    counter = recorder.counter("Bench", "one", {})
    gauge = recorder.gauge("Bench", "level", {}, "Count", lambda: 1.0)
    for name, work in (("add", counter.add), ("touch", gauge.touch)):
        before = time.process_time()
        for _ in range(1_000_000):
            work()
        print(f"  {name:<34} {time.process_time() - before:8.3f} us")
    many = [recorder.counter("Bench", "many", {"N": str(number)}) for number in range(1_000)]
    for counter in many:
        counter.add(1)
        counter.add(2.5)
    before = time.process_time()
    recorder.settle()
    print(f"  {'a second of 1,000 metrics':<34} {1e3 * (time.process_time() - before):8.1f} ms")
    before = time.process_time()
    recorder._close_before(1 << 40)
    print(f"  {'a minute of 1,000 metrics':<34} {1e3 * (time.process_time() - before):8.1f} ms")
    now = recorder.now()
    metric = MetricId.of("Bench", "many", {"N": "7"})
    before = time.process_time()
    await points_of(recorder, metric, range_of((now - 3_600) * 1000, now * 1000, 60, now))
    print(f"  {'an hour of one metric by minutes':<34} {1e6 * (time.process_time() - before):8.0f} us")
    await recorder.stop()


async def main(given: argparse.Namespace) -> None:
    figures: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for number in range(2 * given.rounds + 2):
        found = await one_round(given.count, measured=number % 2 == 0)
        if number >= 2:
            figures[number % 2 == 0].append(found)
    for place, name in enumerate(("execution of five Pass states", "message sent")):
        with_, bare_ = (statistics.median(one[place] for one in figures[kind]) for kind in (True, False))
        print(f"  {name:<34} {bare_:8.1f} us without, {with_:8.1f} us with metrics: {with_ - bare_:+.1f}")
    await bare()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--count", type=int, default=1_600)
    asyncio.run(main(parser.parse_args()))
