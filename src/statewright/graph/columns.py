"""The horizontal place of every item of a scope.

Rows keep their order and their distances; within that, each row is placed as near as possible to the positions that its
neighbours prefer (least squares: isotonic regression by pooling adjacent violators). The main path is fixed on one
vertical line, then lanes and plain chains are straightened if there is room.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import inf
from typing import Final

from statewright.graph.layers import SIDE_STEP, Item, Lane, Link, Rows, SideExit

NODE_GAP: Final = 28.0
LABEL_GAP: Final = 14.0
LANE_GAP: Final = 14.0
NAILED: Final = 1e7
ROUNDS: Final = 8


def place_columns(rows: Rows) -> None:
    """Set `x` of every item; the main path is at 0."""
    for row in rows.rows:
        _pack(row)
    for turn in range(ROUNDS):
        # The first rounds bring parents and children together one way at a time, the last ones balance both.
        balanced = turn >= 2
        for row in rows.rows[1:]:
            _settle(row, upward=balanced, downward=True)
        for row in reversed(rows.rows[:-1]):
            _settle(row, upward=True, downward=balanced)
    for strand in _strands(rows):
        _straighten(strand, rows.rows)
    for lane in rows.lanes:
        _straighten([lane.pieces[rank] for rank in sorted(lane.pieces)], rows.rows)
    for row in rows.rows:
        for item in row:
            # Whole pixels are crisp, and keep aligned items exactly aligned.
            item.x = float(round(item.x))
    for exits in rows.sides.values():
        _reach_out(exits, rows.rows)


def _reach_out(exits: list[SideExit], rows: list[list[Item]]) -> None:
    """Let a line from the side of a node run straight to its lane, if nothing is in between."""
    for sign in (-1, 1):
        limit, limit_lane = inf, None
        on_this_side = [side for side in exits if side.turn_x * sign > 0]
        for side in sorted(on_this_side, key=lambda side: -abs(side.turn_x)):
            source, goal, lane = side.route.source, side.route.entry, side.route.lane
            if goal is not source:
                port = lane.arrival if goal is lane.target else 0.0
                reach = (goal.x + port - source.x) * sign
                room = min(_free_room(source, sign, lane, rows), inf if lane is limit_lane else limit)
                if abs(side.turn_x) < reach <= room:
                    side.turn_x = reach * sign
            limit, limit_lane = abs(side.turn_x) - SIDE_STEP, lane


def _free_room(source: Item, sign: int, lane: Lane, rows: list[list[Item]]) -> float:
    """How far out of an item the next one of its row lies; the line's own lane does not count."""
    row = rows[source.rank]
    place = source.place + sign
    while 0 <= place < len(row) and row[place].lane is lane:
        place += sign
    if not 0 <= place < len(row):
        return inf
    other = row[place]
    return (other.x - source.x) * sign - (other.left if sign > 0 else other.right) - LANE_GAP


def gap_between(left: Item, right: Item) -> float:
    """The free room between two neighbours of a row."""
    if left.is_lane or right.is_lane:
        return LANE_GAP
    return LABEL_GAP if left.pill and right.pill else NODE_GAP


def separation(left: Item, right: Item) -> float:
    """The least distance between the lines of two neighbours of a row."""
    return left.right + gap_between(left, right) + right.left


def isotonic(targets: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The non-decreasing sequence nearest to the targets, by weighted squares."""
    blocks: list[tuple[float, float, int]] = []
    for target, weight in zip(targets, weights, strict=True):
        mean, total, count = target, weight, 1
        while blocks and blocks[-1][0] > mean:
            before, its_weight, its_count = blocks.pop()
            mean = (before * its_weight + mean * total) / (its_weight + total)
            total += its_weight
            count += its_count
        blocks.append((mean, total, count))
    return [mean for mean, _, count in blocks for _ in range(count)]


def _offsets(row: Sequence[Item]) -> list[float]:
    offsets = [0.0]
    for left, right in pairwise(row):
        offsets.append(offsets[-1] + separation(left, right))
    return offsets


def _pack(row: list[Item]) -> None:
    """Side by side, with the item on the main path (else the middle) at 0."""
    offsets = _offsets(row)
    origin = next((offset for item, offset in zip(row, offsets, strict=True) if item.main), offsets[-1] / 2)
    for item, offset in zip(row, offsets, strict=True):
        item.x = offset - origin


def _settle(row: list[Item], *, upward: bool, downward: bool) -> None:
    targets, weights = [], []
    offsets = _offsets(row)
    for item, offset in zip(row, offsets, strict=True):
        wanted, weight = _wish(item, upward=upward, downward=downward)
        targets.append(wanted - offset)
        weights.append(weight)
    for item, offset, at in zip(row, offsets, isotonic(targets, weights), strict=True):
        item.x = 0.0 if item.main else at + offset


def _wish(item: Item, *, upward: bool, downward: bool) -> tuple[float, float]:
    """The preferred position of an item, and its weight: `downward` by the row above, `upward` by the one below."""
    if item.main:
        return 0.0, NAILED
    total = weight = 0.0
    links: list[Link] = (item.above if downward else []) + (item.below if upward else [])
    for link in links:
        total += link.weight * (link.item.x + link.port - link.own_port)
        weight += link.weight
    return (total / weight, weight) if weight else (item.x, 0.01)


def _strands(rows: Rows) -> list[list[Item]]:
    """Chains of items that are each other's only neighbours: a label and its state, states without branches."""
    strands = []
    seen: set[Item] = set()
    for row in rows.rows:
        for first in row:
            strand = []
            item: Item | None = first
            while item is not None and item not in seen:
                seen.add(item)
                strand.append(item)
                item = _only_follower(item)
            if len(strand) > 1:
                strands.append(strand)
    return strands


def _only_follower(item: Item) -> Item | None:
    if item.main or item.is_lane:
        return None
    below = [link.item for link in item.below if link.weight >= 1 and not link.item.is_lane]
    if len(below) != 1 or below[0].main or sum(link.weight >= 1 for link in below[0].above) != 1:
        return None
    return below[0]


def _straighten(strand: list[Item], rows: list[list[Item]]) -> None:
    """Give as many consecutive items as possible one `x`, each staying between its neighbours."""
    start = 0
    while start < len(strand):
        low, high = _freedom(strand[start], rows)
        end = start + 1
        while end < len(strand):
            next_low, next_high = _freedom(strand[end], rows)
            if max(low, next_low) > min(high, next_high):
                break
            low, high = max(low, next_low), min(high, next_high)
            end += 1
        run = strand[start:end]
        mean = sum(item.x for item in run) / len(run)
        wished = _end_wishes(run) if run[0].is_lane else []
        x = next((at for at in wished if low <= at <= high), max(low, min(high, mean)))
        for item in run:
            item.x = x
        start = end


def _end_wishes(lane: list[Item]) -> list[float]:
    """The lines of the nodes at the ends of a lane, on which it could continue straight."""
    ends: list[float] = []
    for links in (lane[-1].below, lane[0].above):
        ends.extend(link.item.x + link.port for link in links if not link.item.is_lane)
    return ends


def _freedom(item: Item, rows: list[list[Item]]) -> tuple[float, float]:
    """How far an item may move left and right while its neighbours stay."""
    if item.main:
        return item.x, item.x
    row = rows[item.rank]
    low, high = -inf, inf
    if item.place > 0:
        before = row[item.place - 1]
        low = before.x + separation(before, item)
    if item.place + 1 < len(row):
        after = row[item.place + 1]
        high = after.x - separation(item, after)
    # Rounding may put an item a hair outside its own bounds.
    return min(low, item.x), max(high, item.x)
