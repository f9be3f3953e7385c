"""The vertical place of rows, and the lines between them.

Between two rows lies a channel. Every line crosses it straight down, or goes along one of its horizontal tracks; lines
from one port share a track, lines that would run over each other get different ones. The height of a channel follows
from the number of its tracks, so rows get their places here as well.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from itertools import chain
from math import copysign
from typing import Final, Literal

from statewright.graph.layers import Item, Lane, Route, Rows
from statewright.graph.sizing import END_ROOM, POINT

Point = tuple[float, float]

TRACK: Final = 9.0
ABOVE_TRACKS: Final = 13.0
BELOW_TRACKS: Final = 17.0
"""Room below the last track: a rounded corner and an arrowhead."""
NO_TRACKS: Final = 28.0
LABEL_CHANNEL: Final = 22.0
"""Channels next to only labels and lanes may be shorter."""
TOP_ALIGNED: Final = 12.0
"""In a row with tall boxes, small items stay this near to its top."""
SNAP: Final = 12.0
JOINT: Final = 9.0
"""Length for which a line runs along another one that it joins: its rounded corner."""
MOST_NETS: Final = 300
TRACKS_OF_A_CROWD: Final = 40


@dataclass(slots=True, eq=False)
class Hop:
    """The part of a route that lies in one channel. `x1_top`: whether it begins at the upper row.

    `joins` says where it meets a line to the same port that is drawn further: on their track, or above the port.
    A `trunk` is an inner part of a lane, which others may join, but which joins none.
    """

    channel: int
    x1: float
    x2: float
    x1_top: bool
    x2_top: bool
    net: Hashable = None
    y: float = 0.0
    joins: Literal["", "track", "port"] = ""
    trunk: bool = False

    @property
    def turns_back(self) -> bool:
        """True if it leaves the channel where it came from."""
        return self.x1_top == self.x2_top

    @property
    def bends(self) -> bool:
        """True if the hop needs a track."""
        return abs(self.x1 - self.x2) > 0.5 or self.turns_back


@dataclass(slots=True, eq=False)
class Net:
    """Hops that share a track."""

    low: float
    high: float
    tops: list[float] = field(default_factory=list)
    bottoms: list[float] = field(default_factory=list)
    hops: list[Hop] = field(default_factory=list)
    track: int = 0

    @property
    def turns_back(self) -> bool:
        """True if it comes from below and goes back there."""
        return not self.tops


@dataclass(slots=True)
class Routed:
    """The lines of a scope, one for each route, and its height."""

    lines: list[Line]
    height: float


@dataclass(frozen=True, slots=True)
class Line:
    """The way of an edge. Only the first `drawn` points are its own: the rest is a lane that another line draws."""

    points: tuple[Point, ...]
    drawn: int


def route_rows(rows: Rows) -> Routed:
    """Set `y` of every item (its top) and draw the way of every route."""
    _settle_arrivals(rows)
    heads = [_head_hops(route) for route in rows.routes]
    tails = {piece: _lane_hop(lane, piece) for lane in rows.lanes for piece in lane.pieces.values()}
    channels: dict[int, list[Hop]] = defaultdict(list)
    for hop in chain.from_iterable((*heads, tails.values())):
        channels[hop.channel].append(hop)
    tracks = {channel: _assign_tracks(found) for channel, found in channels.items()}
    height, tops = _place_rows(rows, tracks)
    for channel, found in channels.items():
        for hop in found:
            hop.y = tops[channel] + TRACK * hop.y
    ways = _lane_ways(rows, tails)
    keepers = _keepers(rows.routes, heads)
    return Routed([_line(route, hops, ways, keepers) for route, hops in zip(rows.routes, heads, strict=True)], height)


def _settle_arrivals(rows: Rows) -> None:
    """Move the port of a lane slightly rather than bend the lines that arrive there slightly."""
    offsets: dict[Lane, list[float]] = defaultdict(list)
    for route in rows.routes:
        lane, last = route.lane, route.label or route.source
        if route.entry is lane.target and not lane.upward:
            turn = route.side.turn_x if route.side else 0.0
            offsets[lane].append(last.x + turn - lane.target.x)
    for lane in rows.lanes:
        if lane.pieces and not lane.upward:
            offsets[lane].append(lane.pieces[max(lane.pieces)].x - lane.target.x)
    for lane, found in offsets.items():
        nearest = min(found, key=lambda offset: abs(offset - lane.arrival))
        if abs(nearest - lane.arrival) <= SNAP and lane.target.half > 2 * SNAP:
            lane.arrival = nearest


def _head_hops(route: Route) -> list[Hop]:
    """From the source, past the label, into the lane or straight to the target."""
    lane, entry, here = route.lane, route.entry, route.source
    turn = route.side.turn_x if route.side else 0.0
    hops = []
    if route.label is not None:
        hops.append(Hop(here.rank, here.x, route.label.x, x1_top=True, x2_top=False, net=(here, turn)))
        here = route.label
    net = (here, turn)
    if entry is not lane.target:
        channel = entry.rank if lane.upward else here.rank
        hops.append(Hop(channel, here.x + turn, entry.x, x1_top=not lane.upward, x2_top=lane.upward, net=net))
    else:
        # An upward line without a lane goes round its own node, up and down into the top.
        channel = entry.rank - 1 if lane.upward else here.rank
        x2 = entry.x + lane.arrival
        hops.append(Hop(channel, here.x + turn, x2, x1_top=not lane.upward, x2_top=False, net=net))
    first = hops[0]
    if not route.side and abs(first.x1 - first.x2) <= SNAP and route.source.half > 2 * SNAP:
        first.x1 = first.x2
    return hops


def _lane_hop(lane: Lane, piece: Item) -> Hop:
    """From a piece of a lane to the next one, or to the target."""
    there = lane.after(piece)
    if there is not lane.target:
        channel = there.rank if lane.upward else piece.rank
        return Hop(channel, piece.x, there.x, not lane.upward, lane.upward, net=(piece, True), trunk=True)
    # An upward lane goes up past its target, then down into its top.
    channel = there.rank - 1 if lane.upward else piece.rank
    return Hop(channel, piece.x, there.x + lane.arrival, not lane.upward, x2_top=False, net=(piece, True))


def _assign_tracks(hops: list[Hop]) -> int:
    """Give every bending hop of a channel its track number (in `y`); return how many tracks there are."""
    _share_arrivals(hops)
    nets: dict[Hashable, Net] = {}
    for hop in hops:
        if not hop.bends:
            continue
        net = nets.setdefault(hop.net, Net(hop.x1, hop.x1))
        net.low = min(net.low, hop.x1, hop.x2)
        net.high = max(net.high, hop.x1, hop.x2)
        for x, top in ((hop.x1, hop.x1_top), (hop.x2, hop.x2_top)):
            (net.tops if top else net.bottoms).append(x)
        net.hops.append(hop)
    passing = sorted((net for net in nets.values() if not net.turns_back), key=_passing_order)
    turning = sorted((net for net in nets.values() if net.turns_back), key=lambda net: net.low - net.high)
    count = _stack(_with_order(passing), 0)
    count = _stack(turning, count)
    for net in nets.values():
        for hop in net.hops:
            hop.y = float(net.track)
    return count


def _share_arrivals(hops: list[Hop]) -> None:
    """Lines to one port from sources without other lines share one track: a bus bar."""
    arriving: dict[tuple[float, bool], list[Hop]] = defaultdict(list)
    leaving: dict[Hashable, set[tuple[float, bool]]] = defaultdict(set)
    for hop in hops:
        leaving[hop.net].add((hop.x2, hop.x2_top))
        arriving[hop.x2, hop.turns_back].append(hop)
    for (x, turns), found in arriving.items():
        if len(found) > 1 and all(len(leaving[hop.net]) == 1 and not hop.x2_top for hop in found):
            _join(found, x)
            for hop in found:
                hop.net = ("arrival", x, turns)


def _join(hops: list[Hop], x: float) -> None:
    """Let one line of a bus bar draw each piece of it, so that dashes never lie over dashes."""
    arrived = any(hop.trunk or not hop.bends for hop in hops)
    for sign in (-1, 1):
        distances = {(hop.x1 - x) * sign for hop in hops if hop.bends and (hop.x1 - x) * sign > 0}
        for hop in hops:
            distance = (hop.x1 - x) * sign
            if distance in distances and not hop.trunk:
                hop.joins = "track" if distance < max(distances) else "port" if arrived else ""
        arrived = arrived or bool(distances)


def _passing_order(net: Net) -> tuple[float, float]:
    """Lines that go right are stacked with the rightmost on top, lines that go left with the leftmost on top."""
    source = sum(net.tops) / len(net.tops)
    middle = (net.low + net.high) / 2
    return (-source, 0.0) if middle >= source else (source, 1.0)


def _with_order(nets: list[Net]) -> list[Net]:
    """Keep a line that comes down at some `x` above one that leaves downward at the same `x`."""
    if len(nets) > MOST_NETS:
        return nets
    ordered: list[Net] = []
    waiting = list(nets)
    while waiting:
        ready = next((net for net in waiting if not any(_must_precede(other, net) for other in waiting)), waiting[0])
        waiting.remove(ready)
        ordered.append(ready)
    return ordered


def _must_precede(upper: Net, lower: Net) -> bool:
    if upper is lower:
        return False
    return any(abs(top - bottom) < 4 for top in upper.tops for bottom in lower.bottoms)


def _stack(nets: list[Net], first: int) -> int:
    """Give each net the lowest free track below all nets that it must not touch; return the next free track."""
    if len(nets) > MOST_NETS:
        for place, net in enumerate(nets):
            net.track = first + place % TRACKS_OF_A_CROWD
        return first + TRACKS_OF_A_CROWD
    placed: list[Net] = []
    for net in nets:
        taken = {other.track for other in placed if other.low - 6 < net.high and net.low < other.high + 6}
        least = max((other.track + 1 for other in placed if _must_precede(other, net)), default=first)
        net.track = next(track for track in range(least, least + len(taken) + 1) if track not in taken)
        placed.append(net)
    return max((net.track + 1 for net in nets), default=first)


def _place_rows(rows: Rows, tracks: dict[int, int]) -> tuple[float, list[float]]:
    """Place rows and channels from top to bottom; return the height, and the first track's place in each channel."""
    y = 0.0
    tops = []
    for rank, row in enumerate(rows.rows):
        tallest = max((item.height for item in row), default=0.0)
        for item in row:
            item.y = y + min((tallest - item.height) / 2, TOP_ALIGNED)
        y = max((item.y + _block_height(item) for item in row), default=y)
        if rank + 1 < len(rows.rows):
            light = _is_light(row) or _is_light(rows.rows[rank + 1])
            tops.append(y + ABOVE_TRACKS - (3 if light else 0))
            y += channel_height(tracks.get(rank, 0), light)
    return y, tops


