from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from statewright.interpreter import commands, events
from statewright.interpreter.state import Frame
from statewright.limits import AWS, EXPRESS, OPEN
from statewright.payload import Payload
from statewright.simulator.simulate import make_identity
from tests.unit.interpreter.driven import (
    ACTIVITY,
    CALL,
    JOB,
    LAMBDA,
    START_MS,
    TOKEN,
    Driven,
    machine,
    parallel,
    task,
    wait,
)

PASS = {"Type": "Pass", "End": True}
YEAR_MS = 365 * 24 * 3600 * 1000
ONE = Payload(1)


def answers(task_id: int) -> list[events.Event]:
    return [
        events.TaskStarted(task_id),
        events.TaskSubmitted(task_id, ONE),
        events.TaskSucceeded(task_id, ONE),
        events.TaskFailed(task_id, "E", None),
        events.TaskScheduleFailed(task_id, "E", None),
        events.TaskStartFailed(task_id, "E", None),
        events.TaskSubmitFailed(task_id, "E", None),
        events.TaskRefused(task_id, "gone"),
        events.HeartbeatReceived(task_id),
        events.MapRunSucceeded(task_id, ONE),
        events.MapRunFailed(task_id, "E", None),
        events.TimerFired(task_id),
    ]


class TestStale:
    def test_nothing_but_a_start_or_a_stop_matters_before_the_start(self) -> None:
        run = Driven(machine(A=PASS), start=False)
        for event in [*answers(0), *answers(1), events.BurstContinued(), events.ExecutionRedriven()]:
            assert run.ignores(event), event
        run.send(events.ExecutionStarted())
        assert run.status == "SUCCEEDED"

    def test_a_stop_before_the_start_is_the_end(self) -> None:
        run = Driven(machine(A=PASS), start=False)
        run.send(events.ExecutionStopped("E", "c"))
        assert (run.status, run.state.error, run.state.cause) == ("ABORTED", "E", "c")
        assert run.types == ["ExecutionAborted"]
        assert run.ignores(events.ExecutionStarted())
        assert run.ignores(events.ExecutionRedriven())

    def test_a_second_start(self) -> None:
        run = Driven(machine(W=wait()))
        assert run.ignores(events.ExecutionStarted())

    @pytest.mark.parametrize("packed", [0, -1, 99, 5 << 32, 99 << 32 | 7, 2**80])
    def test_ids_that_never_were(self, packed: int) -> None:
        run = Driven(machine(P=parallel(machine(W=wait()), machine(T=task()))))
        for event in answers(packed):
            assert run.ignores(event), event

    @pytest.mark.parametrize("end", ["success", "failure", "stop", "timeout"])
    def test_nothing_but_a_redrive_matters_after_the_end(self, end: str) -> None:
        definition = {"TimeoutSeconds": 9, **machine(T=task(TimeoutSeconds=90, HeartbeatSeconds=80))}
        run = Driven(definition)
        timers = list(run.watch.timers)
        (task_id,) = run.task_ids
        ends: dict[str, events.Event] = {
            "success": events.TaskSucceeded(task_id, ONE),
            "failure": events.TaskFailed(task_id, "E", None),
            "stop": events.ExecutionStopped(),
            "timeout": events.TimerFired(run.timer(9_000)),
        }
        run.send(ends[end])
        assert run.status in ("SUCCEEDED", "FAILED", "ABORTED", "TIMED_OUT")
        late = [*answers(task_id), *map(events.TimerFired, timers), events.ExecutionStopped(), events.BurstContinued()]
        for event in late:
            assert run.ignores(event), event
        assert run.ignores(events.ExecutionRedriven()) == (end == "success")

    def test_a_timer_of_an_earlier_state(self) -> None:
        run = Driven(machine(W=wait(5, Next="V"), V=wait(5)))
        first = run.timer(5_000)
        run.send(events.TimerFired(first), after_ms=5_000)
        assert run.ignores(events.TimerFired(first))
        assert run.status == "RUNNING"
        run.send(events.TimerFired(run.timer(10_000)), after_ms=5_000)
        assert run.status == "SUCCEEDED"

    def test_an_answer_to_an_earlier_attempt(self) -> None:
        run = Driven(machine(T=task(TimeoutSeconds=30, Retry=[{"ErrorEquals": ["States.ALL"]}])))
        (first,) = run.task_ids
        clock = run.timer(30_000)
        run.send(events.TaskFailed(first, "E", None))
        late = [event for event in answers(first) if not isinstance(event, events.TimerFired)]
        for event in [*late, events.TimerFired(clock)]:
            assert run.ignores(event), event
        run.send(events.TimerFired(run.timer(1_000)), after_ms=1_000)
        _, second = run.task_ids
        for event in [*late, events.TimerFired(clock)]:
            assert run.ignores(event), event
        run.send(events.TaskSucceeded(second, Payload("good")))
        assert run.state.output == Payload("good")

    def test_an_answer_to_an_aborted_sibling(self) -> None:
        run = Driven(
            machine(
                P=parallel(machine(T=task()), machine(U=task()), Catch=[{"ErrorEquals": ["States.ALL"], "Next": "W"}]),
                W=wait(),
            )
        )
        first, second = run.task_ids
        run.send(events.TaskFailed(first, "E", None))
        assert [command.task_id for command in run.asked(commands.CancelTask)] == [second]
        for event in [*answers(first), *answers(second)]:
            assert run.ignores(event), event

    def test_of_two_clocks_at_one_instant_the_first_counts(self) -> None:
        run = Driven(machine(T=task(TimeoutSeconds=30, HeartbeatSeconds=29)))
        frame_task = run.frame.task
        assert frame_task is not None
        clocks = frame_task.heartbeat_timer, frame_task.timeout_timer
        run.send(events.TimerFired(clocks[1]), after_ms=30_000)
        assert run.ignores(events.TimerFired(clocks[0]))
        assert run.types[-2:] == ["LambdaFunctionTimedOut", "ExecutionFailed"]
        assert run.types.count("LambdaFunctionTimedOut") == 1


