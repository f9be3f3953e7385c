import pytest

from statewright.graph.model import DEEPEST_SCOPE, Edge, Graph, Node, Overlay, build_graph
from tests.unit.graph.machines import DONE, LINEAR, MAP, PARALLEL, POLLER, catch, nested, task


def by_name(graph: Graph) -> dict[str, Node]:
    return {node.name: node for node in graph.nodes()}


def edges(graph: Graph) -> list[tuple[str, str, str, tuple[str, ...]]]:
    names = {node.id: node.name for node in graph.nodes()}
    return [(names[edge.source], names[edge.target], edge.kind, edge.labels) for edge in graph.root.edges]


def test_a_line():
    graph = build_graph(LINEAR)
    assert graph.comment == "A straight line"
    assert [node.name for node in graph.nodes()] == ["One", "Two", "Done"]
    assert edges(graph) == [("One", "Two", "next", ()), ("Two", "Done", "next", ())]
    assert graph.root.start == by_name(graph)["One"].id
    assert by_name(graph)["One"].detail == "lambda:invoke one"


def test_a_choice_keeps_the_order_of_its_rules_and_says_default_last():
    assert edges(build_graph(POLLER))[3:] == [
        ("Ready?", "Done", "choice", ("$done",)),
        ("Ready?", "Broken", "choice", ("$broken",)),
        ("Ready?", "Wait", "choice", ("Default",)),
    ]


def test_edges_with_equal_ends_are_merged_by_kind():
    graph = build_graph(
        {
            "StartAt": "A",
            "States": {"A": task("a", Next="B", Catch=[*catch(E="B"), *catch(F="B"), *catch(E="B")]), "B": DONE},
        }
    )
    assert edges(graph) == [("A", "B", "next", ()), ("A", "B", "catch", ("E", "F"))]


def test_scopes_and_paths():
    nodes = by_name(build_graph(PARALLEL))
    assert len(nodes["All"].scopes) == 3
    assert nodes["Middle"].path == ("States", "All", "Branches", 1, "States", "Middle")
    assert nodes["Left"].ends
    assert not nodes["All"].ends
    nodes = by_name(build_graph(MAP))
    assert nodes["Read"].path == ("States", "Each", "ItemProcessor", "States", "Read")
    assert nodes["Read"].retries == ("3 times (1 s, 2 s, 4 s) on Busy",)
    old = {"StartAt": "M", "States": {"M": {"Type": "Map", "End": True, "Iterator": LINEAR}}}
    assert by_name(build_graph(old))["Two"].path == ("States", "M", "Iterator", "States", "Two")


def test_ids_are_unique_and_reading_order_puts_a_box_before_what_it_holds():
    nodes = list(build_graph(PARALLEL).nodes())
    assert len({node.id for node in nodes}) == len(nodes)
    assert [node.name for node in nodes] == ["All", "Left", "Middle", "End", "Right", "Done", "Undo"]


@pytest.mark.parametrize(
    ("definition", "name", "detail"),
    [
        ({"StartAt": "A", "States": {"A": {"Type": "Pass", "Next": "Gone"}}}, "Gone", "missing state"),
        ({"StartAt": "Gone", "States": {"A": DONE}}, "Gone", "missing state"),
        ({"States": {"A": DONE}}, "StartAt", "missing field"),
        ({"StartAt": "A", "States": {"A": {"Type": "Pass"}}}, "Next or End", "missing field"),
        ({"StartAt": "A", "States": {"A": {"Type": "Choice"}}}, "Choices", "missing field"),
        ({"StartAt": "A", "States": {"A": {"Type": "Pass", "Next": 3}}}, "a name", "missing state"),
        ({"StartAt": "A", "States": {}}, "no states", "missing state"),
        ({}, "no states", "missing state"),
        (None, "no states", "missing state"),
    ],
)
def test_what_is_missing_is_drawn(definition, name, detail):
    missing = [node for node in build_graph(definition).nodes() if node.kind == "Missing"]
    assert [(node.name, node.detail) for node in missing] == [(name, detail)]


