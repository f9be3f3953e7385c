"""`states:startExecution` in every pattern, and `aws-sdk:sfn:*`: Step Functions called by Step Functions, in process.

Calls run the same operations as those of the API, so their refusals are the same. Owns the casing of parameters and
results, the members that the optimised integration adds, and error names in both dialects.

Source: observed for results, causes and error names of StartExecution and SendTask*; the rest follows from them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Protocol

from statewright.asl.timestamps import format_timestamp
from statewright.clock import Clock
from statewright.engine.dispatch import Failed, ScheduledCall, Submitted, Succeeded, TaskResult, encode_answer
from statewright.engine.executions.views import ExecutionView
from statewright.errors import ApiError, OwnershipLost, StoreError, Unavailable
from statewright.instants import http_date
from statewright.integrations.patterns import (
    Answers,
    Follower,
    answered,
    bad_parameters,
    job_failed,
    named_uuid,
    refused_how,
)
from statewright.payload import Json, JsonMapping, JsonObject, JsonTextError, dump_json, parse_json
from statewright.stores.completion import Completion


class Invoke(Protocol):
    """Runs an operation of the API: name and request in, answer out, instants in epoch milliseconds."""

    def __call__(
        self, name: str, request: JsonObject, sent_by: str | None = None, completion: Completion[Json] | None = None
    ) -> Awaitable[Json]:
        """The answer; `sent_by` is the same in every repeat of one task's call, `completion` completes its outbox row.

        Raises: ApiError.
        """


class EngineOfStates(Answers, Protocol):
    """The engine, as calls to Step Functions need it."""

    async def describe_express(self, execution_arn: str) -> ExecutionView:
        """Show an asynchronous EXPRESS execution. Raises: ApiError; StoreError."""


_PARAMETERS: Final = {
    "StateMachineArn": "stateMachineArn",
    "Input": "input",
    "Name": "name",
    "TraceHeader": "traceHeader",
}
_TEXTS: Final = frozenset({"input", "output", "definition", "context", "variables", "cause", "error", "name"})
"""Members that are texts; any other JSON value given for one is written as JSON (observed for `Input`)."""
_UNMODELLED: Final = frozenset(
    {"SerializationException", "InternalServerError", "ServiceUnavailable", "AccessDeniedException"}
)
"""Error codes that the service model does not have, which SDKs report as their general exception."""
LONGEST_PAUSE_MS: Final = 3_600_000
"""The ends of children in this process are announced; polling only finds ends whose announcement was missed."""

_LONGEST_EXPRESS_PAUSE_MS: Final = 30_000


class StatesExecution:
    """Executes calls to Step Functions itself."""

    def __init__(
        self,
        clock: Clock,
        invoke: Invoke,
        engine: Callable[[], EngineOfStates],
        longest_pause_ms: int = LONGEST_PAUSE_MS,
    ) -> None:
        """`longest_pause_ms`: between two looks at a child that may end in another process, unannounced."""
        self._longest_pause_ms = longest_pause_ms
        self._clock = clock
        self._invoke = invoke
        self._engine = engine
        self._follower = Follower(clock, engine)
        self._starting: dict[str, asyncio.Future[JsonMapping]] = {}
        """Children of `.sync` tasks that are being started, by idempotency key."""

    async def call(self, task: ScheduledCall) -> TaskResult:
        """Make a call of `states` or `aws-sdk:sfn`. Raises: Unavailable, OwnershipLost."""
        dialect = sdk_failure if task.resource.resource_type.startswith("aws-sdk:") else optimised_failure
        request_id = named_uuid(task.execution_arn, task.idempotency_key, "request")
        try:
            if dialect is sdk_failure:
                return await self._call_sdk(task)
            return await self._start(task, request_id)
        except ApiError as error:
            if error.code == "UnknownOperationException":
                return bad_parameters(task, error.message)
            name, cause = dialect(error.code, error.message, request_id)
            return Failed(name, cause, refused_how(task))
        except (Unavailable, OwnershipLost):
            raise
        except StoreError as problem:
            name, cause = dialect("ServiceUnavailable", f"The store refused the call: {problem}", request_id)
            return Failed(name, cause, refused_how(task))

    async def cancel(self, task: ScheduledCall) -> None:
        """Stop a child execution that a `.sync` task waits for."""
        starting = self._starting.pop(task.idempotency_key, None)
        if starting is None:
            await self._follower.cancel(task)
            return
        # Its start is on the way to the store and cannot be called back.
        await asyncio.wait([starting])
        if not starting.cancelled() and starting.exception() is None:
            await self._stop(starting.result()["executionArn"])

    def execution_ended(self, arn: str) -> None:
        """Look at an execution that has ended, for the task that waits for it."""
        self._follower.hint(arn)

    async def close(self) -> None:
        """Stop waiting for children; the engine asks again after the next start."""
        await self._follower.close()

    # -------------------------------------------------------------- aws-sdk:sfn

    async def _call_sdk(self, task: ScheduledCall) -> TaskResult:
        action = task.resource.action.partition(".")[0]
        request = _lowered(task.parameters)
        if not isinstance(request, dict):
            return bad_parameters(task, "the parameters must be an object")
        name = action[:1].upper() + action[1:]
        return await self._once(
            task, name, _with_texts(request), lambda answer: answered(task, _raised(answer, format_timestamp))
        )

    async def _once(
        self, task: ScheduledCall, name: str, request: JsonObject, result_of: Callable[[Json], TaskResult]
    ) -> TaskResult:
        return result_of(await self._completing(task, name, request, result_of))

    async def _completing(
        self, task: ScheduledCall, name: str, request: JsonObject, result_of: Callable[[Json], TaskResult]
    ) -> Json:
        """Make a call, and have it complete the task's outbox row with the result that its answer gives."""

        def body_of(answer: Json) -> bytes:
            return encode_answer(task, result_of(answer))

        completion = Completion(task.outbox, body_of) if task.outbox else None
        return await self._invoke(name, request, _sender(task), completion)

    # -------------------------------------------------------------- states:startExecution

    async def _start(self, task: ScheduledCall, request_id: str) -> TaskResult:
        if task.submitted is not None:
            self._follow(task, task.submitted.value["ExecutionArn"])
            return Submitted(task.submitted)
        parameters = task.parameters
        if not isinstance(parameters, dict) or "StateMachineArn" not in parameters:
            return bad_parameters(task, 'The field "StateMachineArn" is required but was missing')
        foreign = [name for name in parameters if name not in _PARAMETERS]
        if foreign:
            reasons = [f'The field "{name}" is not supported by Step Functions' for name in foreign]
            return bad_parameters(task, *reasons)
        request = {_PARAMETERS[name]: value for name, value in parameters.items() if value is not None}
        # A repeat of the call must find the execution that the first one started, even if that has ended.
        if "name" not in request:
            request["name"] = named_uuid(task.execution_arn, task.idempotency_key)

        def result_of(answer: Json) -> TaskResult:
            started = {"ExecutionArn": answer["executionArn"], "StartDate": answer["startDate"]}
            return answered(task, with_sdk_members(started, request_id, self._clock.now_ms()))

        if task.resource.pattern != "sync":
            return await self._once(task, "StartExecution", _with_texts(request), result_of)
        answer = await self._started_shielded(task, _with_texts(request), result_of)
        self._follow(task, answer["executionArn"])
        return result_of(answer)

    async def _started_shielded(
        self, task: ScheduledCall, request: JsonObject, result_of: Callable[[Json], TaskResult]
    ) -> JsonMapping:
        """Start a child even if the task is cancelled meanwhile, so that `cancel` knows what to stop."""
        key = task.idempotency_key
        starting = self._starting[key] = asyncio.ensure_future(self._started(task, request, result_of))
        # Retrieves the exception of the start, which is never awaited if the task was cancelled.
        starting.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            answer = await asyncio.shield(starting)
        except asyncio.CancelledError:
            # The entry stays for `cancel`, which comes next.
            raise
        except BaseException:
            del self._starting[key]
            raise
        del self._starting[key]
        return answer

    async def _started(
        self, task: ScheduledCall, request: JsonObject, result_of: Callable[[Json], TaskResult]
    ) -> JsonMapping:
        answer: JsonMapping = await self._completing(task, "StartExecution", request, result_of)
        return answer

    def _follow(self, task: ScheduledCall, arn: str) -> None:
        parsed = task.resource.arn.endswith(":2")
        is_express = ":express:" in arn

        async def describe() -> JsonMapping:
            if is_express:
                return _shown_express(await self._engine().describe_express(arn))
            answer: JsonMapping = await self._invoke("DescribeExecution", {"executionArn": arn})
            return answer

        async def poll() -> Succeeded | Failed | None:
            try:
                answer = await describe()
            except ApiError as error:
                name, cause = optimised_failure(error.code, error.message, named_uuid(arn, "look"))
                return Failed(name, cause)
            if answer["status"] in ("RUNNING", "PENDING_REDRIVE"):
                return None
            described = description(answer, parsed=parsed)
            return Succeeded(described) if answer["status"] == "SUCCEEDED" else job_failed(described)

        # After a takeover another process may run the EXPRESS child, whose end is announced to that one alone.
        longest_ms = min(_LONGEST_EXPRESS_PAUSE_MS, self._longest_pause_ms) if is_express else self._longest_pause_ms
        self._follower.follow(task, poll, lambda: self._stop(arn), name=arn, longest_ms=longest_ms)

    async def _stop(self, arn: str) -> None:
        """Stop a child, best effort. An EXPRESS one cannot be stopped: it ends within five minutes."""
        if ":express:" in arn:
            return
        try:
            await self._invoke("StopExecution", {"executionArn": arn})
        except (ApiError, StoreError):
            # It has ended by itself, or cannot be reached; in both cases no task waits for it.
            return


