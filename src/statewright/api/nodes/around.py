"""Calls of operations at a node: run here, by the other application of this process, or at another node.

One `NodeRouter` stands around the worker's application and one around the home's, below the wire and above the
operation: so it sees the calls of clients, of tasks and of every part that calls operations from inside.

What a call at another node guarantees:

1. A call of which nothing was sent, or that was answered with `moved`, is made again where its owner is by then, for
   `OWNER_MS`; then it is refused as `ServiceUnavailable`.
2. A call that was sent and not answered is made again only if that does no harm (`rules.may_repeat`).
3. A task's call whose answer is known in advance (SendTaskSuccess, SendTaskFailure) takes its outbox row along: the
   owner of the target completes the row in the transaction of the effect, also a row in the cell of another node. Any
   other call happens at least once: a start finds its execution by name. Calls of tasks at other services do not come
   this way: `HomeTasks` sends them to the home, with their completion.
4. Calls of tasks and other parts of the process fail with `Unavailable`, which their callers repeat; clients get 503.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from statewright.api.nodes.apps import Apps
from statewright.api.nodes.client import NodeClient
from statewright.api.nodes.links import NotSent, Unanswered
from statewright.api.nodes.messages import HOME, MOVED, answer_of, encode
from statewright.api.nodes.peers import (
    LOOK_SECONDS,
    OWNER_MS,
    Directory,
    Find,
    NoOwner,
    Peer,
    find_cell,
    find_home,
    look_again,
    owner,
)
from statewright.api.nodes.ranges import read_in_ranges, reads_object
from statewright.api.nodes.rules import OWN, Rule, may_repeat, rule_of, shard_of
from statewright.api.operations import STATES, App, Call, Run, waits_for_events
from statewright.clock import Clock
from statewright.errors import ApiError, ElsewhereError, Unavailable
from statewright.payload import Json
from statewright.stores.ids import SHARD

PERFORM: Final = "/_statewright/node/perform"
SECONDS: Final = 60.0
"""For the answer of another node."""
LONG_SECONDS: Final = 960.0
"""For that of an operation that waits, or runs a function or an EXPRESS execution to its end."""
MOVING_SECONDS: Final = 0.05
"""Longest wait for a cell that is coming to this process or leaves it, before it is looked for again."""
_LONG: Final = frozenset({(STATES, "StartSyncExecution"), ("lambda", "Invoke")})
UNANSWERED: Final = "Another node did not answer, so the call may have had its effect or not; try again."

NeedsHome = Callable[[App, Json], Awaitable[bool]]
"""True if the machine that a start names needs the one memory of the home. Raises: ApiError, StoreError."""


@dataclass(frozen=True, slots=True)
class _Place:
    """The place where a call runs: the application if that is in this process, else the node."""

    shard: int
    find: Find
    local: Callable[[], App | None]


class NodeRouter:
    """An `operations.Around` of one application of a process: the home's (`is_home_app`) or the worker's."""

    is_free = False

    def __init__(
        self,
        apps: Apps,
        directory: Directory,
        client: NodeClient,
        clock: Clock,
        needs_home: NeedsHome,
        *,
        is_home_app: bool,
    ) -> None:
        self._apps = apps
        self._directory = directory
        self._client = client
        self._clock = clock
        self._needs_home = needs_home
        self._is_home_app = is_home_app
        self._turn = 0
        self._home = _Place(HOME, find_home, lambda: apps.at_home(directory))

    async def __call__(self, call: Call, request: Json, run: Run, /) -> Json:
        """Answer a call, wherever it has to run. Raises: ApiError, StoreError."""
        if self._apps.is_decided(call):
            return await run(request)
        place = await self._place_of(call, request)
        if place is None:
            try:
                return await run(request)
            except ElsewhereError as problem:
                if self._is_home_app or problem.shard != SHARD:
                    raise
            # A start of a machine that needs the home since a moment ago.
            place = self._home

        async def ask(given: Json) -> Json:
            try:
                return await self._run_at(place, call, given, run)
            except NoOwner as problem:
                raise _failed(call, problem.message) from None

        if reads_object(call, request) and place.local() is None:
            return await read_in_ranges(ask, request)
        return await ask(request)

    async def _place_of(self, call: Call, request: Json) -> _Place | None:
        """The place where a call runs; `None` for the application that was asked."""
        home = None if self._is_home_app else self._home
        if call.service not in (STATES, OWN):
            return None if _is_plain_invocation(call, request) else home
        rule = rule_of(call.operation, call.service)
        if rule is Rule.HERE:
            return None
        if rule is Rule.HOME:
            return home
        app = self._apps.home if self._is_home_app else self._apps.worker
        if app is None:
            return home
        if rule is Rule.START:
            if home is None:
                return await self._any_cell(app, call, request)
            if not self._directory.has_any():
                return home
            # A request that names no machine is refused by the operation.
            is_named = isinstance(request, dict) and isinstance(request.get("stateMachineArn"), str)
            return home if is_named and await self._needs_home(app, request) else None
        shard = await shard_of(app.engine, call.operation, request)
        if shard is None:
            # The operation says what is wrong with it.
            return None
        if shard == SHARD:
            return home
        return self._cell(shard)

    async def _any_cell(self, home: App, call: Call, request: Json) -> _Place | None:
        """The place of a start at the home: that of each cell in turn, `None` if it is to run at the home."""
        if not call.runs_anywhere or call.completion is not None or not _is_of(home, request):
            return None
        cell = self._next_cell()
        return None if cell is None or await self._needs_home(home, request) else cell

    def _next_cell(self) -> _Place | None:
        """The next cell that has an owner."""
        owners = self._directory.owners()
        if not owners:
            return None
        self._turn += 1
        shard, _ = owners[self._turn % len(owners)]
        return self._cell(shard)

    def _cell(self, shard: int) -> _Place:
        return _Place(shard, find_cell(shard), lambda: self._apps.at(shard, self._directory))

    async def _run_at(self, place: _Place, call: Call, request: Json, run: Run) -> Json:
        due_ms = self._clock.now_ms() + OWNER_MS
        body: bytes | None = None
        while True:
            app, peer = place.local(), None
            if app is not None:
                try:
                    return await self._run_in_process(app, call, request, run)
                except ElsewhereError:
                    # The cell is coming or going: the directory and the engine do not change at the same instant.
                    await self._directory.wait_for_change(MOVING_SECONDS)
            else:
                peer = await owner(self._directory, place.find, self._clock, due_ms)
                if body is None:
                    body = await self._encoded(place, call, request)
                answer = await self._asked(peer, call, request, body)
                if answer is not None:
                    return answer_of(*answer)
                await look_again(self._directory)
            left_ms = due_ms - self._clock.now_ms()
            if left_ms <= 0:
                raise NoOwner
            if app is None and place.find(self._directory) == peer:
                await self._directory.wait_for_change(min(left_ms / 1000, LOOK_SECONDS))

    async def _run_in_process(self, app: App, call: Call, request: Json, run: Run) -> Json:
        own = self._apps.home if self._is_home_app else self._apps.worker
        # The run of an application of another region is that of its own.
        return await (run(request) if app is own else self._apps.perform(app, call, request))

    async def _encoded(self, place: _Place, call: Call, request: Json) -> bytes:
        app = self._apps.worker or self._apps.home
        assert app is not None, "a call comes from an application"
        return await encode(
            place.shard, app.config.account, app.config.region, call, request, round(_seconds(call) * 1000)
        )

    async def _asked(self, peer: Peer, call: Call, request: Json, body: bytes) -> tuple[int, bytes] | None:
        """The answer of a node; `None` if the call is to be made again. Raises: ApiError, Unavailable."""
        try:
            status, answer = await self._client.call(peer, PERFORM, body, _seconds(call))
        except NotSent:
            return None
        except Unanswered as problem:
            # The row of a task's call says whether it has happened: its caller looks there first.
            if call.completion is None and may_repeat(call.service, call.operation, request, call.sent_by):
                return None
            raise _failed(call, UNANSWERED) from problem
        return None if status == MOVED else (status, answer)


def _failed(call: Call, text: str) -> Exception:
    """The error of a call that no node has answered: for a client, or for a part of this process, which repeats it."""
    if "x-amz-target" in call.headers:
        return ApiError("ServiceUnavailable", text, status=503)
    return Unavailable(text)


def _is_plain_invocation(call: Call, request: Json) -> bool:
    """True for an invocation that waits for its result, by a task: every worker has functions."""
    return (
        call.service == "lambda"
        and call.operation == "Invoke"
        and request.get("InvocationType") in (None, "RequestResponse")
    )


def _is_of(app: App, request: Json) -> bool:
    """True if a start names a machine of the region and account of an application: others have no cells."""
    arn = request.get("stateMachineArn") if isinstance(request, dict) else None
    return isinstance(arn, str) and not app.config.is_elsewhere(arn)


def _seconds(call: Call) -> float:
    is_long = (call.service, call.operation) in _LONG or waits_for_events(call.service, call.operation)
    return LONG_SECONDS if is_long else SECONDS
