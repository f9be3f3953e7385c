"""Services of this process, called by tasks without HTTP: functions, queues, objects, tables, jobs.

Calls run the same operations as those of the API, so their refusals are the same. Owns the metadata that an SDK would
add to the answer; the rest of both dialects is in `service_calls.py`. The usual invocation of a function has a fast
path, in `function_calls.py`.

Source: names of headers are observed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Final, Protocol

from statewright.clock import Clock
from statewright.engine.dispatch import Failed, ScheduledCall, Submitted, Succeeded, TaskResult, encode_answer
from statewright.errors import ApiError, OwnershipLost, StoreError, Unavailable
from statewright.integrations.api_values import ApiMapping, ApiObject
from statewright.integrations.blocking import BlockingCalls
from statewright.integrations.function_calls import FunctionCalls, InvokeFunction, invocation_headers
from statewright.integrations.patterns import Answers, Follower, named_uuid, too_large
from statewright.payload import Json
from statewright.stores.completion import Completion

LONGEST_BODY_BYTES: Final = 16 * 1024 * 1024
"""The longest streamed answer that is read: far above the limit of any state."""


class InvokeOwn(Protocol):
    """Runs an operation of one of Statewright's services. Instants are epoch milliseconds, blobs bytes."""

    @property
    def content_type(self) -> str:
        """The Content-Type that its answers have over HTTP."""

    def __call__(
        self, operation: str, request: ApiObject, *, request_id: str, completion: Completion[Json] | None = None
    ) -> Awaitable[Json]:
        """The answer, with which a write completes the outbox row of the task that makes the call.

        Raises: ApiError, with the HTTP status that a caller outside would see; StoreError.
        """


