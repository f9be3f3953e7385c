"""Leaves of event patterns: lists of accepted values, merged so that a value is tested in little more than one look-up.

Owns the merging: equal values become a set, prefixes and suffixes a sorted list without those that another one covers,
numeric ranges and networks disjoint intervals. An array of an event is indexed once for all the leaves that read it:
only wildcards, negations and tests for existence look at its elements one by one.
The usual leaf, of a few values or one operator, is compiled to a plain comparison, which costs less than a look-up.
Leaves the syntax of patterns to `event_pattern`, the indexes and the count of work to `matching`.
"""

from __future__ import annotations

import ipaddress
import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from statewright.payload import Json
from statewright.query.comparison import frozen
from statewright.query.matching import MANY, SCALARS, Matching, address_of

Test = Callable[[Json, Matching], bool]
"""Tests one value; an object that is no JSON value stands for a missing one. Raises: TooMuchWork, as `ArrayTest`."""
ArrayTest = Callable[[Sequence[Json], Matching], bool]
"""Tests an array with elements: true if one of them passes."""
Span = tuple[float, bool, float, bool]
"""A range of numbers: its ends, lower first, and for each if it belongs to the range."""

FEW: Final = 4
"""Values up to which a leaf compares with each one."""


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

    def of_array(values: Sequence[Json], matching: Matching) -> bool:
        if len(values) < MANY:
            for value in values:  # noqa: SIM110 - a generator costs more than most arrays
                if plain(value, matching):
                    return True
            return False
        return leaf.of_array(values, matching)

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
        return lambda value, _: isinstance(value, str) and value.startswith(prefix)
    if accepted.suffixes:
        suffix = accepted.suffixes[0]
        return lambda value, _: isinstance(value, str) and value.endswith(suffix)
    if accepted.folded:
        folded = accepted.folded[0].casefold()
        # Folding makes no text shorter.
        return lambda value, _: isinstance(value, str) and len(value) <= len(folded) and value.casefold() == folded
    return _in_span(accepted.spans[0]) if accepted.spans else None


def _equal_to(wanted: list[Json]) -> Test:
    """A test for equality with one of a few scalars."""
    if all(isinstance(one, str) for one in wanted):
        # A text equals no value of another type.
        text, texts = wanted[0], tuple(wanted)
        if len(texts) == 1:
            return lambda value, _: bool(value == text)
        return lambda value, _: value in texts
    if len(wanted) == 1:
        one = wanted[0]
        if isinstance(one, bool) or one is None:
            return lambda value, _: value is one
        return lambda value, _: isinstance(value, (int, float)) and not isinstance(value, bool) and value == one
    keys = frozenset(frozen(one) for one in wanted)
    return lambda value, _: type(value) in SCALARS and frozen(value) in keys


def _in_span(span: Span) -> Test:
    low, has_low, high, has_high = span

    def test(value: Json, _: Matching) -> bool:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        return (low < value or (has_low and low == value)) and (value < high or (has_high and value == high))

    return test


class Leaf:
    """A compiled leaf: `leaf(value)` is true if it accepts the value, `of_array` if it accepts one of many."""

    __slots__ = (
        "_equal", "_folded", "_folded_heads", "_folded_tails", "_heads", "_more", "_most", "_networks", "_others",
        "_spans", "_tails", "_texts",
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
        texts = (self._folded, self._heads, self._folded_heads, self._tails, self._folded_tails)
        self._most = max((len(text) for kind in texts for text in kind), default=0) or 1
        """The characters of a text that decide, from its start or from its end."""
        self._others = tuple(accepted.others)
        self._texts = bool(
            self._folded or self._heads or self._folded_heads or self._tails or self._folded_tails or self._networks
        )
        self._more = bool(self._texts or self._spans or self._others)

    def __call__(self, value: Json, matching: Matching) -> bool:
        """True if the leaf accepts a value."""
        kind = type(value)
        if kind is str:
            if value in self._equal:
                return True
        elif kind in SCALARS and self._equal and frozen(value) in self._equal:
            return True
        return self._more and self._but_equal(value, kind, matching)

    def of_array(self, values: Sequence[Json], matching: Matching) -> bool:
        """True if the leaf accepts one of the elements of a long array."""
        index = matching.index(values)
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
        if not self._others:
            return False
        matching.spend(len(values) * len(self._others))
        return any(test(value, matching) for value in values for test in self._others)

    def _but_equal(self, value: Json, kind: type, matching: Matching) -> bool:
        if kind is str:
            if self._texts and self._accepts_text(value):
                return True
        elif self._spans and (kind is int or kind is float) and value == value and _within(self._spans, value):
            return True
        return bool(self._others) and any(test(value, matching) for test in self._others)

    def _accepts_text(self, text: str) -> bool:
        most = self._most
        if _covers(self._heads, text) or (self._tails and _covers(self._tails, text[-most:][::-1])):
            return True
        # Folding makes no text shorter, so what is longer than all accepted texts need not be folded.
        if self._folded and len(text) <= most and text.casefold() in self._folded:
            return True
        if self._folded_heads and _covers(self._folded_heads, text[:most].casefold()):
            return True
        if self._folded_tails and _covers(self._folded_tails, text[-most:].casefold()[::-1]):
            return True
        return bool(self._networks) and self._accepts_address(text)

    def _accepts_address(self, text: str) -> bool:
        address = address_of(text)
        return address is not None and _within(self._networks.get(address[0], ()), address[1])


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
