"""Calls of a worker at the node that has the home: tasks, changes of status, metrics, logs, entries of the catalogue.

For a home that another process has; one in the same process is called directly (`Apps.at_home`).
"""

from __future__ import annotations

import logging

from statewright.api.nodes.client import NodeClient
from statewright.api.nodes.links import NotSent, Unanswered
from statewright.api.nodes.messages import DONE, MOVED, UNREADABLE
from statewright.api.nodes.peers import NO_OWNER, Directory, look_again
from statewright.errors import Unavailable

log = logging.getLogger("statewright.nodes")


class HomeUnanswered(Unavailable):
    """The home was sent a call and did not answer it: the call may have had its effect."""


class HomeRefused(Unavailable):
    """The home cannot read a call, and would refuse it again."""


async def ask_home(directory: Directory, client: NodeClient, path: str, body: bytes, timeout_seconds: float) -> bytes:
    """The answer of the home's node.

    Raises: HomeUnanswered; HomeRefused; Unavailable for a call that had no effect, or that the home could not finish.
    """
    peer = directory.home()
    if peer is None:
        raise Unavailable(NO_OWNER)
    try:
        status, answer = await client.call(peer, path, body, timeout_seconds)
    except NotSent as problem:
        raise Unavailable(f"the home does not answer: {problem}") from None
    except Unanswered as problem:
        raise HomeUnanswered(f"the home does not answer: {problem}") from None
    if status == MOVED:
        await look_again(directory)
        raise Unavailable(f"{peer.name} does not have the home any more")
    if status != DONE:
        refusal = HomeRefused if status == UNREADABLE else Unavailable
        raise refusal(f"{peer.name} cannot answer a call for the home now: {answer[-1000:].decode('utf-8', 'replace')}")
    return answer


async def tell_home(directory: Directory, client: NodeClient, path: str, body: bytes, timeout_seconds: float) -> bool:
    """Send the home a message at most once: True if it has the message, may have it, or will never read it; False to
    send it again.
    """
    try:
        await ask_home(directory, client, path, body, timeout_seconds)
    except HomeUnanswered:
        return True
    except HomeRefused as problem:
        log.error("a message to the home is dropped: %s", problem)
        return True
    except Unavailable:
        return False
    return True
