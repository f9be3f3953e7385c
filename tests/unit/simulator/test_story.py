"""Stories of runs: which visits there were, and how each of them ended."""

from __future__ import annotations

from typing import Any

import pytest

from statewright.asl.compile import compile_definition
from statewright.simulator.mocks import Hung, Result, Returned, Rule, Script, Threw
from statewright.simulator.running import Run, UnmockedTask
from statewright.simulator.simulate import Simulation
from statewright.simulator.story import Attempt, Story, Strand, Visit

FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:f"
PASS = {"Type": "Pass", "End": True}
ALL = ["States.ALL"]


def task(**fields: Any) -> dict[str, Any]:
    return {"Type": "Task", "Resource": FUNCTION, **({} if "Next" in fields else {"End": True}), **fields}


def machine(**states: Any) -> dict[str, Any]:
    return {"StartAt": next(iter(states)), "States": states}


def mocks(**outcomes: Any) -> Script:
    """Per state one outcome, or several in a row; each takes a second."""
    return Script(
        tuple(
            Rule([Result(one, delay_ms=1_000) for one in (given if isinstance(given, list) else [given])], state=state)
            for state, given in outcomes.items()
        )
    )


def tell(definition: dict[str, Any], script: Script | None = None, given: Any = None) -> tuple[Story, Run]:
    story = Story(compile_definition(definition))
    run = Simulation(script, on_history=story.note).run(story.program, {} if given is None else given)
    return story, run


def shown(strand: Strand) -> list[Any]:
    """Visits as name and status; containers with what is in them."""
    told: list[Any] = []
    for visit in strand.visits:
        told.append(f"{visit.name} {visit.status}")
        told += [[f"{one.kind} {one.index} {one.status}", *shown(one)] for one in visit.strands]
    return told


def only(story: Story, name: str) -> Visit:
    (visit,) = [visit for visit in story.visits() if visit.name == name]
    return visit


def test_a_chain():
    wait = {"Type": "Wait", "Seconds": 5, "Next": "C"}
    story, _ = tell(machine(A=task(Next="B"), B=wait, C=PASS), mocks(A=Returned(1)))
    assert shown(story.root) == ["A succeeded", "B succeeded", "C succeeded"]
    a, b, c = story.root.visits
    assert (a.next, b.next, c.next) == ("B", "C", None)
    began_ms = story.root.began_ms
    assert [(one.entered_ms - began_ms, (one.ended_ms or 0) - began_ms) for one in (a, b, c)] == [
        (0, 1_000), (1_000, 6_000), (6_000, 6_000),
    ]  # fmt: skip
    assert story.root.status == "succeeded"
    assert story.failed_visit is None


def test_retries():
    retrier = {"ErrorEquals": ALL, "IntervalSeconds": 3}
    story, _ = tell(machine(A=task(Retry=[retrier])), mocks(A=[Threw("X", "why"), Threw("Y", None), Returned(1)]))
    attempts = only(story, "A").attempts
    assert [(one.number, one.failed, one.error, one.cause, one.retried_after_ms) for one in attempts] == [
        (1, True, "X", "why", 3_000),
        (2, True, "Y", None, 6_000),
        (3, False, None, None, None),
    ]
    assert only(story, "A").status == "succeeded"


@pytest.mark.parametrize("next_state", ["B", "C"])
def test_caught(next_state: str):
    catch = [{"ErrorEquals": ALL, "Next": next_state}]
    states = machine(A=task(Catch=catch, Next="B"), B={"Type": "Pass", "Next": "C"}, C=PASS)
    story, _ = tell(states, mocks(A=Threw("X", None)))
    assert shown(story.root)[0] == "A caught"
    assert only(story, "A").next == next_state
    failure = only(story, "A").failure
    assert failure is not None
    assert failure.error == "X"


def test_caught_without_any_event():
    catch = [{"ErrorEquals": ALL, "Next": "B"}]
    call = task(Parameters={"x.$": "States.StringToJson('{')"}, Catch=catch, Next="C")
    story, _ = tell(machine(A=call, B={"Type": "Pass", "Next": "C"}, C=PASS))
    assert shown(story.root) == ["A caught", "B succeeded", "C succeeded"]


def test_a_failed_expression_is_caught():
    call = task(Output="{% $nope() %}", Catch=[{"ErrorEquals": ALL, "Next": "B"}], Next="B")
    story, _ = tell({"QueryLanguage": "JSONata", **machine(A=call, B=PASS)}, mocks(A=Returned(1)))
    failure = only(story, "A").failure
    assert failure is not None
    assert failure.error == "States.QueryEvaluationError"
    assert shown(story.root) == ["A caught", "B succeeded"]


def test_a_failure_for_good():
    story, _ = tell(machine(A=task()), mocks(A=Threw("X", "why")))
    assert shown(story.root) == ["A failed"]
    assert story.failed_visit is only(story, "A")
    story, _ = tell(machine(A={"Type": "Fail", "Error": "E"}))
    assert shown(story.root) == ["A failed"]
    story, _ = tell(machine(A={"Type": "Pass", "InputPath": "$.no", "End": True}))
    assert only(story, "A").failure is not None


def test_branches():
    parallel = {"Type": "Parallel", "Branches": [machine(B1=task(Next="B2"), B2=PASS), machine(C=task())], "End": True}
    story, _ = tell(machine(P=parallel), mocks(B1=Returned(1), C=Returned(2)))
    assert shown(story.root) == [
        "P succeeded",
        ["branch 0 succeeded", "B1 succeeded", "B2 succeeded"],
        ["branch 1 succeeded", "C succeeded"],
    ]


