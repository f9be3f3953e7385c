import errno
from types import SimpleNamespace
from typing import Any

import pytest

from statewright.config import Config, Endpoint
from statewright.engine.dispatch import Failed, Submitted, Succeeded
from statewright.errors import Unavailable
from statewright.integrations.blocking import BlockingCalls
from statewright.integrations.registry import OwnCalls, Registry
from statewright.virtual_clock import run_virtual
from tests.unit.integrations.stub import replied, serving, task

NOWHERE = "Statewright.ServiceNotConfigured"


def play(steps: Any, config: Any = None) -> Any:
    async def main(clock):
        asked = []

        async def invoke(name, request, sent_by=None, completion=None):
            asked.append(name)
            return {"executionArn": "a", "startDate": 1}

        registry = Registry(config or Config(volatile=False), clock, OwnCalls(invoke))
        try:
            return await steps(registry), asked
        finally:
            await registry.close()

    return run_virtual(main)


def call(resource: Any, parameters: Any, config: Any = None) -> Any:
    return play(lambda registry: registry.call(task(resource, parameters)), config)


@pytest.mark.parametrize(
    ("resource", "service"),
    [
        ("dynamodb:getItem", "dynamodb"),
        ("aws-sdk:s3:getObject", "s3"),
        ("sqs:sendMessage.waitForTaskToken", "sqs"),
        ("arn:aws:lambda:us-east-1:000000000000:function:f", "lambda"),
    ],
)
def test_a_service_that_is_nowhere_says_how_to_configure_it(resource, service):
    result, _ = call(resource, {})
    assert result.error == NOWHERE
    assert f'[endpoints] {service} = "http://127.0.0.1:8000"' in result.cause


def test_calls_of_apis_need_an_address():
    result, _ = call("apigateway:invoke", {})
    assert result.error == NOWHERE
    assert '[endpoints] apigateway = "http://127.0.0.1:4566/_apis/ID"' in result.cause


@pytest.mark.parametrize("resource", ["bedrockagentcore:invokeHarness", "statewright:acquire"])
def test_what_is_not_here_yet_says_so(resource):
    result, _ = call(resource, {})
    assert result.error == NOWHERE
    assert resource in result.cause


@pytest.mark.parametrize("resource", ["states:startExecution", "aws-sdk:sfn:startExecution"])
def test_step_functions_is_called_in_this_process(resource):
    result, asked = call(resource, {"StateMachineArn": "m", "Name": "n"})
    assert isinstance(result, Succeeded)
    assert asked == ["StartExecution"]


def test_a_configured_service_is_called():
    with serving(lambda _: replied({"Item": {}}, 200, "application/x-amz-json-1.0")) as stub:
        result, _ = call("dynamodb:getItem", {"TableName": "t"}, Config(endpoints={"dynamodb": Endpoint(stub.url)}))
    assert isinstance(result, Succeeded)


def test_an_http_task_is_called_and_traced():
    with serving(lambda _: replied({})) as stub:
        parameters = {"ApiEndpoint": stub.url, "Method": "GET"}
        result, _ = call("http:invoke", parameters)
        assert isinstance(result, Succeeded)
        made = task("http:invoke", parameters)
        (result, shown), _ = play(lambda registry: registry.trace(made, reveal_secrets=False))
    assert isinstance(result, Succeeded)
    assert shown["request"]["method"] == "GET"
    assert shown["response"]["statusCode"] == "200"


def gateway(resource: Any, reply: Any, parameters: Any) -> Any:
    with serving(lambda _: reply) as stub:
        given = {"ApiEndpoint": "abc.execute-api.us-east-1.amazonaws.com", "Method": "POST", **parameters}
        result, _ = call(resource, given, Config(endpoints={"apigateway": Endpoint(stub.url + "/base")}))
        return result, stub.asked


def test_a_gateway_is_called():
    parameters = {"Stage": "live", "Path": "/orders/1", "QueryParameters": {"q": ["a"]}, "RequestBody": {"b": 1}}
    result, (asked,) = gateway("apigateway:invoke", replied({"ok": 1}, 201), parameters)
    assert (asked.path, asked.json) == ("/base/live/orders/1?q=a", {"b": 1})
    assert "Range" not in asked.headers
    assert (result.output["StatusCode"], result.output["ResponseBody"]) == (201, {"ok": 1})


def test_a_gateway_that_refuses():
    result, _ = gateway("apigateway:invoke", replied({"no": 1}, 403), {})
    assert result == Failed("ApiGateway.403", '{"no": 1}')
    result, _ = gateway("apigateway:invoke.waitForTaskToken", replied({"no": 1}, 403), {})
    assert result.how == "submit failed"


