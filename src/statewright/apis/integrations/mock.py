"""Mock integrations of REST APIs: the gateway answers by itself.

The request template gives the status that chooses the response: `{"statusCode": 200}`. Only templates without
references are rendered here.

Source: API Gateway developer guide, "Mock integrations"; recorded answers.
"""

from __future__ import annotations

import re
from typing import Final

from statewright.apis.calls import CallContext, Integration, IntegrationFailed, IntegrationResponse, Request, Response
from statewright.apis.gateway_responses import method_request

_STATUS: Final = re.compile(r"""["']?statusCode["']?\s*:\s*["']?([0-9]{3})""")
_JSON: Final = "application/json"


async def call_mock(integration: Integration, request: Request, context: CallContext) -> Response:
    """See `CallIntegration`."""
    kind = (request.header("content-type") or _JSON).partition(";")[0].strip()
    template = integration.templates.get(kind)
    if template is None and integration.passthrough == "NEVER":
        raise IntegrationFailed("UNSUPPORTED_MEDIA_TYPE", f"no template for {kind}")
    template = template or integration.templates.get(_JSON, "")
    found = _STATUS.search(template)
    if found is None:
        raise IntegrationFailed("API_CONFIGURATION_ERROR", "the request template gives no statusCode")
    status = int(found[1])
    chosen = next((one for one in integration.responses if one.pattern and one.pattern.fullmatch(str(status))), None)
    chosen = chosen or next((one for one in integration.responses if one.pattern is None), None)
    if chosen is None:
        raise IntegrationFailed("API_CONFIGURATION_ERROR", f"no integration response for {status}")
    headers = [*response_headers(chosen, request, context)]
    if not any(name.lower() == "content-type" for name, _ in headers):
        headers.append(("Content-Type", _JSON))
    return Response(chosen.status, headers, chosen.templates.get(_JSON, "").encode())


def response_headers(chosen: IntegrationResponse, request: Request, context: CallContext) -> list[tuple[str, str]]:
    """The headers that an integration response maps from literals, the context and the stage's variables."""
    found: list[tuple[str, str]] = []
    for name, source in chosen.parameters.items():
        header = name.removeprefix("method.response.header.")
        if source.startswith("'"):
            value: str | None = source.strip("'")
        elif source.startswith("stageVariables."):
            value = context.stage_variables.get(source.partition(".")[2])
        elif source.startswith("context."):
            given = context.shown().get(source.partition(".")[2])
            value = given if isinstance(given, str) else None
        else:
            value = method_request(source, request, context)
        if value is not None:
            found.append((header, value))
    return found
