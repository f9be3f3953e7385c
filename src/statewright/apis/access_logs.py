"""Access logs: one line for each request to a stage that names a log group, in the stage's own format.

Owns formats and their variables, the trace of a request, and the lines that wait to be written. They are
written in groups, in order, to the stream `API-STAGE` of the log group; a log group that is too slow loses lines, and a
warning says so. Log groups are left to `write`.

Source: API Gateway developer guide, "Variables for access logging" and "Customize HTTP API access logs".
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from statewright.apis.calls import (
    LAMBDA_PROXY,
    CallContext,
    CallIntegration,
    Integration,
    IntegrationFailed,
    Request,
    Response,
)
from statewright.apis.errors import bad_request
from statewright.background import Background
from statewright.clock import Clock, Timer
from statewright.errors import ApiError, StoreError
from statewright.payload import Json, JsonMapping, JsonObject

FORMAT_CHARACTERS: Final = 3_072
"""Longest format. Source: quotas, "access log template length"."""
LINE_BYTES: Final = 256 * 1024 - 26
"""Longest line; the rest is cut. Source: CloudWatch Logs, the largest event."""
BATCH_BYTES: Final = 512 * 1024
MOST_WAITING_BYTES: Final = 8 * 1024 * 1024
WRITE_AFTER_MS: Final = 500
ABSENT: Final = "-"
REQUIRED: Final = ("$context.requestId", "$context.extendedRequestId")
_VARIABLE: Final = re.compile(r"\$context\.([A-Za-z0-9_]+(?:\.[A-Za-z0-9_-]+)*)")
_GROUP: Final = re.compile(r"arn:[a-z-]+:logs:[^:]*:[^:]*:log-group:(?P<name>[\w./#-]{1,512})(?::\*)?")
_ERROR_TEXT: Final = ["error", "messageString"]
"""The variable whose value is in quotes, and escaped, already."""
_CONTROLS: Final = dict.fromkeys((*range(32), 127), " ")

log = logging.getLogger("statewright.apis")

Write = Callable[[str, str, Sequence[tuple[int, str]]], Awaitable[None]]
"""Writes lines with their instants to a log group and a stream. Raises: ApiError, StoreError, OSError."""


def group_of(arn: str) -> str | None:
    """The name of the log group that an ARN names; `None` for anything else."""
    found = _GROUP.fullmatch(arn)
    return found["name"] if found is not None else None


def check_settings(arn: str | None, text: str | None, *, needs_id: bool) -> None:
    """Check the log group and the format of a stage. Raises: ApiError (`BadRequestException`)."""
    if arn and group_of(arn) is None:
        raise bad_request(
            f"Invalid destination ARN of access logs: {arn[:200]}. It must be the ARN of a log group; delivery streams "
            "are not supported."
        )
    if not text:
        return
    if len(text) > FORMAT_CHARACTERS:
        raise bad_request(f"Invalid access log format: it may have {FORMAT_CHARACTERS} characters, not {len(text)}")
    if needs_id and not any(one in text for one in REQUIRED):
        raise bad_request(f"Invalid access log format: it must contain {' or '.join(REQUIRED)}")


@dataclass(slots=True)
class Trace:
    """The course of a request: the integration's answer, and the gateway's own refusal."""

    clock: Clock
    integration: JsonObject = field(default_factory=dict)
    error: JsonObject = field(default_factory=dict)

    async def call(
        self, call: CallIntegration, integration: Integration, request: Request, context: CallContext
    ) -> Response:
        """Call an integration and note its answer. Raises: IntegrationFailed."""
        began_ms = self.clock.now_ms()
        try:
            response = await call(integration, request, context)
        except IntegrationFailed as problem:
            self.integration = {"error": problem.why, "latency": self.clock.now_ms() - began_ms}
            raise
        known = {name.lower(): value for name, value in response.headers}
        request_id = known.get("x-amzn-requestid") or known.get("x-amz-request-id")
        of_function = integration.type == LAMBDA_PROXY and not integration.subtype
        self.integration = {
            "status": response.status, "integrationStatus": 200 if of_function else response.status,
            "latency": self.clock.now_ms() - began_ms, "requestId": request_id,
        }  # fmt: skip
        return response

    def refused(self, kind: str, message: str) -> None:
        """Note an answer of the gateway itself."""
        self.error = {"message": message, "messageString": json.dumps(message), "responseType": kind}


class LogFormat:
    """A format, compiled."""

    def __init__(self, text: str) -> None:
        # A variable in JSON stands in quotes: a value cannot end them.
        self._is_json = text.lstrip().startswith("{")
        parts = _VARIABLE.split(text.replace("\n", " ").strip())
        self._literals, self._paths = parts[::2], [part.split(".") for part in parts[1::2]]

    def line(self, values: JsonMapping) -> str:
        """The line of a request with these values of `$context`."""
        found = [self._literals[0]]
        for path, literal in zip(self._paths, self._literals[1:], strict=True):
            found += (self._shown(values, path), literal)
        line = "".join(found)
        if len(line) * 4 > LINE_BYTES:
            line = line.encode()[:LINE_BYTES].decode("utf-8", "ignore")
        return line

    def _shown(self, values: JsonMapping, path: list[str]) -> str:
        value: Json = values
        for name in path:
            value = value.get(name) if isinstance(value, Mapping) else None
        if value is None or value == "" or isinstance(value, (Mapping, list)):
            return ABSENT
        if isinstance(value, bool):
            return "true" if value else "false"
        text = str(value)
        if path == _ERROR_TEXT:
            return text
        return json.dumps(text, ensure_ascii=False)[1:-1] if self._is_json else text.translate(_CONTROLS)


def values_of(context: CallContext, trace: Trace, response: Response, now_ms: int) -> JsonObject:
    """The values of `$context` for the line of a request."""
    made, error = trace.integration, trace.error
    latency = now_ms - context.time_ms
    if not error and response.status >= 400 and not made.get("status"):
        error = _said(response)
    return {
        **context.shown(), "routeKey": context.resource_path or None, "status": response.status,
        "responseLength": len(response.body), "dataProcessed": len(response.body), "responseLatency": latency,
        "integration": made, "integrationLatency": made.get("latency"),
        "integrationStatus": made.get("integrationStatus"), "integrationErrorMessage": made.get("error"),
        "awsEndpointRequestId": made.get("requestId"), "error": error,
    }  # fmt: skip


def _said(response: Response) -> JsonObject:
    """The refusal of an HTTP API, which has no types of responses."""
    try:
        message = json.loads(response.body).get("message")
    except (ValueError, AttributeError):
        return {}
    return {"message": message, "messageString": json.dumps(message)}


@dataclass(frozen=True, slots=True)
class AccessLog:
    """The access log of a stage."""

    group: str
    stream: str
    format: LogFormat

    @staticmethod
    def of(api_id: str, stage: str, settings: JsonMapping) -> AccessLog | None:
        """The log of a stage's settings, of either kind of API; `None` without a log group and a format."""
        given = settings.get("AccessLogSettings") or settings.get("accessLogSettings") or {}
        text = given.get("Format") or given.get("format")
        group = group_of(given.get("DestinationArn") or given.get("destinationArn") or "")
        return AccessLog(group, f"{api_id}-{stage}", LogFormat(text)) if group and text else None


