"""A scope as rows of items: nodes, labels, and the lanes on which long edges pass the rows in between.

Owns the route of every edge from row to row, and the order within each row. Two kinds of route: *down*, from the bottom
of a node; and *sideways*, by which loops leave on the left and caught errors on the right. Edges to one target share
a lane. Coordinates are `graph.columns`' and `graph.routing`'s.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, Literal

from statewright.graph.model import Edge, Node, Scope
from statewright.graph.ranking import Ranking, turns_right
from statewright.graph.sizing import BOX_HEADER, MARK_RADIUS, Pill

SIDE_GAP: Final = 14.0
"""From a node to its side label, and from there to the line that turns up or down."""
SIDE_STEP: Final = 8.0
SIDE_PORT: Final = 26.0
"""How far beside the middle of the top loops and caught errors arrive."""
SECOND_PORT: Final = 44.0
"""The port at which caught errors arrive when loops come from the right as well."""
SWEEPS: Final = 8
MOST_LANES: Final = 20_000
"""Beyond this many lane pieces in a scope, long edges go straight through: no readable drawing has them."""

Side = Literal["bottom", "left", "right"]


@dataclass(slots=True, eq=False)
class Item:
    """An element of a row: a node, a label, or a piece of a lane.

    `left` and `right` are its reach from `x`, the line that edges follow; `half` is half its own width.
    """

    rank: int
    key: float
    node: Node | None = None
    pill: Pill | None = None
    lane: Lane | None = None
    height: float = 0.0
    left: float = 0.0
    right: float = 0.0
    half: float = 0.0
    place: int = 0
    x: float = 0.0
    y: float = 0.0
    main: bool = False
    above: list[Link] = field(default_factory=list)
    below: list[Link] = field(default_factory=list)

    @property
    def is_lane(self) -> bool:
        """True if only a line passes here."""
        return self.lane is not None


@dataclass(slots=True, eq=False)
class Link:
    """A link between items of adjacent rows, which should be aligned by their ports."""

    item: Item
    own_port: float
    port: float
    weight: float


@dataclass(slots=True, eq=False)
class SideExit:
    """A side exit of an edge: its label beside the node, then a turn at `turn_x`.

    `offset_y` counts from the top of the node, `pill_x` and `turn_x` from its middle.
    """

    route: Route
    pill: Pill | None
    offset_y: float = 0.0
    pill_x: float = 0.0
    turn_x: float = 0.0


@dataclass(slots=True, eq=False)
class Lane:
    """The common route of all edges of one style to one target, through `pieces` by rank; none if they are neighbours.

    `arrival` is the port at the top of the target; an upward lane comes from below and turns down into it.
    """

    target: Item
    upward: bool
    arrival: float = 0.0
    pieces: dict[int, Item] = field(default_factory=dict)

    def after(self, piece: Item) -> Item:
        """The next piece of a line, or its target."""
        return self.pieces.get(piece.rank + (-1 if self.upward else 1), self.target)


@dataclass(slots=True, eq=False)
class Route:
    """The route of an edge: from `source` past its `label` (unless that is at the side) to `entry`.

    The entry is a piece of its lane, or the target itself.
    """

    edge: Edge | None
    source: Item
    lane: Lane
    entry: Item
    label: Item | None = None
    leaves: Side = "bottom"
    side: SideExit | None = None


@dataclass(slots=True)
class Rows:
    """The items of a scope by rank and in order, and the routes of its edges."""

    rows: list[list[Item]]
    items: dict[str, Item]
    start: Item
    routes: list[Route]
    lanes: list[Lane]
    sides: dict[str, list[SideExit]]
    """The side exits of each node, by its id; on either side from the top down."""


def make_rows(
    scope: Scope, ranking: Ranking, blocks: dict[str, tuple[float, float]], pills: dict[int, Pill | None]
) -> Rows:
    """Put the nodes (with `blocks`: width and height by id) and the items of their edges into ordered rows."""
    maker = _RowMaker(scope, ranking, blocks, pills)
    rows = maker.make()
    order_rows(rows.rows)
    return rows


class _RowMaker:
    """Builds the items and routes of one scope."""

    def __init__(
        self, scope: Scope, ranking: Ranking, blocks: dict[str, tuple[float, float]], pills: dict[int, Pill | None]
    ) -> None:
        self._scope = scope
        self._ranking = ranking
        self._pills = pills
        self._lanes: dict[tuple[str, str], Lane] = {}
        self._piece_count = 0
        self._rows: list[list[Item]] = [[] for _ in range(max(ranking.ranks.values(), default=0) + 1)]
        self._items = {node.id: self._node_item(node, *blocks[node.id]) for node in scope.nodes}
        self._sides: dict[str, list[SideExit]] = {}
        self._main_pairs = set(pairwise(ranking.main))

    def make(self) -> Rows:
        start = Item(0, 0.0, height=2 * MARK_RADIUS, left=MARK_RADIUS, right=MARK_RADIUS, main=True)
        self._rows[0].append(start)
        routes = []
        if self._scope.start in self._items:
            lane = self._lane(self._scope.start, "down")
            routes.append(Route(None, start, lane, self._enter(lane, 1, 0.0)))
        for index, edge in enumerate(self._scope.edges):
            routes.append(self._route(index, edge))
        self._set_arrivals()
        for node_id, exits in self._sides.items():
            arrange_sides(self._items[node_id], exits)
        for route in routes:
            _link_route(route)
        for lane in self._lanes.values():
            _link_lane(lane)
        return Rows(self._rows, self._items, start, routes, list(self._lanes.values()), self._sides)

    def _node_item(self, node: Node, width: float, height: float) -> Item:
        item = Item(
            self._ranking.ranks[node.id],
            self._ranking.times[node.id],
            node,
            height=height,
            left=width / 2,
            right=width / 2,
            half=width / 2,
            main=node.id in self._ranking.main,
        )
        self._rows[item.rank].append(item)
        return item

    def _route(self, index: int, edge: Edge) -> Route:
        source, target = self._items[edge.source], self._items[edge.target]
        catches = edge.kind == "catch"
        if index in self._ranking.back:
            rightward = catches or turns_right(self._ranking, edge.source, edge.target)
            key = self._ranking.edge_times[index] if rightward else target.key - 0.5
            lane = self._lane(edge.target, "caught up" if catches else "right up" if rightward else "left up")
            entry = self._enter(lane, source.rank - 1, key) if target.rank < source.rank else target
            route = Route(edge, source, lane, entry, leaves="right" if rightward else "left")
        elif catches:
            lane = self._lane(edge.target, "caught down")
            route = Route(edge, source, lane, self._enter(lane, source.rank + 1, target.key - 0.5), leaves="right")
        else:
            return self._downward(index, edge, source)
        route.side = SideExit(route, self._pills[index])
        self._sides.setdefault(edge.source, []).append(route.side)
        return route

    def _downward(self, index: int, edge: Edge, source: Item) -> Route:
        pill, time = self._pills[index], self._ranking.edge_times[index]
        label = None
        if pill is not None:
            half = pill.width / 2
            label = Item(source.rank + 1, time, pill=pill, height=pill.height, left=half, right=half, half=half)
            self._rows[label.rank].append(label)
        lane = self._lane(edge.target, "down")
        route = Route(edge, source, lane, self._enter(lane, (label or source).rank + 1, time), label)
        if (edge.source, edge.target) in self._main_pairs:
            self._main_pairs.discard((edge.source, edge.target))
            for item in (label or source, *(piece for rank, piece in lane.pieces.items() if rank >= route.entry.rank)):
                item.main = True
        return route

    def _lane(self, target: str, style: str) -> Lane:
        if (target, style) not in self._lanes:
            self._lanes[target, style] = Lane(self._items[target], style.endswith("up"))
        return self._lanes[target, style]

    def _enter(self, lane: Lane, rank: int, key: float) -> Item:
        """Find where a line that comes to this rank enters a lane, and lengthen the lane as far as needed."""
        step = -1 if lane.upward else 1
        last = lane.target.rank if lane.upward else lane.target.rank - 1
        missing = rank
        while (last - missing) * step >= 0 and missing not in lane.pieces and self._piece_count < MOST_LANES:
            lane.pieces[missing] = Item(missing, key, lane=lane)
            self._rows[missing].append(lane.pieces[missing])
            self._piece_count += 1
            missing += step
        return lane.pieces.get(rank, lane.target)

    def _set_arrivals(self) -> None:
        """Choose the ports at which lanes from the side arrive, clear of each other and of lines from above."""
        for (target, style), lane in self._lanes.items():
            if style == "down":
                continue
            if style == "left up":
                wanted = -SIDE_PORT
            elif style == "right up":
                wanted = SIDE_PORT
            elif (target, "right up") in self._lanes:
                wanted = SECOND_PORT
            else:
                wanted = SIDE_PORT if (target, "down") in self._lanes or lane.upward else 0.0
            room = lane.target.half - 14
            lane.arrival = max(-room, min(room, wanted))


def arrange_sides(item: Item, exits: list[SideExit]) -> None:
    """Stack the side exits of a node and widen its reach by them."""
    for leaves in ("left", "right"):
        # Those that turn up lie above those that turn down, and each turns outside the ones it would cross.
        stack = [side for side in exits if side.route.leaves == leaves]
        stack.sort(key=lambda side: (not side.route.lane.upward, -side.route.lane.target.key))
        if not stack:
            continue
        heights = [side.pill.height + 4 if side.pill else 12.0 for side in stack]
        sign = -1.0 if leaves == "left" else 1.0
        widest = max((side.pill.width for side in stack if side.pill), default=0.0)
        turn = item.half + SIDE_GAP + (widest + SIDE_GAP if widest else 4.0)
        # A box is left at its header, any other node at its middle.
        boxed = item.node is not None and item.node.is_box
        top = (max(BOX_HEADER, sum(heights)) if boxed else item.height) / 2 - sum(heights) / 2
        for place, (side, height) in enumerate(zip(stack, heights, strict=True)):
            side.offset_y = top + height / 2
            top += height
            steps = place if side.route.lane.upward else len(stack) - 1 - place
            side.turn_x = sign * (turn + SIDE_STEP * steps)
            if side.pill:
                side.pill_x = sign * (item.half + SIDE_GAP + side.pill.width / 2)
        reach = max(abs(side.turn_x) for side in stack)
        if leaves == "left":
            item.left = reach
        else:
            item.right = reach


def side_height(exits: list[tuple[Side, Pill | None]]) -> float:
    """The height that a node needs for its side exits."""
    sums = {"left": 0.0, "right": 0.0, "bottom": 0.0}
    for leaves, pill in exits:
        sums[leaves] += pill.height + 4 if pill else 12.0
    return max(sums.values())


def _link_route(route: Route) -> None:
    here, port = route.source, route.side.turn_x if route.side else 0.0
    if route.label is not None:
        _link(here, route.label, port, 0.0, 1.0)
        here = route.label
    at_target = route.entry is route.lane.target
    if not (at_target and route.lane.upward):
        arrival = route.lane.arrival if at_target else 0.0
        _link(here, route.entry, port, arrival, 8.0 if route.label else 2.0, aside=route.side is not None)


def _link_lane(lane: Lane) -> None:
    for piece in lane.pieces.values():
        following = lane.after(piece)
        if following is not lane.target:
            _link(piece, following, 0.0, 0.0, 8.0)
        elif not lane.upward:
            _link(piece, following, 0.0, lane.arrival, 2.0)


def _link(here: Item, there: Item, port: float, its_port: float, weight: float, *, aside: bool = False) -> None:
    """Link neighbours in adjacent rows. Nodes hardly follow lanes; lanes follow all items."""
    weak = 0.05
    weight_here = weight if here.is_lane or not (there.is_lane or aside) else weak
    weight_there = weight if there.is_lane or not (here.is_lane or aside) else weak
    if here.rank < there.rank:
        here.below.append(Link(there, port, its_port, weight_here))
        there.above.append(Link(here, its_port, port, weight_there))
    else:
        here.above.append(Link(there, port, its_port, weight_here))
        there.below.append(Link(here, its_port, port, weight_there))


def order_rows(rows: list[list[Item]]) -> None:
    """Order each row by the medians of its neighbours, keeping document order if that adds no crossings."""
    for row in rows:
        row.sort(key=lambda item: item.key)
        _number(row)
    best = count_crossings(rows)
    kept = [list(row) for row in rows]
    worse = 0
    for sweep in range(SWEEPS):
        if best == 0 or worse > 3:
            break
        downward = sweep % 2 == 0
        for row in rows[1:] if downward else reversed(rows[:-1]):
            places = {item: _median(item, downward=downward) for item in row}
            row.sort(key=lambda item, places=places: places[item])  # type: ignore[misc]
            _number(row)
        crossings = count_crossings(rows)
        worse = 0 if crossings < best else worse + 1
        if crossings < best:
            best = crossings
            kept = [list(row) for row in rows]
    for row, ordered in zip(rows, kept, strict=True):
        row[:] = ordered
        _number(row)


def count_crossings(rows: list[list[Item]]) -> int:
    """How many pairs of links cross between adjacent rows."""
    crossings = 0
    for row in rows:
        ends = sorted(
            (item.place + _lean(link.own_port), link.item.place + _lean(link.port))
            for item in row
            for link in item.below
        )
        seen: list[float] = []
        for _, end in ends:
            # Ends that are equal do not cross; those further right than this one do.
            crossings += len(seen) - bisect_left(seen, end + 1e-9)
            insort(seen, end)
    return crossings


def _median(item: Item, *, downward: bool) -> float:
    links = item.above if downward else item.below
    places = sorted(link.item.place + _lean(link.port) - _lean(link.own_port) for link in links)
    if not places:
        return item.place
    middle = len(places) // 2
    return places[middle] if len(places) % 2 else (places[middle - 1] + places[middle]) / 2


def _lean(port: float) -> float:
    return 0.3 if port > 0 else -0.3 if port < 0 else 0.0


def _number(row: list[Item]) -> None:
    for place, item in enumerate(row):
        item.place = place
