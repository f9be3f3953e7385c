from typing import Any

from statewright.graph.lettering import cell_width
from statewright.graph.model import Overlay, build_graph
from statewright.graph.text import render_text
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


def text(definition: Any, overlay: Overlay | None = None, **options: Any) -> str:
    return render_text(build_graph(definition, overlay), **options)


def lines(definition: Any, **options: Any) -> list[str]:
    return text(definition, **options).splitlines()


def test_a_line():
    assert text(LINEAR) == ("●\n│\n■ One    Task · lambda:invoke one\n│\n▷ Two    Pass\n│\n✓ Done   Succeed\n")


def test_a_loop():
    assert lines(POLLER)[-4:] == [
        "◆ Ready?                 Choice",
        "├─ $done ───▶ ✓ Done     Succeed",
        "├─ $broken ─▶ ✗ Broken   Fail · JobBroken",
        "└─ Default ─▶ ↺ back to Wait",
    ]


def test_branches_are_nested():
    assert text(SEMAPHORE) == (
        "●\n"
        "│\n"
        "■ Ask for the key   Task · lambda:invoke ask\n"
        "│\n"
        "◆ May I?            Choice\n"
        "├─ $mine\n"
        "│  ■ Work           Task · lambda:invoke work\n"
        "│  │\n"
        "│  ▷ Give it back   Pass\n"
        "│  ◉\n"
        "│\n"
        "└─ Default\n"
        "   ◷ Be patient     Wait · 5 s\n"
        "   └─ ↺ back to Ask for the key\n"
    )


def test_inner_scopes_have_rails_of_their_own():
    assert [line.partition("   ")[0] for line in lines(PARALLEL)] == [
        "●",
        "│",
        "∥ All",
        "│  ↯ States.ALL ─▶ ✗ Undo",
        "│ ╭─ branch 1",
        "│ │  ▷ Left",
        "│ │  ◉",
        "│ ├─ branch 2",
        "│ │  ■ Middle",
        "│ │  │",
        "│ │  ✓ End",
        "│ ├─ branch 3",
        "│ │  ▷ Right",
        "│ │  ◉",
        "│ ╰─",
        "│",
        "✓ Done",
    ]


def test_retriers_and_catchers():
    drawn = text(MAP)
    assert "≡ Each" in drawn
    assert "╭─ for each item\n" in drawn
    assert "│  ↻ 3 times (1 s, 2 s, 4 s) on Busy\n" in drawn
    assert "│  ↯ Bad ─▶ Skip ↓\n" in drawn
    assert "│  ↯ Full ─▶ Skip ↓\n" in drawn
    assert drawn.count("▷ Skip") == 1


def test_where_branches_meet_again_the_rail_goes_on():
    definition = {
        "StartAt": "C",
        "States": {
            "C": choice(("$a", "A"), default="B"),
            "A": {"Type": "Pass", "Next": "J"},
            "B": {"Type": "Pass", "Next": "J"},
            "J": DONE,
        },
    }
    assert lines(definition)[2:] == [
        "◆ C      Choice",
        "├─ $a",
        "│  ▷ A   Pass",
        "│  └─▶ J ↓",
        "│",
        "├─ Default",
        "│  ▷ B   Pass",
        "│  └─▶ J ↓",
        "│",
        "✓ J      Succeed",
    ]


def test_handlers_stand_below_the_main_line_and_point_up():
    definition = {
        "StartAt": "A",
        "States": {
            "A": task("a", Next="B", Catch=catch(E="H")),
            "B": task("b", Next="Z", Catch=catch(E="H")),
            "H": {"Type": "Pass", "Next": "Z"},
            "Z": DONE,
        },
    }
    drawn = lines(definition)
    assert drawn[-2:] == ["▷ H   Pass", "└─▶ Z ↑"]
    assert drawn[-3] == ""
    assert drawn.index("✓ Z   Succeed") < drawn.index("▷ H   Pass")


def test_a_chain_of_decisions_does_not_wander_to_the_right():
    states = {f"D{n}": choice(("$stop", "Stop"), default=f"D{n + 1}") for n in range(60)}
    definition = {"StartAt": "D0", "States": {**states, "D60": DONE, "Stop": {"Type": "Fail"}}}
    assert max(len(line) - len(line.lstrip("│ ")) for line in lines(definition)) <= 6


