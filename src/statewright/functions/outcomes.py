"""Outcomes of invocations, and their answers and log lines.

Owns the error documents of the service. Source: reference of error types in the developer guide; documents observed.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import Final

import orjson

from statewright.instants import iso_ms
from statewright.limits import FUNCTION_RESPONSE_BYTES
from statewright.payload import JsonObject

UNHANDLED: Final = "Unhandled"


@dataclass(slots=True)
class Outcome:
    """The end of an invocation.

    `kind` is `result`, `error` (the handler raised), `too_long` (the result exceeds the service's limit), `failed` (the
    handler cannot be loaded), `exit` (the process ended with `exit_code`, `None` if unknown), `timeout`,
    `unstartable`, or `lost` (with the machine it ran on); the body of these two says why.
    """

    kind: str
    body: bytes = b""
    exit_code: int | None = None
    peak_kib: int = 0
    duration_ns: int = 0
    killed_for_memory: bool = False


@dataclass(frozen=True, slots=True)
class Invoked:
    """Answer to the caller. `status` is 200, 202 (Event) or 204 (DryRun); a function's error still has 200."""

    status: int
    payload: bytes
    function_error: str | None
    log_tail: bytes | None
    executed_version: str
    request_id: str


def answer_of(outcome: Outcome, request_id: str, timeout_seconds: int) -> tuple[bytes, str | None]:
    """Payload and `FunctionError` of an outcome."""
    kind = outcome.kind
    if kind == "too_long" or (kind in ("result", "error") and len(outcome.body) > FUNCTION_RESPONSE_BYTES):
        return _too_long(), UNHANDLED
    if kind == "result":
        return outcome.body, None
    if kind == "error":
        return outcome.body, UNHANDLED
    if kind == "failed":
        return orjson.dumps({**_document(outcome.body), "requestId": request_id}), UNHANDLED
    if kind == "timeout":
        reason = f"Task timed out after {timeout_seconds:.2f} seconds"
        return _sandbox("Sandbox.Timedout", request_id, reason), UNHANDLED
    return _sandbox("Runtime.ExitError", request_id, exit_words(outcome)), UNHANDLED


def _too_long() -> bytes:
    return orjson.dumps(
        {
            "errorMessage": "Response payload size exceeded maximum allowed payload size "
            f"({FUNCTION_RESPONSE_BYTES} bytes).",
            "errorType": "Function.ResponseSizeTooLarge",
        }
    )


def _document(body: bytes) -> JsonObject:
    """The error document of a module that does not load, which the module itself may have written."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        found = None
    return found if isinstance(found, dict) else {"errorType": "Runtime.Unknown", "errorMessage": ""}


def exit_words(outcome: Outcome) -> str:
    """The service's words for the end of a process."""
    code = outcome.exit_code
    if outcome.killed_for_memory:
        return "Runtime exited with error: signal: killed"
    if code is None or code == 0:
        return "Runtime exited without providing a reason"
    if code < 0:
        try:
            name = signal.strsignal(-code) or str(-code)
        except ValueError:
            name = str(-code)
        return f"Runtime exited with error: signal: {name.lower()}"
    return f"Runtime exited with error: exit status {code}"


def _sandbox(kind: str, request_id: str, reason: str) -> bytes:
    return orjson.dumps({"errorType": kind, "errorMessage": f"RequestId: {request_id} Error: {reason}"})


def last_lines(
    outcome: Outcome, request_id: str, *, timeout_seconds: int, memory: int, init_ms: float | None, now_ms: int
) -> bytes:
    """Last log lines of an invocation: the reason if the runtime ended, END, REPORT."""
    said = ""
    if outcome.kind == "timeout":
        said = f"{iso_ms(now_ms)} {request_id} Task timed out after {timeout_seconds:.2f} seconds\n\n"
    elif outcome.kind == "exit":
        said = f"RequestId: {request_id} Error: {exit_words(outcome)}\nRuntime.ExitError\n"
    elif outcome.kind == "lost":
        said = f"RequestId: {request_id} Error: {outcome.body.decode()}\n"
    duration_ms = outcome.duration_ns / 1e6
    init = f"Init Duration: {init_ms:.2f} ms\t" if init_ms is not None else ""
    used = memory if outcome.killed_for_memory else min(outcome.peak_kib // 1024, memory)
    return (
        f"{said}END RequestId: {request_id}\nREPORT RequestId: {request_id}\tDuration: {duration_ms:.2f} ms\t"
        f"Billed Duration: {int(duration_ms) + 1} ms\tMemory Size: {memory} MB\tMax Memory Used: {used} MB\t{init}\n"
    ).encode()
