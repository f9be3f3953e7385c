from __future__ import annotations

import asyncio
import errno
from collections.abc import Coroutine
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from statewright.api import operations
from statewright.api.app import Api
from statewright.api.operations import App, Call, find, operation, registered
from statewright.api.protocols import json10
from statewright.api.services import SERVICES
from statewright.api.standby import REFUSAL, NoPages, SwitchableApp
from statewright.config import Config
from statewright.errors import ApiError, Unavailable
from tests.unit.api.asgi import Reply, call, exchange, make_api, request, scope_of

ARN = "arn:aws:states:us-east-1:000000000000:execution:m:e"


@pytest.fixture(autouse=True, scope="module")
def _operations():
    operations.load_all()


def engine_that(**methods: Any) -> Any:
    return SimpleNamespace(**methods)


async def stopped(arn: str, error: str | None, cause: str | None) -> int:
    return 1_700_000_000_123


def test_an_answer_in_full():
    reply = call(make_api(engine=engine_that(stop_execution=stopped)), "StopExecution", {"executionArn": ARN})
    assert reply.status == 200
    assert reply.json == {"stopDate": 1_700_000_000.123}
    assert reply.headers["content-type"] == "application/x-amz-json-1.0"
    assert reply.headers["content-length"] == str(len(reply.body))
    assert len(reply.headers["x-amzn-requestid"]) == 36


@pytest.mark.parametrize(
    ("problem", "status", "code"),
    [
        (ApiError("ExecutionDoesNotExist", "Execution Does Not Exist: 'x'"), 400, "ExecutionDoesNotExist"),
        (ApiError("ServiceQuotaExceededException", "too many"), 402, "ServiceQuotaExceededException"),
        (Unavailable("locked"), 503, "ServiceUnavailable"),
        (ZeroDivisionError("swordfish"), 500, "InternalServerError"),
        (MemoryError(), 503, "ServiceUnavailable"),
        (OSError(errno.EMFILE, "many"), 503, "ServiceUnavailable"),
        (OSError(errno.EPERM, "no"), 500, "InternalServerError"),
    ],
)
def test_failures_in_operations(problem, status, code, caplog):
    async def fails(arn, error, cause):
        raise problem

    reply = call(make_api(engine=engine_that(stop_execution=fails)), "StopExecution", {"executionArn": ARN})
    assert (reply.status, reply.json["__type"]) == (status, code)
    assert "swordfish" not in reply.json["message"]


def test_unknown_operations():
    reply = call(make_api(), "FlyToTheMoon", {})
    assert (reply.status, reply.json["__type"]) == (400, "UnknownOperationException")
    assert "has no operation FlyToTheMoon" in reply.json["message"]


def test_operations_that_this_version_lacks(monkeypatch):
    monkeypatch.delitem(operations._OPERATIONS, ("states", "TestState"))
    reply = call(make_api(), "TestState", {"definition": "{}"})
    assert reply.json["__type"] == "UnknownOperationException"
    assert "does not have states TestState yet" in reply.json["message"]


@pytest.mark.parametrize(
    ("body", "said"),
    [(b"{", "not JSON"), (b"[]", "not a JSON object"), (b'{"a": NaN}', "not JSON"), (b"\xff", "not JSON")],
)
def test_bodies_that_are_not_objects(body, said):
    reply = call(make_api(), "ListActivities", body)
    assert (reply.status, reply.json["__type"]) == (400, "SerializationException")
    assert said in reply.json["message"]


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
def test_content_types_that_forms_can_send_are_refused(kind):
    reply = call(make_api(), "ListActivities", {}, {"content-type": kind})
    assert reply.status == 415


def test_web_pages_are_refused_before_anything_is_read():
    for headers in ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}):
        reply = call(make_api(), "ListActivities", b"{{{", headers)
        assert (reply.status, reply.json["__type"]) == (403, "CrossOriginRequestRefused")
    assert request(make_api(), path="/health", method="GET", headers={"origin": "null"}).status == 403