def test_a_failing_branch_stops_the_others_and_is_caught():
    inner = [machine(B=task()), machine(C={"Type": "Wait", "Seconds": 9, "End": True})]
    parallel = {"Type": "Parallel", "Branches": inner, "Catch": [{"ErrorEquals": ALL, "Next": "D"}], "Next": "D"}
    story, _ = tell(machine(P=parallel, D=PASS), mocks(B=Threw("X", "why")))
    assert shown(story.root) == [
        "P caught",
        ["branch 0 failed", "B failed"],
        ["branch 1 stopped", "C stopped"],
        "D succeeded",
    ]
    failure = only(story, "P").failure
    assert failure is not None
    assert (failure.error, failure.cause) == ("X", "why")


def test_the_error_of_a_fail_state_comes_from_the_catcher():
    parallel = {
        "Type": "Parallel",
        "Branches": [machine(F={"Type": "Fail", "Error": "E", "Cause": "because"})],
        "Catch": [{"ErrorEquals": ALL, "Next": "D"}],
        "Next": "D",
    }
    story, _ = tell(machine(P=parallel, D=PASS))
    failure = only(story, "P").failure
    assert failure is not None
    assert (failure.error, failure.cause) == ("E", "because")
    parallel["Catch"] = [{"ErrorEquals": ALL, "Next": "D", "ResultPath": None}]
    story, _ = tell(machine(P=parallel, D=PASS))
    failure = only(story, "P").failure
    assert failure is not None
    assert failure.error is None
    story, _ = tell(machine(P=parallel, D=PASS), given=[1])
    assert only(story, "P").status == "caught"


def test_a_retried_map_keeps_the_items_of_its_last_attempt():
    each = {
        "Type": "Map",
        "ItemsPath": "$",
        "MaxConcurrency": 1,
        "ItemProcessor": machine(I=task()),
        "Retry": [{"ErrorEquals": ALL, "IntervalSeconds": 1}],
        "End": True,
    }
    outcomes = [Returned(0), Threw("X", None), Returned(1), Returned(2)]
    story, _ = tell(machine(M=each), mocks(I=outcomes), [10, 20])
    visit = only(story, "M")
    assert [(one.failed, one.error, one.length, len(one.strands)) for one in visit.attempts] == [
        (True, "X", 2, 2), (False, None, 2, 2),
    ]  # fmt: skip
    assert shown(story.root) == [
        "M succeeded",
        ["item 0 succeeded", "I succeeded"],
        ["item 1 succeeded", "I succeeded"],
    ]
    assert len(list(story.visits())) == 5


def test_a_distributed_map():
    each = {
        "Type": "Map",
        "ItemProcessor": {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}, **machine(I=task())},
        "ToleratedFailureCount": 5,
        "End": True,
    }
    story, run = tell(machine(M=each), mocks(I=[Returned(0), Threw("X", None)]), [10, 20, 30])
    assert run.status == "SUCCEEDED"
    assert shown(story.root) == [
        "M succeeded",
        ["item 0 succeeded", "I succeeded"],
        ["item 1 failed", "I failed"],
        ["item 2 failed", "I failed"],
    ]
    assert story.failed_visit is None


def test_time_out():
    story, run = tell({"TimeoutSeconds": 5, **machine(A=task())}, mocks(A=Hung()))
    assert run.status == "TIMED_OUT"
    assert shown(story.root) == ["A stopped"]
    assert story.root.status == "stopped"


def test_listeners_hear_of_failed_attempts_and_ended_visits():
    heard: list[tuple[str, int | None]] = []

    def listen(visit: Visit, attempt: Attempt | None) -> None:
        heard.append((visit.name, attempt.number if attempt is not None else None))

    program = compile_definition(machine(A=task(Retry=[{"ErrorEquals": ALL}], Next="B"), B=PASS))
    story = Story(program, listen)
    Simulation(mocks(A=[Threw("X", None), Returned(1)]), on_history=story.note).run(program, {})
    assert heard == [("A", 1), ("A", None), ("B", None)]


def test_a_run_that_is_given_up_stays_open():
    program = compile_definition(machine(A={"Type": "Pass", "Next": "B"}, B=task()))
    story = Story(program)
    with pytest.raises(UnmockedTask):
        Simulation(on_history=story.note).run(program, {})
    assert shown(story.root) == ["A succeeded", "B running"]


def test_visits_and_attempts_name_their_events():
    retry = [{"ErrorEquals": ALL, "IntervalSeconds": 1}]
    story, run = tell(machine(A=task(Retry=retry, Next="B"), B=PASS), mocks(A=[Threw("Busy", ""), Returned(1)]))
    types = {event.id: event.type for event in run.history}
    visit = only(story, "A")
    first, second = visit.attempts
    told = [visit.entered_event, first.began_event, first.ended_event, second.began_event, second.ended_event]
    assert [types[event or 0] for event in [*told, visit.ended_event]] == [
        "TaskStateEntered",
        "LambdaFunctionScheduled",
        "LambdaFunctionFailed",
        "LambdaFunctionScheduled",
        "LambdaFunctionSucceeded",
        "TaskStateExited",
    ]
    assert not only(story, "B").attempts
    assert types[only(story, "B").ended_event or 0] == "PassStateExited"
