"""Lambda proxy integrations: the request as an event, the function's answer as the response.

Owns which function an integration's URI names, and the time limit of the call.
"""

from __future__ import annotations

import re
from typing import Final

from statewright.apis.calls import CallContext, Integration, IntegrationFailed, Request, Response
from statewright.apis.integrations.in_time import in_time
from statewright.apis.integrations.lambda_answers import answer_of_http, answer_of_rest, malformed
from statewright.apis.integrations.lambda_events import add_headers, event_1, event_2
from statewright.apis.integrations.mapping import FORBIDDEN, mapped_parameters
from statewright.background import Background
from statewright.clock import Clock
from statewright.errors import ApiError
from statewright.functions.functions import Functions
from statewright.functions.outcomes import Invoked
from statewright.limits import FUNCTION_REQUEST_BYTES
from statewright.payload import JsonMapping, dump_json

_PATH: Final = re.compile(r"arn:[^:]*:apigateway:[^:]*:lambda:path/[^/]+/functions/(?P<function>.+)/invocations")
_VARIABLE: Final = re.compile(r"\$\{stageVariables\.([A-Za-z0-9_]+)\}")


def function_in(uri: str) -> str:
    """The name or ARN of the function that a URI names: that of `lambda:path/…/invocations`, or the URI itself."""
    found = _PATH.fullmatch(uri)
    return found["function"] if found else uri


def with_variables(text: str, context: CallContext) -> str:
    """A text with the stage's variables in place of `${stageVariables.X}`. Raises: IntegrationFailed."""
    if "${" not in text:
        return text

    def value(found: re.Match[str]) -> str:
        known = context.stage_variables.get(found[1])
        if known is None:
            raise IntegrationFailed("API_CONFIGURATION_ERROR", f"the stage has no variable {found[1]}")
        return known

    return _VARIABLE.sub(value, text)


class LambdaProxy:
    """Calls functions for requests."""

    def __init__(self, functions: Functions, clock: Clock) -> None:
        self._functions = functions
        self._clock = clock
        self._late = Background("an invocation by an API whose client was answered")

    async def stop(self) -> None:
        """End invocations that no client waits for."""
        await self._late.stop()

    async def call_rest(self, integration: Integration, request: Request, context: CallContext) -> Response:
        """See `CallIntegration`: the proxy integration of REST APIs."""
        if integration.http_method != "POST":
            raise IntegrationFailed("API_CONFIGURATION_ERROR", "integrationHttpMethod of a function must be POST")
        event = event_1(request, context)
        if integration.parameters:
            # Parameters of the query and the path have no effect on the event (recorded).
            add_headers(event, mapped_parameters(integration, request, context, FORBIDDEN)["header"])
        done = await self._invoke(integration, event, context)
        return answer_of_rest(done.payload, request, context)

    async def call_http(self, integration: Integration, request: Request, context: CallContext) -> Response:
        """See `CallIntegration`: the proxy integration of HTTP APIs."""
        is_2 = integration.payload_version == "2.0"
        event = event_2(request, context) if is_2 else event_1(request, context, version=True)
        done = await self._invoke(integration, event, context)
        return answer_of_http(done.payload, integration.payload_version)

    async def _invoke(self, integration: Integration, event: JsonMapping, context: CallContext) -> Invoked:
        name = with_variables(function_in(integration.uri), context)
        done = await self.invoke(name, dump_json(event).encode(), integration.timeout_ms)
        if done.function_error is not None:
            raise malformed(f"the function failed: {done.function_error}")
        return done

    async def invoke(self, name: str, payload: bytes, timeout_ms: int) -> Invoked:
        """Invoke a function within a time. Raises: IntegrationFailed."""
        if len(payload) > FUNCTION_REQUEST_BYTES:
            raise IntegrationFailed("REQUEST_TOO_LARGE", f"the event is longer than {FUNCTION_REQUEST_BYTES} bytes")
        try:
            target = await self._functions.invoker.resolve(name, None)
            if target.timeout_ms <= timeout_ms:
                # Its own time limit ends it: no task and no timer are needed.
                return await self._functions.invoke(name, payload)
            running = self._functions.invoke(name, payload)
            return await in_time(self._late, self._clock, running, timeout_ms, "the function")
        except ApiError as error:
            raise IntegrationFailed("INTEGRATION_FAILURE_500", f"{error.code}: {error.message}") from None