class AccessLogs:
    """The lines of one region that wait to be written."""

    def __init__(self, write: Write, clock: Clock) -> None:
        self._write = write
        self._clock = clock
        self._waiting: dict[tuple[str, str], list[tuple[int, str]]] = {}
        self._bytes = 0
        self._lost = 0
        self._timer: Timer | None = None
        self._background = Background("access logs of APIs")
        self._flushing = asyncio.Lock()

    async def stop(self) -> None:
        """Write the lines that wait."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        await self._flush()
        await self._background.stop()

    def add(self, where: AccessLog, context: CallContext, trace: Trace, response: Response) -> None:
        """Add the line of a request. It never waits."""
        now_ms = self._clock.now_ms()
        line = where.format.line(values_of(context, trace, response, now_ms))
        if self._bytes + len(line) > MOST_WAITING_BYTES:
            self._lost += 1
            return
        self._bytes += len(line)
        self._waiting.setdefault((where.group, where.stream), []).append((now_ms, line))
        if self._timer is None:
            self._arm()

    async def _flush(self) -> None:
        async with self._flushing:
            await self._write_all()

    async def _write_all(self) -> None:
        waiting, self._waiting = self._waiting, {}
        try:
            for (group, stream), lines in waiting.items():
                try:
                    for batch in _batches(lines):
                        await self._write(group, stream, batch)
                except (ApiError, StoreError, OSError) as problem:
                    log.warning("access logs of the log group %s were lost: %s", group, problem)
        finally:
            self._bytes -= sum(len(line) for lines in waiting.values() for _, line in lines)
            self._timer = None
        if self._lost:
            log.warning("%d lines of access logs came faster than they could be written, and were lost", self._lost)
            self._lost = 0
        if self._waiting:
            self._arm()

    def _arm(self) -> None:
        due_ms = self._clock.now_ms() + WRITE_AFTER_MS
        self._timer = self._clock.call_at(due_ms, lambda: self._background.spawn(self._flush()))


def _batches(lines: Sequence[tuple[int, str]]) -> list[list[tuple[int, str]]]:
    found: list[list[tuple[int, str]]] = [[]]
    size = 0
    for at_ms, line in lines:
        length = len(line.encode()) + 26
        if found[-1] and size + length > BATCH_BYTES:
            found.append([])
            size = 0
        found[-1].append((at_ms, line))
        size += length
    return found
