"""Calls of one node at another: a body each way, signed, over kept connections, without threads."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from statewright.api.nodes.links import Links, Unanswered
from statewright.api.nodes.peers import Peer, time_limit
from statewright.api.nodes.signing import Signer
from statewright.clock import Clock

MOST_BYTES: Final = 256 * 1024 * 1024
"""Longest answer of a node."""


class NodeClient:
    """Makes calls at other nodes. `own_name` is this node's name, `secret` the cluster's."""

    def __init__(self, secret: bytes, own_name: str, clock: Clock) -> None:
        self.secret = secret
        self.signer = Signer(secret, own_name, clock)
        self.links = Links(clock)
        self._clock = clock
        self.calls = 0
        """How many calls have been made since the start."""

    async def call(self, peer: Peer, path: str, body: bytes, timeout_seconds: float) -> tuple[int, bytes]:
        """The status and the body of a node's answer; `path` includes the query.

        Raises: NotSent if nothing was written; Unanswered if it was, and no answer came in time.
        """
        self.calls += 1
        link = await self.links.take(peer.address)
        try:
            headers = [
                (b"host", urlsplit(peer.address).netloc.encode()),
                *self.signer.call("POST", path, body),
                (b"content-length", b"%d" % len(body)),
            ]
            link.write_head("POST", path.encode(), headers, body)
            with time_limit(self._clock, round(timeout_seconds * 1000)):
                await link.drain()
                await link.read_head()
                pieces, size = [], 0
                while piece := await link.read_body():
                    pieces.append(piece)
                    size += len(piece)
                    if size > MOST_BYTES:
                        raise Unanswered(f"the answer of {peer.name} is longer than {MOST_BYTES} bytes")
            return link.status, b"".join(pieces)
        except TimeoutError:
            raise Unanswered(f"{peer.name} did not answer in {timeout_seconds:g} s") from None
        finally:
            self.links.give_back(link)

    def cut(self, peer: Peer) -> None:
        """End all calls at a node that is gone; see `Links.cut`."""
        self.links.cut(peer.address)

    def close(self) -> None:
        """End all calls and close all connections."""
        self.links.close()
