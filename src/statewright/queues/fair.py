"""Fair queues: which tenants of a standard queue are noisy, so that receives prefer the others.

Owns the rule alone; tenants are the MessageGroupIds of a standard queue's messages. Source: developer guide, "Amazon
SQS fair queues". The service's own measure of consumers' time is approximate, and so is this one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

NOISY_PERCENT: Final = 10
"""Share of the messages in flight, or of the consumers' time, above which a tenant is noisy. Source: as above."""
NOISY_IN_FLIGHT: Final = 30
"""A tenant with fewer in flight is not noisy for its share of them. Source: as above."""
QUIET_MS: Final = 5 * 60_000
"""A tenant that has sent nothing for so long is quiet again. Source: as above."""
PERIOD_MS: Final = 60_000
"""Length of a period of consumers' time; the present and the last one count. Statewright's choice."""
LEAST_MS: Final = 60_000
"""Consumers' time below which shares of it are ignored. Statewright's choice."""
ALONE: Final = ""
"""Tenant of a message without one, in a queue that has tenants: each such message counts as a tenant of its own."""


class Tenants:
    """Tenants of one queue, and which of them are noisy. Costs nothing while no message has a tenant."""

    __slots__ = ("_began_ms", "_former", "_spent", "is_used", "noisy_since")

    def __init__(self) -> None:
        self.is_used = False
        self.noisy_since: dict[str, int] = {}
        """Noisy tenants, and when they last sent something."""
        self._spent: Counter[str] = Counter()
        self._former: Counter[str] = Counter()
        self._began_ms = 0

    def sent(self, tenant: str, now_ms: int) -> None:
        """A tenant has sent a message."""
        self.is_used = True
        if tenant in self.noisy_since:
            self.noisy_since[tenant] = now_ms

    def spent(self, tenant: str, took_ms: int, now_ms: int) -> None:
        """Count the time for which a consumer had a message of a tenant."""
        self._turn(now_ms)
        self._spent[tenant] += took_ms

    def drained(self) -> None:
        """No message is visible any more, so no tenant has a backlog."""
        self.noisy_since.clear()

    def noisy(self, in_flight: Mapping[str, int], all_in_flight: int, now_ms: int) -> list[str]:
        """The noisy tenants, those with the fewest messages in flight first."""
        if not self.is_used:
            return []
        for tenant, many in in_flight.items():
            if many >= NOISY_IN_FLIGHT and many * 100 > NOISY_PERCENT * all_in_flight and tenant != ALONE:
                self.noisy_since.setdefault(tenant, now_ms)
        self._turn(now_ms)
        total = self._spent.total() + self._former.total()
        if total >= LEAST_MS:
            for tenant in {*self._spent, *self._former} - {ALONE}:
                if (self._spent[tenant] + self._former[tenant]) * 100 > NOISY_PERCENT * total:
                    self.noisy_since.setdefault(tenant, now_ms)
        for tenant in [tenant for tenant, since in self.noisy_since.items() if now_ms - since >= QUIET_MS]:
            del self.noisy_since[tenant]
        return sorted(self.noisy_since, key=lambda tenant: (in_flight.get(tenant, 0), tenant))

    def _turn(self, now_ms: int) -> None:
        periods = (now_ms - self._began_ms) // PERIOD_MS
        if periods > 0:
            self._former = self._spent if periods == 1 else Counter()
            self._spent = Counter()
            self._began_ms = now_ms
