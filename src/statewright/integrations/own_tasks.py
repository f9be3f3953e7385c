"""`statewright:acquire`, `statewright:release` and `statewright:poll`: tasks that the service does not have.

Owns their parameters and answers. Semaphores are the engine's, polls are in `polls.py`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Protocol

from statewright.clock import Clock
from statewright.engine.dispatch import Failed, Later, ScheduledCall, Succeeded, TaskResult
from statewright.integrations.patterns import Settles
from statewright.payload import Json, JsonMapping, JsonObject

BAD: Final = "Statewright.InvalidParameters"
LONGEST_NAME: Final = 256
_ACQUIRE: Final = ("Name", "Limit", "Key")
_RELEASE: Final = ("Name", "Key", "Permit")


class Poller(Protocol):
    """Polls for tasks: `polls.Polls`, loaded at first use."""

    def begin(self, task: ScheduledCall) -> Later | Failed:
        """Poll for a task until an answer satisfies it."""

    def cancel(self, task: ScheduledCall) -> None:
        """Stop polling for a task."""

    async def close(self) -> None:
        """Stop all polls; they begin again after the next start."""


class OwnTasks:
    """Executes Statewright's own tasks. `ask` makes one call of any other resource."""

    def __init__(
        self, clock: Clock, engine: Settles, ask: Callable[[ScheduledCall], Awaitable[TaskResult | Later]]
    ) -> None:
        self._clock = clock
        self._engine = engine
        self._ask = ask
        self._polls: Poller | None = None

    async def call(self, task: ScheduledCall) -> TaskResult | Later:
        """Begin or execute one of Statewright's own tasks."""
        action = task.resource.action
        if action == "poll":
            return self._poller().begin(task)
        try:
            given = _members(task.parameters, _ACQUIRE if action == "acquire" else _RELEASE)
            name, key = _text(given, "Name"), _text(given, "Key", "")
            if action == "release":
                return await self._release(task, name, key, given.get("Permit"))
            limit = given.get("Limit")
            if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
                raise ValueError(f"Limit is a whole number of at least 1, not {limit!r}")
        except ValueError as problem:
            return Failed(BAD, f"{task.resource.arn}: {problem}")
        if ":express:" in task.execution_arn:
            return Failed(BAD, f"{task.resource.arn}: an EXPRESS execution cannot hold a permit; use a STANDARD one")
        self._engine.semaphores.acquire(task, name, key, limit)
        return Later()

    async def _release(self, task: ScheduledCall, name: str, key: str, permit: Json) -> TaskResult:
        if permit is not None and not (isinstance(permit, str) and permit.isascii() and permit.isdigit()):
            raise ValueError(f"Permit must be one that acquire returned, not {permit!r}")
        number = int(permit) if isinstance(permit, str) else None
        released = await self._engine.semaphores.release(task, name, key, number)
        return Succeeded({"Name": name, **({"Key": key} if key else {}), "Released": released})

    async def cancel(self, task: ScheduledCall) -> None:
        """Stop waiting for a task that was cancelled."""
        if task.resource.action == "poll":
            self._poller().cancel(task)
        else:
            self._engine.semaphores.withdraw(task)

    async def close(self) -> None:
        """Stop all polls; waiting tasks begin again after the next start."""
        if self._polls is not None:
            await self._polls.close()

    def _poller(self) -> Poller:
        if self._polls is None:
            # It loads the compilers of expressions.
            from statewright.integrations.polls import Polls

            self._polls = Polls(self._clock, self._ask, self._engine.settle, self._engine.heavy.run)
        return self._polls


def tried(task: ScheduledCall) -> TaskResult:
    """The result of one of Statewright's own tasks in TestState, where no permit is held and no task waits."""
    parameters = task.parameters if isinstance(task.parameters, Mapping) else {}
    if task.resource.action == "poll":
        return Failed(BAD, f"{task.resource.arn} cannot be tried without a mock: it asks until it is satisfied.")
    return Succeeded(granted(parameters) if task.resource.action == "acquire" else released(parameters))


def granted(parameters: JsonMapping) -> JsonObject:
    """The answer of acquire when a permit is free."""
    named = {member: parameters[member] for member in ("Name", "Key") if member in parameters}
    return {**named, "Permit": "1", "Limit": parameters.get("Limit", 1), "WaitedSeconds": 0}


def released(parameters: JsonMapping) -> JsonObject:
    """The answer of release when there was a permit."""
    return {**{member: parameters[member] for member in ("Name", "Key") if member in parameters}, "Released": True}


def _members(parameters: Json, known: tuple[str, ...]) -> JsonObject:
    if not isinstance(parameters, dict):
        raise ValueError("the parameters must be an object")
    foreign = [name for name in parameters if name not in known]
    if foreign:
        raise ValueError(f"'{foreign[0]}' is not a parameter; the parameters are {', '.join(known)}")
    return parameters


def _text(given: JsonMapping, name: str, default: str | None = None) -> str:
    value = given.get(name, default)
    if not isinstance(value, str) or (default is None and not value) or len(value) > LONGEST_NAME:
        raise ValueError(f"{name} is a text of 1 to {LONGEST_NAME} characters, not {value!r}")
    return value
