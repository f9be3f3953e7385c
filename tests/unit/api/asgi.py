"""Drives the ASGI application without sockets."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson

from statewright.api.app import Api
from statewright.api.standby import Application
from statewright.config import Config
from tests.unit.api.apps import app_of

SIGNED = (
    "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/states/aws4_request, "
    "SignedHeaders=host;x-amz-date, Signature=0"
)


def make_api(config: Config | None = None, **settings: Any) -> Api:
    """An application without an engine: what its operations need has to be given as `engine`."""
    parts = {"engine": settings.pop("engine")} if "engine" in settings else {}
    return Api(app_of(config, **parts), **settings)


class Reply:
    def __init__(self, sent: list[dict[str, Any]]) -> None:
        self.sent = sent
        self.status = sent[0]["status"] if sent else 0
        self.headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]} if sent else {}
        self.body = b"".join(message.get("body", b"") for message in sent[1:])

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)


async def exchange(api: Application, scope: dict[str, Any], messages: list[dict[str, Any]]) -> Reply:
    sent: list[dict[str, Any]] = []
    waiting = iter(messages)

    async def receive() -> dict[str, Any]:
        for message in waiting:
            return message
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Any) -> None:
        sent.append(message)

    await api(scope, receive, send)
    return Reply(sent)


def scope_of(
    path: str = "/", method: str = "POST", query: str = "", headers: dict[str, str] | None = None
) -> dict[str, Any]:
    given = {"host": "127.0.0.1:4566", **(headers or {})}
    return {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in given.items()],
    }


def request(api: Application, body: bytes = b"", **scope: Any) -> Reply:
    """One request and its reply."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]
    return asyncio.run(exchange(api, scope_of(**scope), messages))


def call(api: Application, operation: str, members: Any, headers: dict[str, str] | None = None) -> Reply:
    """One call of a Step Functions operation, as an SDK makes it."""
    given = {
        "authorization": SIGNED,
        "content-type": "application/x-amz-json-1.0",
        "x-amz-target": f"AWSStepFunctions.{operation}",
        **(headers or {}),
    }
    body = members if isinstance(members, bytes) else orjson.dumps(members)
    return request(api, body, headers=given)
