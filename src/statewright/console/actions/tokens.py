"""The tasks of an execution that wait for an answer: the page answers them with their tokens, as any program does.

The token of a task is made anew from its execution, so activities, whose tokens only their workers have seen, can be
answered, too.
"""

from __future__ import annotations

from typing import Final

from statewright.api.operations import Call, perform
from statewright.console.asked import Asked, needed
from statewright.console.context import Console
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
    # By the operation, which is answered by the node that has the execution.
    call = Call("statewright", "ListWaitingTasks", asked.request_id, access_key=asked.caller.access_key or None)
    found = (await perform(app, call, {"executionArn": arn}))["tasks"]
    shown = [_shown(one, may_answer=asked.caller.may_write) for one in found[:MOST_TASKS]]
    return {"tasks": shown, "count": len(found), "nowMs": app.clock.now_ms()}


def _shown(task: JsonObject, *, may_answer: bool) -> JsonObject:
    return {
        **task,
        "timeoutMs": task["timeoutMs"] or None,
        "heartbeatMs": task["heartbeatMs"] or None,
        "token": task["token"] if may_answer else None,
    }


READS: Final = {"run/waiting": run_waiting}
