"""One request to an address, sent to the server itself: the name of an API's host need not resolve.

Owns the connection, signatures, and what is said about a response. Source: AWS Signature Version 4.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlsplit

from statewright.cli.client import READ_SECONDS, Answer, Unreachable, identity
from statewright.cli.inspection.apis.addresses import URL, Address
from statewright.cli.output import USAGE, Stop

if TYPE_CHECKING:
    from statewright.payload import Json

_PATH: Final = "/:@!$&'()*+,;=-._~%"
"""Characters of a path that stay as they are: the rest is escaped."""


@dataclass(frozen=True, slots=True)
class Response:
    """A response: its status with the reason, headers in order, body."""

    status: int
    reason: str
    headers: Sequence[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str:
        """The last value of a header; empty if there is none."""
        return next((value for found, value in reversed(self.headers) if found.lower() == name), "")

    def value(self) -> Json:
        """The body: the value of a JSON body, otherwise its text; None if it is neither."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            pass
        try:
            return self.body.decode()
        except UnicodeDecodeError:
            return None

    @property
    def execution(self) -> str | None:
        """The ARN of the execution that the request started, if the body names one."""
        value = self.value()
        found = value.get("executionArn") if isinstance(value, dict) else None
        return found if isinstance(found, str) and found.startswith("arn:") else None

    def shown(self) -> Answer:
        """The response as JSON shows it."""
        headers: dict[str, list[str]] = {}
        for name, value in self.headers:
            headers.setdefault(name.lower(), []).append(value)
        found: Answer = {"status": self.status, "headers": headers, "body": self.value()}
        return {**found, "execution": self.execution} if self.execution is not None else found


def header_of(text: str) -> tuple[str, str]:
    """A header of the command line, `Name: value`. Raises: Stop."""
    name, colon, value = text.partition(":")
    if not colon or not name.strip() or any(ord(char) < 32 for char in text):
        raise Stop(USAGE, f"A header is NAME: VALUE, not {text!r}.")
    return name.strip(), value.strip()


def sent(
    endpoint: str, address: Address, method: str, path: str, headers: Sequence[tuple[str, str]], body: bytes | None,
    *, sign: bool,
) -> Response:  # fmt: skip
    """Send a request and return the response. `path` may have a query. Raises: Stop."""
    import http.client

    parts = urlsplit(address.url)
    where, mark, query = path.partition("?")
    whole = f"{parts.path}/{quote(where.lstrip('/'), safe=_PATH)}"
    target = f"{whole}{mark}{quote(query, safe=_PATH + '/?')}"
    given = [("Host", parts.netloc), ("User-Agent", "statewright"), *headers]
    if body is not None and not any(name.lower() == "content-type" for name, _ in headers):
        given.append(("Content-Type", _type_of(body)))
    if sign:
        given = _signed(address, method, f"{parts.scheme}://{parts.netloc}{target}", given, body)
    server = urlsplit(endpoint)
    make = http.client.HTTPSConnection if server.scheme == "https" else http.client.HTTPConnection
    connection = make(server.hostname or "", server.port, timeout=READ_SECONDS)
    try:
        connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        for name, value in given:
            connection.putheader(name, value)
        if body is not None or method in ("POST", "PUT", "PATCH"):
            connection.putheader("Content-Length", str(len(body or b"")))
        connection.endheaders(body)
        answer = connection.getresponse()
        return Response(answer.status, answer.reason, answer.getheaders(), answer.read())
    except (ValueError, UnicodeError) as problem:
        raise Stop(USAGE, f"The request cannot be sent: {problem}") from None
    except (OSError, http.client.HTTPException) as problem:
        raise Unreachable(endpoint, str(problem) or type(problem).__name__) from None
    finally:
        connection.close()


def _type_of(body: bytes) -> str:
    """The type of a body that names none: JSON if it is that."""
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return "text/plain"
    return "application/json"


def _signed(
    address: Address, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
) -> list[tuple[str, str]]:
    """The headers of a request with its signature, made with the key of every other command."""
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    key, secret, region = identity()
    request = AWSRequest(method, url, headers=dict(headers), data=body or b"")
    service = "lambda" if address.kind == URL else "execute-api"
    SigV4Auth(Credentials(key, secret), service, region).add_auth(request)
    return list(request.headers.items())
