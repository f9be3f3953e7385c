"""Signatures of calls between nodes.

1. The cluster's secret is known to its nodes alone. A signature is HMAC-SHA256 over the sender's name, the method, the
   path with its query, the time, a number, what else the sender says, and the hash of the body.
2. A call is refused if its time differs by more than `MOST_MS` from the receiver's.
3. The number is the sender's run, drawn at its start, and a count. A receiver remembers, for each run, the counts that
   it has seen: the highest and a window below it, in bits. A count below the window, or seen before, is refused. So
   memory is bounded by the number of runs in `MOST_MS`, each of which was begun with the secret.
4. A request that is passed on is signed without its body (`MARK`), which streams; the client's own signature covers
   that. Such a signature is good for nothing else: it is over another kind of hash.

Calls are signed, not encrypted: the network between nodes must be private, or have TLS of its own.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from statewright import chance
from statewright.clock import Clock

NODE: Final = b"x-statewright-node"
"""Names the node that makes a call, or has passed a request on."""
SIGNATURE: Final = b"x-statewright-signature"
CLIENT: Final = b"x-statewright-client"
"""The address of the client of a request that was passed on: `host port`."""
MOVED: Final = b"x-statewright-moved"
"""On an answer: the node does not have what it was asked for. Its value proves that the node says so."""
HEADERS: Final = frozenset({NODE, SIGNATURE, CLIENT})
"""Headers of requests that only nodes may send."""

MOST_MS: Final = 30_000
WINDOW: Final = 1 << 14
"""Calls of one sender that may overtake another one."""
MARK: Final = "-"
_KEEP_MS: Final = 2 * MOST_MS
_SWEEP_ABOVE: Final = 64

Headers = Iterable[tuple[bytes, bytes]]


class Refused(Exception):
    """A call whose signature is missing, wrong, old or used before."""


@dataclass(frozen=True, slots=True)
class Signed:
    """The contents of a verified signature: the sender's name, and the client of a request that was passed on."""

    node: str
    signature: bytes
    digest: str
    client: tuple[str, int] | None = None

    def covers(self, body: bytes) -> bool:
        """True if the call was signed with this body."""
        return hmac.compare_digest(self.digest, hashlib.sha256(body).hexdigest())


class Signer:
    """Signs calls of one process."""

    def __init__(self, secret: bytes, name: str, clock: Clock) -> None:
        self._key = secret
        self._name = name.encode("latin-1", "replace")
        self._clock = clock
        # Not from `random_bytes`: two processes with the same seed would share a run.
        self._run = chance.secret_bytes(8).hex()
        self._count = 0

    def call(self, method: str, path: str, body: bytes) -> list[tuple[bytes, bytes]]:
        """The headers of a call between nodes; `path` includes the query."""
        return self._headers(method, path, "", hashlib.sha256(body).hexdigest())

    def mark(self, method: str, path: str, client: tuple[str, int] | None) -> list[tuple[bytes, bytes]]:
        """The headers of a request that is passed on, whose client this is."""
        return self._headers(method, path, f"{client[0]} {client[1]}" if client is not None else "", MARK)

    def _headers(self, method: str, path: str, client: str, body: str) -> list[tuple[bytes, bytes]]:
        self._count += 1
        said = f"{self._clock.now_ms()}.{self._run}.{self._count}.{body}"
        code = _code(self._key, self._name.decode("latin-1"), method, path, said, client)
        headers = [(NODE, self._name), (SIGNATURE, f"{said}.{code}".encode())]
        if client:
            headers.append((CLIENT, client.encode("latin-1")))
        return headers


class Verifier:
    """Verifies the calls that reach one process, and answers that a call has moved."""

    def __init__(self, secret: bytes, clock: Clock) -> None:
        self._key = secret
        self._clock = clock
        self._seen: dict[str, _Seen] = {}

    def check(self, method: str, path: str, headers: Headers, *, is_mark: bool = False) -> Signed:
        """The sender of a call, by its head; then `Signed.covers` compares the body.

        `is_mark` is for a request that is passed on. Raises: Refused.
        """
        given: dict[bytes, bytes] = {}
        for name, value in headers:
            if name in HEADERS:
                if name in given:
                    raise Refused("a header of nodes is there twice")
                given[name] = value
        node, client = given.get(NODE, b"").decode("latin-1"), given.get(CLIENT, b"").decode("latin-1")
        signature = given.get(SIGNATURE, b"")
        said, _, code = signature.decode("latin-1").rpartition(".")
        right = _code(self._key, node, method, path, said, client)
        if not hmac.compare_digest(code.encode("latin-1"), right.encode()):
            raise Refused("the signature is not that of a node of this cluster")
        # What follows was written by a node.
        ms, run, count, digest = said.split(".")
        if is_mark != (digest == MARK):
            raise Refused("the signature is for something else")
        now_ms = self._clock.now_ms()
        if abs(now_ms - int(ms)) > MOST_MS:
            raise Refused(f"the clocks of {node} and of this node differ by {abs(now_ms - int(ms)) // 1000} s")
        if not self._is_new(run, int(count), now_ms):
            raise Refused("the call was made before")
        host, _, port = client.rpartition(" ")
        return Signed(node, signature, digest, (host, int(port)) if client else None)

    def _is_new(self, run: str, count: int, now_ms: int) -> bool:
        seen = self._seen.get(run)
        if seen is None:
            if len(self._seen) >= _SWEEP_ABOVE:
                self._seen = {name: one for name, one in self._seen.items() if now_ms - one.at_ms <= _KEEP_MS}
            seen = self._seen[run] = _Seen()
        seen.at_ms = now_ms
        return seen.is_new(count)

    def moved(self, asked: bytes) -> tuple[bytes, bytes]:
        """The header that says to the sender of this signature that its call is for another node."""
        return MOVED, _moved(self._key, asked)


def is_moved(secret: bytes, asked: bytes, answer: Headers) -> bool:
    """True if an answer says, by the header of `Verifier.moved`, that the call of this signature has moved.

    What functions and services answer cannot say it: the header needs the secret.
    """
    return any(name.lower() == MOVED and hmac.compare_digest(value, _moved(secret, asked)) for name, value in answer)


class _Seen:
    """The counts of one run that have been seen: the highest, and a bit for each below it."""

    __slots__ = ("at_ms", "bits", "highest")

    def __init__(self) -> None:
        self.at_ms = 0
        self.highest = 0
        self.bits = 0

    def is_new(self, count: int) -> bool:
        ahead = count - self.highest
        if ahead > 0:
            # A long gap leaves nothing of the window.
            self.bits = (self.bits << ahead | 1) & _ALL if ahead < WINDOW else 1
            self.highest = count
            return True
        bit = 1 << -ahead
        if -ahead >= WINDOW or self.bits & bit:
            return False
        self.bits |= bit
        return True


_ALL: Final = (1 << WINDOW) - 1


def _code(key: bytes, node: str, method: str, path: str, said: str, client: str) -> str:
    text = "\n".join((node, method, path, said, client))
    return hmac.digest(key, text.encode("latin-1", "replace"), "sha256").hex()


def _moved(key: bytes, asked: bytes) -> bytes:
    return hmac.new(key, b"moved\n" + asked, hashlib.sha256).hexdigest().encode()
