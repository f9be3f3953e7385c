from __future__ import annotations

from typing import Any

import pytest

from statewright.asl.compile import compile_definition
from statewright.errors import ExecutionFailure
from statewright.interpreter import events
from statewright.limits import EXPRESS, OPEN
from statewright.payload import Payload
from statewright.simulator.mocks import Result, Returned, Rule, Script
from statewright.simulator.running import Run, Running, UnmockedTask
from statewright.simulator.script import load_script
from statewright.simulator.simulate import DEFAULT_SEED, Simulation, Stalled, make_identity, simulate
from statewright.virtual_clock import VIRTUAL_START_MS
from tests.unit.interpreter.driven import ACTIVITY, LAMBDA, TOKEN, machine, parallel, task, wait

FLAKY = task(Retry=[{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 2}])


def run(definition: dict[str, Any], given: Any = None, mocks: str = "mocks: {}", **options: Any) -> Run:
    return simulate(compile_definition(definition), {} if given is None else given, load_script(mocks), **options)


def types_and_seconds(found: Run) -> list[tuple[str, float]]:
    return [(entry.type, (entry.at_ms - VIRTUAL_START_MS) / 1000) for entry in found.history]


class TestRun:
    def test_success(self) -> None:
        found = run(machine(W=wait(5, Next="S"), S={"Type": "Succeed"}), {"x": 1})
        assert (found.status, found.output, found.duration_ms, found.transitions) == ("SUCCEEDED", {"x": 1}, 5_000, 2)
        assert found.path == ["W", "S"]
        assert found.state.identity == make_identity()

    def test_failure_has_no_output(self) -> None:
        found = run(machine(F={"Type": "Fail", "Error": "E"}))
        assert (found.status, found.output, found.duration_ms) == ("FAILED", None, 0)

    def test_visits_count_entries_not_retries(self) -> None:
        found = run(
            machine(
                T={**FLAKY, "Next": "C"},
                C={"Type": "Choice", "Choices": [{"Variable": "$", "NumericEquals": 2, "Next": "S"}], "Default": "T"},
                S={"Type": "Succeed"},
            ),
            mocks="mocks: {T: [{throws: E}, {returns: 1}, {returns: 2}]}",
        )
        assert found.visits == {"T": 2, "C": 2, "S": 1}
        assert found.path == ["T", "C", "T", "C", "S"]
        assert found.transitions == 6

    def test_an_execution_under_way_has_no_duration_yet(self) -> None:
        running = Running(
            Simulation().timeline, compile_definition(machine(W=wait())), make_identity(), Payload({}), b"s"
        )
        running.deliver(events.ExecutionStarted())
        assert running.result.duration_ms == 0


