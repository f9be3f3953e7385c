"""The data plane: which API and stage a request is for, and the answer of its compiled stage.

Owns addresses behind the host or the path, stages compiled when they are first called after a change, and the context
of a request. HTTP itself is left to the port.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol
from urllib.parse import unquote

from statewright import chance
from statewright.apis.access_logs import AccessLog, AccessLogs, Trace
from statewright.apis.apis import Apis, Held
from statewright.apis.authorizers.guards import Guards
from statewright.apis.calls import (
    AWS,
    HTTP,
    HTTP_PROXY,
    LAMBDA_PROXY,
    MOCK,
    CallContext,
    CallIntegration,
    Request,
    Response,
)
from statewright.apis.cors import Shared
from statewright.apis.http_apis import DEFAULT_STAGE, NOT_FOUND, SERVICE, HttpStage, refusal
from statewright.apis.integrations.aws import AwsIntegration, CallWire
from statewright.apis.integrations.backends import HttpIntegration, MockIntegration
from statewright.apis.integrations.first_class import FirstClass
from statewright.apis.integrations.http_proxy import HttpProxy
from statewright.apis.integrations.lambda_proxy import LambdaProxy
from statewright.apis.integrations.mapping import Mappings
from statewright.apis.records import HTTP_API, STAGE, Member
from statewright.apis.rest_apis import RestStage
from statewright.apis.throttling import Buckets, throttles_of_methods, throttles_of_routes
from statewright.apis.usage_plans import UsagePlans
from statewright.clock import Clock
from statewright.payload import JsonMapping, JsonObject

BODY_BYTES: Final = 10 * 1024 * 1024
"""Longest body of a request. Source: quotas of HTTP and REST APIs, payload size."""


class CompiledStage(Protocol):
    """A stage that answers requests."""

    def shares_with(self, path: str, origin: str) -> Shared:
        """How far pages of an origin may call a path."""

    async def answer(self, request: Request, context: CallContext) -> Response:
        """Answer a request."""


@dataclass(slots=True)
class _Ready:
    stage: CompiledStage
    member: Member
    deployment: str
    variables: Mapping[str, str]
    version: int
    buckets: Buckets
    log: AccessLog | None
    has_no_host: bool
    """True if `DisableExecuteApiEndpoint` is set: only the path at this server's own address leads to the API."""


