"""Trials of single states: what comes of them, what is shown, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from statewright.asl.compile import compile_definition
from statewright.errors import ApiError, Failure
from statewright.interpreter.commands import ScheduleTask
from statewright.interpreter.events import (
    HeartbeatReceived,
    TaskFailed,
    TaskRefused,
    TaskSucceeded,
    TimerFired,
)
from statewright.interpreter.state import Identity
from statewright.interpreter.trial import (
    STATE_NAME,
    PendingTrial,
    StateTrial,
    TrialSetup,
    begin_trial,
    finish_trial,
    machine_of,
    trial_identity,
    try_state,
)
from statewright.limits import AWS, Limits
from statewright.payload import Payload

NOW_MS = 1_700_000_000_000
SEED = b"a trial has a seed too"
ROLE = "arn:aws:iam::000000000000:role/tester"
IDENTITY = trial_identity(SEED, ROLE, account="000000000000", region="us-east-1")
NOBODY = trial_identity(SEED, "", account="000000000000", region="us-east-1")
QUEUE = "arn:aws:states:::sqs:sendMessage"
INNER = {"StartAt": "Inner", "States": {"Inner": {"Type": "Pass", "End": True}}}
FAR = {"StartAt": "Far", "States": {"Far": {"Type": "Pass", "End": True}}}
DISTRIBUTED = {**INNER, "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}}
BOOM = Failure("Boom", "it burst")


def task(**fields: Any) -> dict[str, Any]:
    return {"Type": "Task", "Resource": QUEUE, "Next": "After", **fields}


def jsonata_task(**fields: Any) -> dict[str, Any]:
    return task(QueryLanguage="JSONata", **fields)


def map_of(**fields: Any) -> dict[str, Any]:
    return {"Type": "Map", "ItemProcessor": INNER, "Next": "After", **fields}


def map_run_of(**fields: Any) -> dict[str, Any]:
    return map_of(ItemProcessor=DISTRIBUTED, **fields)


def begin(
    state: dict[str, Any],
    input: Any = None,
    *,
    name: str = STATE_NAME,
    identity: Identity = IDENTITY,
    limits: Limits = AWS,
    mock: Any = None,
    read: Any = None,
    **setup: Any,
) -> StateTrial | PendingTrial:
    """`state` is a single state, or a machine with the state `name`. A mock is a value, or a Failure."""
    program = compile_definition(state if "States" in state else machine_of(state))
    if mock is not None and not isinstance(mock, Failure):
        mock = Payload(mock)
    if read is not None:
        setup["map_item_reader_data"] = Payload(read)
    whole = TrialSetup(name, Payload({} if input is None else input), mock, **setup)
    return begin_trial(program, whole, identity=identity, now_ms=NOW_MS, seed=SEED, limits=limits)


def trial(state: dict[str, Any], input: Any = None, **options: Any) -> StateTrial:
    ended = begin(state, input, **options)
    assert isinstance(ended, StateTrial)
    return ended


def pending(state: dict[str, Any], input: Any = None, **options: Any) -> PendingTrial:
    waiting = begin(state, input, **options)
    assert isinstance(waiting, PendingTrial)
    return waiting


def left(ended: StateTrial) -> tuple[str, Any, str | None]:
    return ended.status, ended.output.value if ended.output is not None else None, ended.next_state


def failed(ended: StateTrial) -> tuple[str, str | None, str | None]:
    assert ended.output is None
    assert ended.next_state is None
    return ended.status, ended.error, ended.cause


# ------------------------------------------------------------------ states that need no mock


@pytest.mark.parametrize(
    ("state", "input", "expected", "shown"),
    [
        ({"Type": "Pass", "Next": "B"}, {"a": 1}, ("SUCCEEDED", {"a": 1}, "B"), 5),
        ({"Type": "Pass", "End": True}, {"a": 1}, ("SUCCEEDED", {"a": 1}, None), 5),
        ({"Type": "Pass", "Result": None, "End": True}, {"a": 1}, ("SUCCEEDED", None, None), 4),
        ({"Type": "Succeed"}, [1], ("SUCCEEDED", [1], None), 2),
        ({"Type": "Succeed", "InputPath": "$.a"}, {"a": 1}, ("SUCCEEDED", 1, None), 2),
        ({"Type": "Wait", "Seconds": 9_000, "Next": "B"}, {"a": 1}, ("SUCCEEDED", {"a": 1}, "B"), 2),
        (
            {"Type": "Wait", "QueryLanguage": "JSONata", "Seconds": "{% $states.input.s %}", "Next": "B"},
            {"s": 9_000},
            ("SUCCEEDED", {"s": 9_000}, "B"),
            1,
        ),
        (
            {"Type": "Choice", "Choices": [{"Variable": "$.n", "NumericEquals": 1, "Next": "One"}], "Default": "No"},
            {"n": 1},
            ("SUCCEEDED", {"n": 1}, "One"),
            2,
        ),
        (
            {"Type": "Choice", "Choices": [{"Variable": "$.n", "NumericEquals": 1, "Next": "One"}], "Default": "No"},
            {"n": 2},
            ("SUCCEEDED", {"n": 2}, "No"),
            2,
        ),
    ],
)
def test_states_without_a_mock(
    state: dict[str, Any], input: Any, expected: tuple[str, Any, str | None], shown: int
) -> None:
    ended = trial(state, input)
    assert left(ended) == expected
    assert (ended.error, ended.cause) == (None, None)
    assert ended.inspection["input"] == input
    assert len(ended.inspection) == shown


def test_only_the_one_state_runs() -> None:
    states = {"A": {"Type": "Pass", "Next": "B"}, "B": {"Type": "Fail", "Error": "Reached"}}
    assert left(trial({"StartAt": "A", "States": states}, 1, name="A")) == ("SUCCEEDED", 1, "B")


def test_pass_shows_every_step_of_its_data() -> None:
    state = {
        "Type": "Pass",
        "InputPath": "$.order",
        "Parameters": {"id.$": "$.id"},
        "ResultPath": "$.picked",
        "OutputPath": "$.picked",
        "End": True,
    }
    given = {"order": {"id": 7, "note": "x"}}
    ended = trial(state, given)
    assert left(ended) == ("SUCCEEDED", {"id": 7}, None)
    assert ended.inspection == {
        "input": given,
        "afterInputPath": {"id": 7, "note": "x"},
        "afterParameters": {"id": 7},
        "afterResultSelector": {"id": 7},
        "afterResultPath": {**given, "picked": {"id": 7}},
    }


def test_pass_with_a_result_shows_the_result() -> None:
    state = {"Type": "Pass", "InputPath": "$.a", "Result": "x", "ResultPath": "$.b", "End": True}
    assert trial(state, {"a": 1}).inspection == {
        "input": {"a": 1},
        "result": "x",
        "afterResultSelector": "x",
        "afterResultPath": {"a": 1, "b": "x"},
    }


@pytest.mark.parametrize(
    ("fields", "error", "cause"),
    [
        ({"Error": "E", "Cause": "why"}, "E", "why"),
        ({"ErrorPath": "$.e"}, "Bad", None),
        ({"CausePath": "States.Format('{}!', $.e)"}, None, "Bad!"),
        ({}, None, None),
        ({"Error": "States.Runtime", "Cause": "why"}, "States.Runtime", "why"),
    ],
)
def test_fail(fields: dict[str, Any], error: str | None, cause: str | None) -> None:
    ended = trial({"Type": "Fail", **fields}, {"e": "Bad"})
    assert failed(ended) == ("FAILED", error, cause)
    assert ended.inspection == {"input": {"e": "Bad"}, "afterInputPath": {"e": "Bad"}}


@pytest.mark.parametrize(
    ("state", "error", "cause", "shown"),
    [
        (
            {"Type": "Pass", "InputPath": "$.no", "End": True},
            "States.Runtime",
            "Invalid path '$.no' : No results for path: $['no']",
            {"input"},
        ),
        (
            {"Type": "Pass", "Parameters": {"a.$": "$.no"}, "End": True},
            "States.Runtime",
            "The JSONPath '$.no' specified for the field 'a.$' could not be found in the input '{}'",
            {"input", "afterInputPath"},
        ),
        (
            {"Type": "Choice", "Choices": [{"Variable": "$", "IsNull": True, "Next": "A"}]},
            "States.Runtime",
            "Failed to transition out of the state. The state does not point to a next state.",
            {"input", "afterInputPath"},
        ),
        (
            {"Type": "Pass", "QueryLanguage": "JSONata", "Output": "{% $states.input.no %}", "End": True},
            "States.QueryEvaluationError",
            "The JSONata expression '$states.input.no' specified for the field 'Output' returned nothing (undefined).",
            {"input"},
        ),
    ],
)
def test_what_is_shown_stops_where_the_state_failed(
    state: dict[str, Any], error: str, cause: str, shown: set[str]
) -> None:
    ended = trial(state)
    assert failed(ended) == ("FAILED", error, cause)
    assert set(ended.inspection) == shown


# ------------------------------------------------------------------ Task


def test_task_with_a_mocked_result() -> None:
    state = task(Parameters={"m.$": "$.a"}, ResultSelector={"id.$": "$.id"}, ResultPath="$.sent")
    ended = trial(state, {"a": 1}, mock={"id": "x", "more": 1})
    assert left(ended) == ("SUCCEEDED", {"a": 1, "sent": {"id": "x"}}, "After")
    assert ended.inspection == {
        "input": {"a": 1},
        "afterInputPath": {"a": 1},
        "afterParameters": {"m": 1},
        "result": {"id": "x", "more": 1},
        "afterResultSelector": {"id": "x"},
        "afterResultPath": {"a": 1, "sent": {"id": "x"}},
    }


def test_jsonata_task_with_a_mocked_result() -> None:
    state = jsonata_task(Arguments={"m": "{% $states.input.a %}"}, Output="{% $states.result.id %}")
    ended = trial(state, {"a": 1}, mock={"id": "x"})
    assert left(ended) == ("SUCCEEDED", "x", "After")
    assert ended.inspection == {"input": {"a": 1}, "afterArguments": {"m": 1}, "result": {"id": "x"}}


def test_a_mocked_error_shows_no_result() -> None:
    ended = trial(task(), 1, mock=BOOM)
    assert failed(ended) == ("FAILED", "Boom", "it burst")
    assert ended.inspection == {"input": 1, "afterInputPath": 1, "afterParameters": 1}


@pytest.mark.parametrize("suffix", ["", ".sync", ".waitForTaskToken"])
def test_every_pattern_takes_a_mock(suffix: str) -> None:
    assert left(trial(task(Resource=QUEUE + suffix), mock=5)) == ("SUCCEEDED", 5, "After")


def test_a_task_without_a_mock_stops_at_its_call() -> None:
    waiting = pending(task(Parameters={"m.$": "$.a"}, TimeoutSeconds=30), {"a": 1})
    assert waiting.task.parameters.value == {"m": 1}
    assert waiting.task.resource.arn == QUEUE
    assert [timer.due_at_ms for timer in waiting.timers] == [NOW_MS + 30_000]
    ended = finish_trial(waiting, TaskSucceeded(waiting.task.task_id, Payload([1])), NOW_MS + 5)
    assert left(ended) == ("SUCCEEDED", [1], "After")
    assert ended.inspection["afterParameters"] == {"m": 1}
    assert ended.inspection["result"] == [1]


def test_the_call_fails() -> None:
    waiting = pending(task(Catch=[{"ErrorEquals": ["Boom"], "Next": "Mend"}]))
    ended = finish_trial(waiting, TaskFailed(waiting.task.task_id, "Boom", "burst"), NOW_MS)
    assert left(ended) == ("CAUGHT_ERROR", {"Error": "Boom", "Cause": "burst"}, "Mend")


def test_the_call_is_refused() -> None:
    waiting = pending(task())
    ended = finish_trial(waiting, TaskRefused(waiting.task.task_id, "There is no such thing."), NOW_MS)
    assert failed(ended) == ("FAILED", "States.Runtime", "There is no such thing.")


def test_the_call_takes_too_long() -> None:
    waiting = pending(task(TimeoutSeconds=30))
    ended = finish_trial(waiting, TimerFired(waiting.timers[0].timer_id), NOW_MS + 30_000)
    assert failed(ended) == ("FAILED", "States.Timeout", None)


def test_the_last_state_of_a_machine_after_its_call() -> None:
    waiting = pending({"Type": "Task", "Resource": QUEUE, "End": True})
    ended = finish_trial(waiting, TaskSucceeded(waiting.task.task_id, Payload(1)), NOW_MS)
    assert left(ended) == ("SUCCEEDED", 1, None)


def test_an_event_that_ends_nothing() -> None:
    waiting = pending(task())
    with pytest.raises(ValueError, match="still waits"):
        finish_trial(waiting, HeartbeatReceived(waiting.task.task_id), NOW_MS)


def test_try_state_makes_the_call() -> None:
    def call(command: ScheduleTask) -> TaskSucceeded:
        return TaskSucceeded(command.task_id, Payload({"got": command.parameters.value}))

    program = compile_definition(machine_of(task()))
    setup = TrialSetup(STATE_NAME, Payload({"a": 1}))
    ended = try_state(program, setup, call, identity=IDENTITY, now_ms=NOW_MS, seed=SEED)
    assert left(ended) == ("SUCCEEDED", {"got": {"a": 1}}, "After")
    with pytest.raises(ValueError, match="calls sqs:sendMessage"):
        try_state(program, setup, identity=IDENTITY, now_ms=NOW_MS, seed=SEED)


def test_try_state_without_a_call() -> None:
    program = compile_definition(machine_of({"Type": "Succeed"}))
    setup = TrialSetup(STATE_NAME, Payload(1))
    assert left(try_state(program, setup, identity=NOBODY, now_ms=NOW_MS, seed=SEED)) == ("SUCCEEDED", 1, None)


# ------------------------------------------------------------------ Retry and Catch

RETRY = {"ErrorEquals": ["Boom"], "IntervalSeconds": 3, "BackoffRate": 2.0, "MaxAttempts": 4}


@pytest.mark.parametrize(("count", "seconds"), [(0, 3), (1, 6), (2, 12), (3, 24)])
def test_retry_waits_longer_each_time(count: int, seconds: int) -> None:
    ended = trial(task(Retry=[RETRY]), 1, mock=BOOM, retrier_retry_count=count)
    assert failed(ended) == ("RETRIABLE", "Boom", "it burst")
    assert ended.inspection["errorDetails"] == {"retryIndex": 0, "retryBackoffIntervalSeconds": seconds}


def test_retry_waits_no_longer_than_it_may() -> None:
    ended = trial(task(Retry=[{**RETRY, "MaxDelaySeconds": 10}]), mock=BOOM, retrier_retry_count=3)
    assert ended.inspection["errorDetails"]["retryBackoffIntervalSeconds"] == 10


def test_the_count_is_that_of_the_retrier_that_matches() -> None:
    retriers = [{**RETRY, "ErrorEquals": ["Other"], "MaxAttempts": 0}, {"ErrorEquals": ["States.ALL"]}]
    ended = trial(task(Retry=retriers), mock=BOOM, retrier_retry_count=2)
    assert ended.inspection["errorDetails"] == {"retryIndex": 1, "retryBackoffIntervalSeconds": 4}


def test_an_exhausted_retrier_is_named() -> None:
    ended = trial(task(Retry=[RETRY]), 1, mock=BOOM, retrier_retry_count=4)
    assert failed(ended) == ("FAILED", "Boom", "it burst")
    assert ended.inspection["errorDetails"] == {"retryIndex": 0}


def test_after_an_exhausted_retrier_comes_the_catcher() -> None:
    catch = [{"ErrorEquals": ["No"], "Next": "A"}, {"ErrorEquals": ["States.TaskFailed"], "Next": "B"}]
    ended = trial(task(Retry=[RETRY], Catch=catch), 1, mock=BOOM, retrier_retry_count=9)
    assert left(ended) == ("CAUGHT_ERROR", {"Error": "Boom", "Cause": "it burst"}, "B")
    assert (ended.error, ended.cause) == ("Boom", "it burst")
    assert ended.inspection["errorDetails"] == {"retryIndex": 0, "catchIndex": 1}


def test_a_catcher_puts_the_error_into_the_input() -> None:
    catch = [{"ErrorEquals": ["States.ALL"], "ResultPath": "$.problem", "Next": "B"}]
    ended = trial(task(Catch=catch), {"a": 1}, mock=Failure("Boom", None))
    assert left(ended) == ("CAUGHT_ERROR", {"a": 1, "problem": {"Error": "Boom", "Cause": None}}, "B")
    assert ended.inspection["errorDetails"] == {"catchIndex": 0}


def test_a_catcher_whose_own_output_fails() -> None:
    catch = [{"ErrorEquals": ["States.ALL"], "Output": "{% $states.input.no %}", "Next": "B"}]
    ended = trial(jsonata_task(Catch=catch), mock=BOOM)
    assert (ended.status, ended.error) == ("FAILED", "States.QueryEvaluationError")
    assert "errorDetails" not in ended.inspection


def test_runtime_failures_are_never_caught() -> None:
    catch = [{"ErrorEquals": ["States.ALL"], "Next": "B"}]
    ended = trial(task(Retry=[{"ErrorEquals": ["States.ALL"]}], Catch=catch), mock=Failure("States.Runtime", "no"))
    assert failed(ended) == ("FAILED", "States.Runtime", "no")


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"Retry": [{"ErrorEquals": ["States.QueryEvaluationError"]}]}, "RETRIABLE"),
        ({"Catch": [{"ErrorEquals": ["States.QueryEvaluationError"], "Next": "B"}]}, "CAUGHT_ERROR"),
        ({}, "FAILED"),
    ],
)
@pytest.mark.parametrize("field", ["Arguments", "Output"])
def test_a_failed_expression_goes_the_same_way_whatever_the_mock(
    fields: dict[str, Any], status: str, field: str
) -> None:
    ended = trial(jsonata_task(**{field: "{% $states.input.no %}"}, **fields), mock=1)
    assert (ended.status, ended.error) == (status, "States.QueryEvaluationError")
    assert ended.cause is not None
    assert ended.cause.startswith("The JSONata expression '$states.input.no'")
    assert ("afterArguments" in ended.inspection) == (field == "Output")


def test_a_result_over_the_limit() -> None:
    ended = trial(task(), mock="x" * 300, limits=Limits(payload_bytes=200))
    assert (ended.status, ended.error) == ("FAILED", "States.DataLimitExceeded")


# ------------------------------------------------------------------ variables and the context object


def test_variables_are_seen_assigned_and_shown() -> None:
    state = {"Type": "Pass", "Parameters": {"n.$": "$n"}, "Assign": {"n": 2, "m": 3}, "Next": "B"}
    given = {"n": 1, "k": 0}
    ended = trial(state, variables=given)
    assert left(ended)[1] == {"n": 1}
    assert ended.inspection["variables"] == {"n": 2, "k": 0, "m": 3}
    assert given == {"n": 1, "k": 0}


def test_variables_after_the_last_state_and_after_a_catch() -> None:
    last = trial({"Type": "Pass", "Assign": {"m": 3}, "End": True})
    assert last.inspection["variables"] == {"m": 3}
    catch = [{"ErrorEquals": ["States.ALL"], "Assign": {"e.$": "$.Error"}, "Next": "B"}]
    assert trial(task(Catch=catch), mock=BOOM).inspection["variables"] == {"e": "Boom"}


def test_no_variables_are_shown_of_a_state_that_was_not_left() -> None:
    assert "variables" not in trial(task(), mock=BOOM, variables={"n": 1}).inspection
    assert "variables" not in trial(task(Retry=[RETRY]), mock=BOOM, variables={"n": 1}).inspection


def test_variables_count_towards_their_limit() -> None:
    state = {"Type": "Pass", "Assign": {"more": "x" * 40}, "End": True}
    limits = Limits(variables_bytes=100)
    assert trial(state, variables={"n": "x" * 40}, limits=limits).status == "SUCCEEDED"
    assert trial(state, variables={"n": "x" * 80}, limits=limits).error == "States.DataLimitExceeded"


def test_the_made_up_context() -> None:
    ended = trial(jsonata_task(Output="{% $states.context %}"), {"a": 1}, mock=1, retrier_retry_count=2)
    assert ended.output is not None
    context = ended.output.value
    assert context["Execution"] == {
        "Id": IDENTITY.execution_arn,
        "Input": {"a": 1},
        "Name": IDENTITY.name,
        "RoleArn": ROLE,
        "StartTime": "2023-11-14T22:13:20Z",
    }
    assert context["State"] == {"Name": STATE_NAME, "EnteredTime": "2023-11-14T22:13:20Z", "RetryCount": 2}
    assert context["StateMachine"] == {"Id": IDENTITY.state_machine_arn, "Name": IDENTITY.state_machine_name}
    assert set(context) == {"Execution", "State", "StateMachine"}


def test_a_given_context_is_taken_as_it_is() -> None:
    given = {"Execution": {}, "Own": [1]}
    ended = trial(jsonata_task(Output="{% $states.context %}"), mock=1, context=given)
    assert left(ended)[1] == given


def test_a_token_is_there_for_who_waits_for_one() -> None:
    state = jsonata_task(Resource=QUEUE + ".waitForTaskToken", Arguments={"t": "{% $states.context.Task.Token %}"})
    assert isinstance(trial(state, mock=1).inspection["afterArguments"]["t"], str)
    given = {"Task": {"Token": "mine"}}
    assert trial(state, mock=1, context=given).inspection["afterArguments"] == {"t": "mine"}


SEES_ITEM = {"Type": "Pass", "Parameters": {"i.$": "$$.Map.Item.Index", "v.$": "$$.Map.Item.Value"}, "End": True}


def test_a_state_inside_a_map_sees_its_input_as_the_first_item() -> None:
    deep = {"StartAt": "P", "States": {"P": {"Type": "Parallel", "End": True, "Branches": []}}}
    deep["States"]["P"]["Branches"] = [{"StartAt": "See", "States": {"See": SEES_ITEM}}]  # type: ignore[index]
    for processor in (deep, {"StartAt": "See", "States": {"See": SEES_ITEM}}):
        machine = {"StartAt": "M", "States": {"M": {"Type": "Map", "ItemProcessor": processor, "End": True}}}
        assert left(trial(machine, {"x": 1}, name="See"))[1] == {"i": 0, "v": {"x": 1}}


def test_a_state_outside_a_map_sees_no_item() -> None:
    branch = {"StartAt": "See", "States": {"See": SEES_ITEM}}
    machine = {"StartAt": "P", "States": {"P": {"Type": "Parallel", "Branches": [branch], "End": True}}}
    assert trial(machine, name="See").error == "States.Runtime"


# ------------------------------------------------------------------ Parallel and Map


def test_parallel() -> None:
    state = {"Type": "Parallel", "Branches": [INNER, FAR], "ResultPath": "$.r", "Next": "After"}
    ended = trial(state, {"a": 1}, mock=["x", "y"])
    assert left(ended) == ("SUCCEEDED", {"a": 1, "r": ["x", "y"]}, "After")
    assert ended.inspection == {
        "input": {"a": 1},
        "afterResultSelector": ["x", "y"],
        "afterResultPath": {"a": 1, "r": ["x", "y"]},
    }


def test_jsonata_parallel() -> None:
    state = {"Type": "Parallel", "QueryLanguage": "JSONata", "Branches": [INNER], "Arguments": 1, "End": True}
    ended = trial({**state, "Output": "{% $states.result[0] %}"}, {"a": 1}, mock=["x"])
    assert left(ended) == ("SUCCEEDED", "x", None)
    assert ended.inspection == {"input": {"a": 1}}


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"Retry": [{"ErrorEquals": ["Boom"]}]}, "RETRIABLE"),
        ({"Catch": [{"ErrorEquals": ["Boom"], "Next": "B"}]}, "CAUGHT_ERROR"),
        ({}, "FAILED"),
    ],
)
@pytest.mark.parametrize("state", [{"Type": "Parallel", "Branches": [INNER], "Next": "After"}, map_of(), map_run_of()])
def test_an_error_inside(state: dict[str, Any], fields: dict[str, Any], status: str) -> None:
    ended = trial({**state, **fields}, [1, 2], mock=BOOM, error_caused_by_state="Inner")
    assert (ended.status, ended.error, ended.cause) == (status, "Boom", "it burst")


def test_inline_map() -> None:
    state = map_of(
        InputPath="$.in",
        ItemsPath="$.list",
        ItemSelector={"v.$": "$$.Map.Item.Value", "i.$": "$$.Map.Item.Index", "k.$": "$.k"},
        MaxConcurrency=2,
        ResultSelector={"r.$": "$"},
        ResultPath="$.out",
    )
    given = {"in": {"list": ["a", "b"], "k": 5}}
    ended = trial(state, given, mock=[1, 2])
    assert left(ended) == ("SUCCEEDED", {**given, "out": {"r": [1, 2]}}, "After")
    assert ended.inspection == {
        "input": given,
        "afterInputPath": given["in"],
        "afterItemsPath": ["a", "b"],
        "afterItemSelector": [{"v": "a", "i": 0, "k": 5}, {"v": "b", "i": 1, "k": 5}],
        "maxConcurrency": 2,
        "afterResultSelector": {"r": [1, 2]},
        "afterResultPath": {**given, "out": {"r": [1, 2]}},
    }


@pytest.mark.parametrize("state", [map_of(), map_run_of()])
def test_a_map_without_items_takes_its_mock_too(state: dict[str, Any]) -> None:
    assert left(trial(state, [], mock=[1])) == ("SUCCEEDED", [1], "After")


def test_jsonata_map() -> None:
    fields = {
        "QueryLanguage": "JSONata",
        "Items": "{% $states.input.list %}",
        "ItemSelector": {"v": "{% $states.context.Map.Item.Value %}"},
        "ToleratedFailurePercentage": "{% 40 + 10 %}",
        "ToleratedFailureCount": 1,
        "Output": "{% $sum($states.result) %}",
    }
    for state in (map_of(**fields), map_run_of(**fields)):
        ended = trial(state, {"list": [1, 2]}, mock=[3, 4])
        assert left(ended) == ("SUCCEEDED", 7, "After")
        assert ended.inspection == {
            "input": {"list": [1, 2]},
            "afterItemSelector": [{"v": 1}, {"v": 2}],
            "maxConcurrency": 0,
            "toleratedFailureCount": 1,
            "toleratedFailurePercentage": 50,
        }


def test_an_item_selector_sees_the_given_context_and_the_item() -> None:
    selector = {"v.$": "$$.Map.Item.Value", "own.$": "$$.Own"}
    for state in (map_of(ItemSelector=selector), map_run_of(ItemSelector=selector)):
        ended = trial(state, ["a"], mock=[1], context={"Own": 7})
        assert ended.inspection["afterItemSelector"] == [{"v": "a", "own": 7}]


def test_an_item_selector_that_fails() -> None:
    fields = {
        "QueryLanguage": "JSONata",
        "ItemSelector": {"v": "{% $states.context.Map.Item.Value.no %}"},
        "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "B"}],
    }
    for state in (map_of(**fields), map_run_of(**fields)):
        ended = trial(state, [{"a": 1}], mock=[1])
        assert (ended.status, ended.error, ended.next_state) == ("CAUGHT_ERROR", "States.QueryEvaluationError", "B")
        assert "afterItemSelector" not in ended.inspection


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({"ItemsPath": "$.no"}, set()),
        ({"ItemsPath": "$.n", "MaxConcurrency": 3}, set()),
        ({"ItemsPath": "$.list", "MaxConcurrencyPath": "$.s"}, {"afterItemsPath"}),
        ({"ItemsPath": "$.list", "ToleratedFailureCountPath": "$.s"}, {"afterItemsPath", "maxConcurrency"}),
    ],
)
def test_a_map_that_fails_before_its_iterations(fields: dict[str, Any], shown: set[str]) -> None:
    ended = trial(map_run_of(**fields), {"n": 1, "s": "x", "list": []}, mock=[])
    assert (ended.status, ended.error) == ("FAILED", "States.Runtime")
    assert set(ended.inspection) == {"input", "afterInputPath"} | shown


def test_batches() -> None:
    batcher = {"MaxItemsPerBatch": 2, "BatchInput": {"k.$": "$.k"}}
    state = map_run_of(ItemsPath="$.l", ItemSelector={"v.$": "$$.Map.Item.Value"}, ItemBatcher=batcher)
    ended = trial(state, {"l": [1, 2, 3], "k": 9}, mock=[0, 0])
    assert ended.inspection["afterItemSelector"] == [{"v": 1}, {"v": 2}, {"v": 3}]
    assert ended.inspection["afterItemBatcher"] == [
        {"BatchInput": {"k": 9}, "Items": [{"v": 1}, {"v": 2}]},
        {"BatchInput": {"k": 9}, "Items": [{"v": 3}]},
    ]


def test_members_of_an_object_are_items() -> None:
    selector = {"k.$": "$$.Map.Item.Key", "v.$": "$$.Map.Item.Value"}
    ended = trial(map_run_of(ItemSelector=selector), {"a": 1, "b": 2}, mock=[])
    assert ended.inspection["afterItemSelector"] == [{"k": "a", "v": 1}, {"k": "b", "v": 2}]


def reader(**config: Any) -> dict[str, Any]:
    return {
        "Resource": "arn:aws:states:::s3:getObject",
        "Parameters": {"Bucket": "heap", "Key": "list.json"},
        "ReaderConfig": {"InputType": "JSON", **config},
    }


def test_items_that_were_read() -> None:
    selector = {"v.$": "$$.Map.Item.Value", "from.$": "$$.Map.Item.Source"}
    ended = trial(map_run_of(ItemReader=reader(), ItemSelector=selector), {}, mock=[1, 2], read=["a", "b"])
    source = "S3://heap/list.json"
    assert ended.inspection["afterItemSelector"] == [{"v": "a", "from": source}, {"v": "b", "from": source}]
    assert "afterItemsPath" not in ended.inspection
    assert "afterItemsPointer" not in ended.inspection


def test_no_more_items_than_max_items() -> None:
    state = map_run_of(ItemReader=reader(MaxItems=2), ItemBatcher={"MaxItemsPerBatch": 5})
    ended = trial(state, {}, mock=[], read=[1, 2, 3])
    assert ended.inspection["afterItemBatcher"] == [{"Items": [1, 2]}]


@pytest.mark.parametrize(
    ("pointer", "expected"),
    [("/a/b", [1, 2]), ("/l/1", {"x": 1}), ("/we~1ird~0", []), ("/a", {"b": [1, 2]})],
)
def test_items_pointer(pointer: str, expected: Any) -> None:
    document = {"a": {"b": [1, 2]}, "l": [0, {"x": 1}], "we/ird~": []}
    ended = trial(map_run_of(ItemReader=reader(ItemsPointer=pointer)), {}, mock=[], read=document)
    assert ended.status == "SUCCEEDED"
    assert ended.inspection["afterItemsPointer"] == expected


@pytest.mark.parametrize(
    ("pointer", "words"), [("/no", "leads to nothing"), ("/l/7", "leads to nothing"), ("/l/0", "non-iterable")]
)
def test_items_pointer_to_no_items(pointer: str, words: str) -> None:
    ended = trial(map_run_of(ItemReader=reader(ItemsPointer=pointer)), {}, mock=[], read={"l": [0]})
    assert (ended.status, ended.error) == ("FAILED", "States.ItemReaderFailed")
    assert ended.cause is not None
    assert words in ended.cause


def test_items_that_nobody_has_read() -> None:
    state = map_run_of(ItemReader=reader(), ItemSelector={"a": 1}, ToleratedFailureCount=100)
    ended = trial(state, {}, mock=[1], map_iteration_failure_count=99)
    assert left(ended) == ("SUCCEEDED", [1], "After")
    assert "afterItemSelector" not in ended.inspection


@pytest.mark.parametrize(
    ("fields", "failures", "fails"),
    [
        ({}, 0, False),
        ({}, 1, True),
        ({"ToleratedFailureCount": 1}, 1, False),
        ({"ToleratedFailureCount": 1}, 2, True),
        ({"ToleratedFailurePercentage": 50}, 2, False),
        ({"ToleratedFailurePercentage": 50}, 3, True),
        ({"ToleratedFailurePercentage": 100}, 4, False),
        ({"ToleratedFailurePercentage": 100, "ToleratedFailureCount": 1}, 2, True),
        ({"ToleratedFailurePercentage": 25, "ToleratedFailureCount": 4}, 2, True),
    ],
)
@pytest.mark.parametrize("kind", [map_of, map_run_of])
def test_tolerance(kind: Any, fields: dict[str, Any], failures: int, fails: bool) -> None:
    ended = trial(kind(**fields), [1, 2, 3, 4], mock=[0], map_iteration_failure_count=failures)
    if fails:
        cause = "The specified tolerated failure threshold was exceeded"
        assert failed(ended) == ("FAILED", "States.ExceedToleratedFailureThreshold", cause)
    else:
        assert left(ended) == ("SUCCEEDED", [0], "After")


def test_a_mocked_error_stays_whatever_the_tolerance() -> None:
    ended = trial(map_run_of(), [1, 2], mock=BOOM, map_iteration_failure_count=2)
    assert failed(ended) == ("FAILED", "Boom", "it burst")


def test_an_exceeded_tolerance_can_be_caught() -> None:
    catch = [{"ErrorEquals": ["States.ExceedToleratedFailureThreshold"], "Next": "B"}]
    ended = trial(map_run_of(Catch=catch), [1], mock=[0], map_iteration_failure_count=1)
    assert (ended.status, ended.next_state) == ("CAUGHT_ERROR", "B")
    assert ended.inspection["errorDetails"] == {"catchIndex": 0}


# ------------------------------------------------------------------ what is refused

WRITER = {"Resource": "arn:aws:states:::s3:putObject", "Parameters": {"Bucket": "heap"}}
CONTAINERS = (
    "TestState API does not support Map or Parallel states. "
    "Supported state types include: [Task, Wait, Pass, Succeed, Fail, Choice]"
)
ARRAY = "Mocked result must be an array."
BRANCHES = "Mocked result must contain the same number of items as number of Parallel branches."
PARALLEL = {"Type": "Parallel", "Branches": [INNER, FAR], "End": True}


@pytest.mark.parametrize(
    ("state", "options", "code", "message"),
    [
        (PARALLEL, {}, "InvalidDefinition", CONTAINERS),
        (map_of(), {}, "InvalidDefinition", CONTAINERS),
        (
            map_of(),
            {"map_iteration_failure_count": 0},
            "ValidationException",
            "TestState does not support MapIterationFailureCount when a mock is not specified.",
        ),
        (PARALLEL, {"mock": {}}, "ValidationException", ARRAY),
        (PARALLEL, {"mock": [1]}, "ValidationException", BRANCHES),
        (PARALLEL, {"mock": [1, 2, 3]}, "ValidationException", BRANCHES),
        (map_of(), {"mock": "x"}, "ValidationException", ARRAY),
        (map_run_of(ResultWriter=WRITER), {"mock": []}, "ValidationException", "Mocked result must be a JSON object."),
        (
            map_run_of(ResultWriter={"WriterConfig": {"OutputType": "JSON", "Transformation": "COMPACT"}}),
            {"mock": {}},
            "ValidationException",
            ARRAY,
        ),
        (
            map_of(),
            {"mock": [], "input": [1], "map_iteration_failure_count": 2},
            "ValidationException",
            "Map iteration failure count must be less than or equal to the number of Map iterations",
        ),
        (
            task(),
            {"identity": NOBODY},
            "ValidationException",
            "RoleArn must be specified when testing a Task state",
        ),
    ],
)
def test_refusals(state: dict[str, Any], options: dict[str, Any], code: str, message: str) -> None:
    with pytest.raises(ApiError) as refused:
        begin(state, options.pop("input", None), **options)
    assert (refused.value.code, refused.value.message) == (code, message)


@pytest.mark.parametrize("mock", [1, BOOM])
@pytest.mark.parametrize("kind", ["Pass", "Wait", "Choice", "Succeed", "Fail"])
def test_states_that_take_no_mock(kind: str, mock: Any) -> None:
    state = {"Type": kind, "Seconds": 1, "Choices": [], "Default": "A"}
    with pytest.raises(ApiError, match=f"^ValidationException: State type '{kind}' is not supported when a mock is"):
        begin(state, mock=mock)


@pytest.mark.parametrize(
    "resource",
    [QUEUE + ".waitForTaskToken", "arn:aws:states:::ecs:runTask.sync", "arn:aws:states:us-east-1:1:activity:approve"],
)
def test_tasks_that_need_a_mock(resource: str) -> None:
    with pytest.raises(ApiError, match=r"^InvalidDefinition: .*only when a mock is specified\.$"):
        begin(task(Resource=resource))


def test_a_map_with_a_writer_takes_an_object() -> None:
    assert left(trial(map_run_of(ResultWriter=WRITER), [], mock={"MapRunArn": "x"}))[1] == {"MapRunArn": "x"}


@pytest.mark.parametrize(
    ("state", "fits"),
    [
        (task(Resource=QUEUE + ".waitForTaskToken"), True),
        (task(Resource="arn:aws:states:::ecs:runTask.sync"), True),
        (task(), False),
        (task(Resource="arn:aws:states:us-east-1:1:activity:approve"), False),
        (map_of(), False),
    ],
)
def test_a_context_with_a_token_needs_a_task_that_has_one(state: dict[str, Any], fits: bool) -> None:
    context = {"Task": {"Token": "t"}}
    if fits:
        assert trial(state, mock=[], context=context).status == "SUCCEEDED"
    else:
        with pytest.raises(ApiError, match=r"^ValidationException: Invalid Context object provided: Context object"):
            begin(state, [], mock=[], context=context)


def test_no_such_state() -> None:
    with pytest.raises(ApiError, match=r"^ValidationException: State not found in definition$"):
        begin({"Type": "Succeed"}, name="Nowhere")


@pytest.mark.parametrize(
    ("tested", "origin", "fits"),
    [
        ("M", "Inner", True),
        ("M", "P", True),
        ("P", "Inner", True),
        ("P", "P", True),
        ("P", "Beside", False),
        ("M", "Beside", False),
        ("M", "Nowhere", False),
    ],
)
def test_an_error_must_come_from_inside(tested: str, origin: str, fits: bool) -> None:
    inside = {"StartAt": "P", "States": {"P": {"Type": "Parallel", "Branches": [INNER], "End": True}}}
    states = {
        "M": {"Type": "Map", "ItemProcessor": inside, "Next": "Beside"},
        "Beside": {"Type": "Succeed"},
    }
    machine = {"StartAt": "M", "States": states}
    if fits:
        assert trial(machine, [1], name=tested, mock=BOOM, error_caused_by_state=origin).error == "Boom"
    else:
        with pytest.raises(ApiError, match=f"'{origin}', which is to cause the error, is not a state inside"):
            begin(machine, [1], name=tested, mock=BOOM, error_caused_by_state=origin)


# ------------------------------------------------------------------ who and again


def test_trial_identity() -> None:
    assert trial_identity(SEED, ROLE, account="000000000000", region="us-east-1") == IDENTITY
    assert trial_identity(b"other", ROLE, account="000000000000", region="us-east-1") != IDENTITY
    machine, name = IDENTITY.state_machine_name, IDENTITY.name
    assert IDENTITY.execution_arn == f"arn:aws:states:us-east-1:000000000000:express:{machine}:{name}"
    assert IDENTITY.state_machine_arn == f"arn:aws:states:us-east-1:000000000000:stateMachine:{machine}"
    assert IDENTITY.role_arn == ROLE


def test_the_same_trial_gives_the_same() -> None:
    state = {"Type": "Pass", "Parameters": {"u.$": "States.UUID()"}, "End": True}
    assert trial(state) == trial(state)
