"""Results of authorizers by identity, remembered for their time to live.

Owns the bound on memory: the oldest results go first. Keys are digests, so that no token stays in memory. Time is that
of the server's clock.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

from statewright.apis.authorizers.verdicts import Verdict
from statewright.clock import Clock
from statewright.payload import dump_json

MOST_BYTES: Final = 16 << 20
"""Bytes of answers that are remembered, by region and account. Ours."""
_ENTRY_BYTES: Final = 512
"""Memory of an entry beside its answer, about."""

Key = tuple[str, str, bytes]
"""An API, a stage, and the digest of an authorizer's settings with an identity."""


def key_of(api_id: str, stage: str, authorizer: str, identity: Sequence[Sequence[str]]) -> Key:
    """The key of an identity at an authorizer, which is named by its id and settings."""
    return api_id, stage, hashlib.sha256(dump_json([authorizer, identity]).encode()).digest()


class Results:
    """The results of the authorizers of one region."""

    def __init__(self, clock: Clock, most_bytes: int = MOST_BYTES) -> None:
        self._clock = clock
        self._most_bytes = most_bytes
        self._found: dict[Key, tuple[int, Verdict]] = {}
        self._bytes = 0

    def __len__(self) -> int:
        """How many results are remembered."""
        return len(self._found)

    def get(self, key: Key) -> Verdict | None:
        """The result for an identity; `None` if there is none, or its time is over."""
        found = self._found.get(key)
        if found is None:
            return None
        if found[0] <= self._clock.now_ms():
            self._drop(key)
            return None
        return found[1]

    def put(self, key: Key, verdict: Verdict, ttl_ms: int) -> None:
        """Remember a result for a time."""
        self._drop(key)
        self._found[key] = self._clock.now_ms() + ttl_ms, verdict
        self._bytes += verdict.size_bytes + _ENTRY_BYTES
        while self._bytes > self._most_bytes:
            self._drop(next(iter(self._found)))

    def flush(self, api_id: str, stage: str) -> None:
        """Forget the results of a stage."""
        for key in [key for key in self._found if key[:2] == (api_id, stage)]:
            self._drop(key)

    def _drop(self, key: Key) -> None:
        found = self._found.pop(key, None)
        if found is not None:
            self._bytes -= found[1].size_bytes + _ENTRY_BYTES