class DataPlane:
    """Answers requests to the APIs of one region."""

    def __init__(
        self, apis: Apis, clock: Clock, functions: LambdaProxy, first_class: FirstClass, http: HttpProxy,
        wire: CallWire, mappings: Mappings, guards: Guards, logs: AccessLogs,
    ) -> None:  # fmt: skip
        self.apis: Final = apis
        self.clock: Final = clock
        self.guards: Final = guards
        self._logs = logs
        self._functions = functions
        self._first_class = first_class
        self._wire = wire
        self._http = http
        self._http_calls: Mapping[str, CallIntegration] = {
            LAMBDA_PROXY: functions.call_http, HTTP_PROXY: http.call_http, SERVICE: first_class.call,
        }  # fmt: skip
        self._rest_calls: Mapping[str, CallIntegration] = {
            LAMBDA_PROXY: functions.call_rest, HTTP_PROXY: http.call_rest,
            AWS: AwsIntegration(mappings, wire, functions).call, HTTP: HttpIntegration(mappings, http).call,
            MOCK: MockIntegration(mappings).call,
        }  # fmt: skip
        self.plans: Final = UsagePlans(apis, clock)
        self._ready: dict[tuple[str, str], _Ready] = {}

    async def start(self) -> None:
        """Stages are compiled when they are first called."""

    async def stop(self) -> None:
        """End invocations that no client waits for, and write what is counted."""
        await self.plans.stop()
        await self._logs.stop()
        await self._functions.stop()
        await self._first_class.stop()
        await self._wire.stop()
        await self._http.stop()

    def knows(self, api_id: str) -> bool:
        """True if there is an API of that id."""
        return self.apis.found(api_id) is not None

    def shares_with(self, api_id: str, request: Request, origin: str) -> Shared:
        """How far the API of a request lets pages of an origin call it."""
        held = self.apis.found(api_id)
        if held is None:
            return "no"
        stage, path = self._stage_of(held, request.path)
        return self._stage(held, stage).stage.shares_with(path, origin) if stage is not None else "no"

    async def answer(self, api_id: str, request: Request, request_id: str) -> Response:
        """Answer a request, whose path begins with the stage."""
        held = self.apis.found(api_id)
        if held is None:
            return refusal(*NOT_FOUND)
        stage, path = self._stage_of(held, request.path)
        if stage is None:
            return refusal(*NOT_FOUND) if held.api.protocol == HTTP_API else refusal(403, "Forbidden")
        ready = self._stage(held, stage)
        if ready.has_no_host and ".execute-api." in request.host.lower():
            return refusal(*NOT_FOUND) if held.api.protocol == HTTP_API else refusal(403, "Forbidden")
        config = self.apis.config
        context = CallContext(
            config.account, config.region, api_id, stage, ready.deployment, request_id, self.clock.now_ms(),
            request.host.partition(":")[0], request.path, request.protocol,
            extended_request_id=_extended_id(), stage_variables=ready.variables, identity=_identity(request),
        )  # fmt: skip
        request.path = path
        if ready.log is None:
            return await ready.stage.answer(request, context)
        trace = context.trace = Trace(self.clock)
        response = await ready.stage.answer(request, context)
        self._logs.add(ready.log, context, trace, response)
        return response

    def _stage_of(self, held: Held, path: str) -> tuple[str | None, str]:
        """The stage that a path names, and the path after it; the default stage needs no name."""
        stages = held.of(STAGE)
        first, slash, rest = path[1:].partition("/")
        name = unquote(first) if "%" in first else first
        if name in stages:
            return name, slash + rest or "/"
        return (DEFAULT_STAGE, path) if DEFAULT_STAGE in stages else (None, path)

    def _stage(self, held: Held, name: str) -> _Ready:
        api_id = held.api.id
        version = self.apis.versions.get(api_id, 0)
        ready = self._ready.get((api_id, name))
        if ready is None or ready.version != version:
            member = held.of(STAGE)[name]
            settings = member.settings
            snapshot = self.apis.deployed(held, member)
            for key in [key for key in self._ready if not self._has_stage(*key)]:
                del self._ready[key]
            is_http = held.api.protocol == HTTP_API
            throttle_of = (throttles_of_routes if is_http else throttles_of_methods)(settings)
            buckets = Buckets(self.clock, throttle_of, ready.buckets if ready is not None else None)
            stage: CompiledStage
            if is_http:
                stage = HttpStage(held.api.settings, snapshot, self._http_calls, buckets.bucket, self.guards)
            else:
                stage = RestStage(
                    held.api.settings, snapshot, self._rest_calls, self.plans.admit, buckets.bucket, self.guards
                )
            ready = self._ready[api_id, name] = _Ready(
                stage,
                member,
                settings.get("deployment") or "",
                settings.get("variables") or {},
                version,
                buckets.compiled(),
                AccessLog.of(api_id, name, settings),
                _has_no_host(held.api.settings),
            )
        return ready

    def _has_stage(self, api_id: str, name: str) -> bool:
        held = self.apis.found(api_id)
        return held is not None and name in held.of(STAGE)


def _has_no_host(settings: JsonMapping) -> bool:
    """True if an API's own host is disabled; the two kinds of APIs name the setting alike but for its first letter."""
    return bool(settings.get("DisableExecuteApiEndpoint") or settings.get("disableExecuteApiEndpoint"))


def _identity(request: Request) -> JsonObject:
    return {"sourceIp": request.source_ip, "userAgent": request.header("user-agent")}


def _extended_id() -> str:
    return chance.random_bytes(8).hex() + "="