def test_a_target_in_another_scope_is_said_to_be_there():
    inner = {"StartAt": "I", "States": {"I": {"Type": "Pass", "Next": "Outer"}}}
    definition = {
        "StartAt": "M",
        "States": {"M": {"Type": "Map", "ItemProcessor": inner, "Next": "Outer"}, "Outer": DONE},
    }
    missing = [node for node in build_graph(definition).nodes() if node.kind == "Missing"]
    assert [(node.name, node.detail) for node in missing] == [("Outer", "in another scope")]


def test_a_missing_state_is_drawn_once_per_scope():
    states = {"A": {"Type": "Pass", "Next": "X"}, "B": {"Type": "Pass", "Next": "X"}}
    nodes = list(build_graph({"StartAt": "A", "States": states}).nodes())
    assert [node.name for node in nodes] == ["A", "B", "X"]


def test_unreachable_states_are_marked():
    states = {"A": DONE, "B": {"Type": "Pass", "Next": "C"}, "C": DONE}
    nodes = by_name(build_graph({"StartAt": "A", "States": states}))
    assert [name for name, node in nodes.items() if not node.reachable] == ["B", "C"]


def test_a_wrong_start_leaves_every_state_unmarked():
    assert all(node.reachable for node in build_graph({"StartAt": 1, "States": {"A": DONE, "B": DONE}}).nodes())


@pytest.mark.parametrize(
    ("state", "kind", "detail"),
    [
        ("text", "Unknown", "not an object"),
        ({}, "Unknown", "no type"),
        ({"Type": "Loop"}, "Unknown", "unknown type Loop"),
        ({"Type": {}}, "Unknown", "no type"),
    ],
)
def test_states_that_are_none(state, kind, detail):
    node = by_name(build_graph({"StartAt": "A", "States": {"A": state}}))["A"]
    assert (node.kind, node.detail) == (kind, detail)


def test_an_unknown_type_is_followed_by_whatever_it_has():
    state = {"Type": "New", "Next": "B", "Choices": [{"Next": "C"}], "Catch": catch(E="D")}
    graph = build_graph({"StartAt": "A", "States": {"A": state, "B": DONE, "C": DONE, "D": DONE}})
    assert {(target, kind) for _, target, kind, _ in edges(graph)} == {("B", "next"), ("C", "choice"), ("D", "catch")}


def test_fields_that_a_type_does_not_have_are_ignored():
    states = {"A": {"Type": "Succeed", "Next": "B", "Catch": catch(E="B"), "Retry": [{}]}, "B": DONE}
    assert edges(build_graph({"StartAt": "A", "States": states})) == []


def test_deep_nesting_is_folded_and_counted():
    nodes = list(build_graph(nested(DEEPEST_SCOPE + 5)).nodes())
    assert nodes[-1].kind == "Folded"
    assert nodes[-1].detail == f"6 states, nested deeper than {DEEPEST_SCOPE}"
    assert len(nodes) == DEEPEST_SCOPE + 1
    assert nodes[-1].path[-1] == "ItemProcessor"


def test_hostile_depth_does_not_recurse():
    assert len(list(build_graph(nested(50_000)).nodes())) == DEEPEST_SCOPE + 1


def test_an_overlay_can_be_changed_and_tolerates_odd_statuses():
    overlay = Overlay({"One": "ok", "Two": "odd"})  # type: ignore[dict-item]
    graph = build_graph(LINEAR, overlay)
    assert graph.overlay is overlay
    assert overlay.status_of("One") == "ok"
    assert overlay.status_of("Two") == "idle"
    assert overlay.status_of("Done") == "idle"
    assert graph.with_overlay(None) == build_graph(LINEAR)


def test_edges_are_values():
    assert Edge("a", "b", "next") == Edge("a", "b", "next")
