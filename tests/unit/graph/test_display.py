"""The display list: every number of a drawing, before a run and colours."""

from __future__ import annotations

from statewright.graph.display import DisplayList, RoundedRect, StateShape, display_list
from statewright.graph.layout import layout
from statewright.graph.model import build_graph
from tests.unit.graph.machines import DONE, LINEAR, MAP, POLLER


def shapes(definition: object) -> DisplayList:
    return display_list(layout(build_graph(definition)))


def named(of: DisplayList, name: str) -> StateShape:
    return next(shape for shape in (*of.boxes, *of.states) if shape.node.name == name)


def test_everything_lies_within_the_drawing():
    for definition in (LINEAR, MAP, POLLER):
        found = shapes(definition)
        for shape in (*found.boxes, *found.states):
            for line in (*shape.names, shape.second):
                assert 0 < line.x < found.width
                assert 0 < line.y < found.height


def test_boxes_have_panels_and_maps_sheets():
    found = shapes(MAP)
    assert [box.node.kind for box in found.boxes] == ["Map"]
    (box,) = found.boxes
    assert len(box.sheets) == 2
    assert len(box.panels) == 1


def test_edges_and_labels_name_their_states():
    choice = {"Type": "Choice", "Choices": [{"Condition": "{% x %}", "Next": "B"}], "Default": "C"}
    found = shapes({"StartAt": "A", "States": {"A": choice, "B": DONE, "C": DONE}})
    assert {(edge.source, edge.target) for edge in found.edges} == {(None, None), ("A", "B"), ("A", "C")}
    assert {(label.target, label.look) for label in found.labels} == {("B", ""), ("C", "other")}
    assert isinstance(named(found, "A").outline, str)
    assert isinstance(named(found, "B").outline, RoundedRect)


def test_the_second_line_is_cut_to_its_room():
    shape = named(shapes(LINEAR), "One")
    assert shape.second_line("short") == "short"
    assert shape.second_line("begin " * 50 + "end").endswith("end")
    assert "…" in shape.second_line("x" * 500)
