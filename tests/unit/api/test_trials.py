import asyncio
import json
from typing import Any

import pytest

from statewright.api import shapes
from statewright.api.operations import Call
from statewright.api.states.trials import test_state as run_test_state
from statewright.config import Config
from statewright.engine.dispatch import Failed, Succeeded
from statewright.errors import ApiError
from statewright.virtual_clock import run_virtual
from tests.unit.api.apps import app_of, engine_of_heavy_steps

ROLE = "arn:aws:iam::000000000000:role/r"
PASS = {"Type": "Pass", "Parameters": {"b.$": "$.a"}, "Next": "Elsewhere"}
TASK = {
    "Type": "Task",
    "Resource": "arn:aws:states:::states:startExecution",
    "Parameters": {"StateMachineArn": "m"},
    "End": True,
}
RESULT = {"ExecutionArn": "a", "StartDate": 5}
MAP: dict[str, Any] = {
    "Type": "Map",
    "ItemProcessor": {"StartAt": "I", "States": {"I": {"Type": "Pass", "End": True}}},
    "End": True,
}


class Integrations:
    clock: Any

    def __init__(self, result: Any = None, shown: Any = None, delay_ms: Any = 0) -> None:
        self.result = result
        self.shown = shown or {}
        self.delay_ms = delay_ms
        self.calls: list[Any] = []
        self.cancelled = False

    async def trace(self, task, *, reveal_secrets):
        self.calls.append((task, reveal_secrets))
        try:
            if self.delay_ms:
                await self.clock.sleep_until(self.clock.now_ms() + self.delay_ms)
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return self.result, self.shown


def call(definition: Any, integrations: Any = None, **request: Any) -> Any:
    """TestState as the edge calls it: request validated, answer as the wire has it."""
    text = definition if isinstance(definition, str) else json.dumps(definition)
    checked = shapes.validator("states", "TestState")({"definition": text, **request})
    integrations = integrations or Integrations()

    async def main(clock):
        integrations.clock = clock
        app = app_of(
            Config(account="123456789012", region="eu-west-1"),
            clock,
            integrations=integrations,
            engine=engine_of_heavy_steps(clock),
        )
        return await run_test_state(app, Call("states", "TestState", "r"), checked)

    return shapes.writer("states", "TestState")(run_virtual(main))


def mock(result: Any, **more: Any) -> Any:
    return {"result": result if isinstance(result, str) else json.dumps(result), **more}


def refusal(definition: Any, **request: Any) -> Any:
    with pytest.raises(ApiError) as caught:
        call(definition, **request)
    return caught.value.code, caught.value.message


def test_a_state_and_where_it_leads():
    answer = call(PASS, input='{"a": 1}')
    assert answer == {"output": '{"b":1}', "nextState": "Elsewhere", "status": "SUCCEEDED"}


def test_without_an_input_there_is_an_empty_one():
    assert call({"Type": "Pass", "End": True})["output"] == "{}"


@pytest.mark.parametrize("level", ["DEBUG", "TRACE"])
def test_inspection_data_are_texts(level):
    shown = call(PASS, input='{"a": 1}', inspectionLevel=level)["inspectionData"]
    assert shown["input"] == '{"a":1}'
    assert shown["afterParameters"] == '{"b":1}'


def test_numbers_of_a_map_are_numbers():
    answer = call({**MAP, "MaxConcurrency": 3}, input="[1]", mock=mock([2]), inspectionLevel="DEBUG")
    assert answer["inspectionData"]["maxConcurrency"] == 3
    assert answer["inspectionData"]["afterItemsPath"] == "[1]"
    assert answer["output"] == "[2]"


def test_variables_are_read_and_shown():
    definition = {"Type": "Pass", "Parameters": {"x.$": "$v"}, "Assign": {"w": 2}, "End": True}
    answer = call(definition, variables='{"v": [1]}', inspectionLevel="DEBUG")
    assert answer["output"] == '{"x":[1]}'
    assert json.loads(answer["inspectionData"]["variables"]) == {"v": [1], "w": 2}


def test_one_state_of_a_machine():
    machine = {"StartAt": "A", "States": {"A": {"Type": "Pass", "Next": "B"}, "B": {"Type": "Succeed"}}}
    assert call(machine, stateName="A") == {"output": "{}", "nextState": "B", "status": "SUCCEEDED"}