def channel_height(tracks: int, light: bool) -> float:
    """The height of a channel with so many tracks."""
    if tracks == 0:
        return LABEL_CHANNEL if light else NO_TRACKS
    room = ABOVE_TRACKS + BELOW_TRACKS + TRACK * (tracks - 1)
    return room - 6 if light else room


def _is_light(row: Iterable[Item]) -> bool:
    return all(item.node is None for item in row)


def _block_height(item: Item) -> float:
    return item.height + (END_ROOM if item.node is not None and item.node.ends else 0.0)


def _lane_ways(rows: Rows, tails: dict[Item, Hop]) -> dict[Item, Line]:
    """The corners from every piece of a lane to its target."""
    ways: dict[Item, Line] = {}
    for lane in rows.lanes:
        for rank in sorted(lane.pieces, reverse=not lane.upward):
            piece = lane.pieces[rank]
            hop, there = tails[piece], lane.after(piece)
            points: list[Point] = []
            own = _follow(hop, points, 0)
            rest = Line(((hop.x2, there.y),), 1) if there is lane.target else ways[there]
            ways[piece] = Line((*points, *rest.points), own or len(points) + rest.drawn) if points else rest
    return ways


def _keepers(routes: list[Route], heads: list[list[Hop]]) -> dict[Lane, Route]:
    """The route that draws each lane: of those from furthest away, the first that does not join another before."""
    keepers: dict[Lane, tuple[int, bool, Route]] = {}
    for route, hops in zip(routes, heads, strict=True):
        if route.entry.lane is None:
            continue
        distance, alone = abs(route.entry.rank - route.lane.target.rank), not hops[-1].joins
        found = keepers.get(route.lane)
        if found is None or (distance, alone) > found[:2]:
            keepers[route.lane] = (distance, alone, route)
    return {lane: route for lane, (_, _, route) in keepers.items()}


