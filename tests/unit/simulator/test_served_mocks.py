"""Test cases of a mock file, started on a system by `ARN#TestCase`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from statewright.api.operations import Call, Run
from statewright.assembly import Hooks, System
from statewright.engine.dispatch import Integrations
from statewright.payload import Json
from statewright.simulator.mock_config import load_mock_config
from statewright.simulator.served_mocks import ServedMocks, open_case
from statewright.virtual import VirtualSystem
from tests.unit.virtual.building import ROLE, machine, queue

RETRY = [{"ErrorEquals": ["Busy"], "IntervalSeconds": 60, "MaxAttempts": 3}]
CALL = {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "Parameters": {"FunctionName": "gone"}}
LOOP = {
    "StartAt": "Call",
    "States": {
        "Call": {**CALL, "Retry": RETRY, "Next": "Tell"},
        "Tell": {
            "Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken", "End": True,
            "Parameters": {"QueueUrl": "http://q/000000000000/told", "MessageBody.$": "$$.Task.Token"},
        },
    },
}  # fmt: skip
FILE = {
    "StateMachines": {
        "machine": {
            "TestCases": {
                "Happy": {"Call": "Slow", "Tell": "Told"},
                "Short": {"Call": "Once", "Tell": "Told"},
                "Partly": {"Call": "Slow"},
            }
        },
        "fast": {"TestCases": {"Happy": {"Call": "Slow"}}},
        "wide": {"TestCases": {"Happy": {"Call": "Slow"}}},
    },
    "MockedResponses": {
        "Slow": {"0-1": {"Throw": {"Error": "Busy", "Cause": "later"}}, "2": {"Return": {"n": 2}}},
        "Once": {"0": {"Throw": {"Error": "Busy", "Cause": "later"}}},
        "Told": {"0": {"Return": "told"}},
    },
}


class Served:
    """A mock file on a system that reads it again at each restart, as a new process does."""

    is_free = False

    def __init__(self, file: dict[str, Any]) -> None:
        self.file = file
        self.mocks: ServedMocks
        self.system: System

    def between(self, real: Integrations) -> Integrations:
        self.mocks = ServedMocks(load_mock_config(json.dumps(self.file)))
        around_tasks = self.mocks.hooks.around_tasks
        assert around_tasks is not None
        return around_tasks(real)

    def prepare(self, system: System) -> None:
        self.system = system
        self.mocks.adopt(system)

    async def __call__(self, call: Call, request: Json, run: Run, /) -> Json:
        return await self.mocks(call, request, run)


def make(folder: Path | None = None, file: dict[str, Any] = FILE) -> tuple[VirtualSystem, Served]:
    """A system with the mock file."""
    served = Served(file)
    hooks = Hooks(around=served, around_tasks=served.between)
    return VirtualSystem(data=folder, prepare=served.prepare, hooks=hooks), served


def start(system: VirtualSystem, arn: str, **members: Any) -> str:
    return str(system.client("stepfunctions").start_execution(stateMachineArn=arn, **members)["executionArn"])


def shown(system: VirtualSystem, execution: str) -> dict[str, Any]:
    found: dict[str, Any] = system.client("stepfunctions").describe_execution(executionArn=execution)
    return found


def refused(call: Any, **members: Any) -> tuple[str, str]:
    with pytest.raises(ClientError) as refusal:
        call(**members)
    return refusal.value.response["Error"]["Code"], refusal.value.response["Error"]["Message"]


def test_tasks_of_a_test_case_are_answered_by_its_mocks():
    with make()[0] as system:
        arn = machine(system, LOOP)
        execution = start(system, f"{arn}#Happy", name="one")
        assert execution == arn.replace(":stateMachine:", ":execution:") + ":one"
        system.run_until_idle()
        done = shown(system, execution)
        assert (done["status"], json.loads(done["output"]), done["stateMachineArn"]) == ("SUCCEEDED", "told", arn)
        # Each execution counts for itself; one without a test case calls the function.
        other, real = start(system, f"{arn}#Happy"), start(system, arn)
        system.run_until_idle()
        assert shown(system, other)["status"] == "SUCCEEDED"
        assert shown(system, real)["error"] == "Lambda.ResourceNotFoundException"


def test_a_state_that_the_test_case_leaves_out_calls_its_service():
    with make()[0] as system:
        url = queue(system, "told")
        execution = start(system, machine(system, LOOP) + "#Partly")
        system.advance(300)
        assert shown(system, execution)["status"] == "RUNNING"
        assert len(system.client("sqs").receive_message(QueueUrl=url)["Messages"]) == 1


def test_a_mock_that_has_no_more_answers_ends_the_execution():
    with make()[0] as system:
        execution = start(system, machine(system, LOOP) + "#Short")
        system.run_until_idle()
        done = shown(system, execution)
        assert (done["status"], done["error"]) == ("FAILED", "States.Runtime")
        assert (
            "Test case 'Short' of 'machine' in MockConfigFile.json has no answer for call 1 of state 'Call'"
            in done["cause"]
        )


def test_test_cases_and_their_counts_outlive_the_system(tmp_path: Path):
    system, _ = make(tmp_path)
    with system:
        execution = start(system, machine(system, LOOP) + "#Happy")
        system.advance(1)
        system.restart()
        system.advance(60)
        system.restart()
        system.run_until_idle()
        assert shown(system, execution)["status"] == "SUCCEEDED"


def test_a_name_belongs_to_one_test_case():
    with make()[0] as system:
        arn, sfn = machine(system, LOOP), system.client("stepfunctions")
        execution = start(system, f"{arn}#Happy", name="one")
        assert start(system, f"{arn}#Happy", name="one") == execution
        for other in (arn, f"{arn}#Short"):
            code, _ = refused(sfn.start_execution, stateMachineArn=other, name="one")
            assert code == "ExecutionAlreadyExists"
        start(system, arn, name="real")
        code, _ = refused(sfn.start_execution, stateMachineArn=f"{arn}#Happy", name="real")
        assert code == "ExecutionAlreadyExists"


def test_what_cannot_be_started():
    with make()[0] as system:
        sfn = system.client("stepfunctions")
        arn = machine(system, LOOP)
        code, text = refused(sfn.start_execution, stateMachineArn=f"{arn}#Hapy")
        assert code == "ValidationException"
        assert "has no test case 'Hapy' in MockConfigFile.json" in text
        assert "Happy" in text
        items = {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}, "StartAt": "Call"}
        items["States"] = {"Call": {**CALL, "End": True}}
        wide = machine(
            system, {"StartAt": "M", "States": {"M": {"Type": "Map", "ItemProcessor": items, "End": True}}}, "wide"
        )
        assert "distributed Map" in refused(sfn.start_execution, stateMachineArn=f"{wide}#Happy")[1]
        assert refused(sfn.start_execution, stateMachineArn=f"{arn}none#Happy")[0] == "StateMachineDoesNotExist"


def test_synchronous_express_executions():
    with make()[0] as system:
        sfn = system.client("stepfunctions")
        text = json.dumps({"StartAt": "Call", "States": {"Call": {**CALL, "Retry": RETRY, "End": True}}})
        arn = sfn.create_state_machine(name="fast", definition=text, roleArn=ROLE, type="EXPRESS")["stateMachineArn"]
        for _ in range(2):
            done = sfn.start_sync_execution(stateMachineArn=f"{arn}#Happy", name="same")
            assert (done["status"], json.loads(done["output"]), done["name"]) == ("SUCCEEDED", {"n": 2}, "same")
        assert sfn.start_sync_execution(stateMachineArn=arn, name="same")["error"] == "Lambda.ResourceNotFoundException"
        assert "StartSyncExecution" in refused(sfn.start_execution, stateMachineArn=f"{arn}#Happy")[1]


def test_a_test_case_that_has_left_the_file_calls_nothing(tmp_path: Path):
    file = json.loads(json.dumps(FILE))
    system, _ = make(tmp_path, file)
    with system:
        execution = start(system, machine(system, LOOP) + "#Happy")
        system.advance(1)
        del file["StateMachines"]["machine"]["TestCases"]["Happy"]
        system.restart()
        system.run_until_idle()
        done = shown(system, execution)
        assert (done["status"], done["error"]) == ("FAILED", "States.Runtime")
        assert "has no test case 'Happy'" in done["cause"]


def test_an_open_execution_of_a_test_case_needs_the_file():
    system, served = make()
    with system:
        execution = start(system, machine(system, LOOP) + "#Happy")
        problem = system.run(open_case(served.system))
        assert problem is not None
        assert execution in problem
        system.run_until_idle()
        assert system.run(open_case(served.system)) is None
