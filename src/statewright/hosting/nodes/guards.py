"""Checks of a node before it takes anything: its clock, its address, and whether the other nodes can reach it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

import orjson

from statewright.api.guard import is_loopback
from statewright.api.nodes.client import NodeClient
from statewright.api.nodes.links import NotSent, Unanswered
from statewright.api.nodes.messages import DONE
from statewright.api.nodes.peers import Peer
from statewright.api.nodes.serving import HELLO
from statewright.api.nodes.signing import MOST_MS
from statewright.clock import Clock
from statewright.hosting.options import CannotServe

MOST_AHEAD_MS: Final = 10_000
"""A clock that is further from the database's is refused: two nodes may be so far off in opposite directions."""
WARN_AHEAD_MS: Final = 500
SAMPLES: Final = 3
"""Of the database's clock. The first opens a connection, and the one with the shortest way counts."""
ADDRESS_MS: Final = 5_000
"""How long an address that does not answer is tried: it may be set up while the node starts."""
ASK_SECONDS: Final = 2.0
AGAIN_MS: Final = 100
FORBIDDEN: Final = 403

log = logging.getLogger("statewright.server")


def refuse_open_host(host: str, advertise: str | None) -> None:
    """Check that a node which listens on all addresses says which one leads to it. Raises: CannotServe."""
    if advertise is None and ip_address(host).is_unspecified:
        raise CannotServe(
            f"a node that listens on {host} needs --advertise http://HOST:PORT, the address at which the other nodes "
            "reach it"
        )


async def clock_ahead_ms(clock: Clock, database_ms: Callable[[], int]) -> int:
    """By how much a clock is ahead of the database's; less than zero if it is behind. Half of the time that the
    question takes is its way there.

    `database_ms` asks for the database's time and blocks. Raises: StoreError.
    """
    samples = []
    for _ in range(SAMPLES):
        asked_ms = clock.now_ms()
        there_ms = await asyncio.to_thread(database_ms)
        answered_ms = clock.now_ms()
        samples.append((answered_ms - asked_ms, (asked_ms + answered_ms) // 2 - there_ms))
    return min(samples)[1]


def check_clock(ahead_ms: int) -> None:
    """Refuse a clock with which calls between nodes would fail; warn of one that is wrong. Raises: CannotServe."""
    if abs(ahead_ms) <= WARN_AHEAD_MS:
        return
    words = f"the clock of this machine is {abs(ahead_ms) / 1_000:.1f} s {'ahead of' if ahead_ms > 0 else 'behind'}"
    if abs(ahead_ms) > MOST_AHEAD_MS:
        raise CannotServe(
            f"{words} the database's: a node may differ by {MOST_AHEAD_MS // 1_000} s, because nodes refuse calls of "
            f"others that differ by more than {MOST_MS // 1_000} s; set the clock, with NTP for example"
        )
    log.warning(
        "%s the database's: timers of executions that move from node to node are late or early by that", words
    )  # fmt: skip


async def check_address(client: NodeClient, own: Peer, incarnation: str, clock: Clock, option: str) -> None:
    """Ask the address of this node, once it listens, whether this very process answers there.

    `option` names the address in the message. Raises: CannotServe.
    """
    due_ms = clock.now_ms() + ADDRESS_MS
    while True:
        try:
            status, body = await client.call(own, HELLO, b"", ASK_SECONDS)
            why = _not_this_node(status, body, incarnation)
            if why is None:
                return
            raise CannotServe(f"{option} does not lead to this node: {why}")
        except NotSent as problem:
            why = str(problem)
        except Unanswered as problem:
            why = f"no node of this cluster answers there ({problem})"
        if clock.now_ms() >= due_ms:
            raise CannotServe(f"{option} does not lead to this node: {why}")
        await clock.sleep_until(min(due_ms, clock.now_ms() + AGAIN_MS))


def _not_this_node(status: int, body: bytes, incarnation: str) -> str | None:
    """The reason for which an answer is not this process's; None if it is."""
    if status == DONE:
        try:
            found = orjson.loads(body)
            if found["incarnation"] == incarnation:
                return None
            return f"the node {found['name']} answers there"
        except (KeyError, TypeError, orjson.JSONDecodeError):
            return "another program answers there"
    if status == FORBIDDEN:
        return "a node of another cluster, or another program, answers there"
    return f"another program answers there, with the status {status}"


def _is_local(peer: Peer) -> bool:
    """True for a node that only its own machine can reach."""
    return is_loopback(urlsplit(peer.address).hostname or "")


def unreachable(own: Peer, others: Iterable[Peer]) -> str | None:
    """The warning for nodes of which some are on loopback addresses, and others are not; None if there is no need."""
    is_own = _is_local(own)
    other = next((one for one in others if _is_local(one) != is_own), None)
    if other is None:
        return None
    inner, outer = (own, other) if is_own else (other, own)
    return (
        f"the node {inner.name} is at {inner.address}, where no other machine reaches it, and the node {outer.name} at "
        f"{outer.address}: start {inner.name} with --host and --advertise that lead to it from there"
    )