class TestTasks:
    def test_each_call_is_recorded(self) -> None:
        inner = {"Type": "Map", "ItemProcessor": machine(T={**FLAKY, "Parameters": {"v.$": "$"}}), "End": True}
        found = run(
            machine(M={"Type": "Map", "ItemProcessor": machine(N=inner), "End": True}),
            [["a"], ["b", "c"]],
            'mocks: {T: {iterations: {"1/1": [{throws: E, delay: 1s}, {returns: 1}], default: {returns: 0}}}}',
        )
        assert found.output == [[0], [0, 1]]
        seen = [(t.iteration, t.attempt, (t.at_ms - VIRTUAL_START_MS) // 1000, t.parameters["v"]) for t in found.tasks]
        assert seen == [((0, 0), 0, 0, "a"), ((1, 0), 0, 0, "b"), ((1, 1), 0, 0, "c"), ((1, 1), 1, 3, "c")]
        assert {(t.state, t.resource) for t in found.tasks} == {("T", LAMBDA)}

    def test_visits_and_attempts_reach_the_script(self) -> None:
        found = run(
            machine(
                T={**FLAKY, "Next": "C"},
                C={"Type": "Choice", "Choices": [{"Variable": "$", "NumericEquals": 2, "Next": "S"}], "Default": "T"},
                S={"Type": "Succeed"},
            ),
            mocks="""
            mocks:
              T:
                visits:
                  "0": {attempts: {"0": {throws: E}, default: {returns: 1}}}
                  "1": {returns: 2}
            """,
        )
        assert found.status == "SUCCEEDED"
        assert [t.attempt for t in found.tasks] == [0, 1, 0]

    def test_no_mock(self) -> None:
        with pytest.raises(UnmockedTask) as problem:
            run(machine(Charge=task()))
        assert problem.value.state == "Charge"
        assert problem.value.hint.startswith("No mock for state 'Charge'")
        assert str(problem.value) == problem.value.hint

    def test_what_happens_to_a_callback(self) -> None:
        found = run(
            machine(T=task(TOKEN, HeartbeatSeconds=10)),
            mocks="mocks: {T: {submitted: {id: 1}, heartbeats: [9s, 18s], returns: ok, delay: 27s}}",
        )
        assert types_and_seconds(found)[4:6] == [("TaskSubmitted", 0), ("TaskSucceeded", 27)]
        assert found.history[4].details == {
            "resourceType": "sqs", "resource": "sendMessage.waitForTaskToken", "output": '{"id":1}',
        }  # fmt: skip

    def test_a_callback_without_a_heartbeat_in_time(self) -> None:
        found = run(
            machine(T=task(TOKEN, HeartbeatSeconds=10)),
            mocks="mocks: {T: {heartbeats: [9s], returns: ok, delay: 27s}}",
        )
        assert types_and_seconds(found)[-2:] == [("TaskTimedOut", 19), ("ExecutionFailed", 19)]

    def test_the_worker_of_an_activity(self) -> None:
        found = run(machine(T=task(ACTIVITY)), mocks="mocks: {T: {throws: {error: E, cause: c}, delay: 3s}}")
        assert types_and_seconds(found)[3:] == [("ActivityStarted", 0), ("ActivityFailed", 3), ("ExecutionFailed", 3)]
        assert found.history[3].details == {"workerName": "simulator"}

    def test_answers_to_cancelled_tasks_never_come(self) -> None:
        simulation = Simulation(load_script("mocks: {T: {returns: late, delay: 9s}}"))
        program = compile_definition(machine(T=task(TimeoutSeconds=3)))
        found = simulation.run(program, {})
        assert found.state.error == "States.Timeout"
        assert len(simulation.timeline.queue) == 0

    def test_answered_tasks_are_forgotten(self) -> None:
        simulation = Simulation(load_script("mocks: {T: [{throws: E}, {returns: 1}]}"))
        running = Running(simulation.timeline, compile_definition(machine(T=FLAKY)), make_identity(), Payload({}), b"s")
        running.deliver(events.ExecutionStarted())
        simulation.drain(running)
        assert running.tasks == {}
        assert running.timers == {}


class TestStalled:
    def test_a_task_that_never_answers(self) -> None:
        with pytest.raises(Stalled, match="last for 'T'"):
            run(machine(T=task()), mocks="mocks: {T: {hangs: true}}", limits=OPEN)

    def test_with_a_limit_it_ends(self) -> None:
        found = run(machine(T=task()), mocks="mocks: {T: {hangs: true}}", limits=EXPRESS)
        assert (found.status, found.duration_ms) == ("TIMED_OUT", 300_000)


class TestTime:
    def test_starts_when_told(self) -> None:
        found = run(machine(W=wait(5)), start_ms=1_000)
        assert [found.state.started_ms, found.state.stopped_ms] == [1_000, 6_000]

    def test_pace_is_called_before_each_instant(self) -> None:
        paced: list[int] = []
        run(
            machine(P=parallel(machine(W=wait(5)), machine(V=wait(5)), machine(U=wait(9)))),
            pace=paced.append,
            start_ms=0,
        )
        assert paced == [5_000, 9_000]

    def test_every_history_event_is_told_as_it_happens(self) -> None:
        told: list[tuple[str, int]] = []
        found = run(machine(W=wait(5)), on_history=lambda state, entry: told.append((entry.type, state.transitions)))
        assert [kind for kind, _ in told] == [entry.type for entry in found.history]

    def test_things_of_one_instant_happen_in_the_order_in_which_they_were_asked_for(self) -> None:
        found = run(
            machine(P=parallel(machine(W=wait(5)), machine(T=task()), machine(V=wait(5)))),
            mocks="mocks: {T: {returns: 1, delay: 5s}}",
        )
        assert [e.type for e in found.history if e.type in ("WaitStateExited", "LambdaFunctionSucceeded")] == [
            "WaitStateExited", "LambdaFunctionSucceeded", "WaitStateExited",
        ]  # fmt: skip

    def test_the_past_is_now(self) -> None:
        simulation = Simulation(start_ms=5_000)
        simulation.timeline.at(1_000, lambda: None)
        assert simulation.timeline.queue.next_due_ms() == 5_000


class TestChance:
    DEFINITION = machine(
        A={"Type": "Pass", "Parameters": {"id.$": "States.UUID()"}, "End": True},
    )

    def test_the_same_seed_gives_the_same_run(self) -> None:
        assert run(self.DEFINITION).output == run(self.DEFINITION, seed=DEFAULT_SEED).output

    def test_another_seed_another(self) -> None:
        assert run(self.DEFINITION).output != run(self.DEFINITION, seed=b"another").output


@pytest.mark.parametrize("budget", [1, 2, 1_000])
def test_the_budget_does_not_show(budget: int) -> None:
    items = {"Type": "Map", "MaxConcurrency": 3, "ItemProcessor": machine(T=task()), "End": True}
    script = "mocks: {T: {expression: '{% $states.input %}'}}"
    shown = [entry.to_api() for entry in run(machine(M=items), list(range(9)), script, budget=budget).history]
    assert shown == [entry.to_api() for entry in run(machine(M=items), list(range(9)), script).history]


def test_a_script_may_be_made_of_functions() -> None:
    script = Script((Rule((Result(lambda call: Returned([call.state, call.now_ms])),), state="T"),))
    found = simulate(compile_definition(machine(T=task())), {}, script, start_ms=7)
    assert found.output == ["T", 7]


def test_no_script_at_all() -> None:
    assert simulate(compile_definition(machine(S={"Type": "Succeed"})), 5).output == 5


def test_an_input_that_json_cannot_carry() -> None:
    with pytest.raises(ExecutionFailure):
        simulate(compile_definition(machine(S={"Type": "Succeed"})), "\ud800")


def test_identities() -> None:
    identity = make_identity("Orders", "one")
    assert identity.execution_arn == "arn:aws:states:us-east-1:000000000000:execution:Orders:one"
    assert identity.state_machine_arn == "arn:aws:states:us-east-1:000000000000:stateMachine:Orders"
    simulation = Simulation()
    program = compile_definition(machine(S={"Type": "Succeed"}))
    assert simulation.run(program, {}, identity=identity).state.identity is identity


@pytest.mark.parametrize("place", ["", "us-east-1:123456789012"])
def test_a_permit_needs_no_mock(place: str) -> None:
    resource = f"arn:aws:states:{place or ':'}:statewright:acquire"
    enter = {"Type": "Task", "Resource": resource, "Parameters": {"Name": "door", "Limit": 1}, "End": True}
    assert run(machine(E=enter), {}).state.status == "SUCCEEDED"
