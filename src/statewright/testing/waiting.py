"""Until when an execution waits: the next instant at which it goes on by itself, however far away.

Read from what the engine has committed, so that time need not move to find out.
"""

from __future__ import annotations

from statewright.assembly import System
from statewright.engine.executions.live import decode_live
from statewright.engine.executions.views import Head
from statewright.testing.bench import Bench
from statewright.testing.recordings import Recording


def waits_until_ms(bench: Bench, recording: Recording) -> int | None:
    """The next instant for an execution or its child executions; None where it waits for an answer alone.

    The longest time that the execution itself may take does not count: it ends an execution.
    """
    now_ms = bench.system.now_ms
    arns = [recording.arn, *(child.arn for child in recording.children)]
    due = [one for arn in arns for one in bench.tasks.answers_due_ms(arn)]
    for arn in arns:
        due += bench.system.run(_timers_due_ms(bench.system.parts, arn))
    return min((one for one in due if one > now_ms), default=None)


async def _timers_due_ms(system: System, arn: str) -> list[int]:
    engine = system.engine
    stored = await engine.store.executions.load(await engine.names.id_of(arn))
    if stored is None:
        return []
    head = Head.decode(stored.row.head)
    live = decode_live(stored, head, None, engine.cells.home.shard.limits_of(head.type), engine.catalogue.config.region)
    longest = live.state.timeout_timer if live.state is not None else 0
    return [due_ms for timer, due_ms in live.timers.items() if timer != longest]
