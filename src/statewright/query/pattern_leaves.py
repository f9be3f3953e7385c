"""Leaves of event patterns: lists of accepted values, merged so that a value is tested in little more than one look-up.

Owns the merging: equal values become a set, prefixes and suffixes a sorted list without those that another one covers,
numeric ranges and networks disjoint intervals. An array of an event is indexed once for all the leaves that read it:
only wildcards, negations and tests for existence look at its elements one by one.
The usual leaf, of a few values or one operator, is compiled to a plain comparison, which costs less than a look-up.
Leaves the syntax of patterns to `event_pattern`.
"""

from __future__ import annotations

import ipaddress
import math
import re
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from operator import contains, eq
from typing import Final

from statewright.payload import Json
from statewright.query.comparison import frozen

Test = Callable[[Json], bool]
"""Tests one value; an object that is no JSON value stands for a missing one."""
ArrayTest = Callable[[Sequence[Json]], bool]
"""Tests an array with elements: true if one of them passes."""
Span = tuple[float, bool, float, bool]
"""A range of numbers: its ends, lower first, and for each if it belongs to the range."""

FEW: Final = 4
"""Values up to which a leaf compares with each one."""
MANY: Final = 32
"""Elements from which an array is indexed."""
_INDEXED: Final = 4
"""Arrays whose indexes are kept: those of the event at hand, for the next pattern."""
_LONGEST_ADDRESS: Final = 256
"""Characters of an IPv6 address with its zone. Ours."""
_ADDRESS_4: Final = re.compile(r"\.".join(["(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"] * 4))
_ADDRESS_6: Final = re.compile(r"[0-9A-Fa-f:.]*:.*", re.DOTALL)
"""The characters of IPv6 addresses."""
_SCALARS: Final = frozenset((str, int, float, bool, type(None)))


@dataclass(slots=True)
class Accepted:
    """The accepted values of one leaf, by kind. `folded` texts are compared without regard to case."""

    equal: list[Json] = field(default_factory=list)
    folded: list[str] = field(default_factory=list)
    prefixes: list[str] = field(default_factory=list)
    folded_prefixes: list[str] = field(default_factory=list)
    suffixes: list[str] = field(default_factory=list)
    folded_suffixes: list[str] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    networks: list[ipaddress.IPv4Network | ipaddress.IPv6Network] = field(default_factory=list)
    others: list[Test] = field(default_factory=list)

    def kinds(self) -> tuple[Sequence[object], ...]:
        """The accepted values of each kind."""
        return (
            self.equal, self.folded, self.prefixes, self.folded_prefixes, self.suffixes, self.folded_suffixes,
            self.spans, self.networks, self.others,
        )  # fmt: skip


def compile_leaf(accepted: Accepted) -> tuple[Test, ArrayTest]:
    """The tests of a leaf for a value and for an array."""
    leaf = Leaf(accepted)
    plain = _plain_test(accepted) or leaf

    def of_array(values: Sequence[Json]) -> bool:
        if len(values) < MANY:
            for value in values:  # noqa: SIM110 - a generator costs more than most arrays
                if plain(value):
                    return True
            return False
        return leaf.of_array(values)

    return plain, of_array


def _plain_test(accepted: Accepted) -> Test | None:
    """A test that compares with each accepted value; None if they are many, or of several kinds."""
    kinds = [values for values in accepted.kinds() if values]
    if len(kinds) != 1 or len(kinds[0]) > FEW:
        return None
    if accepted.equal:
        return _equal_to(accepted.equal)
    if len(kinds[0]) > 1:
        return None
    if accepted.others:
        return accepted.others[0]
    if accepted.prefixes:
        prefix = accepted.prefixes[0]
        return lambda value: isinstance(value, str) and value.startswith(prefix)
    if accepted.suffixes:
        suffix = accepted.suffixes[0]
        return lambda value: isinstance(value, str) and value.endswith(suffix)
    if accepted.folded:
        folded = accepted.folded[0].casefold()
        return lambda value: isinstance(value, str) and value.casefold() == folded
    return _in_span(accepted.spans[0]) if accepted.spans else None