def test_bodies_over_the_limit():
    api = make_api(body_bytes=10)
    assert call(api, "ListActivities", b" " * 11).status == 413
    assert call(api, "ListActivities", {}, {"content-length": "11"}).status == 413
    chunks: list[dict[str, Any]] = [{"type": "http.request", "body": b" " * 6, "more_body": True} for _ in range(3)]
    scope = scope_of(headers={"x-amz-target": "AWSStepFunctions.ListActivities"})
    assert asyncio.run(exchange(api, scope, chunks)).status == 413


def test_an_empty_body_is_an_empty_request():
    reply = call(make_api(), "StopExecution", b"")
    assert "Value null at 'executionArn'" in reply.json["message"]


def test_bodies_in_pieces():
    api = make_api(engine=engine_that(stop_execution=stopped))
    body = orjson.dumps({"executionArn": ARN})
    pieces: list[dict[str, Any]] = [
        {"type": "http.request", "body": body[:9], "more_body": True},
        {"type": "http.request", "body": body[9:], "more_body": False},
    ]
    scope = scope_of(headers={"x-amz-target": "AWSStepFunctions.StopExecution"})
    assert asyncio.run(exchange(api, scope, pieces)).status == 200


def test_a_caller_who_disconnects_while_sending_gets_no_answer():
    pieces: list[dict[str, Any]] = [
        {"type": "http.request", "body": b"{", "more_body": True},
        {"type": "http.disconnect"},
    ]
    scope = scope_of(headers={"x-amz-target": "AWSStepFunctions.StopExecution"})
    assert asyncio.run(exchange(make_api(), scope, pieces)).sent == []


def test_other_methods_and_addresses():
    target = {"x-amz-target": "AWSStepFunctions.ListActivities"}
    assert request(make_api(), method="GET", headers=target).status == 405
    assert request(make_api(), path="/console", method="GET").status == 404
    assert request(make_api(), path="/", method="GET").status == 404


def test_health():
    api = make_api()
    reply = request(api, path="/health", method="GET")
    assert (reply.status, reply.json["status"]) == (200, "ok")
    assert reply.json["operations"] == {one.name: len(registered(one.name)) for one in SERVICES}
    assert request(api, path="/health", method="HEAD").body == b""
    assert "invented" not in reply.json
    playing = request(make_api(invented=lambda: ["glue"]), path="/health", method="GET").json
    assert (playing["invented"], playing["operations"]) == (["glue"], reply.json["operations"])
    api.drain()
    assert request(api, path="/health", method="GET").status == 503
    assert call(api, "ListActivities", {}).status == 503


@pytest.mark.parametrize(("standing", "status"), [("ok", 200), ("ready", 200), ("standby", 503), ("no lease", 503)])
def test_health_says_what_the_server_is(standing: str, status: int):
    api = make_api(standing=lambda: standing)
    reply = request(api, path="/health", method="GET")
    assert (reply.status, reply.json["status"]) == (status, standing)
    api.drain()
    reply = request(api, path="/health", method="GET")
    assert (reply.status, reply.json["status"]) == (503, "draining")


def test_health_shows_the_bucket_of_a_store_that_has_one():
    assert "bucket" not in request(make_api(), path="/health", method="GET").json
    reply = request(make_api(bucket_state=lambda: "unavailable"), path="/health", method="GET")
    assert (reply.status, reply.json["status"], reply.json["bucket"]) == (200, "ok", "unavailable")


def test_a_standby_refuses_every_call_and_has_no_pages():
    front = make_api(draining=True, refusal=REFUSAL, standing=lambda: "standby", pages=NoPages())
    app = SwitchableApp(front)
    reply = call(app, "ListActivities", {})
    assert (reply.status, reply.json) == (503, {"__type": "ServiceUnavailable", "message": REFUSAL})
    assert request(app, path="/time-scale", method="PUT", body=b"2").status == 503
    assert request(app, path="/_apis/abc/x", method="GET").status == 503
    page = request(app, path="/console", method="GET")
    assert (page.status, b"standby" in page.body) == (503, True)
    app.app = make_api(standing=lambda: "ready")
    assert request(app, path="/health", method="GET").json["status"] == "ready"
    app.drain()
    assert request(app, path="/health", method="GET").json["status"] == "draining"


