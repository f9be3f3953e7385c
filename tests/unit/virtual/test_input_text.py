"""Histories show an input as its caller wrote it: at the start, and when the first state is entered."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from statewright.virtual import VirtualSystem
from tests.unit.virtual.building import ROLE

GIVEN = '{ "b" : [1,\n 2], "a": "\\u00e9" }'
COMPACT = '{"b":[1,2],"a":"é"}'
CHAIN = {"StartAt": "A", "States": {"A": {"Type": "Pass", "Next": "B"}, "B": {"Type": "Pass", "End": True}}}


@pytest.fixture
def system() -> Iterator[VirtualSystem]:
    with VirtualSystem() as made:
        yield made


def shown(system: VirtualSystem, **start: Any) -> list[str]:
    """The inputs and outputs that the history of an execution shows, in order."""
    states = system.client("stepfunctions")
    execution = states.start_execution(**start)["executionArn"]
    system.advance("5s")
    found = []
    for event in states.get_execution_history(executionArn=execution)["events"]:
        for details in event.values():
            if isinstance(details, dict):
                found += [details[name] for name in ("input", "output") if name in details]
    return found


@pytest.mark.parametrize("tags", [[], [{"key": "statewright:maxConcurrentExecutions", "value": "1"}]])
def test_the_start_and_the_first_state_show_the_text_that_was_given(system: VirtualSystem, tags: Any) -> None:
    made = system.client("stepfunctions").create_state_machine(
        name="m", definition=json.dumps(CHAIN), roleArn=ROLE, tags=tags
    )
    assert shown(system, stateMachineArn=made["stateMachineArn"], input=GIVEN) == [GIVEN, GIVEN, *[COMPACT] * 4]


def test_express_executions_show_it_in_their_logs_and_return_compact_output(system: VirtualSystem) -> None:
    states = system.client("stepfunctions")
    made = states.create_state_machine(name="m", definition=json.dumps(CHAIN), roleArn=ROLE, type="EXPRESS")
    done = states.start_sync_execution(stateMachineArn=made["stateMachineArn"], input=GIVEN)
    assert (done["input"], done["output"]) == (GIVEN, COMPACT)
