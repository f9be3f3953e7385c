"""A client of the storm's own: Signature Version 4, the JSON, query and REST protocols, over one connection a thread.

Written from the specifications, with nothing of the server's code, so that a mistake there is not shared here.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import random
import re
import select
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote, urlencode

ACCOUNT: Final = "000000000000"
REGION: Final = "us-east-1"
KEY: Final = "test"
SECRET: Final = "test"
TARGETS: Final = {
    "states": "AWSStepFunctions",
    "sqs": "AmazonSQS",
    "dynamodb": "DynamoDB_20120810",
    "events": "AWSEvents",
    "statewright": "Statewright",
}
STANDBY: Final = "This server is a standby"
"""In the refusals of one."""


class NoAnswer(Exception):
    """The call may have been carried out or not."""


class Refused(Exception):
    """The server has answered with an error of the caller's."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code


class Elsewhere(Exception):
    """The call was not carried out: there is no server at this port, or it is a standby."""


class Client:
    """Calls one server, or of several the one that is no standby; for one thread.

    With `chance`, any of several: each call goes to a random one.
    """

    def __init__(self, *ports: int, seconds: float = 30, chance: random.Random | None = None) -> None:
        self._ports: Sequence[int] = ports
        self._seconds = seconds
        self._chance = chance
        self._connections: dict[int, http.client.HTTPConnection] = {}

    def another(self) -> Client:
        """A client like this one, for another thread."""
        chance = random.Random(self._chance.random()) if self._chance is not None else None
        return Client(*self._ports, seconds=self._seconds, chance=chance)

    def _connection(self) -> http.client.HTTPConnection:
        """A connection with the server at the first port, which has not closed it as far as is known."""
        port = self._ports[0]
        found = self._connections.setdefault(port, http.client.HTTPConnection("127.0.0.1", port, timeout=self._seconds))
        if found.sock is not None and select.select([found.sock], [], [], 0)[0]:
            # Nothing was asked, so what can be read is its end.
            found.close()
        return found

    def _turn(self) -> None:
        """Call the next server from now on."""
        self._connection().close()
        self._ports = (*self._ports[1:], self._ports[0])

    def close(self) -> None:
        for one in self._connections.values():
            one.close()

    def json(self, service: str, operation: str, **request: Any) -> Any:
        """The answer of an operation in the JSON protocol. Raises: NoAnswer, Refused."""
        headers = {
            "content-type": "application/x-amz-json-1.0",
            "x-amz-target": f"{TARGETS[service]}.{operation}",
        }
        return json.loads(self.send(service, "POST", "/", json.dumps(request).encode(), headers) or b"{}")

    def query(self, service: str, action: str, **parameters: str) -> str:
        """The answer of an operation in the query protocol, as XML. Raises: NoAnswer, Refused."""
        body = urlencode({"Action": action, "Version": "2010-03-31", **parameters}).encode()
        headers = {"content-type": "application/x-www-form-urlencoded"}
        return self.send(service, "POST", "/", body, headers).decode()

    def rest(self, service: str, method: str, path: str, document: Any = None) -> Any:
        """The answer of an operation in the REST protocol with JSON. Raises: NoAnswer, Refused."""
        body = json.dumps(document).encode() if document is not None else b""
        return json.loads(self.send(service, method, path, body, {"content-type": "application/json"}) or b"{}")

    def send(
        self, service: str, method: str, path: str, body: bytes = b"", more: Mapping[str, str] | None = None
    ) -> bytes:
        """The body of an answer. Raises: NoAnswer, Refused.

        A call goes to the next server only if it was not carried out; after one without an answer, the next call does.
        """
        if self._chance is not None:
            self._ports = self._chance.sample(self._ports, len(self._ports))
        for _ in self._ports:
            try:
                return self._sent(service, method, path, body, more)
            except Elsewhere:
                self._turn()
            except NoAnswer:
                self._turn()
                raise
        raise NoAnswer(f"{service} {method} {path}: no server takes it")

    def _sent(self, service: str, method: str, path: str, body: bytes, more: Mapping[str, str] | None) -> bytes:
        """The body of an answer of the server at the first port. Raises: Elsewhere, NoAnswer, Refused."""
        headers = self._signed(service, method, path, body, dict(more or {}))
        connection = self._connection()
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            found = answer.read()
        except ConnectionRefusedError as problem:
            raise Elsewhere from problem
        except (OSError, http.client.HTTPException, ValueError) as problem:
            raise NoAnswer(f"{service} {method} {path}: {problem!r}") from None
        if answer.status < 300:
            return found
        text = found.decode(errors="replace")
        if answer.status == 503 and STANDBY in text:
            raise Elsewhere
        if answer.status >= 500:
            raise NoAnswer(f"{service} {method} {path}: {answer.status} {text[:300]}")
        raise Refused(_code(answer, text), text[:500])

    def _signed(self, service: str, method: str, path: str, body: bytes, headers: dict[str, str]) -> dict[str, str]:
        """Headers with those of Signature Version 4. Source: its specification, "Create a signed request"."""
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        digest = hashlib.sha256(body).hexdigest()
        headers = {
            **headers,
            "host": f"127.0.0.1:{self._ports[0]}",
            "x-amz-date": stamp,
            "x-amz-content-sha256": digest,
        }
        names = sorted(headers)
        canonical = "\n".join(
            [
                method,
                path if service == "s3" else quote(path),
                "",
                *(f"{name}:{headers[name].strip()}" for name in names),
                "",
                ";".join(names),
                digest,
            ]
        )
        scope = f"{stamp[:8]}/{REGION}/{service}/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
        key = f"AWS4{SECRET}".encode()
        for part in (stamp[:8], REGION, service, "aws4_request"):
            key = hmac.digest(key, part.encode(), "sha256")
        signature = hmac.new(key, text.encode(), "sha256").hexdigest()
        credential = f"Credential={KEY}/{scope}, SignedHeaders={';'.join(names)}, Signature={signature}"
        return {**headers, "authorization": f"AWS4-HMAC-SHA256 {credential}"}


def _code(answer: http.client.HTTPResponse, text: str) -> str:
    if text.startswith("<"):
        found = re.search(r"<Code>([^<]*)</Code>", text)
        return found[1] if found else str(answer.status)
    named = answer.headers.get("x-amzn-errortype")
    if named is None:
        try:
            named = str(json.loads(text).get("__type", answer.status))
        except ValueError:
            named = str(answer.status)
    return named.rpartition("#")[2].partition(":")[0]
