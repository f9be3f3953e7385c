"""Distributed Maps in the simulator: child executions, mocked readers and writers, tolerance, stops, redrives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from statewright.asl.compile import compile_definition
from statewright.errors import TIMEOUT
from statewright.interpreter import events
from statewright.interpreter.map_run.advance import READER_FAILED, THRESHOLD_EXCEEDED, WRITER_FAILED
from statewright.limits import AWS, OPEN
from statewright.payload import Payload, parse_json
from statewright.simulator.mocks import Hung, Result, Returned, Rule, Script, Spans, TaskCall, Threw
from statewright.simulator.running import Run, Running, UnmockedTask
from statewright.simulator.simulate import Simulation, make_identity, simulate
from statewright.virtual_clock import VIRTUAL_START_MS

TASK = {"Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage", "Parameters": {"Body.$": "$"}, "End": True}
PASS = {"Type": "Pass", "End": True}
READER = {"Resource": "arn:aws:states:::s3:getObject", "Parameters": {"Bucket": "data", "Key": "in.json"}}
WRITER = {"Resource": "arn:aws:states:::s3:putObject", "Parameters": {"Bucket": "out", "Prefix": "jobs"}}


def distributed(inner: Any = PASS, *, kind: str = "STANDARD", **fields: Any) -> dict[str, Any]:
    """A distributed Map whose children run one state, `Work`, or the given states."""
    states = inner if "Type" not in inner else {"Work": inner}
    config = {"Mode": "DISTRIBUTED", "ExecutionType": kind}
    processor = {"ProcessorConfig": config, "StartAt": next(iter(states)), "States": states}
    return {"Type": "Map", "Label": "Each", "ItemProcessor": processor, "End": True, **fields}


def machine(node: Any, **fields: Any) -> Any:
    return compile_definition({"StartAt": "M", "States": {"M": node}, **fields})


def rule(outcome: Any, state: str | None = None, **fields: Any) -> Rule:
    delay_ms = fields.pop("delay_ms", 0)
    if state is None and "resource" not in fields:
        state = "Work"
    return Rule((Result(outcome, delay_ms=delay_ms),), state=state, **fields)


def types(run: Run) -> list[str]:
    return [event.type for event in run.history]


def only(*indexes: int) -> tuple[Spans]:
    return (Spans(tuple((index, index) for index in indexes), str(indexes)),)


# ------------------------------------------------------------------ children


def test_children_are_executions_of_their_own():
    run = simulate(machine(distributed(kind="EXPRESS")), ["a", "b"])
    assert run.output == ["a", "b"]
    assert types(run) == [
        "ExecutionStarted", "MapStateEntered", "MapStateStarted", "MapRunStarted", "MapRunSucceeded",
        "MapStateSucceeded", "MapStateExited", "ExecutionSucceeded",
    ]  # fmt: skip
    assert [(event.id, event.previous_id) for event in run.history[2:]] == [
        (3, 2),
        (4, 3),
        (5, 4),
        (6, 5),
        (7, 4),
        (8, 7),
    ]
    first, second = run.children
    assert types(first) == ["ExecutionStarted", "PassStateEntered", "PassStateExited", "ExecutionSucceeded"]
    identity = first.state.identity
    arn = (run.history[3].details or {})["mapRunArn"]
    assert identity.map_run_arn == arn
    assert identity.execution_type == "EXPRESS"
    assert identity.execution_arn == f"{arn.rsplit(':', 1)[0].replace(':mapRun:', ':execution:')}:{identity.name}"
    assert identity.state_machine_arn.endswith(":stateMachine:StateMachine/Each")
    assert first.state.entropy.seed != second.state.entropy.seed
    assert run.transitions == 3


def test_children_run_side_by_side_in_virtual_time():
    script = Script((rule(Returned(1), delay_ms=1000),))
    given = list(range(6))
    assert simulate(machine(distributed(TASK)), given, script).duration_ms == 1000
    assert simulate(machine(distributed(TASK, MaxConcurrency=2)), given, script).duration_ms == 3000
    assert simulate(machine(distributed(TASK, MaxConcurrency=1)), given, script).duration_ms == 6000


@pytest.mark.parametrize("concurrency", [0, 1])
def test_thousands_of_children_need_no_deep_stack(concurrency: int):
    run = simulate(machine(distributed(MaxConcurrency=concurrency)), list(range(3000)))
    assert run.output == list(range(3000))
    assert len(run.children) == 3000


def test_many_map_runs_one_after_the_other_need_no_deep_stack():
    states = {
        "M": {**distributed(), "ItemsPath": "$.items", "ResultPath": None, "End": None, "Next": "Count"},
        "Count": {
            "Type": "Pass",
            "Parameters": {"items.$": "$.items", "n.$": "States.MathAdd($.n, 1)"},
            "Next": "More",
        },
        "More": {
            "Type": "Choice",
            "Choices": [{"Variable": "$.n", "NumericLessThan": 600, "Next": "M"}],
            "Default": "Done",
        },
        "Done": {"Type": "Succeed"},
    }
    del states["M"]["End"]
    run = simulate(compile_definition({"StartAt": "M", "States": states}), {"items": [1], "n": 0})
    assert run.output == {"items": [1], "n": 600}
    assert len(run.children) == 600


def test_mocks_select_children_by_the_index_of_their_item():
    script = Script((rule(Returned("third"), iterations=only(2)), rule(Returned("other"))))
    run = simulate(machine(distributed(TASK)), ["a", "b", "c"], script)
    assert run.output == ["other", "other", "third"]
    assert [child.tasks[0].iteration for child in run.children] == [(0,), (1,), (2,)]


def test_history_of_children_is_told_as_it_happens():
    seen: list[tuple[str, str]] = []
    simulation = Simulation(on_history=lambda state, event: seen.append((state.identity.name, event.type)))
    run = simulation.run(machine(distributed()), [1])
    name = run.children[0].state.identity.name
    assert seen.count((name, "ExecutionSucceeded")) == 1
    assert seen.index((name, "ExecutionStarted")) > seen.index(("run", "MapRunStarted"))


def test_a_distributed_map_in_a_distributed_map():
    inner = {**distributed({"Leaf": {**TASK, "OutputPath": "$"}}), "Label": "Inner"}
    outer = distributed({"Nest": inner})
    script = Script((rule(lambda call: Returned(list(call.iteration)), "Leaf"),))
    run = simulate(machine(outer), [["a"], ["b", "c"]], script)
    assert run.output == [[[0, 0]], [[1, 0], [1, 1]]]
    assert [len(child.children) for child in run.children] == [1, 2]
    leaf = run.children[1].children[1].state.identity
    assert leaf.state_machine_arn.endswith(":stateMachine:StateMachine/Inner")


def test_a_distributed_map_in_an_inline_map():
    inline = {
        "Type": "Map",
        "ItemProcessor": {"StartAt": "D", "States": {"D": distributed(TASK)}},
        "End": True,
    }
    script = Script((rule(lambda call: Returned(list(call.iteration))),))
    run = simulate(machine(inline), [[1, 2], [3]], script)
    assert run.output == [[[0, 0], [0, 1]], [[1, 0]]]
    assert types(run).count("MapRunSucceeded") == 2


def test_express_children_end_after_five_minutes_and_standard_ones_do_not():
    wait = {"Type": "Wait", "Seconds": 600, "End": True}
    tolerant: dict[str, Any] = {"ToleratedFailurePercentage": 100}
    express = simulate(machine(distributed(wait, kind="EXPRESS", **tolerant)), [1])
    assert express.children[0].status == "TIMED_OUT"
    assert express.duration_ms == 300_000
    assert simulate(machine(distributed(wait, **tolerant)), [1]).children[0].status == "SUCCEEDED"
    open_limits = simulate(machine(distributed(wait, kind="EXPRESS")), [1], limits=OPEN)
    assert open_limits.children[0].status == "SUCCEEDED"


def test_variables_of_the_parent_are_seen_by_the_item_selector_only():
    states = {
        "A": {"Type": "Pass", "Assign": {"shop": "S"}, "Next": "M"},
        "M": distributed(ItemSelector={"shop.$": "$shop", "item.$": "$$.Map.Item.Value"}),
    }
    run = simulate(compile_definition({"StartAt": "A", "States": states}), [1])
    assert run.output == [{"shop": "S", "item": 1}]


# ------------------------------------------------------------------ failures


def test_the_run_fails_and_its_other_children_are_stopped():
    script = Script((rule(Threw("Bad", "why"), iterations=only(1), delay_ms=500), rule(Returned(1), delay_ms=9000)))
    run = simulate(machine(distributed(TASK, MaxConcurrency=3)), list(range(5)), script)
    assert (run.status, run.state.error) == ("FAILED", THRESHOLD_EXCEEDED)
    assert run.state.cause == "The specified tolerated failure threshold was exceeded"
    assert run.duration_ms == 500
    assert [child.status for child in run.children] == ["ABORTED", "FAILED", "ABORTED"]
    assert types(run)[4:] == ["MapRunFailed", "MapStateFailed", "ExecutionFailed"]
    assert types(run.children[0])[-1] == "ExecutionAborted"


def test_a_retry_starts_a_new_map_run():
    retry = [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 7, "MaxAttempts": 1}]
    outcomes = Rule((Result(Threw("Bad", "why")), Result(Returned("good"))), state="Work")
    run = simulate(machine(distributed(TASK, Retry=retry)), [1], Script((outcomes,)))
    assert run.output == ["good"]
    assert run.duration_ms == 7000
    started = [event for event in run.history if event.type == "MapRunStarted"]
    assert len({(event.details or {})["mapRunArn"] for event in started}) == 2


def test_a_catcher_takes_the_error():
    catch = [{"ErrorEquals": [THRESHOLD_EXCEEDED], "Next": "Caught", "ResultPath": "$.problem"}]
    states = {"M": distributed(TASK, ItemsPath="$.items", Catch=catch), "Caught": {"Type": "Succeed"}}
    run = simulate(
        compile_definition({"StartAt": "M", "States": states}), {"items": [1]}, Script((rule(Threw("Bad", "why")),))
    )
    assert run.output["problem"]["Error"] == THRESHOLD_EXCEEDED


def test_a_timeout_of_the_parent_stops_the_children():
    run = simulate(machine(distributed(TASK), TimeoutSeconds=5), [1, 2], Script((rule(Hung()),)))
    assert run.status == "TIMED_OUT"
    assert [child.status for child in run.children] == ["ABORTED", "ABORTED"]


def test_a_failing_branch_stops_the_map_run_beside_it():
    parallel = {
        "Type": "Parallel",
        "Branches": [
            {"StartAt": "D", "States": {"D": distributed(TASK)}},
            {
                "StartAt": "W",
                "States": {"W": {"Type": "Wait", "Seconds": 1, "Next": "F"}, "F": {"Type": "Fail", "Error": "Boom"}},
            },
        ],
        "End": True,
    }
    run = simulate(machine(parallel), [1], Script((rule(Hung()),)))
    assert run.state.error == "Boom"
    assert "MapRunAborted" in types(run)
    assert run.children[0].status == "ABORTED"


def test_children_over_their_own_timeouts_count_as_failed():
    run = simulate(machine(distributed({**TASK, "TimeoutSeconds": 3})), [1], Script((rule(Hung()),)))
    assert run.state.error == THRESHOLD_EXCEEDED
    assert run.children[0].state.error == TIMEOUT


# ------------------------------------------------------------------ readers


@pytest.mark.parametrize("by", [{"state": "M"}, {"resource": "s3:getObject"}])
def test_items_come_from_a_mock_for_the_map_state(by: Any):
    script = Script((rule(Returned([1, 2, 3]), **by, delay_ms=40),))
    run = simulate(machine(distributed(ItemReader=READER)), {}, script)
    assert run.output == [1, 2, 3]
    assert run.duration_ms == 40
    assert (run.history[2].details or {}) == {"length": 0}
    assert run.tasks[0].parameters == {"Bucket": "data", "Key": "in.json"}
    assert run.tasks[0].resource.endswith(":s3:getObject")


def test_a_listing_and_an_object():
    listing = {"Resource": "arn:aws:states:::s3:listObjectsV2", "Parameters": {"Bucket": "data"}}
    selector = {"key.$": "$$.Map.Item.Value.Key", "from.$": "$$.Map.Item.Source"}
    script = Script((rule(Returned([{"Key": "k"}]), resource="s3:listObjectsV2"),))
    run = simulate(machine(distributed(ItemReader=listing, ItemSelector=selector)), {}, script)
    assert run.output == [{"key": "k", "from": "S3://data"}]
    run = simulate(machine(distributed(ItemReader=READER)), {}, Script((rule(Returned({"x": 1}), "M"),)))
    assert run.output == [{"Key": "x", "Value": 1}]


def test_more_items_than_a_slice():
    run = simulate(machine(distributed(ItemReader=READER)), {}, Script((rule(Returned(list(range(1234))), "M"),)))
    assert run.output == list(range(1234))
    assert len(run.tasks) == 1


@pytest.mark.parametrize(
    ("outcome", "cause"),
    [
        (Threw("S3.NoSuchKey", "no such key"), "no such key"),
        (Threw("S3.NoSuchKey", None), "S3.NoSuchKey"),
        (Returned("text"), "Attempting to map over non-iterable node."),
        (Returned(7), "Attempting to map over non-iterable node."),
    ],
)
def test_reader_failures(outcome: Any, cause: str):
    run = simulate(machine(distributed(ItemReader=READER)), {}, Script((rule(outcome, "M"),)))
    assert (run.status, run.state.error, run.state.cause) == ("FAILED", READER_FAILED, cause)
    assert types(run)[3:] == ["MapRunStarted", "MapRunFailed", "MapStateFailed", "ExecutionFailed"]


def test_a_reader_that_hangs_is_ended_by_the_parent():
    program = machine(distributed(ItemReader=READER), TimeoutSeconds=9)
    run = simulate(program, {}, Script((rule(Hung(), "M"),)))
    assert (run.status, run.duration_ms) == ("TIMED_OUT", 9000)


def test_attempts_of_a_reader():
    retry = [{"ErrorEquals": [READER_FAILED], "IntervalSeconds": 1}]
    calls: list[TaskCall] = []

    def answer(call: TaskCall) -> Any:
        calls.append(call)
        return Threw("E", "c") if call.attempt == 0 else Returned([1])

    run = simulate(machine(distributed(ItemReader=READER, Retry=retry)), {}, Script((rule(answer, "M"),)))
    assert run.output == [1]
    assert [(call.attempt, call.visit) for call in calls] == [(0, 0), (1, 0)]


def test_an_unmocked_reader_says_how_to_give_items():
    with pytest.raises(UnmockedTask, match=r"`M: \{returns: \[1, 2\]\}`") as caught:
        simulate(machine(distributed(ItemReader=READER)), {})
    assert caught.value.state == "M"


def test_an_unmocked_task_in_a_child():
    with pytest.raises(UnmockedTask) as caught:
        simulate(machine(distributed(TASK)), [1])
    assert caught.value.state == "Work"


# ------------------------------------------------------------------ the result writer


def test_written_results_are_kept():
    run = simulate(machine(distributed(ResultWriter=WRITER)), ["a", "b"])
    arn = run.output["MapRunArn"]
    folder = f"jobs/{arn.rsplit(':', 1)[1]}"
    assert run.output["ResultWriterDetails"] == {"Bucket": "out", "Key": f"{folder}/manifest.json"}
    assert list(run.written) == [f"s3://out/{folder}/SUCCEEDED_0.json", f"s3://out/{folder}/manifest.json"]
    text = run.written[f"s3://out/{folder}/SUCCEEDED_0.json"]
    records = parse_json(text)
    assert [record["Output"] for record in records] == ['"a"', '"b"']
    assert [record["ExecutionArn"] for record in records] == [
        child.state.identity.execution_arn for child in run.children
    ]
    manifest = parse_json(run.written[f"s3://out/{folder}/manifest.json"])
    assert manifest["ResultFiles"]["SUCCEEDED"] == [{"Key": f"{folder}/SUCCEEDED_0.json", "Size": len(text)}]
    assert run.tasks == []


@pytest.mark.parametrize(("mock", "cause"), [(Threw("S3.E", "no bucket"), "no bucket"), (Threw("S3.E", None), "S3.E")])
@pytest.mark.parametrize("by", [{"state": "M/ResultWriter"}, {"resource": "s3:putObject"}])
def test_a_writer_may_be_made_to_fail(mock: Threw, cause: str, by: Any):
    run = simulate(machine(distributed(ResultWriter=WRITER)), ["a"], Script((rule(mock, **by),)))
    assert (run.state.error, run.state.cause, run.written) == (WRITER_FAILED, cause, {})


def test_a_mock_for_the_reader_is_not_one_for_the_writer():
    script = Script((rule(Returned([1]), "M"),))
    run = simulate(machine(distributed(ItemReader=READER, ResultWriter=WRITER)), {}, script)
    assert len(run.written) == 2


# ------------------------------------------------------------------ redrive


@pytest.mark.parametrize(("kind", "runs"), [("STANDARD", 2), ("EXPRESS", 3)])
def test_a_redrive_runs_only_what_failed(kind: str, runs: int):
    outcomes = Rule((Result(Threw("Bad", "why")), Result(Returned("good"))), state="Work", iterations=only(1))
    states = {"Before": {"Type": "Pass", "Next": "Work"}, "Work": TASK}
    simulation = Simulation(Script((outcomes, rule(Returned("first")))))
    program = machine(distributed(states, kind=kind))
    running = Running(simulation.timeline, program, make_identity(), Payload([10, 20]), b"s" * 16)
    running.deliver(events.ExecutionStarted())
    simulation.drain(running)
    assert running.result.status == "FAILED"
    simulation.timeline.now_ms += 60_000
    running.deliver(events.ExecutionRedriven())
    simulation.drain(running)
    run = running.result
    assert run.output == ["first", "good"]
    assert types(run)[-6:] == [
        "ExecutionRedriven", "MapRunRedriven", "MapRunSucceeded", "MapStateSucceeded", "MapStateExited",
        "ExecutionSucceeded",
    ]  # fmt: skip
    assert len(run.children) == runs
    redriven = run.children[-1]
    assert types(redriven).count("PassStateEntered") == 1
    assert types(redriven).count("ExecutionRedriven") == (1 if kind == "STANDARD" else 0)


def test_a_child_with_too_long_a_history_is_not_redriven():
    loop = {"Work": {"Type": "Pass", "Next": "Again"}, "Again": {"Type": "Pass", "Next": "Work"}}
    simulation = Simulation(limits=replace(AWS, history_events=13))
    running = Running(simulation.timeline, machine(distributed(loop)), make_identity(), Payload([1]), b"s" * 16)
    running.deliver(events.ExecutionStarted())
    simulation.drain(running)
    (child,) = running.result.children
    assert len(child.history) == 13
    running.deliver(events.ExecutionRedriven())
    simulation.drain(running)
    assert running.result.state.error == THRESHOLD_EXCEEDED
    (map_run,) = simulation.map_runs.runs.values()
    assert map_run.state.not_redrivable == (1, 1)
    assert child.state.redrive_count == 0


def test_a_stopped_execution_redrives_its_aborted_children():
    simulation = Simulation(Script((Rule((Result(Hung()), Result(Returned("late"))), state="Work"),)))
    running = Running(simulation.timeline, machine(distributed(TASK)), make_identity(), Payload([1]), b"s" * 16)
    running.deliver(events.ExecutionStarted())
    while not running.result.children:
        due_ms, happen = simulation.timeline.queue.pop_next()
        assert due_ms == VIRTUAL_START_MS
        happen()
    running.deliver(events.ExecutionStopped())
    assert running.result.status == "ABORTED"
    assert running.result.children[0].status == "ABORTED"
    running.deliver(events.ExecutionRedriven())
    simulation.drain(running)
    assert running.result.output == ["late"]


def test_a_caught_map_run_is_not_redriven_for_what_fails_later():
    catch = [{"ErrorEquals": ["States.ALL"], "Next": "After"}]
    script = Script(
        (rule(Threw("Bad", "why")), Rule((Result(Threw("Worse", "why")), Result(Returned("done"))), state="After"))
    )
    states = {"M": distributed(TASK, Catch=catch), "After": TASK}
    simulation = Simulation(script)
    program = compile_definition({"StartAt": "M", "States": states})
    running = Running(simulation.timeline, program, make_identity(), Payload([1]), b"s" * 16)
    running.deliver(events.ExecutionStarted())
    simulation.drain(running)
    assert running.result.state.error == "Worse"
    running.deliver(events.ExecutionRedriven())
    simulation.drain(running)
    assert running.result.output == "done"
    assert "MapRunRedriven" not in types(running.result)
