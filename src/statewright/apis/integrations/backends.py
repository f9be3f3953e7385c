"""MOCK and HTTP integrations of REST APIs: the gateway's own answer, and another server's, through mapping templates.

Source: API Gateway developer guide, "Mock integrations" and "HTTP integrations"; recorded requests and answers.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlencode

from statewright.apis.calls import CallContext, Integration, IntegrationFailed, Request, Response
from statewright.apis.integrations.http_proxy import HttpProxy, gateway_headers, replaced, url_of
from statewright.apis.integrations.mapping import CONFIGURATION, JSON_TYPE, Mappings
from statewright.integrations.http_requests import Request as Sent

_STATUS: Final = re.compile(r"""["']?statusCode["']?[ \t\r\n]{0,20}:[ \t\r\n]{0,20}["']?([0-9]{3})""")
"""The status in the output of a request template, which need not be strict JSON (recorded)."""


class MockIntegration:
    """Answers requests without a backend."""

    def __init__(self, mappings: Mappings) -> None:
        self._mappings = mappings

    async def call(self, integration: Integration, request: Request, context: CallContext) -> Response:
        """See `CallIntegration`."""
        sent = await self._mappings.outgoing(integration, request, context)
        found = _STATUS.search(sent.body.decode("utf-8", "replace"))
        if found is None:
            raise IntegrationFailed(CONFIGURATION, "the request template gives no statusCode")
        return await self._mappings.response(integration, request, context, Response(200, [], b""), found[1])


class HttpIntegration:
    """Sends requests to other servers: mapped headers, and those that the gateway adds."""

    def __init__(self, mappings: Mappings, http: HttpProxy) -> None:
        self._mappings = mappings
        self._http = http

    async def call(self, integration: Integration, request: Request, context: CallContext) -> Response:
        """See `CallIntegration`. The status of the answer chooses the response."""
        sent = await self._mappings.outgoing(integration, request, context)
        url = url_of(integration.uri, request, context, sent.path, urlencode(sent.query))
        headers = {
            "User-Agent": f"AmazonAPIGateway_{context.api_id}", "Accept": JSON_TYPE,
            "Content-Type": request.header("content-type") or JSON_TYPE, **gateway_headers(request, context),
        }  # fmt: skip
        method = request.method if integration.http_method in ("", "ANY") else integration.http_method
        request_sent = Sent(method, url, replaced(headers, sent.headers), sent.body or None)
        answer = await self._http.send(request_sent, integration.timeout_ms)
        return await self._mappings.response(integration, request, context, answer, str(answer.status))
