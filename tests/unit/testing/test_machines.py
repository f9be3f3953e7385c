"""What a test does with `sfn`: mocks, time, tokens, restarts, projects, replays, single states."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from statewright.errors import ApiError, DefinitionError
from statewright.testing import Model, Sfn, TaskFailure, UnmockedTask
from statewright.testing import sfn as settings

LAMBDA = "arn:aws:states:::lambda:invoke"
ACTIVITY = "arn:aws:states:us-east-1:000000000000:activity:approve"


def task(resource: str = LAMBDA, **more: Any) -> dict[str, Any]:
    parameters = {"Parameters": {"FunctionName": "work", "Payload.$": "$"}} if resource == LAMBDA else {}
    return {"Type": "Task", "Resource": resource, **parameters, **more}


def machine_of(**states: dict[str, Any]) -> dict[str, Any]:
    names = list(states)
    linked = {
        name: state if state["Type"] in ("Choice", "Fail", "Succeed") or "Next" in state
        else {**state, **({"Next": names[i + 1]} if i + 1 < len(names) else {"End": True})}
        for i, (name, state) in enumerate(states.items())
    }  # fmt: skip
    return {"StartAt": names[0], "States": linked}


ONE = machine_of(Work=task(OutputPath="$.Payload"))


# ---------------------------------------------------------------------- mocks


def test_answers_come_one_after_the_other_and_the_last_repeats(sfn: Sfn):
    m = sfn.load(machine_of(A=task(), B=task(), C=task(OutputPath="$.Payload")))
    m.mock(resource="lambda:work").returns_payload(1).then.returns_payload(2)
    m.run().assert_succeeded(2)
    # A new execution begins with the first answer.
    assert [visit.count for visit in map(m.runs[0].visits, "ABC")] == [1, 1, 1]
    m.run().assert_succeeded(2)


def test_a_sequence_that_begins_again_and_one_that_ends(sfn: Sfn):
    m = sfn.load(machine_of(A=task(), B=task(), C=task(OutputPath="$.Payload")))
    m.mock("*").returns_payload(1).then.returns_payload(2).again()
    m.run().assert_succeeded(1)
    m.mock("*").returns_payload(1).then.returns_payload(2).never_again()
    with pytest.raises(UnmockedTask, match="has given 2 answers and has none for call 3 of state 'C'"):
        m.run()


def test_the_later_mock_wins_and_the_more_exact_one_before_it(sfn: Sfn):
    items = {"Type": "Map", "ItemProcessor": {"StartAt": "T", "States": {"T": task(OutputPath="$.Payload", End=True)}}}
    m = sfn.load(machine_of(Each=items))
    m.mock("T", iteration=1).returns_payload("one")
    m.mock("T").returns_payload("old")
    m.mock("T").returns_payload("new")
    m.run([0, 0, 0]).assert_succeeded(["new", "one", "new"])


def test_functions_get_the_request_or_the_payload(sfn: Sfn):
    m = sfn.load(ONE)
    mock = m.mock("Work").calls(lambda req, ctx: {"Payload": [req["FunctionName"], ctx.state, ctx.attempt]})
    m.run(5).assert_succeeded(["work", "Work", 0])
    assert mock.requests == [{"FunctionName": "work", "Payload": 5}]
    m.mock("Work").handles(lambda event, _: event + 1)
    m.run(5).assert_succeeded(6)


def test_what_a_function_raises(sfn: Sfn):
    def raising(problem: Exception) -> Any:
        def function(_event: Any, _ctx: Any) -> Any:
            raise problem

        return function

    m = sfn.load(ONE)
    m.mock("Work").calls(raising(TaskFailure("Declined", "no money")))
    m.run().assert_failed("Declined", "no money")
    m.mock("Work").handles(raising(ValueError("odd")))
    m.run().assert_failed("ValueError", cause_contains='"errorMessage":"odd"')
    # What goes wrong in the test itself must not end in a Catch.
    for mock, problem in ((m.mock("Work").calls, KeyError("x")), (m.mock("Work").handles, AssertionError("y"))):
        mock(raising(problem))
        with pytest.raises(type(problem)):
            m.run()


def test_a_mock_for_all_machines(sfn: Sfn):
    sfn.mock(resource="lambda:*").returns_payload("shared")
    a, b = sfn.load(ONE, name="a"), sfn.load(ONE, name="b")
    b.mock("Work").returns_payload("own")
    a.run().assert_succeeded("shared")
    b.run().assert_succeeded("own")


def test_a_task_without_a_mock_fails_the_test_past_every_catch(sfn: Sfn):
    m = sfn.load(
        machine_of(Work=task(Catch=[{"ErrorEquals": ["States.ALL"], "Next": "Saved"}]), Saved={"Type": "Pass"})
    )
    with pytest.raises(UnmockedTask) as failed:
        m.run()
    assert str(failed.value) == (
        "No mock for state 'Work' (lambda:invoke): add m.mock(\"Work\").returns_payload({...}), "
        'or m.mock(resource="lambda:work").'
    )


def test_mistakes_are_told_at_once(sfn: Sfn):
    m = sfn.load(ONE)
    with pytest.raises(ValueError, match="no state 'Wrok': did you mean Work"):
        m.mock("Wrok")
    with pytest.raises(ValueError, match="neither a number"):
        m.mock("Work", iteration="first")
    with pytest.raises(ValueError, match="for a state"):
        m.mock()
    m.mock("Work")
    with pytest.raises(UnmockedTask, match="says nothing yet"):
        m.run()
    with pytest.raises(DefinitionError, match=r"definition\.asl\.json:1:"):
        sfn.load({"StartAt": "A", "States": {}})


def test_what_the_test_has_put_into_the_system_runs(sfn: Sfn):
    sfn.model("work", Model(duration="3s", answer=lambda event: {"got": event}))
    run = sfn.load(ONE).run(1).assert_succeeded({"got": 1})
    assert run.duration == 3


def test_a_machine_that_another_one_starts(sfn: Sfn):
    inner = sfn.load(machine_of(W={"Type": "Wait", "Seconds": 5}), name="inner")
    arn = "arn:aws:states:us-east-1:000000000000:stateMachine:inner"
    start = task("arn:aws:states:::states:startExecution.sync:2", Parameters={"StateMachineArn": arn, "Input": {}})
    sfn.load(machine_of(Start=start), name="outer").run().assert_succeeded()
    [run] = inner.runs
    run.assert_succeeded({}).assert_path("W")


# ---------------------------------------------------------------------- time, tokens, restarts


def test_time_in_steps(sfn: Sfn):
    m = sfn.load(machine_of(First={"Type": "Wait", "Seconds": 3600}, Second={"Type": "Wait", "Seconds": 60}))
    run = m.start(at="2026-05-01T12:00Z")
    run.advance("59m").assert_running("First")
    run.until("Second")
    assert (sfn.now.hour, run.duration) == (13, 3600)
    with pytest.raises(AssertionError, match="did not come to its end within 30s: it is in 'Second'"):
        run.finish(within="30s")
    run.finish().assert_succeeded()
    with pytest.raises(AssertionError, match="succeeded before entering First"):
        run.until("First")
    with pytest.raises(ValueError, match="time goes forward only"):
        m.run(at="2026-05-01T12:00Z")


def test_a_run_that_waits_for_ever(sfn: Sfn):
    m = sfn.load(ONE)
    m.mock("Work").hangs()
    with pytest.raises(AssertionError, match="waits for ever in 'Work': give its mock an answer"):
        m.run()
    token = sfn.load(machine_of(Ask=task("arn:aws:states:::sqs:sendMessage.waitForTaskToken", Parameters={})))
    with pytest.raises(AssertionError, match=r'm\.start\(\) and run\.token\("Ask"\)'):
        token.run()


@settings.settings(start="2026-01-01T00:00:00Z", limits="open")
def test_a_run_that_waits_for_more_than_a_year(sfn: Sfn):
    m = sfn.load(machine_of(Rest={"Type": "Wait", "Seconds": 400 * 86_400}, Work=task()))
    m.mock("Work").returns({}, delay="500d")
    run = m.start()
    with pytest.raises(
        AssertionError,
        match=r"waits in .Rest. until 2027-02-05T00:00:00Z, for longer than 364d: finish\(within=.401d.\)",
    ):
        run.finish()
    run.until("Work", within="401d")
    with pytest.raises(AssertionError, match=r"waits in 'Work' until 2028-06-19T00:00:00Z"):
        run.finish()
    run.finish(within="501d").assert_succeeded()


def test_delays_jobs_and_tokens_outlive_a_restart(tmp_path: Path):
    sfn = Sfn(tmp_path)
    try:
        job = task("arn:aws:states:::batch:submitJob.sync", Parameters={"JobName": "j"}, ResultPath=None)
        ask = task("arn:aws:states:::sqs:sendMessage.waitForTaskToken", Parameters={}, ResultPath="$.by")
        m = sfn.load(machine_of(Slow=task(ResultPath=None), Job=job, Ask=ask))
        m.mock("Slow").returns({}, delay="1h")
        m.mock("Job").returns({}, delay="2h", submitted={"JobId": "1"})
        run = m.start()
        for state in ("Slow", "Job", "Ask"):
            run.until(state).advance("30m")
            sfn.restart()
            run.assert_running(state)
        run.token("Ask").succeed("Ada")
        run.finish().assert_succeeded({"by": "Ada"})
        assert run.duration == 3 * 3600 + 1800
        assert [run.visits(state).attempts for state in ("Slow", "Job", "Ask")] == [1, 1, 1]
    finally:
        sfn.close()


def test_activities_by_hand_and_by_mock(sfn: Sfn):
    m = sfn.load(machine_of(Approve=task(ACTIVITY, HeartbeatSeconds=60)))
    run = m.start({"x": 1}).until("Approve")
    token = run.token()
    assert token.request == {"x": 1}
    token.heartbeat()
    run.advance(50)
    token.succeed("yes")
    run.finish().assert_succeeded("yes")
    assert "ActivityStarted" in run.history.types
    with pytest.raises(ApiError):
        token.succeed("again")
    m.mock("Approve").returns("by mock", delay="2m", heartbeats=["50s", "100s"])
    assert m.run().assert_succeeded("by mock").duration == 120
    m.mock("Approve").throws("No")
    m.run().assert_failed("No")


def test_a_token_that_nobody_waits_for(sfn: Sfn):
    run = sfn.load(machine_of(W={"Type": "Wait", "Seconds": 1})).start()
    with pytest.raises(LookupError, match="it is in 'W'"):
        run.token()


def test_express_machines_run_in_memory(sfn: Sfn):
    m = sfn.load(machine_of(A=task(), W={"Type": "Wait", "Seconds": 20}), type="EXPRESS")
    m.mock("A").returns({"a": 1})
    run = m.run().assert_succeeded({"a": 1}).assert_path("A", "W")
    assert run.duration == 20


@settings.settings(extensions=True)
def test_permits_of_our_own_need_no_mock(sfn: Sfn):
    permit = {"Name": "printer", "Limit": 1}
    m = sfn.load(
        machine_of(
            Get=task("arn:aws:states:::statewright:acquire", Parameters=permit),
            W={"Type": "Wait", "Seconds": 60},
            Give=task("arn:aws:states:::statewright:release", Parameters={"Name": "printer"}),
        )
    )
    first, second = m.start(), m.start()
    second.assert_running("Get")
    second.finish().assert_succeeded()
    assert (first.duration, second.duration) == (60, 120)


@settings.settings(start="2027-01-01T00:00Z", seed=7, limits="open")
def test_settings_of_the_system(sfn: Sfn):
    sfn.load(machine_of(P={"Type": "Pass", "Result": "x" * 300_000})).run().assert_succeeded()
    assert sfn.now.year == 2027


def test_placeholders_become_names(sfn: Sfn):
    m = sfn.load(
        machine_of(A=task("${ChargeFunction.Arn}"), B=task("${Other}")), values={"Other": LAMBDA[:-6] + "invoke"}
    )
    m.mock(resource="lambda:ChargeFunction").returns(1)
    m.mock("B").returns(2)
    m.run().assert_succeeded(2)


# ---------------------------------------------------------------------- projects, states, replays


def test_a_project_with_its_functions(sfn: Sfn, tmp_path: Path):
    (tmp_path / "functions").mkdir()
    (tmp_path / "functions" / "work.py").write_text("def handler(event, context):\n    return event * 2\n")
    (tmp_path / "double.asl.json").write_text(json.dumps(ONE))
    project = sfn.project(tmp_path)
    project["double"].run(21).assert_succeeded(42)
    project["double"].mock("Work").returns_payload("mocked")
    project["double"].run(21).assert_succeeded("mocked")
    with pytest.raises(LookupError, match="did you mean double"):
        project["doubel"]


def test_one_state_alone(sfn: Sfn):
    retry = [{"ErrorEquals": ["Busy"], "MaxAttempts": 2}]
    m = sfn.load(machine_of(A=task(Retry=retry, Catch=[{"ErrorEquals": ["Busy"], "Next": "B"}]), B={"Type": "Pass"}))
    assert sfn.test_state(m, "A", input=1, throws="Busy").status == "RETRIABLE"
    caught = sfn.test_state(m, "A", input=1, throws=("Busy", "why"), retries=2)
    assert (caught.status, caught.next_state) == ("CAUGHT_ERROR", "B")
    assert sfn.test_state({"Type": "Pass", "Result": 3, "End": True}).output == 3


def recorded(sfn: Sfn) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    ask = task("arn:aws:states:::sqs:sendMessage.waitForTaskToken", Parameters={}, ResultPath="$.by")
    items = {"Type": "Map", "ItemProcessor": {"StartAt": "T", "States": {"T": task(OutputPath="$.Payload", End=True)}}}
    each = {**items, "ItemsPath": "$.items", "ResultPath": "$.items"}
    definition = machine_of(A=task(ResultPath=None, Retry=[{"ErrorEquals": ["Busy"]}]), Each=each, Ask=ask)
    m = sfn.load(definition, name="recorded")
    m.mock("A").throws("Busy").then.returns({}, delay=7)
    m.mock("T").handles(lambda event, _: event * 10, delay=2)
    m.mock("T", iteration=0).returns_payload("first", delay=4)
    m.mock("Ask").returns("Ada", delay="1h")
    run = m.run({"items": [1, 2, 3]}, at="2026-02-01T00:00Z").assert_succeeded()
    events = [{**event, "timestamp": event["timestamp"] / 1000} for event in run.history]
    return definition, events


def test_a_recorded_run_goes_the_same_way(sfn: Sfn, tmp_path: Path):
    definition, events = recorded(sfn)
    (tmp_path / "history.json").write_text(json.dumps({"events": events}))
    run = sfn.replay(tmp_path / "history.json", definition)
    assert run.history.types == [event["type"] for event in events]
    assert run.duration == events[-1]["timestamp"] - events[0]["timestamp"]


def test_what_a_new_definition_changes_is_told(sfn: Sfn):
    definition, events = recorded(sfn)
    states = definition["States"]
    shortened = {
        "StartAt": "A",
        "States": {"A": states["A"], "Each": {**states["Each"], "Next": "End"}, "End": {"Type": "Pass", "End": True}},
    }
    with pytest.raises(AssertionError) as told:
        sfn.replay(events, shortened)
    assert "- Ask" in str(told.value)
    assert "+ End" in str(told.value)
    assert "6 calls were made, and 5 are now" in str(told.value)
    more = {"StartAt": "New", "States": {"New": task("arn:aws:states:::sns:publish", Next="A"), **states}}
    with pytest.raises(UnmockedTask, match="the recorded execution made no such call"):
        sfn.replay(events, more)
    renamed = {"StartAt": "Before", "States": {"Before": {"Type": "Pass", "Next": "A"}, **states}}
    sfn.replay(events, renamed, path=False)
    with pytest.raises(AssertionError, match=r"\+ Before"):
        sfn.replay(events, renamed)


def test_a_record_without_an_end_is_refused(sfn: Sfn):
    _, events = recorded(sfn)
    with pytest.raises(ValueError, match="no end"):
        sfn.replay(events[:-1], ONE)
    with pytest.raises(ValueError, match="no history"):
        sfn.replay({"things": []}, ONE)


# ---------------------------------------------------------------------- assertions


def test_assertions_say_what_is_different(sfn: Sfn):
    m = sfn.load(machine_of(A={"Type": "Pass"}, B={"Type": "Pass", "Result": {"a": [1, 2]}}))
    run = m.run()
    run.assert_succeeded(output_contains={}).assert_path_contains("B").assert_path("A", "B")
    told: dict[str, Any] = {
        r"at \$\.a\[1\]\n    - wanted  3\n    \+ got     2": lambda: run.assert_succeeded({"a": [1, 3]}),
        "should have failed, and is SUCCEEDED": run.assert_failed,
        "should run, and is SUCCEEDED": run.assert_running,
        "took another path": lambda: run.assert_path("B", "A"),
        "did not pass B → A": lambda: run.assert_path_contains("B", "A"),
        "entered 'A' 1 times": lambda: run.assert_not_visited("A"),
    }
    for words, check in told.items():
        with pytest.raises(AssertionError, match=words):
            check()
    with pytest.raises(ValueError, match="no state 'C'"):
        run.visits("C")


def test_stopping(sfn: Sfn):
    run = sfn.load(machine_of(W={"Type": "Wait", "Seconds": 9})).start()
    run.stop("Enough", "of this").assert_aborted()
    assert (run.error, run.cause) == ("Enough", "of this")


def test_a_machine_that_times_out(sfn: Sfn):
    m = sfn.load({**machine_of(W={"Type": "Wait", "Seconds": 9}), "TimeoutSeconds": 5})
    assert m.run().assert_timed_out().duration == 5
