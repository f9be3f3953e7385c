"""A small HTTP server on loopback that answers what it is told to, and remembers what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from statewright.api.calls.inner import InnerCalls
from statewright.asl.resources import parse_resource
from statewright.engine.dispatch import ScheduledCall
from statewright.integrations.registry import OwnCalls

NO_CALLS = OwnCalls(InnerCalls().states)
"""For a registry without services of our own."""
EXECUTION = "arn:aws:states:us-east-1:000000000000:execution:Orders:one"


@dataclass
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Reply:
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


Answer = Callable[[Asked], Reply]


def replied(value: Any, status: int = 200, content_type: str = "application/json", **headers: str) -> Reply:
    return Reply(status, json.dumps(value).encode(), {"Content-Type": content_type, **headers})


@dataclass
class Stub:
    url: str
    asked: list[Asked]


@contextmanager
def serving(answer: Answer) -> Iterator[Stub]:
    asked: list[Asked] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _any(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            request = Asked(self.command, self.path, dict(self.headers.items()), self.rfile.read(length))
            asked.append(request)
            reply = answer(request)
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

        do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = _any  # noqa: N815

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield Stub(f"http://127.0.0.1:{server.server_port}", asked)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def task(resource: str, parameters: Any, **more: Any) -> ScheduledCall:
    """A call as the engine dispatches it; `resource` without its `arn:aws:states:::`."""
    arn = resource if resource.startswith("arn:") else f"arn:aws:states:::{resource}"
    parsed = parse_resource(arn)
    token = "token" if parsed.pattern != "request" else None
    values = {"attempt": 0, "idempotency_key": "key-1", "role_arn": "", **more}
    return ScheduledCall(EXECUTION, "Call", parsed, parameters, token, **values)
