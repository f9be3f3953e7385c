from typing import Any

import pytest

from statewright.graph.mermaid import escape, render_mermaid
from statewright.graph.model import Overlay, build_graph
from tests.unit.graph.machines import DONE, LINEAR, MAP, PARALLEL, POLLER


def mermaid(definition: Any, overlay: Overlay | None = None) -> str:
    return render_mermaid(build_graph(definition, overlay))


def test_a_line():
    assert mermaid(LINEAR) == (
        "flowchart TD\n"
        '    s0((" ")) --> n1\n'
        '    n1["One<br/>lambda:invoke one"]\n'
        '    n2["Two"]\n'
        '    n3(["Done"])\n'
        "    n1 --> n2\n"
        "    n2 --> n3\n"
        "    classDef ok fill:#e3f5ea,stroke:#137a43,color:#137a43\n"
        "    class n3 ok\n"
    )


def test_choices_are_labelled_diamonds():
    drawn = mermaid(POLLER)
    assert 'n4{"Ready?"}' in drawn
    assert 'n4 -->|"$done"| n5' in drawn
    assert 'n4 -->|"Default"| n2' in drawn


def test_branches_are_subgraphs_and_caught_errors_dashed():
    drawn = mermaid(PARALLEL)
    assert 'subgraph n1["All"]' in drawn
    assert drawn.count("subgraph") == 4
    assert drawn.count("\n    end\n") == 1
    assert 'n1 -.->|"States.ALL"| n3' in drawn


def test_an_item_processor_is_one_subgraph():
    drawn = mermaid(MAP)
    assert drawn.count("subgraph") == 1
    assert 'n1 --> n1e((("#160;")))' in drawn


def test_merged_labels_stand_on_lines_of_their_own():
    rules = [{"Condition": name, "Next": "B"} for name in "xy"]
    definition = {"StartAt": "A", "States": {"A": {"Type": "Choice", "Choices": rules, "Default": "B"}, "B": DONE}}
    assert '|"x<br/>y<br/>Default"|' in mermaid(definition)


def test_a_run_becomes_classes():
    drawn = mermaid(LINEAR, Overlay({"One": "ok", "Two": "run"}))
    assert "class n1 ok" in drawn
    assert "class n2 run" in drawn
    assert "class n3 idle" in drawn


def test_missing_states_are_marked():
    drawn = mermaid({"StartAt": "A", "States": {"A": {"Type": "Pass", "Next": "B"}}}, Overlay())
    assert 'n2["B<br/>missing state"]' in drawn
    assert "class n2 missing" in drawn


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("plain name", "plain name"),
        ("Shall it pass?", "Shall it pass?"),
        ('a "quoted" name', "a #34;quoted#34; name"),
        ("list[0]", "list#91;0#93;"),
        ("<b>&#", "#60;b#62;#38;#35;"),
        ("`code` | pipe; {x} %% \\", "#96;code#96; #124; pipe#59; #123;x#125; #37;#37; #92;"),
        ("$$.Execution.Id", "$#36;.Execution.Id"),
        ("1. first", "1#46; first"),
        ("12) twelfth", "12#41; twelfth"),
        ("- dash", "#45; dash"),
        ("fa:fa-car", "fa#58;fa-car"),
        ("http://host", "http#58;//host"),
        ("ünïcode 日本 ≤", "ünïcode 日本 ≤"),
        ("two\nlines", "two lines"),
        ("", ""),
    ],
)
def test_escape(text, escaped):
    assert escape(text) == escaped


def test_long_text_is_cut():
    cut = escape("begin " + "x" * 900 + " end")
    assert (cut[:6], cut[-4:], len(cut)) == ("begin ", " end", 200)


def test_a_blank_name_still_has_a_box():
    assert 'n1["#160;"]' in mermaid({"StartAt": " ", "States": {" ": {"Type": "Pass", "End": True}}})
