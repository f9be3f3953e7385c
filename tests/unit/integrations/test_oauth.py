from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from statewright.config import Config, Connection
from statewright.engine.dispatch import Failed, Succeeded
from statewright.integrations.blocking import BlockingCalls
from statewright.integrations.http import HttpTasks
from statewright.integrations.http_requests import Request, Response
from statewright.integrations.oauth import NoToken, Tokens, token_request
from statewright.virtual_clock import run_virtual
from tests.unit.integrations.stub import Reply, replied, serving, task

CONNECTION = Connection(
    "c", "oauth", client_id="me", client_secret="s&t", token_url="http://auth/token?x=1",
    token_headers={"X-Tenant": "t"}, token_query={"q": "1"}, token_body={"scope": "a b"},
)  # fmt: skip


class Endpoint:
    """Gives `t1`, `t2` ... for 100 seconds each."""

    def __init__(self, **answer: Any) -> None:
        self.asked: list[Request] = []
        self.answer = answer

    def __call__(self, request: Request) -> Response:
        self.asked.append(request)
        answer = {"access_token": f"t{len(self.asked)}", "expires_in": 100, **self.answer}
        status = answer.pop("status", 200)
        body = answer.pop("body", None)
        return Response(status, "", {}, body if body is not None else json.dumps(answer).encode())


def test_the_request_is_the_client_credentials_grant() -> None:
    request = token_request(CONNECTION)
    assert (request.method, request.url) == ("POST", "http://auth/token?x=1&q=1")
    assert request.headers["Content-Type"] == "application/x-www-form-urlencoded"
    assert request.headers["X-Tenant"] == "t"
    assert request.body is not None
    assert parse_qs(request.body.decode()) == {
        "grant_type": ["client_credentials"], "client_id": ["me"], "client_secret": ["s&t"], "scope": ["a b"],
    }  # fmt: skip


def test_with_get_everything_is_in_the_query() -> None:
    request = token_request(Connection("c", "oauth", client_id="me", token_url="http://auth/t", token_method="GET"))
    assert request.body is None
    assert parse_qs(urlsplit(request.url).query)["client_id"] == ["me"]


def test_a_token_is_used_until_shortly_before_its_end() -> None:
    now = [0]
    endpoint = Endpoint()
    tokens = Tokens(endpoint, lambda: now[0])
    assert tokens.header(CONNECTION) == "Bearer t1"
    now[0] = 69_999
    assert tokens.header(CONNECTION) == "Bearer t1"
    now[0] = 70_000
    assert tokens.header(CONNECTION) == "Bearer t2"
    tokens.forget(CONNECTION, "Bearer t1")
    assert tokens.header(CONNECTION) == "Bearer t2"
    tokens.forget(CONNECTION, "Bearer t2")
    assert tokens.header(CONNECTION) == "Bearer t3"


def test_other_kinds_of_tokens() -> None:
    assert Tokens(Endpoint(token_type="MAC"), lambda: 0).header(CONNECTION) == "MAC t1"
    assert Tokens(Endpoint(token_type="bearer"), lambda: 0).header(CONNECTION) == "Bearer t1"
    # Without a life it is kept for five minutes.
    endpoint = Endpoint(expires_in=None)
    tokens = Tokens(endpoint, iter([0, 0, 299_999]).__next__)
    assert [tokens.header(CONNECTION), tokens.header(CONNECTION)] == ["Bearer t1", "Bearer t1"]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"status": 401}, "answered 401"),
        ({"body": b"<html>"}, "gave no access_token"),
        ({"body": b"[]"}, "gave no access_token"),
        ({"access_token": ""}, "gave no access_token"),
    ],
)
def test_without_a_token_it_is_said_why(answer, words) -> None:
    with pytest.raises(NoToken, match=words) as caught:
        Tokens(Endpoint(**answer), lambda: 0).header(CONNECTION)
    assert "s&t" not in str(caught.value)


def invoke(answer: Any, times: int = 1) -> Any:
    """HTTP Tasks over a connection whose tokens come from the same stub, at /token."""

    async def main(clock: Any) -> Any:
        with serving(answer) as stub:
            connection = Connection("c", "oauth", client_id="i", client_secret="s", token_url=stub.url + "/token")
            blocking = BlockingCalls(clock)
            tasks = HttpTasks(Config(connections={"c": connection}), blocking, clock.now_ms)
            parameters = {
                "ApiEndpoint": stub.url + "/api", "Method": "GET",
                "Authentication": {"ConnectionArn": "arn:aws:events:us-east-1:000000000000:connection/c/1"},
            }  # fmt: skip
            try:
                results = [await tasks.call(task("http:invoke", parameters)) for _ in range(times)]
            finally:
                blocking.close()
            return results, [request.path for request in stub.asked]

    return run_virtual(main)


def test_two_tasks_share_a_token() -> None:
    def answer(request: Any) -> Reply:
        if request.path == "/token":
            return replied({"access_token": "t", "expires_in": 3600})
        return replied({"seen": request.headers["Authorization"]})

    results, paths = invoke(answer, times=2)
    assert all(isinstance(one, Succeeded) and one.output["ResponseBody"] == {"seen": "Bearer t"} for one in results)
    assert paths == ["/token", "/api", "/api"]


def test_a_refused_token_is_replaced_once() -> None:
    given = iter(["old", "new"])

    def answer(request: Any) -> Reply:
        if request.path == "/token":
            return replied({"access_token": next(given), "expires_in": 3600})
        return Reply(401, b"no") if request.headers["Authorization"] == "Bearer old" else replied({"ok": True})

    (result,), paths = invoke(answer)
    assert isinstance(result, Succeeded)
    assert paths == ["/token", "/api", "/token", "/api"]


def test_no_token_fails_the_task() -> None:
    (result,), _ = invoke(lambda _: Reply(403, b"go away"))
    assert isinstance(result, Failed)
    assert result.error == "Events.ConnectionResource.InvalidConnectionState"
    assert result.cause is not None
    assert "answered 403" in result.cause
