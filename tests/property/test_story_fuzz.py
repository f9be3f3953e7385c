"""Whatever a machine does, its story accounts for every state entered and leaves nothing running."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from statewright.asl.compile import compile_definition
from statewright.cli.live_tree import TreeView
from statewright.simulator.mocks import Hung, Outcome, Result, Returned, Rule, Script, Threw
from statewright.simulator.running import Run
from statewright.simulator.simulate import Simulation, Stalled
from statewright.simulator.story import Story
from tests.thoroughness import examples

FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:f"
CATCH = [{"ErrorEquals": ["States.ALL"], "Next": "?"}]
RETRY = [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "MaxAttempts": 2}]


class Machines:
    """Draws machines whose state names are unique."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.count = 0

    def scope(self, depth: int) -> dict[str, Any]:
        length = self.draw(st.integers(1, 3))
        first = self.count
        self.count += length
        names = [f"S{first + index}" for index in range(length)]
        states = {}
        for index, name in enumerate(names):
            state = self.state(depth)
            following = names[index + 1] if index + 1 < length else None
            if state["Type"] != "Fail":
                state.update({"Next": following} if following else {"End": True})
            catchers = state.get("Catch", [])
            if catchers and following is None:
                del state["Catch"]
            elif catchers:
                state["Catch"] = [{**catchers[0], "Next": names[-1]}]
            states[name] = state
        return {"StartAt": names[0], "States": states}

    def state(self, depth: int) -> dict[str, Any]:
        kinds = ["Pass", "Wait", "Task", "Task", "Fail"] + (["Parallel", "Map", "Run"] * 2 if depth < 3 else [])
        kind = self.draw(st.sampled_from(kinds))
        if kind == "Wait":
            return {"Type": "Wait", "Seconds": self.draw(st.integers(0, 3))}
        if kind in ("Pass", "Fail"):
            return {"Type": kind}
        state: dict[str, Any] = {"Type": "Map" if kind == "Run" else kind}
        if self.draw(st.booleans()):
            state["Retry"] = RETRY
        if self.draw(st.booleans()):
            state["Catch"] = CATCH
        if kind == "Task":
            return {**state, "Resource": FUNCTION, "TimeoutSeconds": 5}
        if kind == "Parallel":
            branches = [self.scope(depth + 1) for _ in range(self.draw(st.integers(1, 2)))]
            return {**state, "Branches": branches}
        mode = {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"} if kind == "Run" else {"Mode": "INLINE"}
        return {
            **state,
            "Parameters": {"fixed": True},
            "ItemsPath": "$$.Execution.Input.items",
            "MaxConcurrency": self.draw(st.integers(0, 2)),
            "ItemProcessor": {"ProcessorConfig": mode, **self.scope(depth + 1)},
        }


@st.composite
def machines(draw: st.DrawFn) -> dict[str, Any]:
    return Machines(draw).scope(0)


outcomes: st.SearchStrategy[Outcome] = st.sampled_from([Returned(1), Threw("E", "why"), Threw(None, None), Hung()])
results = st.lists(st.builds(Result, outcomes, times=st.integers(1, 2), delay_ms=st.integers(0, 4_000)), min_size=1)


def entered(run: Run) -> int:
    return len(run.path) + sum(entered(child) for child in run.children)


@settings(max_examples=examples(150))
@given(machines(), results)
def test_every_state_is_accounted_for(definition: dict[str, Any], answers: list[Result]) -> None:
    program = compile_definition(definition)
    story = Story(program)
    script = Script((Rule(answers, state="*", ending="cycle"),))
    try:
        run = Simulation(script, on_history=story.note).run(program, {"items": [1, 2, 3]})
    except Stalled:
        return
    visits = list(story.visits())
    assert len(visits) == entered(run)
    assert not [visit.name for visit in visits if visit.status == "running"]
    assert all(visit.ended_ms is not None and visit.ended_ms >= visit.entered_ms for visit in visits)
    assert story.root.status == run.status.lower().replace("timed_out", "stopped")
    assert [visit.status for visit in story.root.visits[:-1] if visit.status not in ("succeeded", "caught")] == []
    calls = [visit for visit in visits if visit.definition.type == "Task"]
    assert sum(len(visit.attempts) for visit in calls) == count_calls(run)
    if run.status == "FAILED":
        assert story.failed_visit is not None
        assert story.root.visits[-1].status == "failed"
    else:
        assert story.root.visits[-1].status == "succeeded"
    assert TreeView(story, {}).lines(story.now_ms)


def count_calls(run: Run) -> int:
    return len(run.tasks) + sum(count_calls(child) for child in run.children)
