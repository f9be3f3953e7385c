"""APIs that change, end or lose their server while requests run."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from tests.deadlines import until
from tests.e2e.conftest import ROLE, Server
from tests.e2e.test_http_apis import Answer, called
from tests.e2e.test_rest_apis import Rest

CALLERS = 3


@pytest.fixture
def gateway(server: Server) -> Any:
    return server.client("apigateway")


@contextmanager
def calls(call: Callable[[], Answer]) -> Iterator[list[Answer]]:
    """Calls without a pause by several threads, until the block ends; the answers, in the order of each thread."""
    answers: list[Answer] = []
    ended = threading.Event()

    def repeat() -> None:
        while not ended.is_set():
            try:
                answers.append(call())
            except (OSError, HTTPException):
                return

    threads = [threading.Thread(target=repeat) for _ in range(CALLERS)]
    for thread in threads:
        thread.start()
    try:
        yield answers
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def test_each_answer_is_of_one_deployment(server, gateway):
    api = Rest(gateway)
    where = api.method("GET", "/a", {"type": "MOCK", "requestTemplates": {"application/json": "{statusCode: 200}"}})
    gateway.put_method_response(**where, statusCode="200", responseParameters={"method.response.header.x-n": False})
    with calls(lambda: called(server, api.id, "GET", "/prod/a")) as answers:
        for number in range(20):
            gateway.put_integration_response(
                **where, statusCode="200", responseTemplates={"application/json": str(number)},
                responseParameters={"method.response.header.x-n": f"'{number}'"},
            )  # fmt: skip
            api.deploy()
    # Before the first deployment there is no stage.
    found = [one for one in answers if one.status != 403]
    assert {one.status for one in found} == {200}
    assert all(one.headers["x-n"] == [one.body.decode()] for one in found)


def test_an_api_may_be_deleted_while_requests_run(server, gateway):
    api = Rest(gateway)
    api.method("GET", "/a", {"type": "MOCK", "requestTemplates": {"application/json": "{statusCode: 200}"}})
    gateway.put_integration_response(restApiId=api.id, resourceId=api.paths["/a"], httpMethod="GET", statusCode="200")
    api.deploy()
    with calls(lambda: called(server, api.id, "GET", "/prod/a")) as answers:
        until(lambda: answers, "an answer")
        gateway.delete_rest_api(restApiId=api.id)
        assert called(server, api.id, "GET", "/prod/a").status in (403, 404)
    assert {one.status for one in answers} <= {200, 403, 404}


@pytest.mark.slow
def test_a_start_that_was_answered_survives_a_crash(tmp_path: Path):
    server = Server(tmp_path / "data")
    states: Any = server.client()
    machine = states.create_state_machine(
        name="waits", roleArn=ROLE,
        definition=json.dumps({"StartAt": "Wait", "States": {"Wait": {"Type": "Wait", "Seconds": 600, "End": True}}}),
    )["stateMachineArn"]  # fmt: skip
    apis: Any = server.client("apigatewayv2")
    api = apis.create_api(Name="starts", ProtocolType="HTTP")["ApiId"]
    integration = apis.create_integration(
        ApiId=api, IntegrationType="AWS_PROXY", IntegrationSubtype="StepFunctions-StartExecution",
        PayloadFormatVersion="1.0", CredentialsArn=ROLE,
        RequestParameters={"StateMachineArn": machine, "Input": "$request.body"},
    )["IntegrationId"]  # fmt: skip
    apis.create_route(ApiId=api, RouteKey="POST /start", Target=f"integrations/{integration}")
    apis.create_stage(ApiId=api, StageName="$default", AutoDeploy=True)
    with calls(lambda: called(server, api, "POST", "/start", body=b"{}")) as answers:
        until(lambda: len(answers) >= 20, "twenty starts")
        server.kill()
    acknowledged = [one.json["executionArn"] for one in answers if one.status == 200]
    again = Server(tmp_path / "data")
    try:
        assert len(acknowledged) >= 20
        for arn in acknowledged:
            assert again.client().describe_execution(executionArn=arn)["status"] == "RUNNING"
    finally:
        again.kill()
