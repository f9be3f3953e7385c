from itertools import pairwise
from typing import Any

import pytest

from statewright.graph.columns import isotonic
from statewright.graph.layers import Item, _link, count_crossings, order_rows
from statewright.graph.layout import Layout, PlacedEdge, Rect, layout
from statewright.graph.model import Overlay, build_graph
from statewright.graph.ranking import rank_scope
from tests.unit.graph.geometry import check_layout
from tests.unit.graph.machines import (
    DONE,
    LINEAR,
    MAP,
    PARALLEL,
    POLLER,
    SEMAPHORE,
    catch,
    choice,
    long_machine,
    nested,
    task,
)

SELF_LOOPS = {
    "StartAt": "Poll",
    "States": {
        "Poll": task("poll", Next="More?", Catch=catch(Again="Poll", Stop="End", Bad="Broken")),
        "More?": choice(("$more", "Poll"), ("$same", "More?"), default="End"),
        "End": DONE,
        "Broken": {"Type": "Fail"},
    },
}
FAN = {
    "StartAt": "Route",
    "States": {
        "Route": choice(*((f"$type = {name}", name) for name in "ABCDE"), default="Unknown"),
        **{name: task(name, Next="Join", Catch=catch(E="Alarm")) for name in "ABCDE"},
        "Unknown": {"Type": "Fail"},
        "Alarm": task("alarm", Next="Join"),
        "Join": DONE,
    },
}
BOTH_KINDS = {
    "StartAt": "A",
    "States": {"A": {"Type": "New", "Next": "B", "Choices": [{"Condition": "x", "Next": "B"}]}, "B": DONE},
}
LATE_JOIN = {
    "StartAt": "A",
    "States": {
        "A": choice(("$a", "Z"), ("$b", "B"), default="C"),
        "B": {"Type": "Pass", "Next": "D"},
        "C": {"Type": "Pass", "Next": "Y"},
        "D": {"Type": "Pass", "Next": "Z"},
        "Y": {"Type": "Pass", "Next": "Z"},
        "Z": DONE,
    },
}
EARLY_EXITS = {
    "StartAt": "A0",
    "States": {
        **{f"A{n}": choice(("$stop", "Stop"), ("$log", f"Log{n}"), default=f"A{n + 1}") for n in range(5)},
        **{f"Log{n}": {"Type": "Pass", "Next": "Stop"} for n in range(5)},
        "A5": {"Type": "Pass", "Next": "Last"},
        "Last": {"Type": "Pass", "End": True},
        "Stop": {"Type": "Fail"},
    },
}
ALL_PORTS = {
    "StartAt": "Top",
    "States": {
        "Top": {"Type": "Pass", "Next": "Ask"},
        "Ask": task("ask", Next="Which?", Catch=catch(Busy="Ask")),
        "Which?": choice(("$go", "Work"), ("$redo", "Redo"), default="Rest"),
        "Redo": task("redo", Next="Ask"),
        "Work": task("work", Next="More", Catch=catch(Lost="Ask")),
        "More": {"Type": "Pass", "End": True},
        "Rest": {"Type": "Wait", "Seconds": 1, "Next": "Ask"},
    },
}
MACHINES: dict[str, Any] = {
    "linear": LINEAR,
    "poller": POLLER,
    "semaphore": SEMAPHORE,
    "parallel": PARALLEL,
    "map": MAP,
    "self loops": SELF_LOOPS,
    "fan": FAN,
    "both kinds": BOTH_KINDS,
    "late join": LATE_JOIN,
    "early exits": EARLY_EXITS,
    "all ports": ALL_PORTS,
    "long": long_machine(40),
    "nested": nested(14),
    "nothing": {},
    "unreachable": {"StartAt": "A", "States": {"A": DONE, "B": DONE, "C": {"Type": "Pass", "Next": "A"}}},
    "many branches": {
        "StartAt": "P",
        "States": {"P": {"Type": "Parallel", "End": True, "Branches": [LINEAR] * 15}},
    },
    "long names": {
        "StartAt": "x" * 80,
        "States": {"x" * 80: {"Type": "Pass", "Next": "with several words " * 4}, "with several words " * 4: DONE},
    },
}


