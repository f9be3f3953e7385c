"""Rewrites a limit on starts per second: each execution reserves the next free instant in a row of the table, and waits
for it."""

from __future__ import annotations

from math import ceil

from statewright.asl.outline import Node
from statewright.export.edits import Edits, expression
from statewright.export.semaphores import AGAIN, KEY, REFUSED, UPDATE
from statewright.payload import JsonObject

NAME = "'starts:' & $states.context.StateMachine.Name"


def paced(edits: Edits, scope: Node, per_second: float) -> Node:
    """A machine with a limited rate of starts; `scope` is the work of its executions."""
    p, gap_ms = edits.prefix(), ceil(1000 / per_second)
    queue, idle, wait = (edits.name("Machine", role) for role in ("next start", "first start", "wait to start"))

    def reserving(update: str, condition: str, values: dict[str, str], slot: str, otherwise: str) -> Node:
        return {
            "Type": "Task", "Resource": UPDATE, "Retry": AGAIN,
            "Arguments": {
                "TableName": edits.table, "Key": {KEY: {"S": expression(NAME)}}, "UpdateExpression": update,
                "ConditionExpression": condition, "ReturnValues": "ALL_OLD",
                "ExpressionAttributeNames": {"#next": "Next"},
                "ExpressionAttributeValues": {name: {"N": expression(value)} for name, value in values.items()},
            },
            "Assign": {f"{p}slot": expression(slot)}, "Output": expression("$states.input"),
            "Catch": [{"ErrorEquals": [REFUSED], "Output": expression("$states.input"), "Next": otherwise}],
            "Next": wait,
        }  # fmt: skip

    states: JsonObject = {
        # Others wait for their turn: the next free instant is the row's.
        queue: reserving(
            "SET #next = #next + :gap", "#next >= :now", {":gap": f"'{gap_ms}'", ":now": "$string($millis())"},
            "$number($states.result.Attributes.Next.N)", idle,
        ),
        # The instant is free, and the row says when the next one is.
        idle: reserving(
            "SET #next = :next", "attribute_not_exists(#next) OR #next < :now",
            {":next": f"$string($millis() + {gap_ms})", ":now": "$string($millis())"}, "0", queue,
        ),
        wait: {"Type": "Wait", "Timestamp": expression(f"$fromMillis(${p}slot)"), "Next": scope["StartAt"]},
    }  # fmt: skip
    made = {name: edits.jsonata(node) for name, node in states.items()}
    return {**scope, "StartAt": queue, "States": {**made, **scope["States"]}}