def _shown_express(view: ExecutionView) -> JsonObject:
    """An EXPRESS execution as DescribeExecution would show it, which does not for any."""
    shown: JsonObject = {
        "executionArn": view.execution_arn,
        "stateMachineArn": view.machine_arn,
        "name": view.name,
        "status": view.status,
        "startDate": view.started_ms,
        "stopDate": view.stopped_ms,
        "error": view.error,
        "cause": view.cause,
        "input": view.input,
        "inputDetails": {"included": True},
    }
    if view.output is not None:
        shown |= {"output": view.output, "outputDetails": {"included": True}}
    return shown


def _sender(task: ScheduledCall) -> str:
    return f"{task.execution_arn} {task.idempotency_key}"


def description(answer: JsonMapping, *, parsed: bool) -> JsonObject:
    """The result of `.sync` from DescribeExecution; `.sync:2` parses input and output."""
    shown: JsonObject = _raised(answer, int)
    if parsed:
        for member in ("Input", "Output"):
            if isinstance(shown.get(member), str):
                try:
                    shown[member] = parse_json(shown[member])
                except JsonTextError:
                    continue
    return dict(sorted(shown.items()))


def with_sdk_members(answer: JsonMapping, request_id: str, now_ms: int) -> JsonObject:
    """An optimised integration's result: the answer with what the SDK says about the call."""
    headers = {
        "connection": "keep-alive",
        "Content-Length": str(len(dump_json(dict(answer)))),
        "Content-Type": "application/x-amz-json-1.0",
        "Date": http_date(now_ms),
        "x-amzn-RequestId": request_id,
    }
    metadata = {
        "AllHttpHeaders": {name: [value] for name, value in headers.items()},
        "HttpHeaders": headers,
        "HttpStatusCode": 200,
    }
    members = {**answer, "SdkHttpMetadata": metadata, "SdkResponseMetadata": {"RequestId": request_id}}
    return dict(sorted(members.items()))