def _equal_to(wanted: list[Json]) -> Test:
    """A test for equality with one of a few scalars."""
    if all(isinstance(one, str) for one in wanted):
        # A text equals no value of another type.
        return partial(eq, wanted[0]) if len(wanted) == 1 else partial(contains, tuple(wanted))
    if len(wanted) == 1:
        one = wanted[0]
        if isinstance(one, bool) or one is None:
            return lambda value: value is one
        return lambda value: isinstance(value, (int, float)) and not isinstance(value, bool) and value == one
    keys = frozenset(frozen(one) for one in wanted)
    return lambda value: type(value) in _SCALARS and frozen(value) in keys


def _in_span(span: Span) -> Test:
    low, has_low, high, has_high = span

    def test(value: Json) -> bool:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        return (low < value or (has_low and low == value)) and (value < high or (has_high and value == high))

    return test


class Leaf:
    """A compiled leaf: `leaf(value)` is true if it accepts the value, `of_array` if it accepts one of many."""

    __slots__ = (
        "_equal", "_folded", "_folded_heads", "_folded_tails", "_heads", "_more", "_networks", "_others", "_spans",
        "_tails", "_texts",
    )  # fmt: skip

    def __init__(self, accepted: Accepted) -> None:
        self._equal = frozenset(frozen(one) for one in accepted.equal)
        self._folded = frozenset(text.casefold() for text in accepted.folded)
        self._heads = _uncovered(accepted.prefixes)
        self._folded_heads = _uncovered(text.casefold() for text in accepted.folded_prefixes)
        self._tails = _uncovered(text[::-1] for text in accepted.suffixes)
        self._folded_tails = _uncovered(text.casefold()[::-1] for text in accepted.folded_suffixes)
        self._spans = _merged(accepted.spans)
        self._networks: dict[int, tuple[Span, ...]] = {
            version: _merged(
                (int(one.network_address), True, int(one.broadcast_address), True)
                for one in accepted.networks
                if one.version == version
            )
            for version in {one.version for one in accepted.networks}
        }
        self._others = tuple(accepted.others)
        self._texts = bool(
            self._folded or self._heads or self._folded_heads or self._tails or self._folded_tails or self._networks
        )
        self._more = bool(self._texts or self._spans or self._others)

    def __call__(self, value: Json) -> bool:
        """True if the leaf accepts a value."""
        kind = type(value)
        if kind is str:
            if value in self._equal:
                return True
        elif kind in _SCALARS and self._equal and frozen(value) in self._equal:
            return True
        return self._more and self._but_equal(value, kind)

    def of_array(self, values: Sequence[Json]) -> bool:
        """True if the leaf accepts one of the elements of a long array."""
        index = _index_of(values)
        if self._equal and not self._equal.isdisjoint(index.scalars):
            return True
        if self._folded and not self._folded.isdisjoint(index.folded):
            return True
        if _any_covered(self._heads, index.texts) or _any_covered(self._tails, index.reversed):
            return True
        if _any_covered(self._folded_heads, index.folded_texts):
            return True
        if _any_covered(self._folded_tails, index.folded_reversed) or _any_within(self._spans, index.numbers):
            return True
        if any(_any_within(spans, partial(index.addresses, version)) for version, spans in self._networks.items()):
            return True
        return bool(self._others) and any(test(value) for value in values for test in self._others)

    def _but_equal(self, value: Json, kind: type) -> bool:
        if kind is str:
            if self._texts and self._accepts_text(value):
                return True
        elif self._spans and (kind is int or kind is float) and not math.isnan(value) and _within(self._spans, value):
            return True
        return bool(self._others) and any(test(value) for test in self._others)

    def _accepts_text(self, text: str) -> bool:
        if _covers(self._heads, text) or (self._tails and _covers(self._tails, text[::-1])):
            return True
        if self._folded or self._folded_heads or self._folded_tails:
            folded = text.casefold()
            if folded in self._folded or _covers(self._folded_heads, folded):
                return True
            if self._folded_tails and _covers(self._folded_tails, folded[::-1]):
                return True
        return bool(self._networks) and self._accepts_address(text)

    def _accepts_address(self, text: str) -> bool:
        address = _address_of(text)
        return address is not None and _within(self._networks.get(address[0], ()), address[1])


