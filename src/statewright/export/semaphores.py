"""Rewrites semaphores as rows of a DynamoDB table: take a permit, return it, and return all permits of an execution.

One row for each semaphore: `LockName` is its name (and `#` and its key), `Held` the number of permits taken. Every
permit is an attribute, named by the execution's ARN, the instant and a random id: an execution may hold several, and a
repeated call takes nothing twice. An execution that finds no permit waits and asks again: no order is promised.
"""

from __future__ import annotations

from typing import Final

from statewright.asl.outline import Node, StateOutline
from statewright.export.edits import LATE, Edits, commented, expression, quoted
from statewright.export.stand_in import given, has_deadline, stand_in
from statewright.payload import JsonObject

KEY: Final = "LockName"
REFUSED: Final = "DynamoDB.ConditionalCheckFailedException"
UPDATE: Final = "arn:aws:states:::dynamodb:updateItem"
_GET: Final = "arn:aws:states:::dynamodb:getItem"
_SCAN: Final = "arn:aws:states:::aws-sdk:dynamodb:scan"
AGAIN: Final = [
    {"ErrorEquals": [REFUSED, "DynamoDB.ResourceNotFoundException"], "MaxAttempts": 0},
    {"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "MaxAttempts": 6, "JitterStrategy": "FULL"},
]
_PAGE: Final = 100
_LOCK: Final = "$states.input.Given.Name & ($states.input.Given.Key ? '#' & $states.input.Given.Key : '')"


def acquire(edits: Edits, state: StateOutline) -> dict[str, Node]:
    """The states in place of a Task `statewright:acquire`."""
    if has_deadline(state):
        edits.may_be_late(state)
    edits.note("rewritten", state, f"takes a permit in the DynamoDB table {edits.table}")
    return stand_in(edits, state, given(state), taking(edits, state.name, has_deadline=has_deadline(state)))


def taking(edits: Edits, owner: str, *, has_deadline: bool) -> Node:
    """A branch that takes a permit. Its input has `Given` with Name, Limit and Key, and TimeoutSeconds, if any."""
    p = edits.prefix()
    begin, take, look, mine, wait, late, got = (
        edits.name(owner, role) for role in ("begin", "take", "look", "mine?", "wait", "too late", "got it")
    )
    kept = {
        f"{p}given": expression("$states.input.Given"),
        f"{p}lock": expression(_LOCK),
        f"{p}permit": expression(
            "$states.context.Execution.Id & '#' & $states.context.State.EnteredTime & '#' & $uuid()"
        ),
        f"{p}asked": expression("$millis()"),
    }
    is_mine = {"Condition": expression("$states.input.Mine"), "Next": got}
    is_late = {"Condition": expression(f"$millis() >= ${p}until"), "Next": late}
    pause: Node = {"Seconds": edits.wait_seconds}
    if has_deadline:
        kept[f"{p}until"] = expression("$millis() + 1000 * $number($states.input.TimeoutSeconds)")
        pause = {"Timestamp": expression(f"$fromMillis($min([$millis() + {1000 * edits.wait_seconds}, ${p}until]))")}
    states: dict[str, Node] = {
        begin: {"Type": "Pass", "Assign": kept, "Next": take},
        take: {
            "Type": "Task", "Resource": UPDATE, "Arguments": _take_arguments(edits, p), "Retry": AGAIN,
            "Catch": [{"ErrorEquals": [REFUSED], "Next": look}], "Next": got,
        },
        look: {
            "Type": "Task", "Resource": _GET, "Retry": AGAIN, "Next": mine,
            "Arguments": {
                **_row(edits, f"${p}lock"), "ConsistentRead": True, "ProjectionExpression": "#permit",
                "ExpressionAttributeNames": {"#permit": expression(f"${p}permit")},
            },
            "Output": {"Mine": expression(f"$exists($lookup($states.result.Item, ${p}permit))")},
        },
        mine: {"Type": "Choice", "Choices": [is_mine, is_late] if has_deadline else [is_mine], "Default": wait},
        wait: {"Type": "Wait", **pause, "Next": take},
        **({late: {"Type": "Fail", "Error": LATE, "Cause": "No permit was free in time."}} if has_deadline else {}),
        got: {"Type": "Pass", "Output": expression(
            f"{{'Name': ${p}given.Name, 'Key': ${p}given.Key, 'Permit': ${p}permit, 'Limit': ${p}given.Limit, "
            f"'WaitedSeconds': ($millis() - ${p}asked) / 1000}}"
        ), "End": True},
    }  # fmt: skip
    return {"StartAt": begin, "States": {name: edits.jsonata(node) for name, node in states.items()}}


def _take_arguments(edits: Edits, p: str) -> Node:
    return {
        **_row(edits, f"${p}lock"),
        "UpdateExpression": "SET #held = if_not_exists(#held, :none) + :one, #permit = :now",
        "ConditionExpression": "(attribute_not_exists(#held) OR #held < :limit) AND attribute_not_exists(#permit)",
        "ExpressionAttributeNames": {"#held": "Held", "#permit": expression(f"${p}permit")},
        "ExpressionAttributeValues": {
            ":none": {"N": "0"},
            ":one": {"N": "1"},
            ":limit": {"N": expression(f"$string(${p}given.Limit)")},
            ":now": {"N": expression("$string($millis())")},
        },
    }


def _row(edits: Edits, lock: str) -> Node:
    return {"TableName": edits.table, "Key": {KEY: {"S": expression(lock)}}}


def _give_back(edits: Edits, lock: str, permit: str) -> Node:
    return {
        "Type": "Task",
        "Resource": UPDATE,
        "Arguments": {
            **_row(edits, lock),
            "UpdateExpression": "SET #held = #held - :one REMOVE #permit",
            "ConditionExpression": "attribute_exists(#permit)",
            "ExpressionAttributeNames": {"#held": "Held", "#permit": expression(permit)},
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        },
        "Retry": AGAIN,
    }


def release(edits: Edits, state: StateOutline) -> dict[str, Node]:
    """The states in place of a Task `statewright:release`."""
    edits.note("rewritten", state, f"returns its permit in the DynamoDB table {edits.table}")
    p = edits.prefix()
    begin, look, found, back, none, done = (
        edits.name(state.name, role) for role in ("begin", "look", "held?", "give back", "nothing held", "done")
    )
    # The oldest of its own, unless it names one.
    oldest = (
        f"($row := $states.result.Item; $own := $filter($keys($row), function($name) "
        f"{{ $contains($name, $states.context.Execution.Id & '#') }}); "
        "$first := $sort($own, function($a, $b) { $number($lookup($row, $a).N) > $number($lookup($row, $b).N) })[0]; "
        f"$exists(${p}given.Permit) ? ${p}given.Permit : $exists($first) ? $first : '')"
    )
    answer = f"{{'Name': ${p}given.Name, 'Key': ${p}given.Key, 'Released': %s}}"
    kept = {f"{p}given": expression("$states.input.Given"), f"{p}lock": expression(_LOCK)}
    states: dict[str, Node] = {
        begin: {"Type": "Pass", "Assign": kept, "Next": look},
        look: {
            "Type": "Task", "Resource": _GET, "Arguments": {**_row(edits, f"${p}lock"), "ConsistentRead": True},
            "Retry": AGAIN, "Assign": {f"{p}permit": expression(oldest)}, "Next": found,
        },
        found: {
            "Type": "Choice", "Default": back,
            "Choices": [{"Condition": expression(f"${p}permit = ''"), "Next": none}],
        },
        back: {
            **_give_back(edits, f"${p}lock", f"${p}permit"),
            "Catch": [{"ErrorEquals": [REFUSED], "Next": none}], "Next": done,
        },
        none: {"Type": "Pass", "Output": expression(answer % "false"), "End": True},
        done: {"Type": "Pass", "Output": expression(answer % "true"), "End": True},
    }  # fmt: skip
    branch = {"StartAt": begin, "States": {name: edits.jsonata(node) for name, node in states.items()}}
    return stand_in(edits, state, given(state), branch)


def giving_all_back(edits: Edits, owner: str, arn: str, then: str) -> tuple[str, dict[str, Node]]:
    """States that return every permit of an execution and continue at `then`; the first one's name, and all of them.

    `arn` is JSONata for the execution's ARN.
    """
    p = edits.prefix()
    begin, look, back, one, done, more = (
        edits.name(owner, role)
        for role in ("permits", "look for permits", "give back", "give back one", "was given back", "more?")
    )
    # A page must not be larger than a state's result may be: few rows at a time, and only those with permits taken.
    asked = (
        f"{{'TableName': {quoted(edits.table)}, 'ConsistentRead': true, 'Limit': {_PAGE}, "
        "'FilterExpression': '#held > :none', 'ExpressionAttributeNames': {'#held': 'Held'}, "
        "'ExpressionAttributeValues': {':none': {'N': '0'}}}"
    )
    held = (
        "[$reduce($states.result.Items, function($all, $row) { $append($all, $map($filter($keys($row), "
        f"function($name) {{ $contains($name, ${p}mark) }}), function($name) "
        f"{{ {{'Lock': $row.{KEY}.S, 'Permit': $name}} }})) }}, [])]"
    )
    following = "$exists($states.result.LastEvaluatedKey) ? $states.result.LastEvaluatedKey : {}"
    each = {
        **_give_back(edits, "$states.input.Lock", "$states.input.Permit"), "Output": {},
        "Catch": [{"ErrorEquals": [REFUSED], "Output": {}, "Next": done}], "Next": done,
    }  # fmt: skip
    inner: dict[str, Node] = {one: each, done: {"Type": "Succeed"}}
    states: JsonObject = {
        begin: {
            "Type": "Pass", "Next": look,
            "Assign": {f"{p}mark": expression(f"{arn} & '#'"), f"{p}after": expression("{}")},
        },
        look: {
            "Type": "Task", "Resource": _SCAN, "Retry": AGAIN, "Next": back,
            "Arguments": expression(
                f"$merge([{asked}, ${p}after != {{}} ? {{'ExclusiveStartKey': ${p}after}} : {{}}])"
            ),
            "Assign": {f"{p}after": expression(following)}, "Output": {"Held": expression(held)},
        },
        back: {
            "Type": "Map", "Items": expression("$states.input.Held"), "Next": more, "Output": {},
            "ItemProcessor": {
                "ProcessorConfig": {"Mode": "INLINE"}, "StartAt": one,
                "States": {name: edits.jsonata(node) for name, node in inner.items()},
            },
        },
        more: {
            "Type": "Choice", "Default": then,
            "Choices": [{"Condition": expression(f"${p}after != {{}}"), "Next": look}],
        },
    }  # fmt: skip
    return begin, {name: edits.jsonata(node) for name, node in states.items()}


def guarded(edits: Edits, scope: Node, *, limit: int | None = None) -> Node:
    """A machine, or the processor of a distributed Map, that returns all permits however it ends.

    `limit`: at most so many executions of it run at once; the others wait for a permit of the machine.
    """
    p = edits.prefix()
    owner = "Machine"
    whole, ended, failed, succeeded = (
        edits.name(owner, role) for role in ("all of it", "ended", "failed", "succeeded")
    )
    begin, back = giving_all_back(edits, owner, "$states.context.Execution.Id", ended)
    caught = {
        "Assign": {
            f"{p}failed": True, f"{p}output": None,
            f"{p}error": expression("$type($states.errorOutput.Error) = 'string' ? $states.errorOutput.Error : ''"),
            f"{p}cause": expression("$type($states.errorOutput.Cause) = 'string' ? $states.errorOutput.Cause : ''"),
        },
        "Next": begin,
    }  # fmt: skip
    states: JsonObject = {
        whole: {
            "Type": "Parallel", "Branches": [{key: scope[key] for key in ("StartAt", "States")}],
            "Assign": {
                f"{p}failed": False, f"{p}output": expression("$states.result[0]"), f"{p}error": "", f"{p}cause": "",
            },
            "Output": {},
            "Catch": [{"ErrorEquals": [name], **caught} for name in ("States.DataLimitExceeded", "States.ALL")],
            "Next": begin,
        },
        ended: {
            "Type": "Choice", "Default": succeeded,
            "Choices": [{"Condition": expression(f"${p}failed"), "Next": failed}],
        },
        failed: {"Type": "Fail", "Error": expression(f"${p}error"), "Cause": expression(f"${p}cause")},
        succeeded: {"Type": "Succeed", "Output": expression(f"${p}output")},
    }  # fmt: skip
    start = whole
    if limit is not None:
        start = edits.name(owner, "enter")
        name = expression("'machine:' & $states.context.StateMachine.Name")
        states[start] = {
            "Type": "Parallel", "Arguments": {"Given": {"Name": name, "Limit": limit}}, "Next": whole,
            "Branches": [taking(edits, start, has_deadline=False)], "Output": expression("$states.input"),
        }  # fmt: skip
    made = {name: edits.jsonata(node) for name, node in states.items()} | back
    order = [start, *(name for name in made if name != start)]
    return {**scope, "StartAt": start, "States": {name: made[name] for name in order}}


def cleanup(table: str) -> Node:
    """A machine that returns the permits of ended executions; its input is an execution status change event."""
    empty: Node = {"QueryLanguage": "JSONata", "States": {}}
    edits = Edits(empty, table, 1)
    done = edits.name("Permits", "given back")
    begin, back = giving_all_back(edits, "Permits", "$states.context.Execution.Input.detail.executionArn", done)
    made: Node = {
        "Comment": "Gives back the permits of executions that have ended, for Step Functions Execution Status Change "
        "events of the default bus with a status of SUCCEEDED, FAILED, TIMED_OUT or ABORTED.",
        "QueryLanguage": "JSONata",
        "StartAt": begin,
        "States": {**back, done: {"Type": "Succeed"}},
    }
    return commented(made, edits.added)