def test_the_context_object_names_this_account():
    answer = call({"Type": "Pass", "Parameters": {"c.$": "$$"}, "End": True}, roleArn=ROLE)
    context = json.loads(answer["output"])["c"]
    assert context["Execution"]["Id"].startswith("arn:aws:states:eu-west-1:123456789012:express:")
    assert context["Execution"]["RoleArn"] == ROLE


def test_a_mocked_error_is_retried_and_caught():
    retry = [{"ErrorEquals": ["E"], "IntervalSeconds": 3, "MaxAttempts": 2, "BackoffRate": 2}]
    definition = {**TASK, "Retry": retry, "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Handler"}]}
    error = {"errorOutput": {"error": "E", "cause": "C"}}
    answer = call(definition, mock=error, inspectionLevel="DEBUG", stateConfiguration={"retrierRetryCount": 1})
    assert (answer["status"], answer["error"], answer["cause"]) == ("RETRIABLE", "E", "C")
    assert answer["inspectionData"]["errorDetails"] == {"retryIndex": 0, "retryBackoffIntervalSeconds": 6}
    answer = call(definition, mock=error, stateConfiguration={"retrierRetryCount": 2})
    assert (answer["status"], answer["nextState"]) == ("CAUGHT_ERROR", "Handler")


def test_mocked_data_of_an_item_reader():
    definition = {
        **MAP,
        "ItemReader": {"Resource": "arn:aws:states:::s3:getObject", "Parameters": {"Bucket": "b", "Key": "k"}},
        "ItemProcessor": {
            **MAP["ItemProcessor"],
            "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
        },
        "ItemSelector": {"v.$": "$$.Map.Item.Value"},
    }
    configuration = {"mapItemReaderData": "[1, 2]"}
    answer = call(definition, mock=mock([1]), stateConfiguration=configuration, inspectionLevel="DEBUG")
    assert json.loads(answer["inspectionData"]["afterItemSelector"]) == [{"v": 1}, {"v": 2}]
    assert refusal(definition, mock=mock([1]), stateConfiguration={"mapItemReaderData": "[1"}) == (
        "ValidationException",
        "MapItemReaderData must be valid JSON",
    )


# ------------------------------------------------------------------ what is refused


def test_a_mock_is_a_result_or_an_error():
    said = "A test mock should have only one of the following fields: [result, errorOutput]."
    both = {"result": "{}", "errorOutput": {"error": "E"}}
    assert refusal(TASK, mock=both) == ("ValidationException", said)
    assert refusal(TASK, mock={}) == ("ValidationException", said)


@pytest.mark.parametrize(
    ("definition", "request_", "said"),
    [
        (TASK, {"mock": mock("{")}, "Mocked result must be valid JSON"),
        (
            TASK,
            {"mock": mock(RESULT), "revealSecrets": True},
            "TestState does not support RevealSecrets when a mock is specified.",
        ),
        (TASK, {"mock": mock({})}, "Mock result schema validation error: Required field 'ExecutionArn' is missing"),
        (TASK, {}, "RoleArn must be specified when testing a Task state"),
        (PASS, {"mock": mock({})}, "State type 'Pass' is not supported when a mock is specified"),
        (PASS, {"context": "{}"}, "TestState does not support Context when a mock is not specified."),
        (PASS, {"variables": "[]"}, "Variables must be a JSON object"),
        (PASS, {"variables": "x"}, "Variables must be valid JSON"),
        (
            PASS,
            {"stateConfiguration": {"mapIterationFailureCount": 1}},
            "TestState does not support MapIterationFailureCount when a mock is not specified.",
        ),
        (MAP, {"mock": mock({})}, "Mocked result must be an array."),
    ],
)  # fmt: skip
def test_requests_that_are_refused(definition, request_, said):
    assert refusal(definition, **request_) == ("ValidationException", said)


@pytest.mark.parametrize(
    ("context", "said"),
    [
        ("{", "Context must be valid JSON"),
        ("[]", "Context must be a JSON object"),
        ('{"Map": {}}', "'Map' field is not supported when mocking a Context object"),
        ('{"Moon": {}}', "Field 'Moon' is not allowed"),
        ('{"Execution": {"Colour": 1}}', "Field 'Colour' is not allowed"),
        ('{"Execution": {"Id": 1}}', "Execution.Id must be a string"),
        ('{"State": {"RetryCount": true}}', "State.RetryCount must be a number"),
        ('{"State": []}', "State must be an object"),
        (
            '{"Task": {"Token": "t"}}',
            "Context object contains 'Task' when state is not a Task state with a '.sync' or '.waitForTaskToken' "
            "service integration pattern",
        ),
    ],
)
def test_context_objects_that_are_refused(context, said):
    code, message = refusal(TASK, mock=mock(RESULT), context=context)
    assert (code, message) == ("ValidationException", f"Invalid Context object provided: {said}")


