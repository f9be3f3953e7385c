"""Matching of one event with patterns: the work done so far, and the indexes that all patterns share.

Patterns look scalars up, but try wildcards and negations on each element of an array, so that a large event and large
patterns take time out of proportion to both. That work is counted here, and `TooMuchWork` ends it at the bound that a
caller sets: a driver on an event loop sets a low one, and repeats the matching in a thread with a higher one.
Ordinary events, of scalars and short arrays, cost next to nothing of it.
"""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Sequence
from functools import cached_property
from typing import Final

from statewright.payload import Json
from statewright.query.comparison import frozen

LOOP_WORK: Final = 100_000
"""Work that matching may cost on an event loop, in comparisons of about 0.2 microseconds. Ours."""
MOST_WORK: Final = 2_500_000
"""Work that matching one event may cost anywhere: half a second. Ours."""

MANY: Final = 32
"""Elements from which an array is indexed."""
SCALARS: Final = frozenset((str, int, float, bool, type(None)))
_ORDERS: Final = 8
"""Comparisons for each element of an array that is indexed: it may be put in several orders."""
_TYPES: Final = 8
"""Elements whose types are looked at in the time of one comparison."""
_LONGEST_ADDRESS: Final = 256
"""Characters of an IPv6 address with its zone. Ours."""
_ADDRESS_4: Final = re.compile(r"\.".join(["(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"] * 4))
_ADDRESS_6: Final = re.compile(r"[0-9A-Fa-f:.]*:.*", re.DOTALL)
"""The characters of IPv6 addresses."""


class TooMuchWork(Exception):
    """Raised when matching an event would cost more than the bound."""


class Matching:
    """The matching of one event, or of several under one bound. Used by one thread at a time.

    `most` is the bound, as for `LOOP_WORK`; None for events that are small by their nature. Values that are matched
    must live, unchanged, as long as this object.
    """

    __slots__ = ("_indexes", "_leaves", "_left")

    def __init__(self, most: int | None = None) -> None:
        self._left: float = math.inf if most is None else most
        self._indexes: dict[int, Index] = {}
        self._leaves: dict[int, Sequence[Json]] = {}

    def spend(self, work: int) -> None:
        """Count some work before it is done. Raises: TooMuchWork."""
        self._left -= work
        if self._left < 0:
            raise TooMuchWork

    def index(self, values: Sequence[Json]) -> Index:
        """The index of an array, made once for all patterns. Raises: TooMuchWork."""
        found = self._indexes.get(id(values))
        if found is None:
            self.spend(_ORDERS * len(values))
            found = self._indexes[id(values)] = Index(values)
        return found

    def leaves(self, values: Sequence[Json]) -> Sequence[Json]:
        """The elements of an array that are no objects, and those of the arrays in it. Raises: TooMuchWork."""
        if len(values) < MANY:
            return _leaves_of(values)
        found = self._leaves.get(id(values))
        if found is None:
            self.spend(len(values) // _TYPES)
            found = self._leaves[id(values)] = _leaves_of(values)
        return found


def _leaves_of(values: Sequence[Json]) -> Sequence[Json]:
    kinds = set(map(type, values))
    if dict not in kinds and list not in kinds:
        return values
    found: list[Json] = []
    rest = list(reversed(values))
    while rest:
        value = rest.pop()
        if isinstance(value, list):
            rest += reversed(value)
        elif not isinstance(value, dict):
            found.append(value)
    return found


class Index:
    """The elements of a long array in the orders in which leaves look them up; each is made once, when it is needed."""

    def __init__(self, values: Sequence[Json]) -> None:
        self.values = values

    @cached_property
    def scalars(self) -> frozenset[object]:
        """The scalars, as keys."""
        return frozenset(frozen(value) for value in self.values if type(value) in SCALARS)

    @cached_property
    def folded(self) -> frozenset[str]:
        """The texts without regard to case."""
        return frozenset(text.casefold() for text in self._texts)

    @cached_property
    def _texts(self) -> list[str]:
        return sorted({value for value in self.values if type(value) is str})

    @cached_property
    def _reversed(self) -> list[str]:
        return sorted(text[::-1] for text in self._texts)

    @cached_property
    def _folded_texts(self) -> list[str]:
        return sorted(self.folded)

    @cached_property
    def _folded_reversed(self) -> list[str]:
        return sorted(text[::-1] for text in self.folded)

    @cached_property
    def _numbers(self) -> list[float]:
        return sorted(
            # Whole numbers may be too long for floats; NaN, which has no place in an order, does not equal itself.
            value
            for value in self.values
            if (type(value) is int or type(value) is float) and value == value
        )

    @cached_property
    def _addresses(self) -> dict[int, list[float]]:
        found: dict[int, list[float]] = {4: [], 6: []}
        for text in self._texts:
            address = address_of(text)
            if address is not None:
                found[address[0]].append(address[1])
        return {version: sorted(numbers) for version, numbers in found.items()}

    def addresses(self, version: int) -> list[float]:
        """The IP addresses of a version as numbers, in order."""
        return self._addresses[version]

    def texts(self) -> list[str]:
        """The distinct texts in order."""
        return self._texts

    def reversed(self) -> list[str]:
        """The texts, each from its end, in order."""
        return self._reversed

    def folded_texts(self) -> list[str]:
        """The texts without regard to case, in order."""
        return self._folded_texts

    def folded_reversed(self) -> list[str]:
        """The texts without regard to case, each from its end, in order."""
        return self._folded_reversed

    def numbers(self) -> list[float]:
        """The numbers in order."""
        return self._numbers


def address_of(text: str) -> tuple[int, int] | None:
    """The version of an IP address and its number; None for any other text."""
    # Most texts are no IPv6 addresses, and an exception for each costs more than all the rest.
    found = _ADDRESS_4.fullmatch(text)
    if found is not None:
        one, two, three, four = map(int, found.groups())
        return 4, one << 24 | two << 16 | three << 8 | four
    if len(text) > _LONGEST_ADDRESS or _ADDRESS_6.fullmatch(text) is None:
        return None
    try:
        return 6, int(ipaddress.IPv6Address(text))
    except ValueError:
        return None