def _line(route: Route, hops: list[Hop], ways: dict[Item, Line], keepers: dict[Lane, Route]) -> Line:
    """The points of a route. Of those that share a lane one draws it, the others end where they join."""
    source, entry = route.source, route.entry
    own = 0
    points: list[Point]
    if route.side:
        y = source.y + route.side.offset_y
        points = [(_side_x(source, route, y), y), (hops[0].x1, y)]
        passing = route.lane.pieces.get(source.rank)
        if (
            passing is not None
            and entry.lane
            and abs(passing.x - hops[0].x1) < 0.5
            and keepers[route.lane] is not route
        ):
            # The lane passes right here.
            points.append((hops[0].x1, y - JOINT if route.lane.upward else y + JOINT))
            own = len(points)
    else:
        points = [(hops[0].x1, source.y + source.height)]
    for hop in hops:
        own = _follow(hop, points, own)
    if entry.lane is None:
        points.append((hops[-1].x2, entry.y))
        return Line(tuple(points), own or len(points))
    if keepers[route.lane] is not route and not own:
        points.append((hops[-1].x2, entry.y))
        own = len(points)
    way = ways[entry]
    return Line((*points, *way.points), own or len(points) + way.drawn)


def _follow(hop: Hop, points: list[Point], own: int) -> int:
    """Add the corners of a hop; return how many points are the route's own if they end here (else `own`)."""
    if not hop.bends:
        return own
    points.append((hop.x1, hop.y))
    if hop.joins == "track" and not own:
        points.append((hop.x1 + copysign(JOINT, hop.x2 - hop.x1), hop.y))
        own = len(points)
    points.append((hop.x2, hop.y))
    if hop.joins == "port" and not own:
        points.append((hop.x2, hop.y + JOINT))
        own = len(points)
    return own


def _side_x(item: Item, route: Route, y: float) -> float:
    """The point at which a line that leaves sideways touches the outline of its node."""
    reach = item.half
    if item.node is not None and item.node.kind == "Choice":
        middle = item.y + item.height / 2
        reach -= POINT * min(1.0, abs(y - middle) / (item.height / 2))
    return item.x - reach if route.leaves == "left" else item.x + reach
