"""The caller of a request to the console: any user of the machine on a server without credentials, else one who has
signed in by a link, or whom a proxy has signed in.

Owns which requests of browsers pass. A signed-in page sends its token in a header, which no other page can make a
browser do; there are no cookies, because browsers send those of one port of a machine to all others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final

from statewright.api import guard
from statewright.api.operations import App
from statewright.api.protocols.wire import Message
from statewright.console.asked import Caller
from statewright.errors import ApiError
from statewright.payload import Json, JsonObject
from statewright.records.console_sessions import ConsoleSession

SIGN_IN: Final = "SignInRequired"
_BEARER: Final = "bearer "
_LONGEST_KEY: Final = 200
_LONGEST_NAME: Final = 200
HOW: Final = "Run statewright console for a link that signs you in."


@dataclass(slots=True)
class SignIn:
    """Decides on requests to the console of one server. `origins` are those of other web pages that may call it."""

    app: App
    origins: frozenset[str] = frozenset()
    _proxies: list[IPv4Network | IPv6Network] = field(init=False)

    def __post_init__(self) -> None:
        self._proxies = [ip_network(one, strict=False) for one in self.app.config.console.proxies]

    @property
    def is_needed(self) -> bool:
        """True if callers have to sign in."""
        config = self.app.config
        return bool(config.credentials or config.console.login == "always" or config.console.trust_header)

    def guard_page(self, scope: Message, headers: Mapping[str, str]) -> None:
        """Let links from any page lead to the page, since it shows nothing itself. Raises: ApiError."""
        if self.is_needed:
            guard.refuse_foreign_pages(headers, scope.get("scheme", "http"), self.origins, is_link=True)
            return
        if headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document":
            headers = {**headers, "sec-fetch-site": "none"}
        guard.refuse_web_pages(headers, self.origins, is_page=True)

    def caller(self, scope: Message, headers: Mapping[str, str]) -> Caller:
        """The caller of a read or an action. Raises: ApiError (`CrossOriginRequestRefused`, `SignInRequired`)."""
        if not self.is_needed:
            guard.refuse_web_pages(headers, self.origins)
            return Caller()
        token = self._token(scope)
        if token is None and (user := self._user(scope)) is not None:
            # The proxy signs in its users by cookies, so that any page can send what counts as theirs.
            guard.refuse_web_pages(headers, self.origins)
            return Caller(user=user)
        guard.refuse_foreign_pages(headers, scope.get("scheme", "http"), self.origins)
        if token is None:
            raise ApiError(SIGN_IN, f"This console asks you to sign in. {HOW}", status=401)
        session = self.app.services.console_sessions.session_of(token)
        if session is None:
            raise ApiError(SIGN_IN, f"This sign-in has ended. {HOW}", status=401)
        account = self.app.services.console_sessions.account_of(session)
        return Caller(session.access_key, session.may_write, account=account, session=session)

    async def open(self, scope: Message, headers: Mapping[str, str], body: Json) -> JsonObject:
        """Swap a one-time key for a token: `{key}` to `{token, expiresMs}`. Raises: ApiError."""
        guard.refuse_foreign_pages(headers, scope.get("scheme", "http"), self.origins)
        key = body.get("key") if isinstance(body, dict) else None
        if not isinstance(key, str) or len(key) > _LONGEST_KEY:
            raise ApiError("BadRequest", "The request needs key, the one-time key of a link.")
        if not self.is_needed:
            raise ApiError("BadRequest", "This server asks no one to sign in.")
        opened = await self.app.services.console_sessions.open(key)
        if opened is None:
            raise ApiError(SIGN_IN, f"This link was used before or has expired. {HOW}", status=401)
        token, session = opened
        return {"token": token, "expiresMs": session.expires_ms}

    async def until_over(self, caller: Caller) -> None:
        """Return once a caller's session is over."""
        assert isinstance(caller.session, ConsoleSession)
        await self.app.services.console_sessions.until_over(caller.session)

    def _token(self, scope: Message) -> str | None:
        """The token of the one Authorization header. Raises: ApiError if there are several."""
        given = _only(scope, "authorization")
        if given is None:
            return None
        return given[len(_BEARER) :].strip() if given[: len(_BEARER)].lower() == _BEARER else ""

    def _user(self, scope: Message) -> str | None:
        """The user whom a proxy names. Raises: ApiError if several are named."""
        header = self.app.config.console.trust_header
        if not header or not self._is_proxy(scope):
            return None
        name = (_only(scope, header) or "").strip()
        if len(name) > _LONGEST_NAME or not name.isprintable():
            raise ApiError("BadRequest", f"The header {header} names no user.")
        return name or None

    def _is_proxy(self, scope: Message) -> bool:
        client = scope.get("client")
        if client is None:
            return False
        address = ip_address(client[0])
        return address.is_loopback or any(address in network for network in self._proxies)


def _only(scope: Message, name: str) -> str | None:
    """The value of a header; None if it is missing. Raises: ApiError if it was sent twice."""
    found = [value for key, value in scope["headers"] if key == name.encode()]
    if len(found) > 1:
        raise ApiError("BadRequest", f"The header {name} was sent {len(found)} times.")
    return found[0].decode("latin-1") if found else None
