"""The tree of a run: what is drawn, what is folded, and when it is drawn anew."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from statewright.asl.compile import compile_definition
from statewright.cli.live_tree import MOST_LINES, LiveTree, TreeView
from statewright.cli.output import Printer
from statewright.simulator.mocks import Result, Returned, Rule, Script, Threw
from statewright.simulator.running import UnmockedTask
from statewright.simulator.simulate import Simulation
from statewright.simulator.story import Story
from tests.unit.cli.conftest import Run, Terminal

FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:f"
ALL = ["States.ALL"]
PASS = {"Type": "Pass", "End": True}


@pytest.fixture(autouse=True)
def no_colours(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")


def machine(**states: Any) -> dict[str, Any]:
    return {"StartAt": next(iter(states)), "States": states}


def task(**fields: Any) -> dict[str, Any]:
    return {"Type": "Task", "Resource": FUNCTION, **({} if "Next" in fields else {"End": True}), **fields}


def drawn(definition: dict[str, Any], *rules: Rule, given: Any = None, until: int | None = None) -> list[str]:
    """The lines of a run; `until` draws after so many milliseconds."""
    program = compile_definition(definition)
    story = Story(program)
    with contextlib.suppress(UnmockedTask):
        Simulation(Script(rules), on_history=story.note).run(program, {} if given is None else given)
    view = TreeView(story, definition["States"])
    printer = Printer(Terminal())
    now_ms = story.now_ms if until is None else story.root.began_ms + until
    # How wide the column at the left is does not matter here.
    return [re.sub(r"(?<=\S) {2,}", "  ", printer.styled(line)) for line in view.lines(now_ms)]


def always(state: str, *outcomes: Any, delay_ms: int = 0) -> Rule:
    return Rule([Result(one, delay_ms=delay_ms) for one in outcomes], state=state)


def test_a_run_on_a_terminal(terminal: Run):
    result = terminal("run", "order.asl.json", "-i", '{"order": 7}', "--mock", "mocks.yaml")
    assert result.code == 0
    assert result.err.splitlines() == [
        "order.asl.json · virtual time",
        "",
        "         0 s  ✓ Reserve  sqs:sendMessage",
        "         0 s  ✓ Charge   lambda Charge · 2 attempts · 3.5 s",
        "         0 s    ✗ attempt 1: Declined (no money) → again 2 s later",
        "       3.5 s  ✓ Pause    1 min",
        "   1 min 3 s  ✓ Done",
        "",
        "✓ Succeeded · 1 min 3 s of virtual time · 5 transitions · 19 events",
        "",
    ]
    assert json.loads(result.out) == {"order": 7, "charge": {"id": 1}}


def test_colours(terminal: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("NO_COLOR")
    result = terminal("run", "order.asl.json", "--case", "refused")
    assert result.code == 1
    assert "\x1b[31m✗ Failed\x1b[0m" in result.err
    assert re.search(r"\x1b\[33mcaught Broken → Sorry\x1b\[0m", result.err)


def test_what_the_introduction_says(terminal: Run, folder: Path):
    result = terminal("run", "order.asl.json", "--case", "second try", "--limits", "open")
    assert result.err.startswith("order.asl.json · case 'second try' · virtual time · no limits\n")


def test_ends_of_visits():
    states = machine(
        A=task(Catch=[{"ErrorEquals": ALL, "Next": "B"}], Next="B"),
        B={
            "Type": "Parallel",
            "Branches": [machine(C=task()), machine(D={"Type": "Wait", "Seconds": 9, "End": True})],
            "End": True,
        },
    )
    assert drawn(states, always("A", Threw("X", "y")), always("C", Threw("E", None), delay_ms=1_000)) == [
        "         0 s  ↯ A  lambda f · caught X (y) → B",
        "         0 s  ✗ B  2 branches · 1 s · failed E",
        "         0 s  ├─ branch 1  ✗ C  1 s · failed E",
        "         0 s  └─ branch 2  ○ D  1 s · stopped",
    ]


def test_what_still_runs():
    running = drawn(machine(A={"Type": "Wait", "Seconds": 1, "Next": "B"}, B=task()), until=3_345)
    assert running == ["         0 s  ✓ A  1 s", "         1 s  ◌ B  lambda f · 2.3 s · running"]


def test_a_retrier_that_waits():
    parallel = {
        "Type": "Parallel",
        "Branches": [
            machine(B=task(Retry=[{"ErrorEquals": ALL, "IntervalSeconds": 60}])),
            machine(C={"Type": "Wait", "Seconds": 5, "Next": "D"}, D=task()),
        ],
        "End": True,
    }
    assert drawn(machine(A=parallel), always("B", Threw("X", None))) == [
        "         0 s  ◌ A  2 branches · 5 s · running",
        "         0 s  ├─ branch 1  ◷ B  5 s · waiting for the next attempt",
        "         0 s  │  ✗ attempt 1: X",
        "         0 s  └─ branch 2 ◌  5 s",
        "         0 s  ✓ C",
        "         5 s  ◌ D  running",
    ]


def test_many_attempts_are_folded():
    retry = [{"ErrorEquals": ALL, "IntervalSeconds": 1, "MaxAttempts": 50, "BackoffRate": 1}]
    assert drawn(machine(A=task(Retry=retry)), always("A", *[Threw("X", None)] * 40, Returned(1))) == [
        "         0 s  ✓ A  lambda f · 41 attempts · 40 s",
        "         0 s  ✗ attempt 1: X → again 1 s later",
        "         1 s  ✗ attempt 2: X → again 1 s later",
        "         2 s  ✗ attempt 3: X → again 1 s later",
        "                … 36 more failed attempts",
        "        39 s  ✗ attempt 40: X → again 1 s later",
    ]


def test_rounds_are_folded():
    choice = {"Type": "Choice", "Choices": [{"Variable": "$.done", "BooleanEquals": True, "Next": "D"}], "Default": "A"}
    wait = {"Type": "Wait", "Seconds": 10, "Next": "B"}
    states = machine(A=wait, B=task(ResultPath="$.done", Next="C"), C=choice, D=PASS)
    rule = Rule([Result(Returned(False), times=9), Result(Returned(True))], state="B")
    assert drawn(states, rule) == [
        "         0 s  ✓ A  10 s",
        "        10 s  ✓ B  lambda f",
        "        10 s  ✓ C",
        "        10 s  ↺ 7 more of A → B → C  1 min 10 s",
        "  1 min 20 s  ✓ A  10 s",
        "  1 min 30 s  ✓ B  lambda f",
        "  1 min 30 s  ✓ C",
        "  1 min 30 s  ✓ A  10 s",
        "  1 min 40 s  ✓ B  lambda f",
        "  1 min 40 s  ✓ C",
        "  1 min 40 s  ✓ D",
    ]


def test_many_items_are_folded():
    inner = machine(I=task(Catch=[{"ErrorEquals": ["Mild"], "Next": "J"}], Next="J"), J=PASS)
    each = {"Type": "Map", "ItemsPath": "$", "MaxConcurrency": 1, "ItemProcessor": inner, "End": True}
    outcomes = [Returned(1)] * 20 + [Threw("Mild", None)] + [Returned(1)] * 8 + [Threw("Hard", None)]
    assert drawn(machine(M=each), always("I", *outcomes), given=list(range(50))) == [
        "         0 s  ✗ M  each of $, one at a time · failed Hard",
        "         0 s  ├─ item 0 ✓",
        "         0 s  │  ✓ I",
        "         0 s  │  ✓ J",
        "         0 s  ├─ item 1 ✓",
        "         0 s  │  ✓ I",
        "         0 s  │  ✓ J",
        "         0 s  ├─ item 2 ✓",
        "         0 s  │  ✓ I",
        "         0 s  │  ✓ J",
        "         0 s  ├─ item 20 ✓",
        "         0 s  │  ↯ I  caught Mild → J",
        "         0 s  │  ✓ J",
        "         0 s  ├─ item 29  ✗ I  failed Hard",
        "              └─ 25 more items: 25 succeeded",
    ]


def test_huge_trees_lose_their_middle():
    states = {f"S{n}": {"Type": "Pass", "Next": f"S{n + 1}"} for n in range(600)} | {"S600": PASS}
    lines = drawn(machine(**states))
    assert len(lines) == MOST_LINES
    assert "              … 202 more lines; --history has every event" in lines
    assert lines[-1] == "         0 s  ✓ S600"


def test_hostile_names_stay_on_their_line():
    name = "evil\n\x1b[2J" + "x" * 60
    lines = drawn(machine(**{name: PASS, "": PASS} | {name: {"Type": "Pass", "Next": ""}}))
    assert len(lines) == 2
    assert "\x1b" not in "".join(lines)
    assert lines[1].endswith("✓ ?")


class Clock:
    """Real time that passes when told to."""

    def __init__(self) -> None:
        self.ms = 0

    def now_ms(self) -> int:
        return self.ms


def test_the_live_tree_is_drawn_late_and_seldom_and_then_taken_away():
    program = compile_definition(machine(A=PASS))
    story = Story(program)
    Simulation(on_history=story.note).run(program, {})
    page, clock = Terminal(), Clock()
    tree = LiveTree(Printer(page), TreeView(story, {}), clock.now_ms)
    tree.tick(story.now_ms)
    assert page.getvalue() == ""
    clock.ms = 200
    tree.tick(story.now_ms)
    first = page.getvalue()
    assert "✓ A" in first
    clock.ms = 210
    tree.tick(story.now_ms)
    assert page.getvalue() == first
    clock.ms = 320
    tree.tick(story.now_ms)
    assert page.getvalue().count("✓ A") == 2
    tree.stop()
    tree.stop()
    assert page.getvalue().endswith("\x1b[1A\x1b[2K\x1b[?25h")
    lines = first.count("\n")
    assert lines > 0
    assert page.getvalue().count("\x1b[1A\x1b[2K") == 2 * lines, "each drawing is taken away once"


def test_a_live_tree_taller_than_the_terminal_shows_its_end():
    program = compile_definition(
        machine(**{f"S{n}": {"Type": "Pass", "Next": f"S{n + 1}"} for n in range(99)}, S99=PASS)
    )
    story = Story(program)
    Simulation(on_history=story.note).run(program, {})
    page, clock = Terminal(), Clock()
    tree = LiveTree(Printer(page), TreeView(story, {}), clock.now_ms)
    clock.ms = 200
    tree.tick(story.now_ms)
    tree.stop()
    assert "✓ S99" in page.getvalue()
    assert "…" in page.getvalue()
    assert "✓ S1\n" not in page.getvalue()


def test_plain_steps_say_where_they_are(statewright: Run, folder: Path):
    inner = machine(I=task(Catch=[{"ErrorEquals": ["Mild"], "Next": "J"}], Next="J"), J=PASS)
    each = {"Type": "Map", "ItemsPath": "$", "ItemProcessor": inner, "End": True}
    states = machine(P={"Type": "Parallel", "Branches": [machine(X=PASS), machine(M=each)], "End": True})
    (folder / "m.json").write_text(json.dumps(states))
    (folder / "m.yaml").write_text("mocks: {I: [{returns: 1}, {throws: {error: Mild, cause: so what}}]}")
    lines = statewright("run", "m.json", "--mock", "m.yaml", "-i", "[1, 2]").err.splitlines()
    said = [re.sub(r"\s+", " ", line).strip() for line in lines]
    assert "0 s P[1]/X succeeded" in said
    assert "0 s P[2]/M[0]/I succeeded" in said
    assert "0 s P[2]/M[1]/I attempt 1 failed: Mild (so what)" in said
    assert "0 s P[2]/M[1]/I caught Mild" in said


def test_what_went_wrong_in_an_expression_is_said_in_the_line(statewright: Run, folder: Path):
    broken = {"Type": "Pass", "QueryLanguage": "JSONata", "Output": "{% $states.input.nope %}", "End": True}
    (folder / "m.json").write_text(json.dumps(machine(A=broken)))
    line = statewright("run", "m.json").err.splitlines()[0]
    assert re.split(r"\s{2,}", line.strip()) == [
        "0 s",
        "A",
        "attempt 1 failed: States.QueryEvaluationError (The JSONata expression '$states.input.nope' specified for the "
        "field 'Output' returned nothing (undefined).)",
    ]
