"""Invocations of Statewright's own functions by tasks, without the conversions that calls of other services need.

Owns the fast path of the usual call: a function by its ARN, or `lambda:invoke` with a name and a payload. Its results
are those of the general path in `own_services.py`, byte for byte. The general path takes all other calls, and the
first call of a name, which it validates.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from statewright.clock import Clock
from statewright.engine.dispatch import ScheduledCall, Succeeded, TaskResult
from statewright.instants import http_date
from statewright.integrations.patterns import answered
from statewright.limits import FUNCTION_REQUEST_BYTES
from statewright.payload import Json, JsonTextError, dump_json, parse_json

if TYPE_CHECKING:
    from statewright.functions.outcomes import Invoked

_KNOWN: Final = 10_000
"""Names held in memory."""
_PLAIN: Final = frozenset({"FunctionName", "Payload"})
_NOTHING: Final = b"{}"
"""The payload of a function when the task gives none (observed)."""


class InvokeFunction(Protocol):
    """Runs a function and waits for it; the payload is JSON text."""

    def __call__(self, name: str, payload: bytes, *, request_id: str) -> Awaitable[Invoked]:
        """The outcome. Raises: ApiError, with the HTTP status that a caller outside would see; StoreError."""


class Invocation(NamedTuple):
    """A task's invocation of a function. `is_bare`: the function's payload is the task's result."""

    name: str
    payload: bytes
    is_bare: bool


class FunctionCalls:
    """The fast path. `invoke` runs the function; without it no call takes the fast path."""

    def __init__(self, clock: Clock, invoke: InvokeFunction | None) -> None:
        self.invoke = invoke
        self._clock = clock
        self._passed: set[str] = set()
        self._date = (-1, "")

    def passed(self, task: ScheduledCall) -> None:
        """Note that the general path has validated this task's call."""
        name = _name(task) if self.invoke is not None else None
        if name is not None:
            if len(self._passed) >= _KNOWN:
                self._passed.clear()
            self._passed.add(name)

    def invocation(self, task: ScheduledCall) -> Invocation | None:
        """The invocation, `None` for the general path. Raises: ExecutionFailure for a payload that is not JSON."""
        name = _name(task)
        if name is None or name not in self._passed:
            return None
        is_bare = task.resource.kind == "lambda"
        value = task.parameters if is_bare else task.parameters.get("Payload")
        if not is_bare and value is None:
            return Invocation(name, _NOTHING, False)
        if not is_bare and isinstance(value, str):
            # It may be JSON itself.
            return None
        payload = dump_json(value).encode()
        return Invocation(name, payload, is_bare) if len(payload) <= FUNCTION_REQUEST_BYTES else None

    def finished(self, task: ScheduledCall, is_bare: bool, done: Invoked, request_id: str) -> TaskResult:
        """The task's result from the function's outcome."""
        from statewright.integrations.service_calls import function_failed

        payload = done.payload
        if done.function_error is not None:
            return function_failed(payload.decode("utf-8", "replace"))
        if is_bare:
            return Succeeded(_value(payload) if payload else None)
        headers = invocation_headers(self.date(), request_id, len(payload))
        headers["X-Amz-Executed-Version"] = done.executed_version
        return answered(
            task,
            {
                "ExecutedVersion": done.executed_version,
                "Payload": _value(payload),
                "SdkHttpMetadata": {
                    "AllHttpHeaders": {name: [value] for name, value in headers.items()},
                    "HttpHeaders": headers,
                    "HttpStatusCode": done.status,
                },
                "SdkResponseMetadata": {"RequestId": request_id},
                "StatusCode": done.status,
            },
        )

    def date(self) -> str:
        """The present second, as HTTP writes it."""
        now_ms = self._clock.now_ms()
        if self._date[0] != now_ms // 1000:
            self._date = (now_ms // 1000, http_date(now_ms))
        return self._date[1]


def invocation_headers(date: str, request_id: str, size_bytes: int) -> dict[str, str]:
    """The headers of every answer to an invocation. Source: observed."""
    return {
        "Connection": "keep-alive",
        "Content-Length": str(size_bytes),
        "Content-Type": "application/json",
        "Date": date,
        "x-amzn-Remapped-Content-Length": "0",
        "x-amzn-RequestId": request_id,
        "X-Amzn-Trace-Id": f"root=1-{request_id[:8]}-{request_id.replace('-', '')[8:]};parent=0;sampled=0",
    }


def _name(task: ScheduledCall) -> str | None:
    """The function that a plain call names; `None` for a call with other parameters."""
    resource, parameters = task.resource, task.parameters
    if resource.kind == "lambda":
        return resource.arn
    if resource.resource_type != "lambda" or resource.action.partition(".")[0] != "invoke":
        return None
    if not isinstance(parameters, dict) or not parameters.keys() <= _PLAIN:
        return None
    name = parameters.get("FunctionName")
    return name if isinstance(name, str) else None


def _value(payload: bytes) -> Json:
    try:
        return parse_json(payload)
    except JsonTextError:
        return payload.decode("utf-8", "replace")
