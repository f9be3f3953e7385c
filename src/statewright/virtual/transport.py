"""boto3 clients of a virtual system: their requests are answered in this process, without a port.

botocore builds and signs a request as always; the hook before it is sent gives it to the application and hands the
answer back. What a caller sees, retries and errors included, is what a server would have sent.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from statewright.payload import Json, JsonObject

# botocore is imported where a client is made: most systems have none, and it takes long to import.
if TYPE_CHECKING:
    from botocore.awsrequest import AWSPreparedRequest, AWSResponse

    from statewright.api.app import Api

ENDPOINT = "http://statewright.virtual"

Answer = Callable[["AWSPreparedRequest"], "AWSResponse"]
"""Has a request answered; virtual time goes on meanwhile if the answer takes some."""


_session: Any = None
"""botocore's or boto3's session for all clients: it keeps the service models, which take long to read."""
_idle: dict[tuple[str, str], list[Line]] = {}
"""Clients whose system has ended, for the next one: making one takes longer than most tests."""


@dataclass(slots=True)
class Line:
    """A client and who answers it."""

    client: Any
    answer: Answer


def take_client(service: str, region: str, answer: Answer) -> Line:
    """A client that is free, or a new one."""
    free = _idle.get((service, region))
    if free:
        line = free.pop()
        line.answer = answer
        return line
    line = Line(None, answer)
    line.client = make_client(service, region, lambda request: line.answer(request))
    return line


def give_back(service: str, region: str, line: Line) -> None:
    """The client's system has ended."""

    def gone(_request: AWSPreparedRequest) -> AWSResponse:
        raise RuntimeError("the virtual system of this client has ended")

    line.answer = gone
    _idle.setdefault((service, region), []).append(line)


def make_client(service: str, region: str, answer: Answer, **settings: Any) -> Any:
    """A boto3 client (a botocore one where boto3 is not installed) whose requests go to `answer`."""
    import botocore.session
    from botocore.config import Config

    config = Config(
        # A repeat would wait in real time.
        retries={"total_max_attempts": 1},
        inject_host_prefix=False,
        s3={"addressing_style": "path"},
        parameter_validation=settings.pop("parameter_validation", True),
    )
    given = {
        "region_name": region, "endpoint_url": ENDPOINT, "aws_access_key_id": "virtual",
        "aws_secret_access_key": "virtual", "config": config, **settings,
    }  # fmt: skip
    global _session
    if _session is None:
        try:
            import boto3  # type: ignore[import-untyped]
        except ImportError:
            _session = botocore.session.Session()
        else:
            _session = boto3.Session()
    make = getattr(_session, "create_client", None) or _session.client
    client = make(service, **given)
    client.meta.events.register("before-send", lambda request, **_: answer(request))
    return client


async def answered(api: Api, request: AWSPreparedRequest) -> AWSResponse:
    """Have the application answer a request that botocore is about to send."""
    from botocore.awsrequest import AWSResponse

    body = _body_of(request)
    asked = urlsplit(request.url)
    headers = [(name.lower(), _text(value)) for name, value in request.headers.items()]
    if not any(name == "content-length" for name, _ in headers):
        headers.append(("content-length", str(len(body))))
    scope: JsonObject = {
        "type": "http",
        "method": request.method,
        "path": unquote(asked.path),
        "raw_path": asked.path.encode(),
        "query_string": asked.query.encode(),
        "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers],
    }
    left = [body]
    heard: list[Json] = []

    async def receive() -> Any:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        # The caller stays until he is answered.
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Json) -> None:
        heard.append(message)

    await api(scope, receive, send)
    answer = {name.decode("latin-1"): value.decode("latin-1") for name, value in heard[0]["headers"]}
    content = b"".join(message.get("body", b"") for message in heard[1:])
    return AWSResponse(request.url, heard[0]["status"], answer, _Content(content))


class _Content(io.BytesIO):
    """A body as botocore takes it from urllib3."""

    def stream(self, amt: int = 65_536, decode_content: bool | None = None) -> Iterator[bytes]:  # noqa: ARG002
        """The body piece by piece."""
        while piece := self.read(amt):
            yield piece


def _body_of(request: AWSPreparedRequest) -> bytes:
    body = request.body
    if body is None:
        return b""
    if isinstance(body, str):
        return body.encode()
    if isinstance(body, (bytes, bytearray)):
        return bytes(body)
    content: bytes = body.read()
    return content


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value