def test_a_tree_of_decisions_stays_within_the_width():
    states = {f"D{n}": choice(("$l", f"D{2 * n + 1}"), default=f"D{2 * n + 2}") for n in range(127)}
    for n in range(127, 255):
        states |= {f"D{n}": task("f", Next=f"E{n}"), f"E{n}": {"Type": "Pass", "End": True}}
    drawn = lines({"StartAt": "D0", "States": states}, width=40)
    assert max(map(cell_width, drawn)) <= 40
    assert sum("▷ E" in line for line in drawn) == 128


def test_every_state_is_drawn_once():
    definition = long_machine(100)
    drawn = text(definition, width=200)
    for name in definition["States"]:
        assert sum(f" {name} " in line and "▶" not in line and "↺" not in line for line in drawn.splitlines()) == 1


def test_large_machines_are_drawn_dense():
    assert "│\n■ Step 1 " in text(long_machine(20))
    assert "│\n■ Step 1 " not in text(long_machine(200))


def test_what_nothing_leads_to_is_said():
    drawn = lines({"StartAt": "A", "States": {"A": DONE, "B": {"Type": "Pass", "Next": "A"}}})
    assert drawn[-4:-2] == ["", "unreachable:"]
    assert drawn[-2].startswith("▷ B")


def test_what_runs_never_take_does_not_break_the_main_line():
    states = {"A": {"Type": "Pass", "Next": "Z"}, "B": {"Type": "Pass", "Next": "Z"}, "Z": DONE}
    drawn = lines({"StartAt": "A", "States": states})
    assert drawn[2:5] == ["▷ A   Pass", "│", "✓ Z   Succeed"]
    assert drawn[-1] == "└─▶ Z ↑"


def test_a_state_below_two_beginnings_stands_between_neither():
    states = {
        "A": choice(("$a", "Z"), default="Y"),
        "B": {"Type": "Pass", "Next": "Z"},
        "C": {"Type": "Pass", "Next": "Z"},
    }
    drawn = text({"StartAt": "A", "States": {**states, "Y": {"Type": "Pass", "Next": "Z"}, "Z": DONE}})
    assert drawn.count("✓ Z") == 1
    assert drawn.count("─▶ Z") == 4


def test_missing_states_are_marked():
    drawn = text({"StartAt": "A", "States": {"A": {"Type": "Pass", "Next": "Gone"}}})
    assert "✗ Gone   missing state" in drawn


def test_a_run():
    drawn = text(POLLER, Overlay({"Start job": "ok", "Wait": "wait"}, {"Wait": 4}))
    assert "✓ Succeeded" in drawn
    assert "◷ Waiting 4×" in drawn
    assert "○ Not reached" in drawn


def test_ascii():
    drawn = text(SEMAPHORE, ascii_only=True)
    assert drawn.isascii()
    assert "`- ^ back to Ask for the key" in drawn
    name = "Prüfe ≤ …"
    drawn = text(
        {"StartAt": name, "States": {name: task("日本", End=True)}}, Overlay({name: "ok"}, {name: 2}), ascii_only=True
    )
    assert "# Pr\\xfcfe <= ..." in drawn
    assert "+ Succeeded 2x" in drawn
    assert text(PARALLEL, ascii_only=True).isascii()


def test_colour():
    assert "\x1b[" not in text(POLLER)
    drawn = text(POLLER, color=True)
    assert "\x1b[36m■\x1b[0m" in drawn
    assert "\x1b[31m✗\x1b[0m" in drawn


def test_names_cannot_drive_the_terminal():
    name = "x\x1b]0;title\x07\u202ey\r\nz"
    drawn = text({"StartAt": name, "States": {name: {"Type": "Pass", "End": True}}}, color=False)
    assert "\x1b" not in drawn
    assert "\u202e" not in drawn
    assert "■" not in drawn
    assert len(drawn.splitlines()) == 4


def test_rows_fit_the_width():
    name = "a state with a name that is as long as names can be, and then some more of it"
    for width in (40, 60, 100):
        drawn = lines(
            {"StartAt": name, "States": {name: task("f" * 100, Retry=[{"ErrorEquals": ["E" * 99]}], End=True)}},
            width=width,
        )
        assert max(map(cell_width, drawn)) <= width
    assert max(map(cell_width, lines(nested(12), width=10))) <= 40
    assert any("nested deeper" in line for line in lines(nested(12), width=120))


def test_a_default_that_shares_its_target_with_a_long_rule_is_said():
    rule = "$states.input.one.very.long.path = 'a very long literal' and $x"
    definition = {"StartAt": "C", "States": {"C": choice((rule, "Done"), default="Done"), "Done": DONE}}
    assert any("…" in line and "and $x or Default ─▶" in line for line in lines(definition, width=100))
    assert any("..." in line and " or Default ->" in line for line in lines(definition, width=60, ascii_only=True))
