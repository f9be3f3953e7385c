"""Cross-origin sharing of HTTP APIs, answered by the gateway.

Source: API Gateway developer guide, "Configure CORS for HTTP APIs".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from statewright.apis.calls import Request, Response
from statewright.payload import JsonMapping

Shared = Literal["no", "everyone", "named"]
"""How far an API lets pages of an origin call it: not, as all pages, or because it names the origin."""
_PREFIX: Final = "access-control-"


@dataclass(frozen=True, slots=True)
class Cors:
    """A configuration of CORS."""

    origins: Sequence[str] = ()
    methods: Sequence[str] = ()
    headers: Sequence[str] = ()
    exposed: Sequence[str] = ()
    max_age: int | None = None
    credentials: bool = False

    @classmethod
    def of(cls, given: JsonMapping | None) -> Cors | None:
        """The configuration with the members of the service model; `None` without one."""
        if not given:
            return None
        return cls(
            [str(one).lower() for one in given.get("AllowOrigins") or ()], given.get("AllowMethods") or (),
            given.get("AllowHeaders") or (), given.get("ExposeHeaders") or (), given.get("MaxAge"),
            bool(given.get("AllowCredentials")),
        )  # fmt: skip

    def allows(self, origin: str) -> bool:
        """True if pages of an origin may read responses."""
        return self.shares_with(origin) != "no"

    def shares_with(self, origin: str) -> Shared:
        """How far pages of an origin may call. A wildcard for a scheme names no origin either."""
        lower = origin.lower()
        if lower in self.origins:
            return "named"
        scheme = lower.partition("://")[0]
        return "everyone" if "*" in self.origins or f"{scheme}://*" in self.origins else "no"

    def preflight(self, request: Request, status: int = 204) -> Response | None:
        """The answer to a preflight; `None` if a request is none."""
        origin = request.header("origin")
        if request.method != "OPTIONS" or not origin or request.header("access-control-request-method") is None:
            return None
        response = Response(status, [], b"")
        self.apply(response, origin)
        if self.allows(origin):
            if self.methods:
                response.headers.append(("access-control-allow-methods", ",".join(self.methods)))
            if self.headers:
                response.headers.append(("access-control-allow-headers", ",".join(self.headers)))
            if self.max_age is not None:
                response.headers.append(("access-control-max-age", str(self.max_age)))
        return response

    def apply(self, response: Response, origin: str | None) -> None:
        """Replace what an integration said about CORS by the configuration."""
        response.headers = [one for one in response.headers if not one[0].lower().startswith(_PREFIX)]
        self.add(response, origin)

    def add(self, response: Response, origin: str | None) -> None:
        """Add what the configuration says about an origin to a response."""
        if not origin or not self.allows(origin):
            return
        everyone = "*" in self.origins and not self.credentials
        response.headers.append(("access-control-allow-origin", "*" if everyone else origin))
        if not everyone:
            response.headers.append(("vary", "Origin"))
        if self.credentials:
            response.headers.append(("access-control-allow-credentials", "true"))
        if self.exposed:
            response.headers.append(("access-control-expose-headers", ",".join(self.exposed)))