class TestTasks:
    @pytest.mark.parametrize("resource", [LAMBDA, CALL, ACTIVITY])
    def test_only_jobs_and_callbacks_are_submitted(self, resource: str) -> None:
        run = Driven(machine(T=task(resource)))
        assert run.ignores(events.TaskSubmitted(run.task_ids[0], ONE))

    @pytest.mark.parametrize("resource", [LAMBDA, CALL, JOB, TOKEN])
    def test_only_activities_are_started_by_a_worker(self, resource: str) -> None:
        run = Driven(machine(T=task(resource)))
        assert run.ignores(events.TaskStarted(run.task_ids[0], "worker"))

    @pytest.mark.parametrize("resource", [JOB, TOKEN])
    def test_submitted_once(self, resource: str) -> None:
        run = Driven(machine(T=task(resource)))
        run.send(events.TaskSubmitted(run.task_ids[0], ONE))
        assert run.ignores(events.TaskSubmitted(run.task_ids[0], ONE))
        assert run.types[-1] == "TaskSubmitted"

    def test_an_answer_may_overtake_the_submission(self) -> None:
        run = Driven(machine(T=task(TOKEN)))
        run.send(events.TaskSucceeded(run.task_ids[0], ONE))
        assert run.status == "SUCCEEDED"
        assert "TaskSubmitted" not in run.types

    def test_an_activity_may_be_answered_by_somebody_who_never_took_it(self) -> None:
        run = Driven(machine(T=task(ACTIVITY, TimeoutSeconds=5)))
        run.send(events.TaskSucceeded(run.task_ids[0], ONE))
        assert run.types[-4:] == ["ActivityScheduled", "ActivitySucceeded", "TaskStateExited", "ExecutionSucceeded"]

    def test_the_clocks_of_an_activity_start_with_its_worker(self) -> None:
        run = Driven(machine(T=task(ACTIVITY, TimeoutSeconds=50, HeartbeatSeconds=20)))
        assert list(run.watch.timers.values()) == [START_MS + YEAR_MS]
        assert run.ignores(events.HeartbeatReceived(run.task_ids[0]))
        run.send(events.TaskStarted(run.task_ids[0]), after_ms=3_000)
        assert {run.timer(53_000), run.timer(23_000)} < set(run.watch.timers)
        assert run.history[-1].details == {}
        run.send(events.HeartbeatReceived(run.task_ids[0]), after_ms=5_000)
        assert {run.timer(53_000), run.timer(28_000)} < set(run.watch.timers)

    @pytest.mark.parametrize("resource", [JOB, TOKEN])
    def test_the_heartbeat_of_a_callback_starts_when_the_request_is_taken(self, resource: str) -> None:
        run = Driven(machine(T=task(resource, TimeoutSeconds=50, HeartbeatSeconds=20)))
        assert run.ignores(events.HeartbeatReceived(run.task_ids[0]))
        assert sorted(run.watch.timers.values()) == [START_MS + 50_000, START_MS + YEAR_MS]
        run.send(events.TaskSubmitted(run.task_ids[0], ONE), after_ms=4_000)
        heartbeat = run.timer(24_000)
        run.send(events.HeartbeatReceived(run.task_ids[0]), after_ms=1_000)
        assert run.ignores(events.TimerFired(heartbeat))
        assert run.timer(25_000)

    def test_what_is_asked_for(self) -> None:
        item = task(
            TOKEN,
            TimeoutSeconds=50,
            HeartbeatSeconds=20,
            Credentials={"RoleArn": "role"},
            Retry=[{"ErrorEquals": ["States.ALL"]}],
            Parameters={"v.$": "$"},
        )
        inner = {"Type": "Map", "ItemProcessor": machine(T=item), "End": True}
        run = Driven(machine(M={"Type": "Map", "ItemProcessor": machine(N=inner), "End": True}), [[], ["x", "y"]])
        first, second = run.asked(commands.ScheduleTask)
        assert (first.iterations, second.iterations) == ((1, 0), (1, 1))
        assert (first.state, first.attempt, first.role_arn) == ("T", 0, "role")
        assert (first.timeout_ms, first.heartbeat_ms) == (50_000, 20_000)
        assert first.parameters == Payload({"v": "x"})
        assert first.resource.arn == TOKEN
        assert first.token is not None
        assert first.token != second.token
        run.send(events.TaskFailed(second.task_id, "E", None))
        run.send(events.TimerFired(run.timer(1_000)), after_ms=1_000)
        third = run.asked(commands.ScheduleTask)[2]
        assert (third.attempt, third.iterations) == (1, (1, 1))
        assert third.token not in (first.token, second.token)

    @pytest.mark.parametrize(("resource", "has_token"), [(LAMBDA, False), (CALL, False), (JOB, True), (ACTIVITY, True)])
    def test_who_gets_a_token(self, resource: str, has_token: bool) -> None:
        (asked,) = Driven(machine(T=task(resource))).asked(commands.ScheduleTask)
        assert (asked.token is not None) == has_token

    def test_long_errors_and_causes_are_cut(self) -> None:
        run = Driven(machine(T=task()))
        run.send(events.TaskFailed(run.task_ids[0], "e" * 300, "c" * 40_000))
        assert run.state.error == "e" * 256
        assert run.state.cause == "c" * 32_768