def test_a_gateway_that_is_answered_by_token():
    result, _ = gateway("apigateway:invoke.waitForTaskToken", replied({}), {})
    assert isinstance(result, Submitted)


@pytest.mark.parametrize("parameters", [{"Speed": 1}, {"Method": ""}, {"Headers": {"X": "€"}}])
def test_a_gateway_call_that_does_not_fit(parameters):
    result, asked = gateway("apigateway:invoke", replied({}), parameters)
    assert (result.error, result.how, asked) == ("States.Runtime", "refused", [])


def test_a_gateway_that_is_not_there():
    with serving(lambda _: replied({})) as stub:
        gone = stub.url
    given = {"ApiEndpoint": "x", "Method": "GET"}
    result, _ = call("apigateway:invoke", given, Config(endpoints={"apigateway": Endpoint(gone)}))
    assert result.error == "ApiGateway.SdkClientException"
    config = Config(endpoints={"default": Endpoint(gone)})
    assert call("apigateway:invoke", [], config)[0].how == "refused"


def test_only_http_tasks_are_traced():
    made = task("states:startExecution", {"StateMachineArn": "m"})
    (result, shown), _ = play(lambda registry: registry.trace(made, reveal_secrets=True))
    assert isinstance(result, Succeeded)
    assert shown == {}


@pytest.mark.parametrize(
    "problem", [MemoryError(), OSError(errno.EMFILE, "many"), RuntimeError("can't start new thread")]
)
def test_a_machine_that_lacks_something_fails_no_task(monkeypatch, caplog, problem):
    async def lacking(*_, **__):
        raise problem

    monkeypatch.setattr("statewright.integrations.states_execution.StatesExecution.call", lacking)
    with pytest.raises(Unavailable, match="the server has too little of what it needs"):
        play(lambda registry: registry.call(task("states:startExecution", {})))
    assert not caplog.records


def test_a_bug_in_statewright_fails_the_task_and_is_logged(monkeypatch, caplog):
    async def broken(*_, **__):
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("statewright.integrations.states_execution.StatesExecution.call", broken)
    monkeypatch.setattr("statewright.integrations.states_execution.StatesExecution.cancel", broken)
    monkeypatch.setattr("statewright.integrations.http.HttpTasks.exchange", broken)
    made = task("states:startExecution", {})
    result, _ = play(lambda registry: registry.call(made))
    assert isinstance(result, Failed)
    assert result.error == "Statewright.InternalError"
    play(lambda registry: registry.cancel(made))
    (result, shown), _ = play(lambda registry: registry.trace(task("http:invoke", {}), reveal_secrets=False))
    assert (result.error, shown) == ("Statewright.InternalError", {})
    assert len(caplog.records) == 3


def test_changes_of_status_reach_waiting_tasks():
    seen: list[str] = []

    async def steps(registry: Any):
        registry._states.execution_ended = seen.append
        registry.status_changed(SimpleNamespace(stopped_ms=None, execution_arn="a"))
        registry.status_changed(SimpleNamespace(stopped_ms=1, execution_arn="b"))
        await registry.cancel(task("dynamodb:getItem", {}))

    play(steps)
    assert seen == ["b"]


def test_calls_queue_when_every_thread_is_at_work():
    import asyncio
    import threading

    at_once, most, lock = [0], [0], threading.Lock()

    def work(number):
        with lock:
            at_once[0] += 1
            most[0] = max(most[0], at_once[0])
        threading.Event().wait(0.001)
        with lock:
            at_once[0] -= 1
        if number == 7:
            raise ValueError("seven")
        return number

    async def main(clock):
        blocking = BlockingCalls(clock, threads=2)
        results = await asyncio.gather(*(blocking.run(work, number) for number in range(10)), return_exceptions=True)
        started_ms = clock.now_ms()
        blocking.close()
        return results, started_ms

    results, _ = run_virtual(main)
    assert [result for result in results if isinstance(result, int)] == [0, 1, 2, 3, 4, 5, 6, 8, 9]
    assert isinstance(results[7], ValueError)
    assert most[0] <= 2


def test_a_cancelled_call_is_dropped():
    import asyncio
    import threading

    go = threading.Event()

    async def main(clock):
        blocking = BlockingCalls(clock, threads=1)
        first = asyncio.ensure_future(blocking.run(go.wait))
        second = asyncio.ensure_future(blocking.run(pytest.fail))
        await asyncio.sleep(0)
        first.cancel()
        second.cancel()
        await asyncio.gather(first, second, return_exceptions=True)
        go.set()
        third = await blocking.run(lambda: "third")
        blocking.close()
        return third

    assert run_virtual(main) == "third"
