"""Invocations at the home that run on workers of all nodes: Event invocations, those by queues, streams and APIs.

The home admits and counts them, and keeps those that wait. What runs, runs at the node to which the home has sent the
fewest that are still under way; of equals at its own, so that a cluster with little to do calls no other node. If a
node dies, what it was running runs again at the home, under the same request id.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from statewright.api.nodes.around import LONG_SECONDS
from statewright.api.nodes.client import NodeClient
from statewright.api.nodes.links import NotSent, Unanswered
from statewright.api.nodes.messages import DONE, REFUSED, UNAVAILABLE, answer_of, encode_answer
from statewright.api.nodes.peers import Directory, Peer
from statewright.api.operations import App
from statewright.config import Config
from statewright.errors import Unreadable
from statewright.functions.invoke import Invocation, Target
from statewright.functions.outcomes import Invoked

INVOKE: Final = "/_statewright/node/invoke"
"""Runs an invocation that the home has admitted."""

log = logging.getLogger("statewright.nodes")


class SpreadInvocations:
    """An `AroundInvocation` of the home. `own_name` is the name of its node."""

    def __init__(self, config: Config, directory: Directory, client: NodeClient, own_name: str) -> None:
        self._config = config
        self._directory = directory
        self._client = client
        self._own_name = own_name
        self._under_way: Counter[str] = Counter()
        """Invocations by the name of the node."""

    async def __call__(self, target: Target, call: Invocation, run: Callable[[], Awaitable[Invoked]], /) -> Invoked:
        """Run an invocation at the least busy node. Raises: ApiError, StoreError."""
        if self._config.is_elsewhere(target.arn):
            # Other regions and accounts are the home's alone.
            return await run()
        peer = self._least_busy()
        if peer is not None:
            with self._counted(peer.name):
                answer = await self._run_at(peer, target, call)
            if answer is not None:
                return answer
        with self._counted(self._own_name):
            return await run()

    @contextmanager
    def _counted(self, name: str) -> Iterator[None]:
        self._under_way[name] += 1
        try:
            yield
        finally:
            self._under_way[name] -= 1
            if not self._under_way[name]:
                del self._under_way[name]

    def _least_busy(self) -> Peer | None:
        """The node that runs the next invocation; `None` for this one."""
        others = {peer.name: peer for _, peer in self._directory.owners()}
        others.pop(self._own_name, None)
        found = min(others.values(), key=lambda peer: self._under_way[peer.name], default=None)
        if found is None or self._under_way[found.name] >= self._under_way[self._own_name]:
            return None
        return found

    async def _run_at(self, peer: Peer, target: Target, call: Invocation) -> Invoked | None:
        """The answer of a node; `None` if it has not begun, or is gone. Raises: ApiError, Unavailable."""
        body = await encode_answer(
            {
                "name": target.name, "version": target.version, "arn": target.arn, "payload": call.payload,
                "requestId": call.request_id, "context": call.client_context, "trace": call.trace_header,
                "logTail": call.log_tail,
            }
        )  # fmt: skip
        try:
            status, answer = await self._client.call(peer, INVOKE, body, LONG_SECONDS)
        except NotSent:
            return None
        except Unanswered as problem:
            # As tasks under way on a node that dies: they run again, under the same request id.
            log.warning("%s runs again here, its node %s is lost: %s", target.arn, peer.name, problem)
            return None
        if status not in (DONE, REFUSED, UNAVAILABLE):
            # It has stopped meanwhile, which ends its handlers, or it is of an older version.
            return None
        given = answer_of(status, answer)
        return Invoked(
            200, given["payload"], given["error"], given["log"], given["version"], given["requestId"]
        )  # fmt: skip


async def run_for_home(app: App, body: bytes) -> bytes | None:
    """Run an invocation that the home has sent, and encode its answer; `app` is that of this node's worker.

    Returns `None` if the handler was ended because this node stops. Raises: ApiError, StoreError, Unreadable.
    """
    try:
        given = answer_of(DONE, body)
        name, version, arn = given["name"], given["version"], given["arn"]
        call = Invocation(
            given["payload"], given["requestId"], given["context"], given["trace"], given["logTail"]
        )  # fmt: skip
    except (KeyError, TypeError) as problem:
        raise Unreadable(f"it is no invocation: {problem!r}") from None
    invoker = app.services.functions.invoker
    target = await invoker.resolve(name, version)
    done = await invoker.run_here(replace(target, arn=arn), call)
    if done.function_error is not None and invoker.pools.closed:
        return None
    return await encode_answer(
        {
            "payload": done.payload, "error": done.function_error, "log": done.log_tail,
            "version": done.executed_version, "requestId": done.request_id,
        }
    )  # fmt: skip
