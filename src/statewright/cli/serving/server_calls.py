"""The calls of a deployment, made over HTTP with botocore's clients, one for each service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from statewright.cli.client import ApiProblem, Server
from statewright.projects.deploy.calls import Answer, CallRefused


class ServerCalls:
    """Carries out operations at a server; see `projects.deploy.calls.Call`."""

    def __init__(self, endpoint: str | None, identity: tuple[str, str, str] | None = None) -> None:
        self._endpoint = endpoint
        self._identity = identity
        self._servers: dict[str, Server] = {}

    def __call__(self, service: str, operation: str, request: Mapping[str, Any]) -> Answer:
        """Returns the answer. Raises: CallRefused; Stop if no server answers."""
        from botocore import xform_name

        server = self._servers.get(service)
        if server is None:
            server = self._servers[service] = Server(self._endpoint, identity=self._identity, service=service)
        given = {key: value for key, value in request.items() if value is not None}
        try:
            answer = server.call(xform_name(operation), **given)
        except ApiProblem as refused:
            raise CallRefused(refused.api_code, refused.api_message) from None
        body = answer.get("Body")
        if body is not None and hasattr(body, "read"):
            answer["Body"] = body.read()
        return answer

    def close(self) -> None:
        """Close the connections."""
        for server in self._servers.values():
            server.close()