def _address_of(text: str) -> tuple[int, int] | None:
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


def _uncovered(texts: Iterable[str]) -> tuple[str, ...]:
    """The texts in order, without those that begin with another one."""
    kept: list[str] = []
    for text in sorted(set(texts)):
        # What begins with a kept text follows it immediately.
        if not kept or not text.startswith(kept[-1]):
            kept.append(text)
    return tuple(kept)


def _covers(heads: tuple[str, ...], text: str) -> bool:
    """True if a text begins with one of the heads, of which none begins with another: only the last one before it."""
    place = bisect_right(heads, text)
    return place > 0 and text.startswith(heads[place - 1])


def _merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    """The same numbers in disjoint spans, in order."""
    merged: list[Span] = []
    for low, has_low, high, has_high in sorted(spans, key=lambda span: (span[0], not span[1])):
        if merged:
            start, has_start, end, has_end = merged[-1]
            if low < end or (low == end and (has_low or has_end)):
                last = max((end, has_end), (high, has_high))
                merged[-1] = (start, has_start, *last)
                continue
        merged.append((low, has_low, high, has_high))
    return tuple(merged)


def _within(spans: Sequence[Span], number: float) -> bool:
    place = bisect_right(spans, (number, True, math.inf, True))
    # The span that begins last, at the number or before it; one that begins there without it may hide its neighbour.
    for low, has_low, high, has_high in spans[max(place - 2, 0) : place]:
        if (low < number or (low == number and has_low)) and (number < high or (number == high and has_high)):
            return True
    return False


def _any_covered(heads: tuple[str, ...], texts: Callable[[], list[str]]) -> bool:
    """True if one of the texts, which are in order, begins with one of the heads."""
    if not heads:
        return False
    found = texts()
    for head in heads:
        # The least text that is not before the head begins with it, or none does.
        place = bisect_left(found, head)
        if place < len(found) and found[place].startswith(head):
            return True
    return False


def _any_within(spans: Sequence[Span], numbers: Callable[[], list[float]]) -> bool:
    """True if one of the numbers, which are in order, lies in one of the spans."""
    if not spans:
        return False
    found = numbers()
    for low, has_low, high, has_high in spans:
        place = bisect_left(found, low) if has_low else bisect_right(found, low)
        if place < len(found) and (found[place] < high or (has_high and found[place] == high)):
            return True
    return False


class _Index:
    """The elements of a long array in the orders in which leaves look them up; each is made once, when it is needed."""

    def __init__(self, values: Sequence[Json]) -> None:
        self.values = values

    @cached_property
    def scalars(self) -> frozenset[object]:
        """The scalars, as keys."""
        return frozenset(frozen(value) for value in self.values if type(value) in _SCALARS)

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
            value for value in self.values if (type(value) is int or type(value) is float) and not math.isnan(value)
        )

    @cached_property
    def _addresses(self) -> dict[int, list[float]]:
        found: dict[int, list[float]] = {4: [], 6: []}
        for text in self._texts:
            address = _address_of(text)
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


_INDEXES: Final[OrderedDict[int, _Index]] = OrderedDict()


def _index_of(values: Sequence[Json]) -> _Index:
    """The index of an array; made once while patterns look at the same array."""
    known = _INDEXES.get(id(values))
    if known is not None and known.values is values:
        return known
    # An array that is kept cannot lend its id to another one.
    index = _INDEXES[id(values)] = _Index(values)
    if len(_INDEXES) > _INDEXED:
        _INDEXES.popitem(last=False)
    return index
