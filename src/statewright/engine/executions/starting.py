"""Builds new executions from the arguments of a start: the input as a value, the head, and the execution itself.

Nothing is written here: the first commit does that.
"""

from __future__ import annotations

from statewright.asl.program import Program
from statewright.engine.executions.live import LiveExecution
from statewright.engine.executions.views import Head, Tail
from statewright.engine.machines.machines import Target
from statewright.engine.shard import Shard
from statewright.errors import ApiError
from statewright.interpreter.advance import new_execution
from statewright.payload import JsonTextError, Payload
from statewright.stores.protocol import Row


def new_live(
    shard: Shard, machine: int, name: str, head: Head, payload: Payload, program: Program, seed: bytes | None = None
) -> LiveExecution:
    """A STANDARD execution that no store has seen yet; `machine` is the id of a machine, or of a child's Map Run."""
    state = new_execution(head.identity(name, shard.region), payload, seed or shard.make_seed())
    row = Row(shard.ids.next(), shard.number, machine, name, "RUNNING", shard.clock.now_ms(), None, head.encode(), b"")
    return LiveExecution(row, head, Tail(), state, program, shard.limits_of(head.type))


def head_of(target: Target, arn: str, input_text: str, trace_header: str | None, sent_by: str | None = None) -> Head:
    """The head of an execution of a machine."""
    return Head(
        arn,
        target.machine_arn,
        target.machine_name,
        target.machine_id,
        target.revision_id,
        target.type,
        target.role_arn,
        target.version_arn,
        target.alias_arn,
        trace_header,
        input_text,
        sent_by=sent_by,
    )


def read_input(text: str) -> Payload:
    """An execution's input. Raises: ApiError (`InvalidExecutionInput`)."""
    try:
        return Payload.from_text(text)
    except JsonTextError:
        message = "Invalid State Machine Execution Input: 'Invalid execution input.'"
        raise ApiError("InvalidExecutionInput", message) from None


def type_not_supported() -> ApiError:
    """The service's answer to an operation on a machine of the other type (observed)."""
    return ApiError("StateMachineTypeNotSupported", "This operation is not supported by this type of state machine")
