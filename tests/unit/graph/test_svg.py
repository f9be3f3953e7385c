import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import Any

import pytest

from statewright.graph.display import line_path
from statewright.graph.layout import layout
from statewright.graph.model import Overlay, build_graph
from statewright.graph.palette import PALETTES, style_sheet
from statewright.graph.svg import render_svg
from tests.unit.graph.machines import DONE, LINEAR, MAP, PARALLEL, POLLER, nested

SVG = "{http://www.w3.org/2000/svg}"


def draw(definition: Any, overlay: Overlay | None = None, **options: Any) -> Any:
    return ET.fromstring(render_svg(build_graph(definition, overlay), **options))


def group(root: Any, name: str) -> Any:
    return next(found for found in root.iter(f"{SVG}g") if found.get("data-state") == name)


def tooltip(root: Any, name: str) -> Any:
    return group(root, name).find(f"{SVG}title").text


def texts(element: Any) -> list[str]:
    return [text.text for text in element.iter(f"{SVG}text")]


def test_the_drawing_names_itself():
    root = draw(LINEAR)
    assert root.get("role") == "img"
    assert root.get("aria-label") == "A straight line"
    assert root.find(f"{SVG}title").text == "A straight line"
    assert root.find(f"{SVG}desc").text == "3 states: One, Two, Done."
    assert draw(LINEAR, title="Mine & yours").get("aria-label") == "Mine & yours"
    assert draw({}).get("aria-label") == "State machine"


def test_a_graph_and_its_layout_give_the_same_drawing():
    graph = build_graph(POLLER)
    assert render_svg(graph) == render_svg(layout(graph))


def test_a_scope_without_a_start_is_drawn():
    graph = build_graph(LINEAR)
    assert "<title>One (Task)" in render_svg(replace(graph, root=replace(graph.root, start=None)))


def test_lines_have_round_corners_and_no_needless_points():
    assert line_path([(0, 0), (0, 0.2), (0, 5), (0, 20), (30, 20)], shortened=False) == "M0 0L0 11Q0 20 9 20L30 20"
    assert line_path([(0, 0), (0, 20)], shortened=True) == "M0 0L0 14"


def test_it_is_self_contained():
    for definition in (LINEAR, PARALLEL, MAP):
        svg = render_svg(build_graph(definition))
        assert not re.search(r"<(script|image|use|foreignObject|a)\b|\bhref|url\(|@import|\bid=", svg)
        assert svg.count("http") == 1


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_theme_has_only_its_own_colours(theme):
    svg = render_svg(build_graph(LINEAR), theme=theme)
    other = "dark" if theme == "light" else "light"
    assert "@media" not in svg
    assert PALETTES[theme]["page"] in svg
    assert PALETTES[other]["page"] not in svg


def test_auto_follows_the_reader():
    svg = render_svg(build_graph(LINEAR))
    before, after = svg.split("@media (prefers-color-scheme:dark)")
    assert PALETTES["light"]["page"] in before
    assert PALETTES["dark"]["page"] in after


def test_names_are_text_never_markup():
    evil = "</title></svg><script>alert('1')</script>&\"\x1b\ud800"
    definition = {
        "Comment": evil,
        "StartAt": evil,
        "States": {evil: {"Type": "Pass", "Comment": evil, "Next": evil + "2"}},
    }
    svg = render_svg(build_graph(definition), title=evil)
    assert "<script" not in svg
    root: Any = ET.fromstring(svg)
    name = "</title></svg><script>alert('1')</script>&\"��"
    assert root.find(f"{SVG}title").text == name
    assert group(root, name) is not None
    svg.encode()


def test_a_label_is_text_and_its_whole_is_a_tooltip():
    words = "$value = '<b>" + "x" * 100 + "'"
    rule = {"Condition": words, "Next": "B"}
    root = draw({"StartAt": "A", "States": {"A": {"Type": "Choice", "Choices": [rule]}, "B": DONE}})
    titles = [title.text for title in root.iter(f"{SVG}title")]
    assert words in titles
    assert any("…" in text and text.endswith("x'") for text in texts(root))


def test_a_long_name_is_cut_and_whole_in_its_tooltip():
    name = "y" * 80
    root = draw({"StartAt": name, "States": {name: {"Type": "Pass", "End": True}}})
    assert name not in texts(root)
    assert set(texts(group(root, name))[0]) == {"y", "…"}
    assert tooltip(root, name) == f"{name} (Pass)"


