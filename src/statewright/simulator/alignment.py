"""Two stories side by side: which visits of one are which of the other, and where their ways part.

Visits are aligned strand by strand: the execution itself, each branch, each item. The order of events of different
strands, which is chance, does not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from statewright.simulator.differences import sequence_changes
from statewright.simulator.story import Story, Strand, Visit


@dataclass(frozen=True, slots=True)
class Pair:
    """A visit of each story; None where one of them has no such visit."""

    a: Visit | None
    b: Visit | None

    @property
    def name(self) -> str:
        """The state's name."""
        visit = self.a or self.b
        assert visit is not None
        return visit.name


@dataclass(frozen=True, slots=True)
class Parting:
    """The place where two ways part: after `after`, on to `a` and `b`. None stands for the end, or for a beginning."""

    after: Pair | None
    a: Visit | None
    b: Visit | None


@dataclass(frozen=True, slots=True)
class Alignment:
    """All visits in pairs, outer before inner, and where strands part, the first in time first."""

    pairs: list[Pair]
    partings: list[Parting]


def align(a: Story, b: Story) -> Alignment:
    """Align two stories."""
    pairs: list[Pair] = []
    partings: list[Parting] = []
    pending: list[tuple[Strand | None, Strand | None]] = [(a.root, b.root)]
    while pending:
        left, right = pending.pop()
        found, parting = _strands(left.visits if left else [], right.visits if right else [])
        if parting is not None and left is not None and right is not None:
            partings.append(parting)
        pairs += found
        inner = [both for pair in found for both in _inner(pair)]
        pending.extend(reversed(inner))
    return Alignment(pairs, sorted(partings, key=moment_of))


def _strands(a: Sequence[Visit], b: Sequence[Visit]) -> tuple[list[Pair], Parting | None]:
    """The visits of two strands in pairs, and where they part."""
    pairs: list[Pair] = []
    parting: Parting | None = None
    at_a = at_b = 0
    for kind, _ in sequence_changes([visit.name for visit in a], [visit.name for visit in b]):
        if kind != "same" and parting is None:
            after = pairs[-1] if pairs else None
            parting = Parting(after, a[at_a] if at_a < len(a) else None, b[at_b] if at_b < len(b) else None)
        left = a[at_a] if kind != "extra" else None
        right = b[at_b] if kind != "missing" else None
        at_a += left is not None
        at_b += right is not None
        pairs.append(Pair(left, right))
    return pairs, parting


def _inner(pair: Pair) -> list[tuple[Strand | None, Strand | None]]:
    """The strands inside two visits, attempt by attempt, by their kind and index."""
    left = pair.a.attempts if pair.a is not None else []
    right = pair.b.attempts if pair.b is not None else []
    found: list[tuple[Strand | None, Strand | None]] = []
    for number in range(max(len(left), len(right))):
        ours = {one.index: one for one in left[number].strands} if number < len(left) else {}
        theirs = {one.index: one for one in right[number].strands} if number < len(right) else {}
        found += [(ours.get(index), theirs.get(index)) for index in sorted({*ours, *theirs})]
    return found


def moment_of(parting: Parting) -> int:
    """The event at which the ways part, in the second story; in the first where the second has nothing there."""
    if parting.b is not None:
        return parting.b.entered_event
    if parting.after is not None and parting.after.b is not None and parting.after.b.ended_event is not None:
        return parting.after.b.ended_event
    return parting.a.entered_event if parting.a is not None else 0
