"""A small definition makes a vast value of a large input by naming it again and again: refused before it is written."""

from __future__ import annotations

from typing import Any

import pytest

from statewright.asl.compile import compile_definition
from statewright.interpreter.advance import Step, advance, new_execution
from statewright.interpreter.events import BurstContinued, ExecutionStarted
from statewright.interpreter.state import ExecutionState, Identity
from statewright.payload import MOST_CHARACTERS, Payload, size_of

TEXT = "x" * 250_000
OFTEN = 2_000

ARN = "arn:aws:states:us-east-1:000000000000:stateMachine:m"
IDENTITY = Identity(ARN.replace("stateMachine", "execution") + ":x", "x", ARN, "m", "r", "us-east-1", "STANDARD")


def start(given: Any, **states: Any) -> tuple[ExecutionState, Step]:
    definition = {"StartAt": next(iter(states)), "States": states}
    state = new_execution(IDENTITY, Payload(given), b"s" * 16)
    return state, advance(compile_definition(definition), state, ExecutionStarted(), 0)


def nested(depth: int) -> Any:
    value: Any = TEXT
    for _ in range(depth):
        value = {"a": value}
    return value


JSONATA = {"QueryLanguage": "JSONata"}


@pytest.mark.parametrize(
    ("fields", "given"),
    [
        ({"Parameters": {f"a{number}.$": "$.t" for number in range(OFTEN)}}, {"t": TEXT}),
        ({"Assign": {f"a{number}.$": "$.t" for number in range(OFTEN)}}, {"t": TEXT}),
        ({"Parameters": {"a.$": f"States.Format('{'{}' * OFTEN}', {', '.join(['$.t'] * OFTEN)})"}}, {"t": TEXT}),
        ({"Parameters": {"a.$": f"States.Array({', '.join(['$.t'] * OFTEN)})"}}, {"t": TEXT}),
        ({"Parameters": {"a.$": "$..*..*"}}, nested(60)),
        ({"InputPath": "$..*..*"}, nested(60)),
        ({"Parameters": {"a.$": f"$.l[{','.join(['0'] * OFTEN)}]"}}, {"l": [TEXT]}),
        ({**JSONATA, "Output": {"a": "{% [" + ",".join(["$states.input"] * OFTEN) + "] %}"}}, {"t": TEXT}),
        ({**JSONATA, "Output": ["{% $states.input.t %}"] * OFTEN}, {"t": TEXT}),
    ],
)
def test_a_vast_value_is_refused(fields: dict[str, Any], given: Any) -> None:
    state, _ = start(given, P={"Type": "Pass", "End": True, **fields})
    assert (state.status, state.error) == ("FAILED", "States.DataLimitExceeded")
    assert f"A value would have more than {MOST_CHARACTERS} characters of JSON text." in str(state.cause)


def test_the_vast_result_of_many_children_is_refused() -> None:
    inner = {
        "StartAt": "I",
        "States": {"I": {"Type": "Pass", "Parameters": {"t.$": "$$.Execution.Input.t"}, "End": True}},
    }
    state = {"Type": "Map", "ItemsPath": "$.l", "ItemProcessor": inner, "MaxConcurrency": 0, "End": True}
    definition = {"StartAt": "M", "States": {"M": state}}
    given = {"t": TEXT, "l": list(range(300))}
    execution = new_execution(IDENTITY, Payload(given), b"s" * 16)
    program = compile_definition(definition)
    event: Any = ExecutionStarted()
    while execution.status == "RUNNING":
        advance(program, execution, event, 0)
        event = BurstContinued()
    assert (execution.status, execution.error) == ("FAILED", "States.DataLimitExceeded")
    assert "characters of JSON text" in str(execution.cause)


def test_a_wide_template_over_small_data_is_not_refused() -> None:
    template = {f"a{number}.$": "$.t" for number in range(OFTEN)}
    state, _ = start({"t": "x"}, P={"Type": "Pass", "End": True, "Parameters": template})
    assert state.status == "SUCCEEDED"


def test_a_size_counts_what_is_shared_each_time() -> None:
    value: Any = TEXT
    for _ in range(40):
        value = [value, value]
    assert size_of(value) > MOST_CHARACTERS
    assert len(TEXT) < size_of({"a": [TEXT, 1, None]}) < len(TEXT) + 100


def test_few_states_with_a_large_input_make_a_burst() -> None:
    def entered(given: Any) -> int:
        states: dict[str, Any] = {f"S{number}": {"Type": "Pass", "Next": f"S{number + 1}"} for number in range(300)}
        _, step = start(given, **states, S300={"Type": "Pass", "End": True})
        return sum(event.type == "PassStateEntered" for event in step.history)

    assert entered({}) == 200
    assert entered({"t": TEXT}) == 13