class TestBursts:
    LOOP = machine(
        A={"Type": "Pass", "Next": "C"},
        C={"Type": "Choice", "Choices": [{"Variable": "$.x", "IsPresent": True, "Next": "A"}], "Default": "S"},
        S={"Type": "Succeed"},
    )

    def test_a_burst_stops_at_its_budget(self) -> None:
        run = Driven(self.LOOP, {"x": 1}, budget=10)
        assert run.state.transitions == 10
        assert run.asked(commands.ContinueBurst) == [commands.ContinueBurst()]
        run.send(events.BurstContinued())
        assert run.state.transitions == 20

    def test_25_000_history_events_and_no_more(self) -> None:
        run = Driven(self.LOOP, {"x": 1}, budget=5_000)
        while run.status == "RUNNING":
            run.send(events.BurstContinued())
        last = run.history[-1]
        assert (last.id, last.type, last.previous_id) == (25_000, "ExecutionFailed", 24_999)
        assert run.state.error == "States.Runtime"
        assert run.state.cause == "The execution reached the maximum number of history events (25000)."
        assert run.ignores(events.ExecutionRedriven())

    @pytest.mark.parametrize("most", range(3, 18))
    @pytest.mark.parametrize("at_once", [1, 0])
    def test_a_map_may_reach_it_anywhere(self, most: int, at_once: int) -> None:
        """Also between two iterations: the one that does not start any more is not counted."""
        each = {"StartAt": "P", "States": {"P": PASS}}
        items = {"Type": "Map", "MaxConcurrency": at_once, "ItemProcessor": each, "End": True}
        run = Driven(machine(M=items), [1, 2, 3], limits=replace(AWS, history_events=most))
        assert run.state.status == "FAILED"

    def test_no_such_limit_in_the_open_profile(self) -> None:
        run = Driven(self.LOOP, {"x": 1}, budget=13_000, limits=OPEN)
        run.send(events.BurstContinued())
        assert run.status == "RUNNING"
        assert run.state.last_event_id > 25_000
        assert not run.watch.timers

    def test_no_such_limit_for_express(self) -> None:
        run = Driven(self.LOOP, {"x": 1}, budget=13_000, limits=EXPRESS)
        run.send(events.BurstContinued())
        assert run.state.last_event_id > 25_000
        assert list(run.watch.timers.values()) == [START_MS + 300_000]

    def test_a_stop_between_two_bursts(self) -> None:
        items = {"Type": "Map", "ItemProcessor": machine(A={"Type": "Pass", "Next": "B"}, B=PASS), "End": True}
        for cut in range(1, 12):
            run = Driven(machine(M=items), [1, 2, 3], budget=cut)
            if run.status != "RUNNING":
                continue
            run.send(events.ExecutionStopped())
            assert run.status == "ABORTED"
            assert run.ignores(events.BurstContinued())
            run.send(events.ExecutionRedriven(), budget=200)
            assert run.status == "SUCCEEDED", cut
            assert run.state.output == Payload([1, 2, 3])
            entered = [entry for entry in run.history if entry.type == "PassStateEntered"]
            assert len(entered) == 6, "each state of each iteration is entered once"

    def test_an_answer_between_two_bursts(self) -> None:
        run = Driven(machine(P=parallel(machine(T=task()), machine(A={"Type": "Pass", "Next": "B"}, B=PASS))), budget=2)
        run.send(events.TaskSucceeded(run.task_ids[0], ONE))
        while run.status == "RUNNING":
            run.send(events.BurstContinued())
        assert run.state.output == Payload([1, {}])

    @pytest.mark.parametrize("length", [50, 400])
    def test_one_answer_changes_a_frame_or_two_however_long_the_map(self, length: int) -> None:
        items = {"Type": "Map", "ItemProcessor": machine(T=task()), "End": True}
        run = Driven(machine(M=items), [0] * length, limits=OPEN, budget=10_000)
        assert len(run.task_ids) == length
        for task_id in run.task_ids[: length // 2]:
            step = run.send(events.TaskSucceeded(task_id, ONE))
            assert len(step.changed) == 2

    def test_frames_are_gone_when_all_is_well(self) -> None:
        run = Driven(machine(P=parallel(machine(A=PASS), machine(B=PASS))))
        assert run.state.frames == {}
        assert not run.watch.store


class TestClocks:
    def test_a_late_timer_does_not_make_the_execution_longer(self) -> None:
        run = Driven({"TimeoutSeconds": 9, **machine(W=wait())})
        run.send(events.TimerFired(run.timer(9_000)), after_ms=9_750)
        assert run.status == "TIMED_OUT"
        assert run.state.stopped_ms == START_MS + 9_000
        assert (run.state.error, run.state.cause) == (None, None)
        assert run.history[-1].details == {"error": "States.Timeout"}

    def test_a_redrive_sets_the_clock_back(self) -> None:
        run = Driven({"TimeoutSeconds": 9, **machine(W=wait())})
        run.send(events.TimerFired(run.timer(9_000)), after_ms=9_000)
        run.send(events.ExecutionRedriven(), after_ms=1_000)
        run.send(events.TimerFired(run.timer(19_000)), after_ms=9_500)
        assert run.state.stopped_ms == START_MS + 19_000

    def test_the_shorter_of_two_limits_counts(self) -> None:
        run = Driven({"TimeoutSeconds": 400, **machine(W=wait())}, limits=EXPRESS)
        assert START_MS + 300_000 in run.watch.timers.values()

    def test_no_clock_without_a_limit(self) -> None:
        assert list(Driven(machine(W=wait(5)), limits=OPEN).watch.timers.values()) == [START_MS + 5_000]


def test_the_start_names_version_and_alias() -> None:
    identity = replace(make_identity(), version_arn="v:1", alias_arn="a:live")
    run = Driven(machine(A=PASS), {"x": 1}, identity=identity)
    assert run.history[0].details == {
        "input": '{"x":1}',
        "roleArn": identity.role_arn,
        "stateMachineVersionArn": "v:1",
        "stateMachineAliasArn": "a:live",
    }


def test_the_open_profile_lifts_the_limit_of_forty() -> None:
    items: dict[str, Any] = {"Type": "Map", "ItemProcessor": machine(W=wait()), "End": True}
    running = {limits: Driven(machine(M=items), [0] * 50, limits=limits) for limits in (AWS, OPEN)}
    counts = [sum(isinstance(f, Frame) for f in run.state.frames.values()) - 1 for run in running.values()]
    assert counts == [40, 50]


def test_a_concurrency_beyond_the_items_means_all_of_them() -> None:
    items = {
        "Type": "Map",
        "ItemsPath": "$.l",
        "MaxConcurrencyPath": "$.n",
        "ItemProcessor": machine(W=wait()),
        "End": True,
    }
    run = Driven(machine(M=items), {"l": [1, 2], "n": 10**30}, limits=OPEN)
    assert run.frame.children is not None
    assert run.frame.children.limit == 2


def test_a_timeout_from_a_path_is_in_range() -> None:
    run = Driven(machine(T=task(TimeoutSecondsPath="$.t")), {"t": 10**30})
    assert run.state.error == "States.Runtime"


def test_same_seed_same_history() -> None:
    definition = machine(
        A={"Type": "Pass", "Parameters": {"id.$": "States.UUID()", "n.$": "States.MathRandom(0, 1000000)"}, "End": True}
    )
    assert Driven(definition).state.output == Driven(definition).state.output


def test_too_deep_a_value_is_a_failure_of_the_state() -> None:
    definition = machine(
        A={"Type": "Pass", "Parameters": {"a.$": "$"}, "Next": "C"},
        C={"Type": "Choice", "Choices": [{"Variable": "$.stop", "IsPresent": True, "Next": "S"}], "Default": "A"},
        S={"Type": "Succeed"},
    )
    run = Driven(definition, budget=10_000)
    assert run.status == "FAILED"
    assert run.state.error == "States.Runtime"
    assert run.state.cause is not None
    assert "nested deeper than 500 levels" in run.state.cause
