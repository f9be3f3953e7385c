"""Stand-ins for the parts that only the home of a cluster has. A worker has these, and they refuse every call."""

from __future__ import annotations

from typing import NoReturn

from statewright.engine.activities import Activities
from statewright.errors import StoreError


class Away:
    """Stands for a part that is elsewhere. `what` names it in the refusal: "semaphores"."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __getattr__(self, name: str) -> NoReturn:
        raise refusal(self._what)


class ActivitiesAway(Activities):
    """Activities of a worker: no task is offered and none is taken."""

    async def poll(self, *_: object, **__: object) -> tuple[str, str] | None:
        """Refuse. Raises: StoreError."""
        raise refusal("activities")

    def offer(self, *_: object, **__: object) -> None:
        """Refuse. Raises: StoreError."""
        raise refusal("activities")


def refusal(what: str) -> StoreError:
    """The error for a part that a worker does not have."""
    return StoreError(f"a worker has no {what}: they are at the home of the cluster")