def test_a_context_object_replaces_the_whole():
    definition = {**TASK, "ResultSelector": {"c.$": "$$"}}
    context = {"Execution": {"Input": [1], "RedriveCount": 2}, "State": {"RetryCount": 1}}
    answer = call(definition, mock=mock(RESULT), context=json.dumps(context))
    assert json.loads(answer["output"]) == {"c": context}


def test_an_input_that_is_not_json():
    code, message = refusal(PASS, input="not")
    assert code == "InvalidExecutionInput"
    assert message.startswith("Invalid State Machine Execution Input: 'Unrecognized token 'not'")


@pytest.mark.parametrize(
    ("definition", "request_", "said"),
    [
        ({"Type": "Pass"}, {}, "SCHEMA_VALIDATION_FAILED"),
        ({}, {}, "SCHEMA_VALIDATION_FAILED"),
        ("[]", {}, "SCHEMA_VALIDATION_FAILED"),
        ("{", {}, "INVALID_JSON_DESCRIPTION"),
        ({"StartAt": "A", "States": {"A": {"Type": "Pass", "Next": "B"}}}, {"stateName": "A"}, "MISSING_"),
    ],
)
def test_invalid_definitions(definition, request_, said):
    code, message = refusal(definition, **request_)
    assert code == "InvalidDefinition"
    assert message.startswith("Invalid State Machine Definition: '")
    assert said in message


def test_containers_need_a_mock():
    code, message = refusal(MAP)
    assert code == "InvalidDefinition"
    assert message.startswith("TestState API does not support Map or Parallel states.")


# ------------------------------------------------------------------ a Task without a mock


def test_a_task_makes_its_call():
    integrations = Integrations(Succeeded({"x": 1}))
    answer = call(TASK, integrations, roleArn=ROLE)
    assert answer == {"output": '{"x":1}', "status": "SUCCEEDED"}
    ((task, reveal_secrets),) = integrations.calls
    assert task.parameters == {"StateMachineArn": "m"}
    assert task.role_arn == ROLE
    assert reveal_secrets is False


def test_a_task_that_fails():
    answer = call(TASK, Integrations(Failed("E", "C")), roleArn=ROLE)
    assert answer == {"error": "E", "cause": "C", "status": "FAILED"}


def test_a_task_that_is_refused():
    answer = call(TASK, Integrations(Failed("States.Runtime", "Bad parameters.", "refused")), roleArn=ROLE)
    assert (answer["status"], answer["error"]) == ("FAILED", "States.Runtime")
    assert "Bad parameters." in answer["cause"]


@pytest.mark.parametrize("definition", [{**TASK, "TimeoutSeconds": 2}, TASK])
def test_a_task_that_takes_too_long(definition):
    integrations = Integrations(Succeeded({}), delay_ms=3_600_000)
    answer = call(definition, integrations, roleArn=ROLE)
    assert (answer["status"], answer["error"]) == ("FAILED", "States.Timeout")
    assert integrations.cancelled


def test_level_trace_shows_the_request_and_the_response():
    wire = {"request": {"method": "GET"}, "response": {"statusCode": "200"}}
    definition = {
        "Type": "Task",
        "Resource": "arn:aws:states:::http:invoke",
        "Parameters": {"ApiEndpoint": "http://h", "Method": "GET", "InvocationConfig": {"ConnectionArn": "c"}},
        "End": True,
    }
    integrations = Integrations(Succeeded({}), wire)
    answer = call(definition, integrations, roleArn=ROLE, inspectionLevel="TRACE", revealSecrets=True)
    assert answer["inspectionData"]["request"] == {"method": "GET"}
    assert answer["inspectionData"]["response"] == {"statusCode": "200"}
    assert integrations.calls[0][1] is True
    answer = call(definition, Integrations(Succeeded({}), wire), roleArn=ROLE, inspectionLevel="DEBUG")
    assert "request" not in answer["inspectionData"]
