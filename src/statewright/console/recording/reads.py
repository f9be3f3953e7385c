"""The stream of a page that records a machine's Express executions while it is open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Final

from statewright.arn import MACHINE, parse_arn
from statewright.clock import Clock
from statewright.console.asked import Asked, Lines, needed
from statewright.console.context import Console
from statewright.console.recording.recorder import MOST_RUNS, ExpressRecorder
from statewright.errors import ApiError
from statewright.payload import Json

PAUSE_MS: Final = 300
BEAT_MS: Final = 15_000


async def watch(console: Console, asked: Asked) -> Lines:
    """`{rows, most, nowMs}`, first with all recordings of the machine, then with those that changed.

    Raises: ApiError (`InvalidArn`, `StateMachineDoesNotExist`, `BadRequest` for a machine that is not an Express one).
    """
    arn = needed(asked.given, "arn")
    app = console.app_of_arn(arn)
    machine = await app.engine.catalogue.existing(parse_arn(arn, MACHINE).machine, shown=arn)
    if machine.type != "EXPRESS":
        raise ApiError("BadRequest", "This is a Standard state machine: its executions keep their histories.")
    return Lines(_rows(console.express_of(app), machine.id, app.clock))


async def _rows(recorder: ExpressRecorder, machine_id: int, clock: Clock) -> AsyncGenerator[Json, None]:
    wake = asyncio.Event()
    watcher = recorder.watch(machine_id, wake.set)
    try:
        rows, version = recorder.rows(machine_id)
        while True:
            wake.clear()
            yield {"rows": rows, "most": MOST_RUNS, "nowMs": clock.now_ms()}
            await clock.sleep_until(clock.now_ms() + PAUSE_MS)
            beat = clock.call_at(clock.now_ms() + BEAT_MS, wake.set)
            await wake.wait()
            beat.cancel()
            rows, version = recorder.rows(machine_id, version)
    finally:
        recorder.leave(watcher)


READS: Final = {"express/watch": watch}
