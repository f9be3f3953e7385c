"""Any JSON value can be drawn: nothing raises, nothing overlaps, and what comes out is well-formed."""

import xml.etree.ElementTree as ET
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from statewright.graph.layout import layout
from statewright.graph.lettering import cell_width
from statewright.graph.mermaid import render_mermaid
from statewright.graph.model import Overlay, build_graph
from statewright.graph.svg import render_svg
from statewright.graph.text import render_text
from tests.thoroughness import examples
from tests.unit.graph.geometry import check_layout

NAMES = ["A", "B", "C", "D", "E", "F", "a state with a very long name, longer than any box could be", "日本", "<&\"'>"]
MODERATE = settings(max_examples=examples(80))

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12)
names = st.sampled_from(NAMES)
fields = st.sampled_from(
    ["StartAt", "States", "Type", "Next", "End", "Choices", "Default", "Catch", "Retry", "Branches", "ItemProcessor"]
)
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(fields | st.text(max_size=5), inner, max_size=5),
    max_leaves=25,
)
targets = names | scalars
rules = st.fixed_dictionaries(
    {"Next": targets},
    optional={
        "Variable": st.just("$.value") | scalars,
        "NumericEquals": scalars,
        "StringMatches": st.text(max_size=60),
        "And": json_values,
        "Not": json_values,
        "Condition": scalars,
    },
)
catchers = st.fixed_dictionaries(
    {"Next": targets}, optional={"ErrorEquals": st.lists(st.text(max_size=30), max_size=3)}
)


def states(definitions: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    types = st.sampled_from(["Task", "Pass", "Choice", "Wait", "Succeed", "Fail", "Parallel", "Map"]) | scalars
    return st.fixed_dictionaries(
        {"Type": types},
        optional={
            "Next": names,
            "End": st.booleans(),
            "Choices": st.lists(rules, max_size=4) | scalars,
            "Default": targets,
            "Catch": st.lists(catchers, max_size=3) | scalars,
            "Retry": st.lists(json_values, max_size=2) | scalars,
            "Resource": scalars,
            "Seconds": scalars,
            "Branches": st.lists(definitions, max_size=3) | scalars,
            "ItemProcessor": definitions,
        },
    )


definitions: st.SearchStrategy[Any] = st.deferred(
    lambda: st.fixed_dictionaries(
        {"StartAt": targets, "States": st.dictionaries(names, states(definitions) | json_values, max_size=8)}
    )
)
statuses = st.sampled_from(["ok", "fail", "run", "wait", "caught", "idle"])
overlays = st.none() | st.builds(
    Overlay,
    st.dictionaries(names, statuses, max_size=5),
    st.dictionaries(names, st.integers(0, 10**6), max_size=3),
    st.dictionaries(st.tuples(names, names), st.integers(0, 3), max_size=3),
)


def draw_everything(definition: Any, overlay: Overlay | None = None) -> None:
    graph = build_graph(definition, overlay)
    placed = layout(graph)
    check_layout(placed)
    assert layout(build_graph(definition)).with_overlay(overlay) == placed
    ET.fromstring(render_svg(placed))
    mermaid = render_mermaid(graph)
    assert mermaid.startswith("flowchart TD\n")
    mermaid.encode()
    for ascii_only in (False, True):
        text = render_text(graph, width=60, ascii_only=ascii_only)
        assert max(map(cell_width, text.splitlines())) <= 60
        assert text.isascii() or not ascii_only


@MODERATE
@given(json_values)
def test_any_json_value_is_drawn(value):
    draw_everything(value)


@MODERATE
@given(definitions, overlays)
def test_any_machine_is_drawn(definition, overlay):
    draw_everything(definition, overlay)
