"""The table of the places where operations of Step Functions run, in a cluster.

Operations of other services run at the home, but for one of Statewright's own (`OWN_ON_EXECUTIONS`) and for functions
that tasks of a worker invoke (`around`). A test compares the table with the operations that are registered: an
operation without a rule would run at the home.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from statewright.arn import EXECUTION, MAP_RUN, parse_arn
from statewright.engine.executions.tokens import read_task_token
from statewright.errors import ApiError
from statewright.limits import EXPRESS_STARTS
from statewright.payload import Json
from statewright.stores.ids import shard_of_id

if TYPE_CHECKING:
    from statewright.engine.engine import Engine


OWN: Final = "statewright"
"""Statewright's own service."""


class Rule(Enum):
    """A place where an operation runs."""

    HERE = "here"
    """At any node: it only reads the store, or nothing."""
    START = "start"
    """At the node that was asked, unless its machine needs the one memory of the home. What the home itself starts for
    targets and APIs runs at all nodes in turn.
    """
    EXECUTION = "execution"
    """At the node that has the cell of its execution or Map Run."""
    HOME = "home"
    """At the home: it changes the catalogue, or needs what only the home has in memory."""


RULES: Final = {
    "DescribeExecution": Rule.HERE,
    "DescribeStateMachineForExecution": Rule.HERE,
    "GetExecutionHistory": Rule.HERE,
    "ListExecutions": Rule.HERE,
    "ListMapRuns": Rule.HERE,
    "ValidateStateMachineDefinition": Rule.HERE,
    "StartExecution": Rule.START,
    "StartSyncExecution": Rule.START,
    # The counts of a Map Run that is open are in the memory of its cell.
    "DescribeMapRun": Rule.EXECUTION,
    "RedriveExecution": Rule.EXECUTION,
    "SendTaskFailure": Rule.EXECUTION,
    "SendTaskHeartbeat": Rule.EXECUTION,
    "SendTaskSuccess": Rule.EXECUTION,
    "StopExecution": Rule.EXECUTION,
    "UpdateMapRun": Rule.EXECUTION,
    "CreateActivity": Rule.HOME,
    "CreateStateMachine": Rule.HOME,
    "CreateStateMachineAlias": Rule.HOME,
    "DeleteActivity": Rule.HOME,
    "DeleteStateMachine": Rule.HOME,
    "DeleteStateMachineAlias": Rule.HOME,
    "DeleteStateMachineVersion": Rule.HOME,
    "DescribeActivity": Rule.HOME,
    "DescribeStateMachine": Rule.HOME,
    "DescribeStateMachineAlias": Rule.HOME,
    "GetActivityTask": Rule.HOME,
    "ListActivities": Rule.HOME,
    "ListStateMachineAliases": Rule.HOME,
    "ListStateMachineVersions": Rule.HOME,
    "ListStateMachines": Rule.HOME,
    "ListTagsForResource": Rule.HOME,
    "PublishStateMachineVersion": Rule.HOME,
    "TagResource": Rule.HOME,
    "TestState": Rule.HOME,
    "UntagResource": Rule.HOME,
    "UpdateStateMachine": Rule.HOME,
    "UpdateStateMachineAlias": Rule.HOME,
}
"""Rules by operation."""

OWN_ON_EXECUTIONS: Final = frozenset({"ListWaitingTasks"})
"""Operations of Statewright's own service with the rule `EXECUTION`; its others run at the home."""

REPEATABLE: Final = frozenset({"DescribeMapRun", "SendTaskHeartbeat", "StopExecution"})
"""Operations of `states` that may be repeated although the first call may have had its effect.

Not an answer by token: the repeat would be refused because of the first one, and its caller would take the refusal for
the whole truth.
"""
_READS: Final = ("Describe", "Get", "Head", "List")
_NO_READS: Final = frozenset({("states", "GetActivityTask")})
"""Operations that are named like reads and take something away."""


def rule_of(operation: str, service: str = "states") -> Rule:
    """The rule of an operation of `states`, or of Statewright's own service."""
    if service == OWN:
        return Rule.EXECUTION if operation in OWN_ON_EXECUTIONS else Rule.HOME
    return RULES.get(operation, Rule.HOME)


def is_answered_anywhere(action: str) -> bool:
    """True if calls of an action, as the table of rates names it, are answered by several nodes."""
    return action == EXPRESS_STARTS or rule_of(action) is not Rule.HOME


def may_repeat(service: str, operation: str, request: Json, sent_by: str | None) -> bool:
    """True if a call may be made again although the first one may have had its effect."""
    if service == "states" and operation == "StartExecution":
        # The repeat finds the execution by its name; a task gives one, and says that the start is its own.
        return sent_by is not None or bool(request.get("name"))
    if service == "states" and operation in REPEATABLE:
        return True
    return operation.startswith(_READS) and (service, operation) not in _NO_READS


async def shard_of(engine: Engine, operation: str, request: Json) -> int | None:
    """The shard of the execution or Map Run that a call with the rule `EXECUTION` is about.

    `None` for one that does not exist or is of another region or account, and for a request that is refused anywhere.
    Raises: StoreError.
    """
    config = engine.catalogue.config
    try:
        if operation in ("DescribeMapRun", "UpdateMapRun"):
            arn = request["mapRunArn"]
            kind = MAP_RUN
        elif operation.startswith("SendTask"):
            arn, _ = read_task_token(request["taskToken"])
            kind = EXECUTION
        else:
            arn = request["executionArn"]
            kind = EXECUTION
        parsed = parse_arn(arn, kind)
        if parsed.region != config.region or config.is_of_other_account(arn):
            return None
        found = await (engine.map_runs.known_id_of(arn) if kind == MAP_RUN else engine.names.id_of(arn))
    except (ApiError, AttributeError, KeyError, TypeError):
        return None
    return shard_of_id(found)