class OwnServices:
    """Executes tasks of services by the names in `invokers`, which are those of resource ARNs.

    `invoke_function` runs functions without a request; `None` leaves that to the invoker of `lambda`.
    """

    def __init__(
        self,
        clock: Clock,
        blocking: BlockingCalls,
        invokers: Mapping[str, InvokeOwn],
        answers: Callable[[], Answers],
        invoke_function: InvokeFunction | None = None,
    ) -> None:
        self._functions = FunctionCalls(clock, invoke_function)
        self._follower = Follower(clock, answers)
        self._blocking = blocking
        self._invokers = invokers
        self._known: set[str] = set()

    def serves(self, task: ScheduledCall) -> bool:
        """True if the task's service is one of Statewright's own."""
        return _service(task) in self._invokers

    async def call(self, task: ScheduledCall) -> TaskResult:
        """Make the call of a task; a `.sync` task's job is followed from then on.

        Raises: Unavailable, OwnershipLost. Any other failure of the store is that of a row, and the task's.
        """
        if task.resource.pattern != "sync":
            return await self._invoked(task)
        # Loads the table and the models of jobs on a thread, before their first use on the loop.
        refused = await self._blocking.run(_refusal_of, task)
        if refused is not None:
            return refused
        if task.submitted is not None:
            self._follow(task, task.submitted.value)
            return Submitted(task.submitted)
        result = await self._answered(task)
        if isinstance(result, Submitted):
            self._follow(task, result.output)
        return result

    def hint(self, name: str) -> None:
        """Look at a job that has ended, by its ARN or id, for the task that waits for it."""
        self._follower.hint(name)

    async def cancel(self, task: ScheduledCall) -> None:
        """Stop the job that a `.sync` task waits for."""
        await self._follower.cancel(task)

    async def close(self) -> None:
        """Stop following jobs."""
        await self._follower.close()

    def _follow(self, task: ScheduledCall, submitted: Json) -> None:
        from statewright.integrations import jobs
        from statewright.integrations.service_calls import refusal_by

        async def poll() -> Succeeded | Failed | None:
            asked = jobs.question(task, submitted)
            if isinstance(asked, Failed):
                return asked
            request_id = named_uuid(task.execution_arn, task.idempotency_key, "look")
            try:
                answer = await self._invoke(task, asked.api.operation.name, asked.request, request_id)
            except ApiError as problem:
                refusal = refusal_by(asked.api, problem, request_id)
                return Failed(refusal.error, refusal.cause)
            return jobs.outcome(task, asked, answer)

        async def stop() -> None:
            asked = jobs.ending(task, submitted)
            if asked is not None:
                request_id = named_uuid(task.execution_arn, task.idempotency_key, "stop")
                # A refusal means that the job has ended by itself.
                with suppress(ApiError):
                    await self._invoke(task, asked.api.operation.name, asked.request, request_id)

        self._follower.follow(task, poll, stop, name=jobs.name_of(task, submitted))

    async def _invoke(
        self,
        task: ScheduledCall,
        operation: str,
        request: ApiObject,
        request_id: str,
        completion: Completion[Json] | None = None,
    ) -> ApiObject:
        """The answer of the task's service. Raises: ApiError, StoreError."""
        invoke = self._invokers[_service(task)]
        return dict(await invoke(operation, request, request_id=request_id, completion=completion))

    async def _invoked(self, task: ScheduledCall) -> TaskResult:
        functions = self._functions
        plain = functions.invocation(task)
        if plain is None or functions.invoke is None:
            return await self._answered(task)
        request_id = _request_id(task)
        try:
            done = await functions.invoke(plain.name, plain.payload, request_id=request_id)
        except (Unavailable, OwnershipLost):
            raise
        except (ApiError, StoreError) as problem:
            from statewright.integrations.service_calls import refusal_by, refused
            from statewright.integrations.service_names import optimised_api

            return refused(task, refusal_by(optimised_api("lambda", "invoke"), problem, request_id))
        return functions.finished(task, plain.is_bare, done, request_id)

    async def _answered(self, task: ScheduledCall) -> TaskResult:
        from statewright.integrations.service_calls import Prepared, finished, prepare, refusal_by, refused

        # A service's model is slow to load, so its first use is on a thread.
        name = task.resource.arn
        prepared = prepare(task) if name in self._known else await self._blocking.run(prepare, task)
        self._known.add(name)
        if not isinstance(prepared, Prepared):
            return prepared
        api, service = prepared.api, _service(task)
        request_id = _request_id(task)

        def result_of(answer: ApiObject) -> TaskResult:
            if api.dialect == "optimised" and not prepared.is_bare:
                answer["ResponseMetadata"] = self._metadata(service, answer, request_id)
            return finished(task, prepared, answer)

        told: list[TaskResult] = []

        def body_of(answer: Json) -> bytes:
            result = result_of(dict(answer))
            told[:] = (result,)
            return encode_answer(task, result)

        completion = Completion(task.outbox, body_of) if task.outbox else None
        try:
            answer = await self._invoke(task, api.operation.name, prepared.request, request_id, completion)
        except (Unavailable, OwnershipLost):
            raise
        except (ApiError, StoreError) as problem:
            extended = named_uuid(request_id, "extended") if service == "s3" else None
            return refused(task, refusal_by(api, problem, request_id, extended))
        if told:
            # The result that the outbox row has, with its date.
            return told[0]
        self._functions.passed(task)
        for member, value in answer.items():
            if isinstance(value, AsyncIterator):
                body = await _whole(value)
                if body is None:
                    return too_large(task)
                answer[member] = body
        return result_of(answer)

    def _metadata(self, service: str, answer: ApiMapping, request_id: str) -> ApiObject:
        date = self._functions.date()
        status = answer.get("StatusCode", 200)
        headers: dict[str, str]
        if service == "lambda":
            headers = invocation_headers(date, request_id, len(answer.get("Payload") or b""))
            for member, name in _LAMBDA_HEADERS.items():
                if answer.get(member) is not None:
                    headers[name] = str(answer[member])
        else:
            headers = {
                "connection": "keep-alive",
                "Content-Length": "0",
                "Content-Type": self._invokers[service].content_type,
                "Date": date,
                "x-amzn-RequestId": request_id,
            }
        return {"RequestId": request_id, "HTTPStatusCode": status, "HTTPHeaders": headers}


def _request_id(task: ScheduledCall) -> str:
    """The id of a task's request, the same at every repeat of one attempt."""
    return named_uuid(task.execution_arn, task.idempotency_key, "request")


_LAMBDA_HEADERS: Final = {
    "ExecutedVersion": "X-Amz-Executed-Version",
    "FunctionError": "X-Amz-Function-Error",
    "LogResult": "X-Amz-Log-Result",
}


def _refusal_of(task: ScheduledCall) -> Failed | None:
    from statewright.integrations import jobs

    return jobs.refusal_of(task)


def _service(task: ScheduledCall) -> str:
    if task.resource.kind == "lambda":
        return "lambda"
    return task.resource.resource_type.removeprefix("aws-sdk:")


async def _whole(body: AsyncIterator[bytes]) -> bytes | None:
    """A streamed body in one piece; `None` when it is too long for any state."""
    pieces, size = [], 0
    async for piece in body:
        size += len(piece)
        if size > LONGEST_BODY_BYTES:
            return None
        pieces.append(piece)
    return b"".join(pieces)