def test_metrics_count_calls_by_how_they_end():
    api = make_api(engine=engine_that(stop_execution=stopped))
    call(api, "StopExecution", {"executionArn": ARN})
    call(api, "StopExecution", {})
    call(api, "Made\nUp", {})
    text = request(api, path="/metrics", method="GET").body.decode()
    assert 'statewright_api_calls_total{service="states",operation="StopExecution",code="OK"} 1' in text
    assert (
        'statewright_api_calls_total{service="states",operation="StopExecution",code="ValidationException"} 1' in text
    )
    assert 'operation="other",code="UnknownOperationException"} 1' in text
    assert 'statewright_api_call_seconds_count{service="states",operation="StopExecution"} 2' in text
    assert "Made" not in text


def test_signatures_are_required_with_credentials():
    api = make_api(Config(credentials={"AKID": "secret"}))
    reply = call(api, "ListActivities", {})
    assert reply.json["__type"] == "IncompleteSignatureException"


def polling(api: Api, messages: list[dict[str, Any]]) -> Coroutine[Any, Any, Reply]:
    scope = scope_of(headers={"x-amz-target": "AWSStepFunctions.GetActivityTask"})
    return exchange(api, scope, messages)


ACTIVITY = "arn:aws:states:us-east-1:000000000000:activity:a"
POLL = {"type": "http.request", "body": orjson.dumps({"activityArn": ACTIVITY, "workerName": "w"}), "more_body": False}


def test_a_poll_ends_with_its_task():
    async def poll(arn, worker):
        assert (arn, worker) == (ACTIVITY, "w")
        return "token", "{}"

    api = make_api(engine=engine_that(activities=SimpleNamespace(poll=poll)))
    assert asyncio.run(polling(api, [POLL])).json == {"taskToken": "token", "input": "{}"}


def test_a_poll_without_a_task():
    async def poll(arn, worker):
        return None

    api = make_api(engine=engine_that(activities=SimpleNamespace(poll=poll)))
    assert asyncio.run(polling(api, [POLL])).json == {}


def test_a_poll_is_cancelled_when_its_worker_disconnects():
    given_up = []

    async def poll(arn, worker):
        try:
            await asyncio.Event().wait()
        finally:
            given_up.append(worker)

    api = make_api(engine=engine_that(activities=SimpleNamespace(poll=poll)))
    assert asyncio.run(polling(api, [POLL, {"type": "http.disconnect"}])).sent == []
    assert given_up == ["w"]


def test_a_poll_ends_when_the_server_drains():
    async def scenario() -> Reply:
        began = asyncio.Event()

        async def poll(arn, worker):
            began.set()
            await asyncio.Event().wait()

        api = make_api(engine=engine_that(activities=SimpleNamespace(poll=poll)))
        answer = asyncio.ensure_future(polling(api, [POLL]))
        await began.wait()
        api.drain()
        return await answer

    assert asyncio.run(scenario()).status == 503


def test_an_operation_is_registered_once():
    async def another(app: App, call: Call, request: Any) -> Any:
        raise AssertionError

    with pytest.raises(ValueError, match="registered twice"):
        operation("states", "StopExecution")(another)
    assert find("states", "StopExecution") is not another


def test_messages_that_quote_what_json_cannot_carry():
    assert json10.write_error(ApiError("X", "a\ud800b")) == b'{"__type":"X","message":"a\\\\ud800b"}'


def test_other_connections_are_left_alone():
    sent: list[object] = []

    async def never(*_message):
        raise AssertionError

    asyncio.run(make_api()({"type": "websocket"}, never, never))
    assert sent == []
