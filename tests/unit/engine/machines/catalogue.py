"""A catalogue on an empty store in virtual time, for the tests of machines, versions, aliases, tags and activities."""

import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from statewright.engine.machines.catalogue import MachineCatalogue
from statewright.engine.machines.machines import Machines
from statewright.engine.machines.views import NewMachine
from statewright.errors import ApiError
from statewright.query.scope import Entropy
from statewright.stores.memory.store import MemoryStore
from statewright.stores.protocol import Commit, Row
from statewright.virtual_clock import VirtualClock, run_virtual

T = TypeVar("T")

ROLE = "arn:aws:iam::000000000000:role/orders"
OTHER_ROLE = "arn:aws:iam::000000000000:role/service-role/other"
ARN = "arn:aws:states:us-east-1:000000000000:stateMachine:orders"
GROUP = {"cloudWatchLogsLogGroup": {"logGroupArn": "arn:aws:logs:us-east-1:000000000000:log-group:/aws/orders:*"}}


def definition(comment: str = "one") -> str:
    return json.dumps({"Comment": comment, "StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}})


def new_machine(**changes: Any) -> NewMachine:
    return NewMachine(**{"name": "orders", "definition": definition(), "role_arn": ROLE, **changes})


def on_catalogue(test: Callable[[Machines, VirtualClock], Awaitable[T]]) -> T:
    """Run a test against a new catalogue."""

    async def main(clock: VirtualClock) -> T:
        store = MemoryStore()
        await store.open("tests")
        return await test(Machines(MachineCatalogue(store, clock), entropy=Entropy(b"seed")), clock)

    return run_virtual(main)


async def refusal(call: Awaitable[Any]) -> tuple[str, str]:
    """Code and message of the error that a call ends with."""
    try:
        answer = await call
    except ApiError as error:
        return error.code, error.message
    raise AssertionError(f"the call succeeded: {answer}")


async def put_execution(machines: Machines, machine_id: int, status: str, *, expected: int = 0) -> None:
    """Write an execution's row as the engine would."""
    stopped = None if status == "RUNNING" else 2
    row = Row(1, 0, machine_id, "x", status, 1, stopped, b"", b"")
    await machines.catalogue.store.executions.commit(Commit(row, expected, b"state"))