def place(definition: Any) -> Layout:
    return layout(build_graph(definition))


def rects(placed: Layout) -> dict[str, Rect]:
    return {node.node.name: node.rect for node in placed.nodes}


def line_between(placed: Layout, source: str, target: str) -> PlacedEdge:
    names = {node.node.id: node.node.name for node in placed.nodes}
    ends = (source, target)
    return next(
        line for line in placed.edges if line.edge and (names[line.edge.source], names[line.edge.target]) == ends
    )


@pytest.mark.parametrize("definition", MACHINES.values(), ids=MACHINES)
def test_nothing_overlaps(definition):
    check_layout(place(definition))


@pytest.mark.parametrize("definition", MACHINES.values(), ids=MACHINES)
def test_equal_input_gives_an_equal_layout_and_an_overlay_changes_no_place(definition):
    placed = place(definition)
    assert place(definition) == placed
    overlay = Overlay({"One": "ok"})
    assert layout(build_graph(definition, overlay)) == placed.with_overlay(overlay)


def test_a_chain_is_one_straight_line():
    placed = place(LINEAR)
    middles = {rect.x + rect.width / 2 for rect in rects(placed).values()}
    assert len(middles) == 1
    assert {x for line in placed.edges for x, _ in line.points} == middles
    tops = [rect.y for rect in rects(placed).values()]
    assert tops == sorted(tops)


def test_a_loop_returns_round_the_side_into_the_top():
    placed = place(POLLER)
    line, boxes = line_between(placed, "Ready?", "Wait"), rects(placed)
    leftmost = min(boxes[name].x for name in ("Wait", "Look", "Ready?"))
    assert line.points[0][1] == boxes["Ready?"].y + boxes["Ready?"].height / 2
    assert min(x for x, _ in line.points) < leftmost
    assert line.points[-1][1] == boxes["Wait"].y
    assert line.points[-1][0] < boxes["Wait"].x + boxes["Wait"].width / 2


def test_a_loop_from_a_branch_at_the_right_returns_on_the_right():
    placed = place(SEMAPHORE)
    line, boxes = line_between(placed, "Be patient", "Ask for the key"), rects(placed)
    assert line.points[0][0] == boxes["Be patient"].x + boxes["Be patient"].width
    assert line.points[-1][0] > boxes["Ask for the key"].x + boxes["Ask for the key"].width / 2


def test_each_kind_of_line_has_a_port_of_its_own():
    placed = place(ALL_PORTS)
    ask = next(node.node.id for node in placed.nodes if node.node.name == "Ask")
    ports = {
        (line.edge.kind, line.points[-1][0])
        for line in placed.edges
        if line.edge is not None and line.edge.target == ask
    }
    assert len(ports) == len({x for _, x in ports}) == 4


def test_the_main_path_is_straight_and_a_failure_is_not_on_it():
    boxes = rects(place(POLLER))
    middle = {name: rect.x + rect.width / 2 for name, rect in boxes.items()}
    assert middle["Start job"] == middle["Wait"] == middle["Look"] == middle["Ready?"] == middle["Done"]
    assert middle["Broken"] != middle["Done"]


def test_equal_branches_have_the_middle_one_below_the_choice_and_keep_their_order():
    boxes = rects(place(FAN))
    middle = {name: rect.x + rect.width / 2 for name, rect in boxes.items()}
    assert middle["Route"] == middle["C"] == middle["Join"]
    assert middle["A"] < middle["B"] < middle["C"] < middle["D"] < middle["E"] < middle["Unknown"]


def test_caught_errors_leave_on_the_right_and_share_a_lane():
    placed = place(long_machine(12))
    boxes = rects(placed)
    caught = [line for line in placed.edges if line.edge and line.edge.kind == "catch"]
    by_id = {node.node.id: node.rect for node in placed.nodes}
    assert len(caught) > 4
    for line in caught:
        assert line.edge
        source = by_id[line.edge.source]
        assert line.points[0][0] == source.x + source.width
        assert line.points[-1] == caught[0].points[-1]
    assert sum(line.arrives for line in caught) == 1
    assert boxes["Clean up"].x > boxes["Step 0"].x