def test_a_tooltip_tells_everything():
    root = draw(MAP, Overlay({"Read": "caught"}, {"Read": 3}))
    assert tooltip(root, "Read").splitlines() == [
        "Read (Task)",
        "Caught, 3×",
        "lambda:invoke read",
        "Retry 3 times (1 s, 2 s, 4 s) on Busy",
    ]
    assert tooltip(root, "Skip").splitlines() == ["Skip (Pass)", "Not reached"]


def test_a_comment_may_be_long():
    definition = {"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True, "Comment": "&" * 10_000}}}
    assert len(tooltip(draw(definition), "A")) < 700


@pytest.mark.parametrize(
    ("status", "word"),
    [("ok", "Succeeded"), ("fail", "Failed"), ("run", "Running"), ("wait", "Waiting"), ("caught", "Caught")],
)
def test_a_status_is_colour_icon_and_word(status, word):
    root = draw(LINEAR, Overlay({"One": status}, {"One": 2}))
    shown = group(root, "One")
    assert f"{word}, 2×" in texts(shown)
    looks = {element.get("class") or "" for element in shown.iter()}
    assert any(f"on-{status}" in look for look in looks)
    assert f"badge-{status}" in looks
    assert any("dash" in look for look in looks) == (status == "run")


def test_states_that_were_not_reached_are_faint_and_keep_their_detail():
    root = draw(LINEAR, Overlay({"Two": "ok"}))
    assert group(root, "One").get("class") == "faint"
    assert "lambda:invoke one" in texts(group(root, "One"))
    assert group(root, "Two").get("class") is None
    assert group(draw(LINEAR), "One").get("class") is None


def test_transitions_taken_stand_out():
    svg = render_svg(build_graph(POLLER, Overlay(taken={("Look", "Ready?"): 2, ("Ready?", "Done"): 0})))
    assert svg.count('class="e taken"') == 1
    assert 'class="e taken"' not in render_svg(build_graph(POLLER, Overlay()))


def test_boxes_have_statuses_and_sheets():
    root = draw(MAP, Overlay({"Each": "fail"}))
    looks = [element.get("class") for element in group(root, "Each").iter(f"{SVG}rect")]
    assert looks[:3] == ["b", "b", "b on on-fail box"]
    assert "Failed" in texts(group(root, "Each"))
    assert group(draw(PARALLEL, Overlay()), "All").get("class") is None


def test_faults_are_red_and_unreachable_is_said():
    definition = {"StartAt": "A", "States": {"A": {"Type": "Pass", "Next": "Gone"}, "B": DONE, "C": {"Type": "Odd"}}}
    root = draw(definition, Overlay())
    assert "missing state" in texts(group(root, "Gone"))
    assert tooltip(root, "Gone").splitlines() == ["Gone (not there)", "missing state"]
    assert "unreachable" in texts(group(root, "B"))
    assert "Unreachable: nothing leads here" in tooltip(root, "B")
    assert "unknown type Odd" in texts(group(root, "C"))
    assert "b dash on on-fail" in {element.get("class") for element in group(root, "Gone").iter()}


def test_folded_scopes_say_so():
    root = draw(nested(20))
    assert any("nested deeper" in text for text in texts(root))
    assert tooltip(root, "…").startswith("… (not drawn)")


def test_many_states_are_described_in_part():
    states = {f"S{number}": DONE for number in range(60)}
    description = draw({"StartAt": "S0", "States": states}).find(f"{SVG}desc").text
    assert description.startswith("60 states: S0, ")
    assert description.endswith("S39, and more.")


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("theme", PALETTES)
def test_text_keeps_its_contrast(theme):
    palette = PALETTES[theme]
    for tone in ("ok", "fail", "run", "wait", "caught", "idle"):
        assert contrast(palette[tone], palette[f"{tone}-fill"]) >= 4.5
        assert contrast(palette["text"], palette[f"{tone}-fill"]) >= 4.5
    for ground in ("page", "surface"):
        assert contrast(palette["text"], palette[ground]) >= 4.5
        assert contrast(palette["muted"], palette[ground]) >= 4.5
        assert contrast(palette["line"], palette[ground]) >= 3


def test_every_rule_of_the_style_is_scoped_to_its_drawing():
    for theme in ("auto", "light", "dark"):
        for rule in style_sheet(theme).splitlines():
            assert rule.startswith((f".sw-{theme} ", "@media", "}")), rule
            assert "{{" not in rule
