"""Tokens for connections that authorise by OAuth: the client credentials grant, one token for many requests.

Source: RFC 6749, section 4.4; EventBridge user guide, "OAuth authorization", for what connections add to the request.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from statewright.config import Connection
from statewright.integrations.http_requests import Request, Response
from statewright.payload import JsonTextError, parse_json

MARGIN_MS: Final = 30_000
"""A token is not used in the last moments of its life, because it could expire on the way."""
UNKNOWN_LIFE_MS: Final = 300_000
"""The life of a token whose answer does not name one."""
REFUSED: Final = frozenset({401, 407})
"""Statuses after which a new token is tried. Source: EventBridge user guide."""


class NoToken(Exception):
    """The authorisation endpoint gave none; the text says why, without secrets."""


@dataclass(frozen=True, slots=True)
class _Token:
    header: str
    until_ms: int


class Tokens:
    """The tokens of all connections, by name. `send` makes a request and blocks; `now_ms` is the clock's."""

    def __init__(self, send: Callable[[Request], Response], now_ms: Callable[[], int]) -> None:
        self._send = send
        self._now_ms = now_ms
        self._tokens: dict[str, _Token] = {}
        self._lock = threading.Lock()

    def header(self, connection: Connection) -> str:
        """The Authorization header of a connection; asks for a token if there is none. Blocks.

        Raises: NoToken, NoAnswer.
        """
        with self._lock:
            token = self._tokens.get(connection.name)
            if token is None or token.until_ms <= self._now_ms():
                token = self._tokens[connection.name] = self._ask(connection)
        return token.header

    def forget(self, connection: Connection, header: str) -> None:
        """Drop a token that was refused; the next request asks for another."""
        with self._lock:
            token = self._tokens.get(connection.name)
            if token is not None and token.header == header:
                del self._tokens[connection.name]

    def _ask(self, connection: Connection) -> _Token:
        asked_ms = self._now_ms()
        response = self._send(token_request(connection))
        if not 200 <= response.status <= 299:
            raise NoToken(f"the authorisation endpoint of the connection {connection.name} answered {response.status}")
        try:
            answer = parse_json(response.body)
        except JsonTextError:
            answer = None
        word = answer.get("access_token") if isinstance(answer, dict) else None
        if not isinstance(answer, dict) or not isinstance(word, str) or not word:
            raise NoToken(f"the authorisation endpoint of the connection {connection.name} gave no access_token")
        kind = answer.get("token_type")
        life = answer.get("expires_in")
        life_ms = int(life * 1000) - MARGIN_MS if isinstance(life, (int, float)) else UNKNOWN_LIFE_MS
        name = "Bearer" if not isinstance(kind, str) or kind.lower() == "bearer" else kind
        return _Token(f"{name} {word}", asked_ms + max(life_ms, 0))


def token_request(connection: Connection) -> Request:
    """The request for a token: a form in the body, or in the query where the method is GET."""
    form = {
        "grant_type": "client_credentials",
        "client_id": connection.client_id,
        "client_secret": connection.client_secret,
        **connection.token_body,
    }
    headers = {"Accept": "application/json", **connection.token_headers}
    query = dict(connection.token_query)
    body = None
    if connection.token_method == "GET":
        query = {**form, **query}
    else:
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        body = urlencode(form).encode()
    joint = "&" if "?" in connection.token_url else "?"
    url = connection.token_url + (joint + urlencode(query) if query else "")
    return Request(connection.token_method, url, headers, body)
