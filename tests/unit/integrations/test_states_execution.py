import asyncio
import json
from typing import Any

import pytest

from statewright.engine.dispatch import Submitted, Succeeded
from statewright.errors import ApiError, OwnershipLost, StoreError, Unavailable
from statewright.integrations.states_execution import StatesExecution, with_sdk_members
from statewright.payload import Payload
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.integrations.stub import EXECUTION, task

MACHINE = "arn:aws:states:us-east-1:000000000000:stateMachine:Child"
CHILD = "arn:aws:states:us-east-1:000000000000:execution:Child:c1"
START_MS = 1_767_225_600_123


class Api:
    """Step Functions as far as these tests go, and the engine that takes answers."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.senders: list[str | None] = []
        self.answers: dict[str, list[Any]] = {}
        self.ended: list[tuple[Any, ...]] = []

    def say(self, name: str, *answers) -> None:
        self.answers[name] = list(answers)

    async def invoke(self, name: Any, request: Any, sent_by: str | None = None, completion: Any = None) -> Any:
        self.calls.append((name, request))
        self.senders.append(sent_by)
        queue = self.answers[name]
        answer = queue.pop(0) if len(queue) > 1 else queue[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def describe_express(self, execution_arn: str) -> Any:
        raise NotImplementedError("tests/unit/api/test_nested_executions.py has EXPRESS children")

    async def task_succeeded(self, token, output):
        self.ended.append((token, json.loads(output)))

    async def task_failed(self, token, error, cause):
        self.ended.append((token, error, cause))


def described(status: str, **more):
    return {
        "executionArn": CHILD,
        "stateMachineArn": MACHINE,
        "name": "c1",
        "status": status,
        "startDate": START_MS,
        "stopDate": START_MS + 5 if status != "RUNNING" else None,
        "input": '{"a":1}',
        "inputDetails": {"included": True},
        **more,
    }


def play(steps: Any) -> Any:
    """Run `steps(api, states, clock)` in virtual time."""
    api = Api()
    api.say("StartExecution", {"executionArn": CHILD, "startDate": START_MS})

    async def main(clock: VirtualClock):
        async def invoke(name: str, request: dict[str, Any], sent_by: str | None = None, completion: Any = None) -> Any:
            return await api.invoke(name, request, sent_by)

        states = StatesExecution(clock, invoke, lambda: api)
        try:
            return await steps(api, states, clock)
        finally:
            await states.close()

    return api, run_virtual(main)


def call(resource: Any, parameters: Any, prepare: Any = lambda _: None, **more: Any) -> Any:
    async def steps(api, states, clock):
        prepare(api)
        return await states.call(task(resource, parameters, **more))

    return play(steps)


def test_a_start_answers_with_what_the_sdk_adds():
    api, result = call("states:startExecution", {"StateMachineArn": MACHINE, "Name": "c1", "Input": {"a": [1, 2]}})
    assert api.calls == [("StartExecution", {"stateMachineArn": MACHINE, "name": "c1", "input": '{"a":[1,2]}'})]
    assert isinstance(result, Succeeded)
    assert list(result.output) == ["ExecutionArn", "SdkHttpMetadata", "SdkResponseMetadata", "StartDate"]
    assert result.output["StartDate"] == START_MS
    assert result.output["SdkHttpMetadata"]["HttpStatusCode"] == 200


def test_an_input_that_is_a_text_is_passed_on_as_it_is():
    api, _ = call("states:startExecution", {"StateMachineArn": MACHINE, "Name": "c1", "Input": '"text"'})
    assert api.calls[0][1]["input"] == '"text"'


def test_a_start_without_a_name_is_repeated_under_the_same_name():
    names = set()
    for key in ("k1", "k1", "k2"):
        api, _ = call("states:startExecution", {"StateMachineArn": MACHINE}, idempotency_key=key)
        names.add(api.calls[0][1]["name"])
    assert len(names) == 2


@pytest.mark.parametrize("resource", ["states:startExecution", "states:startExecution.sync:2"])
def test_every_repeat_of_a_call_says_whose_it_is(resource):
    async def steps(api, states, clock):
        api.say("StartExecution", {"executionArn": CHILD, "startDate": 0})
        api.say("DescribeExecution", described("SUCCEEDED"))
        made = task(resource, {"StateMachineArn": MACHINE, "Name": "x"})
        await states.call(made)
        await states.call(made)

    api, _ = play(steps)
    first, second = [
        sender for (name, _), sender in zip(api.calls, api.senders, strict=True) if name == "StartExecution"
    ]
    assert first == second
    assert first is not None


def test_a_name_of_the_states_own_that_is_taken_fails_the_task():
    def prepare(api):
        api.say("StartExecution", ApiError("ExecutionAlreadyExists", "Taken"))

    _, result = call("states:startExecution", {"StateMachineArn": MACHINE, "Name": "x"}, prepare)
    assert result.error == "StepFunctions.ExecutionAlreadyExistsException"
    start, _, rest = result.cause.partition("Request ID: ")
    assert start == "Taken (Service: AWSStepFunctions; Status Code: 400; Error Code: ExecutionAlreadyExists; "
    assert rest.endswith("; Proxy: null)")


def test_a_child_that_has_ended_by_itself_needs_no_stop():
    async def steps(api, states, clock):
        api.say("DescribeExecution", described("RUNNING"))
        api.say("StopExecution", ApiError("ExecutionDoesNotExist", "Gone"))
        made = task("states:startExecution.sync", {"StateMachineArn": MACHINE})
        await states.call(made)
        await states.cancel(made)

    api, _ = play(steps)
    assert api.ended == []


@pytest.mark.parametrize(
    ("resource", "how"), [("states:startExecution", "failed"), ("states:startExecution.sync", "submit failed")]
)
def test_a_refusal_shows_as_what_was_refused(resource, how):
    def prepare(api):
        api.say("StartExecution", ApiError("StateMachineDoesNotExist", "No."))

    _, result = call(resource, {"StateMachineArn": MACHINE}, prepare)
    assert (result.error, result.how) == ("StepFunctions.StateMachineDoesNotExistException", how)


@pytest.mark.parametrize("problem", [Unavailable("gone"), OwnershipLost("theirs")], ids=repr)
@pytest.mark.parametrize(
    "resource", ["states:startExecution", "states:startExecution.sync", "aws-sdk:sfn:startExecution"]
)
def test_an_outage_of_the_store_is_no_result(resource, problem):
    with pytest.raises(type(problem)):
        call(resource, {"StateMachineArn": MACHINE}, lambda api: api.say("StartExecution", problem))


def test_a_row_that_the_store_refuses_fails_the_task():
    _, result = call(
        "states:startExecution", {"StateMachineArn": MACHINE}, lambda api: api.say("StartExecution", StoreError("x"))
    )
    assert result.error == "StepFunctions.AWSStepFunctionsException"


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({}, '[The field "StateMachineArn" is required but was missing]'),
        ([], '[The field "StateMachineArn" is required but was missing]'),
        ({"StateMachineArn": MACHINE, "Speed": 1}, '[The field "Speed" is not supported by Step Functions]'),
    ],
)
def test_parameters_that_do_not_fit_end_the_execution(parameters, reason):
    _, result = call("states:startExecution", parameters)
    assert (result.error, result.how) == ("States.Runtime", "refused")
    shown = json.dumps(parameters, separators=(",", ":"))
    assert result.cause == f"The Parameters '{shown}' could not be used to start the Task: {reason}"


def follow(resource: Any, *views: Any, hint: Any = False, **more: Any) -> Any:
    async def steps(api, states, clock):
        api.say("DescribeExecution", *views)
        result = await states.call(task(resource, {"StateMachineArn": MACHINE, "Name": "c1"}, **more))
        if hint:
            await clock.sleep_until(clock.now_ms() + 100)
            states.execution_ended(CHILD)
            await clock.sleep_until(clock.now_ms() + 1)
        else:
            await clock.sleep_until(clock.now_ms() + 10_000_000)
        return result, clock.now_ms()

    return play(steps)


def test_sync_waits_for_the_child_and_gives_texts():
    api, (result, _) = follow(
        "states:startExecution.sync",
        described("RUNNING"),
        described("RUNNING"),
        described("SUCCEEDED", output='{"b":2}'),
    )
    assert isinstance(result, Submitted)
    assert result.output["ExecutionArn"] == CHILD
    ((token, output),) = api.ended
    assert token == "token"
    assert (output["Input"], output["Output"]) == ('{"a":1}', '{"b":2}')
    assert output["InputDetails"] == {"Included": True}
    assert output["StopDate"] == START_MS + 5
    assert list(output) == sorted(output)


def test_sync_2_gives_values():
    api, _ = follow("states:startExecution.sync:2", described("SUCCEEDED", output='{"b":2}'))
    assert api.ended[0][1]["Output"] == {"b": 2}
    assert api.ended[0][1]["Input"] == {"a": 1}


@pytest.mark.parametrize("status", ["FAILED", "TIMED_OUT", "ABORTED"])
def test_a_child_that_fails_is_the_cause(status):
    api, _ = follow("states:startExecution.sync", described(status, error="E", cause=None))
    ((_, error, cause),) = api.ended
    assert error == "States.TaskFailed"
    shown = json.loads(cause)
    assert (shown["Status"], shown["Error"]) == (status, "E")
    assert "Cause" not in shown


def test_an_announced_end_is_seen_at_once():
    api, _ = follow("states:startExecution.sync", described("RUNNING"), described("SUCCEEDED", output="1"), hint=True)
    assert len(api.ended) == 1
    assert [name for name, _ in api.calls].count("DescribeExecution") == 2


def test_after_a_restart_the_child_is_followed_and_not_started_again():
    submitted = Payload({"ExecutionArn": CHILD})
    api, (result, _) = follow("states:startExecution.sync", described("SUCCEEDED", output="1"), submitted=submitted)
    assert result == Submitted(submitted)
    assert [name for name, _ in api.calls] == ["DescribeExecution"]
    assert len(api.ended) == 1


def test_a_child_that_is_gone_fails_the_task():
    api, _ = follow("states:startExecution.sync", ApiError("ExecutionDoesNotExist", "Gone"))
    assert api.ended[0][1] == "StepFunctions.ExecutionDoesNotExistException"


def test_a_store_that_is_away_is_asked_again():
    api, _ = follow("states:startExecution.sync", Unavailable("away"), described("SUCCEEDED", output="1"))
    assert len(api.ended) == 1


def test_an_end_that_met_an_outage_of_the_store_is_read_soon_after():
    async def steps(api, states, clock):
        api.say("DescribeExecution", described("RUNNING"))
        await states.call(task("states:startExecution.sync", {"StateMachineArn": MACHINE, "Name": "c1"}))
        await clock.sleep_until(clock.now_ms() + 100_000_000)
        api.say("DescribeExecution", *[Unavailable("away")] * 3, described("SUCCEEDED", output="1"))
        states.execution_ended(CHILD)
        await clock.sleep_until(clock.now_ms() + 10_000)

    api, _ = play(steps)
    assert len(api.ended) == 1


def test_cancelling_stops_the_child():
    async def steps(api, states, clock):
        api.say("DescribeExecution", described("RUNNING"))
        api.say("StopExecution", {"stopDate": 1})
        made = task("states:startExecution.sync", {"StateMachineArn": MACHINE})
        await states.call(made)
        await asyncio.sleep(0)
        await states.cancel(made)
        await states.cancel(made)
        await clock.sleep_until(clock.now_ms() + 10_000_000)

    api, _ = play(steps)
    assert [name for name, _ in api.calls].count("StopExecution") == 1
    assert api.ended == []


@pytest.mark.parametrize("refused", [False, True])
def test_cancelling_while_the_child_is_being_started_stops_it_all_the_same(refused):
    async def steps(api, states, clock):
        api.say("StopExecution", {"stopDate": 1})
        started = asyncio.Event()

        async def slowly(name, request, sent_by=None):
            if name == "StartExecution":
                await started.wait()
                if refused:
                    raise ApiError("StateMachineDoesNotExist", "No.")
            return await Api.invoke(api, name, request)

        api.invoke = slowly
        made = task("states:startExecution.sync", {"StateMachineArn": MACHINE})
        calling = asyncio.ensure_future(states.call(made))
        await asyncio.sleep(0)
        calling.cancel()
        cancelling = asyncio.ensure_future(states.cancel(made))
        await asyncio.sleep(0)
        started.set()
        await cancelling
        assert calling.cancelled()

    api, _ = play(steps)
    assert [name for name, _ in api.calls].count("StopExecution") == (0 if refused else 1)


def test_a_start_that_waits_for_a_token_is_submitted():
    api, result = call("states:startExecution.waitForTaskToken", {"StateMachineArn": MACHINE, "Input": {"t": "token"}})
    assert isinstance(result, Submitted)
    assert api.ended == []


def test_aws_sdk_calls_any_operation_and_gives_its_bare_answer():
    def prepare(api):
        page = {
            "executions": [{"executionArn": CHILD, "startDate": 1_767_225_600_000, "stopDate": None}],
            "nextToken": None,
        }
        api.say("ListExecutions", page)

    api, result = call("aws-sdk:sfn:listExecutions", {"StateMachineArn": MACHINE, "MaxResults": 5}, prepare)
    assert api.calls == [("ListExecutions", {"stateMachineArn": MACHINE, "maxResults": 5})]
    assert result == Succeeded({"Executions": [{"ExecutionArn": CHILD, "StartDate": "2026-01-01T00:00:00Z"}]})


def test_aws_sdk_writes_values_as_texts_and_leaves_what_is_inside():
    api, _ = call("aws-sdk:sfn:startExecution", {"StateMachineArn": MACHINE, "Input": {"Key": 1, "Gone": None}})
    assert api.calls[0][1]["input"] == '{"Key":1,"Gone":null}'


def test_aws_sdk_words_errors_its_own_way():
    def prepare(api):
        api.say("SendTaskSuccess", ApiError("InvalidToken", "Invalid Token: 'Invalid token'"))

    _, result = call("aws-sdk:sfn:sendTaskSuccess", {"TaskToken": "x", "Output": {}}, prepare)
    assert result.error == "Sfn.InvalidTokenException"
    assert result.cause.startswith("Invalid Token: 'Invalid token' (Service: Sfn, Status Code: 400, Request ID: ")
    assert result.cause.endswith(") (SDK Attempt Count: 1)")


def test_an_operation_that_is_not_there_ends_the_execution():
    def prepare(api):
        api.say("DoIt", ApiError("UnknownOperationException", "states has no operation DoIt."))

    _, result = call("aws-sdk:sfn:doIt", {}, prepare)
    assert (result.error, result.how) == ("States.Runtime", "refused")
    assert "no operation DoIt" in result.cause


def test_members_of_the_sdk_are_the_same_for_the_same_call():
    assert with_sdk_members({"A": 1}, "r", 0) == with_sdk_members({"A": 1}, "r", 0)
    assert (
        with_sdk_members({"A": 1}, "r", 0)["SdkHttpMetadata"]["HttpHeaders"]["Date"] == "Thu, 01 Jan 1970 00:00:00 GMT"
    )


def test_the_execution_of_these_tests_is_one():
    assert task("states:startExecution", {}).execution_arn == EXECUTION