# ------------------------------------------------------------------ names and values


def optimised_failure(code: str, message: str, request_id: str) -> tuple[str, str]:
    """Error name and cause of a refusal, as version 1 of the SDK words them."""
    name = "AWSStepFunctionsException" if code in _UNMODELLED else _exception(code)
    cause = (
        f"{message} (Service: AWSStepFunctions; Status Code: 400; Error Code: {code}; "
        f"Request ID: {request_id}; Proxy: null)"
    )
    return f"StepFunctions.{name}", cause


def sdk_failure(code: str, message: str, request_id: str) -> tuple[str, str]:
    """Error name and cause of a refusal, as version 2 of the SDK words them."""
    name = "SfnException" if code in _UNMODELLED else _exception(code)
    return f"Sfn.{name}", f"{message} (Service: Sfn, Status Code: 400, Request ID: {request_id}) (SDK Attempt Count: 1)"


def _exception(code: str) -> str:
    return code if code.endswith("Exception") else code + "Exception"


def _with_texts(request: JsonObject) -> JsonObject:
    return {
        member: dump_json(value) if member in _TEXTS and not isinstance(value, str) else value
        for member, value in request.items()
    }


def _lowered(value: Json) -> Json:
    """A value with member names in lower case, as the API's requests have them."""
    if isinstance(value, dict):
        members = ((key[:1].lower() + key[1:], item) for key, item in value.items() if item is not None)
        return {member: item if member in _TEXTS else _lowered(item) for member, item in members}
    if isinstance(value, list):
        return [_lowered(item) for item in value]
    return value


def _raised(value: Json, instant: Callable[[int], Json], member: str = "") -> Json:
    """A value with member names in upper case, as results have them; members without a value are left out."""
    if isinstance(value, Mapping):
        return {
            key[:1].upper() + key[1:]: _raised(item, instant, key) for key, item in value.items() if item is not None
        }
    if isinstance(value, list):
        return [_raised(item, instant) for item in value]
    if isinstance(value, int) and (member.endswith("Date") or member == "timestamp"):
        return instant(value)
    return value
