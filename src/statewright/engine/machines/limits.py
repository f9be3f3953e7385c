"""How many executions of a machine may run: the tags that say so, and what they may say.

`engine.concurrency.admission` keeps to it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from statewright.errors import ApiError

MOST_AT_ONCE: Final = "statewright:maxConcurrentExecutions"
MOST_PER_SECOND: Final = "statewright:maxStartsPerSecond"
LIMIT_TAGS: Final = (MOST_AT_ONCE, MOST_PER_SECOND)


@dataclass(frozen=True, slots=True)
class Limit:
    """How many executions of a machine run at once, and how many start in a second; `None` for any number."""

    at_once: int | None = None
    per_second: float | None = None


OnLimit = Callable[[int, str, Limit | None], Awaitable[None]]
"""Called with the id and ARN of a machine, and the limit that its tags give it from now on."""


async def no_limits(_machine: int, _arn: str, _limit: Limit | None) -> None:
    """The `OnLimit` of a catalogue without an engine."""


def limit_of(tags: Mapping[str, str]) -> Limit | None:
    """The limit that a machine's tags give it, if any.

    Raises: ApiError (`ValidationException`) for a tag of Statewright's own with a value that is no limit.
    """
    at_once, per_second = tags.get(MOST_AT_ONCE), tags.get(MOST_PER_SECOND)
    if at_once is None and per_second is None:
        return None
    if at_once is not None and not (at_once.isascii() and at_once.isdigit() and int(at_once) > 0):
        text = f"The tag {MOST_AT_ONCE} is a whole number of at least 1, not '{at_once}'."
        raise ApiError("ValidationException", text)
    try:
        rate = float(per_second) if per_second is not None else None
    except ValueError:
        rate = -1.0
    if rate is not None and not 0 < rate < 1e6:
        raise ApiError("ValidationException", f"The tag {MOST_PER_SECOND} is a number above 0, not '{per_second}'.")
    return Limit(int(at_once) if at_once is not None else None, rate)
