"""Values of replays that come from the clock or from chance, so that they are no change of a definition.

Both definitions are replayed once more, with other draws and a later clock. A value that differs between the two
definitions is by chance only if it is on both: on the recorded one, where it is not what was recorded or changes with
the draws, and on the other one. These replays are made when the first value differs, and only for definitions that read
the clock or draw at all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Final

from statewright.payload import Json
from statewright.simulator.differences import Difference, Place, differences
from statewright.simulator.recorded import RecordedExecution
from statewright.simulator.replay import Chance, Replay

OTHER: Final = Chance(b"statewright-replay-with-other-draws", later_ms=1_001)
_MOST: Final = 100_000
"""Places at which two values may differ; more are not looked at."""

ValueOf = Callable[[RecordedExecution], Json]


class ByChance:
    """Differences of two replays without those that are by chance. `first` is on the recorded definition."""

    def __init__(
        self,
        recorded: RecordedExecution,
        first: Replay,
        second: Replay,
        again: tuple[Callable[[], Replay], Callable[[], Replay]] | None,
    ) -> None:
        """`again` replays on either definition with the chance `OTHER`; None if the recorded one has no chance."""
        self._recorded = recorded
        self._first = first
        self._second = second
        self._again = again

    def change(self, value_of: ValueOf) -> Difference | None:
        """The first difference of a value of the two replays that is not by chance."""
        before, after = value_of(self._first.recorded), value_of(self._second.recorded)
        found = differences(before, after, most=1 if self._again is None else _MOST)
        if not found or self._again is None:
            return found[0] if found else None
        drawn = _places(value_of(self._recorded), before)
        if self._first_again is not None:
            drawn |= _places(before, value_of(self._first_again.recorded))
        if self._second_again is not None:
            drawn &= _places(after, value_of(self._second_again.recorded))
        return next((one for one in found if one.place not in drawn), None)

    @cached_property
    def _first_again(self) -> Replay | None:
        assert self._again is not None
        return _if_alike(self._first, self._again[0]())

    @cached_property
    def _second_again(self) -> Replay | None:
        assert self._again is not None
        return _if_alike(self._second, self._again[1]())


def _if_alike(replay: Replay, again: Replay) -> Replay | None:
    """The second replay, unless other draws led it elsewhere, so that its values say nothing."""
    ends = [
        (one.recorded.status, one.recorded.error, one.recorded.path, one.missing is None) for one in (replay, again)
    ]
    return again if ends[0] == ends[1] else None


def _places(a: Json, b: Json) -> set[Place]:
    return {one.place for one in differences(a, b, most=_MOST)}