def test_labels_are_cut_and_counted():
    rules = [(f"$value = {'long ' * 20}{n}", "B") for n in range(6)]
    placed = place({"StartAt": "A", "States": {"A": choice(*rules), "B": DONE}})
    (label,) = placed.labels
    assert label.lines[-1] == "or 5 more"
    assert ["…" in line for line in label.lines] == [False, True, False]


def test_long_names_take_two_lines_then_an_ellipsis():
    placed = {node.node.name: node for node in place(MACHINES["long names"]).nodes}
    assert placed["x" * 80].lines[0].strip("x") == "…"
    assert len(placed["with several words " * 4].lines) == 2


def test_a_box_holds_its_branches_side_by_side():
    box = next(node for node in place(PARALLEL).nodes if node.node.name == "All")
    assert len(box.panels) == 3
    assert len({panel.y for panel in box.panels}) == 1
    assert all(left.x + left.width < right.x for left, right in pairwise(box.panels))


def test_many_branches_are_wrapped_into_rows():
    box = place(MACHINES["many branches"]).nodes[0]
    assert len({panel.y for panel in box.panels}) == 3


def test_marks_for_starts_and_ends():
    placed = place(MAP)
    names = {node.node.id: node.node.name for node in placed.nodes}
    marks = {(mark.kind, names[mark.node]) for mark in placed.marks if mark.node}
    assert marks == {("start", "Each"), ("start", "Read"), ("end", "Write"), ("end", "Skip"), ("end", "Each")}


def test_three_hundred_states_are_laid_out():
    check_layout(place(long_machine(100)))
    placed = place(long_machine(300))
    assert len(placed.nodes) == 303


def test_more_lanes_than_sane_are_left_out(monkeypatch):
    monkeypatch.setattr("statewright.graph.layers.MOST_LANES", 10)
    placed = place(long_machine(60))
    assert len(placed.edges) == len(build_graph(long_machine(60)).root.edges) + 1


def test_crowded_channels_fall_back_to_few_tracks(monkeypatch):
    monkeypatch.setattr("statewright.graph.routing.MOST_NETS", 1)
    placed = place(FAN)
    assert placed.height > place(LINEAR).height


@pytest.mark.parametrize(
    ("targets", "weights", "fitted"),
    [
        ([], [], []),
        ([1, 2, 3], [1, 1, 1], [1, 2, 3]),
        ([3, 1], [1, 1], [2, 2]),
        ([3, 1], [3, 1], [2.5, 2.5]),
        ([5, 4, 3, 9], [1, 1, 1, 1], [4, 4, 4, 9]),
    ],
)
def test_isotonic_regression(targets, weights, fitted):
    assert isotonic(targets, weights) == fitted


def test_crossings_are_counted_and_taken_out():
    upper = [Item(0, 0.0), Item(0, 1.0)]
    lower = [Item(1, 0.0), Item(1, 1.0)]
    for place_, (one, other) in enumerate([(upper[0], lower[1]), (upper[1], lower[0])]):
        one.place = place_
        _link(one, other, 0.0, 0.0, 1.0)
    for place_, item in enumerate(lower):
        item.place = place_
    assert count_crossings([upper, lower]) == 1
    rows = [upper, list(lower)]
    order_rows(rows)
    assert count_crossings(rows) == 0
    assert rows[1] == [lower[1], lower[0]]


def test_ranks_are_longest_paths_and_back_edges_are_left_out():
    graph = build_graph(LATE_JOIN)
    ranking = rank_scope(graph.root)
    names = {node.id: node.name for node in graph.root.nodes}
    ranks = {names[node_id]: rank for node_id, rank in ranking.ranks.items()}
    assert ranks == {"A": 1, "B": 3, "C": 3, "D": 4, "Y": 4, "Z": 5}
    assert ranking.back == set()
    assert len(rank_scope(build_graph(SELF_LOOPS).root).back) == 3
