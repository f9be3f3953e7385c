"""The tasks of an execution that wait for an answer: the page answers them with their tokens, as any program does.

The token of a task is made anew from its execution, so activities, whose tokens only their workers have seen, can be
answered, too.
"""

from __future__ import annotations

from typing import Final

from statewright.console.asked import Asked, needed
from statewright.console.context import Console
from statewright.engine.executions.tokens import WaitingTask
from statewright.payload import JsonObject

MOST_TASKS: Final = 100


async def run_waiting(console: Console, asked: Asked) -> JsonObject:
    """`{tasks: [{state, event, resource, isActivity, isStarted, timeoutMs, heartbeatMs, token}], count, nowMs}` of an
    execution.

    `event` is the history event with which the state was entered; instants are null where there is no limit. Only
    callers who may write get the token.
    """
    arn = needed(asked.given, "arn")
    app = console.app_of_run(arn)
    found = await app.engine.waiting_tasks(arn)
    shown = [_shown(one, may_answer=asked.caller.may_write) for one in found[:MOST_TASKS]]
    return {"tasks": shown, "count": len(found), "nowMs": app.clock.now_ms()}


def _shown(task: WaitingTask, *, may_answer: bool) -> JsonObject:
    return {
        "state": task.state,
        "event": task.entered_event,
        "resource": task.resource,
        "isActivity": task.is_activity,
        "isStarted": task.is_started,
        "timeoutMs": task.timeout_ms or None,
        "heartbeatMs": task.heartbeat_ms or None,
        "token": task.token if may_answer else None,
    }


READS: Final = {"run/waiting": run_waiting}
