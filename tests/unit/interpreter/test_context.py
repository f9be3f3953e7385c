from __future__ import annotations

import base64
from typing import Any

import pytest

from statewright.interpreter import commands, events
from statewright.interpreter.advance import new_execution
from statewright.interpreter.context import is_task_token, task_of_token, task_token
from statewright.payload import Payload
from statewright.simulator.simulate import make_identity
from tests.unit.interpreter.driven import TOKEN, Driven, machine, parallel, task


class TestTokens:
    @pytest.mark.parametrize("name", ["run", "läuft schon", "x" * 80])
    @pytest.mark.parametrize("task_id", [1, 7 << 32 | 9])
    def test_round_trip(self, name: str, task_id: int) -> None:
        identity = make_identity(name=name)
        token = task_token(new_execution(identity, Payload({}), b"seed"), task_id)
        assert task_of_token(token) == (identity.execution_arn, task_id)
        assert token.isascii()
        assert len(token) <= 1_024

    def test_only_the_seed_can_make_it(self) -> None:
        states = [new_execution(make_identity(), Payload({}), seed) for seed in (b"one", b"two", b"one" * 40)]
        assert len({task_token(state, 5) for state in states}) == 3
        assert task_token(states[0], 5) == task_token(states[0], 5)
        assert task_token(states[0], 5) != task_token(states[0], 6)

    def test_it_begins_with_a_letter_and_older_ones_are_genuine_too(self) -> None:
        state = new_execution(make_identity(), Payload({}), b"seed")
        for task_id in range(1, 200):
            token = task_token(state, task_id)
            assert token[0].isalpha()
            assert is_task_token(token, state, task_id)
            raw = base64.urlsafe_b64decode(token)
            older = base64.urlsafe_b64encode(bytes([raw[0] | 0x80]) + raw[1:]).decode()
            assert is_task_token(older, state, task_id)
            other = base64.urlsafe_b64encode(bytes([raw[0] ^ 1]) + raw[1:]).decode()
            assert not is_task_token(other, state, task_id)
        assert not is_task_token("!", state, 1)
        assert not is_task_token("", state, 1)

    @pytest.mark.parametrize(
        "text",
        [
            "", "x", "!!!!", "ü", "\ud800", "AAAA", "A" * 2_048,
            base64.urlsafe_b64encode(b"0" * 16 + b"arn|1").decode(),
            base64.urlsafe_b64encode(b"0" * 16 + b"arn|1|x").decode(),
            base64.urlsafe_b64encode(b"0" * 16 + b"arn|1|2|3").decode(),
            base64.urlsafe_b64encode(b"0" * 16 + b"\xff|1|2").decode(),
        ],
    )  # fmt: skip
    def test_what_is_no_token(self, text: str) -> None:
        assert task_of_token(text) is None

    def test_a_task_sees_its_own(self) -> None:
        run = Driven(machine(T=task(TOKEN, Parameters={"token.$": "$$.Task.Token"}, ResultSelector={"c.$": "$$"})))
        (asked,) = run.asked(commands.ScheduleTask)
        assert asked.parameters == Payload({"token": asked.token})
        assert task_of_token(asked.token) == (run.state.identity.execution_arn, asked.task_id)
        run.send(events.TaskSucceeded(asked.task_id, Payload(1)))
        assert run.state.output is not None
        assert "Task" not in run.state.output.value["c"]


def context_of(run: Driven) -> Any:
    assert run.state.output is not None
    return run.state.output.value


SHOW = {"Type": "Pass", "Parameters": {"c.$": "$$"}, "OutputPath": "$.c", "End": True}


def test_of_a_plain_state() -> None:
    run = Driven(machine(A=SHOW), {"x": 1})
    assert context_of(run) == {
        "Execution": {
            "Id": "arn:aws:states:us-east-1:000000000000:execution:StateMachine:run",
            "Input": {"x": 1},
            "Name": "run",
            "RoleArn": "arn:aws:iam::000000000000:role/statewright",
            "StartTime": "2026-01-01T00:00:00Z",
            "RedriveCount": 0,
        },
        "State": {"EnteredTime": "2026-01-01T00:00:00Z", "Name": "A"},
        "StateMachine": {
            "Id": "arn:aws:states:us-east-1:000000000000:stateMachine:StateMachine",
            "Name": "StateMachine",
        },
    }


def test_map_item_belongs_to_the_nearest_iteration() -> None:
    inner = {"Type": "Map", "ItemProcessor": machine(P=parallel(machine(A=SHOW))), "End": True}
    run = Driven(machine(M={"Type": "Map", "ItemProcessor": machine(N=inner), "End": True}), [[], ["x", "y"]])
    shown = context_of(run)
    assert shown[0] == []
    items = [branch[0]["Map"]["Item"] for branch in shown[1]]
    assert items == [
        {"Index": 0, "Value": "x", "Source": "STATE_DATA"},
        {"Index": 1, "Value": "y", "Source": "STATE_DATA"},
    ]


@pytest.mark.parametrize("kind", ["Parallel", "Map"])
def test_the_retry_count_of_a_state_with_children(kind: str) -> None:
    inner = machine(T=task())
    holder = {"Branches": [inner]} if kind == "Parallel" else {"ItemProcessor": inner, "ItemsPath": "$.l"}
    retry = [{"ErrorEquals": ["States.ALL"]}]
    outer = {"Type": kind, **holder, "Retry": retry, "ResultSelector": {"n.$": "$$.State.RetryCount"}, "End": True}
    run = Driven(machine(P=outer), {"l": [1]})
    run.send(events.TaskFailed(run.task_ids[0], "E", None))
    run.send(events.TimerFired(run.timer(1_000)), after_ms=1_000)
    run.send(events.TaskSucceeded(run.task_ids[1], Payload(1)))
    assert run.state.output == Payload({"n": 1})


def test_a_redrive_shows() -> None:
    run = Driven(
        machine(
            A={"Type": "Choice", "Choices": [{"Variable": "$$.Execution.RedriveTime", "IsPresent": True, "Next": "B"}]},
            B=SHOW,
        )
    )
    run.send(events.ExecutionRedriven(), after_ms=1_500)
    execution = context_of(run)["Execution"]
    assert (execution["RedriveCount"], execution["RedriveTime"]) == (1, "2026-01-01T00:00:01.500Z")
