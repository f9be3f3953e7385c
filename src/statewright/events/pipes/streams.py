"""Pipes from streams of tables: settings, the position's key, and the state machine that consumes the records.

Reading, retries and splitting are those of event source mappings (`functions/event_sources/streams`).

Source: EventBridge user guide, "Amazon DynamoDB stream as a source"; the shape of dead letters is observed.
"""

from __future__ import annotations

import orjson

from statewright.clock import Clock
from statewright.config import Config
from statewright.errors import ApiError
from statewright.events.pipes.records import Pipe
from statewright.events.pipes.starting import Starter, has_failed
from statewright.events.targets import CallService
from statewright.functions.event_sources.streams.events import Discarded, about_records
from statewright.functions.event_sources.streams.poller import Batch, Reading
from statewright.functions.event_sources.streams.settings import StreamSettings
from statewright.functions.outcomes import UNHANDLED, Invoked
from statewright.payload import JsonObject, JsonTextError, dump_json, parse_json
from statewright.queues.queues import Queues

_BUSY = frozenset({"ThrottlingException", "TooManyRequestsException", "ServiceUnavailable"})


def position_key(name: str) -> str:
    """The key of a pipe's position; those of mappings are UUIDs."""
    return f"pipe/{name}"


def reading_of(pipe: Pipe, region: str) -> Reading:
    """How a pipe reads its stream."""
    given = pipe.stream_parameters
    settings = StreamSettings(
        given.get("StartingPosition", ""),
        bisects=given.get("OnPartialBatchItemFailure") == "AUTOMATIC_BISECT",
        most_age_seconds=given.get("MaximumRecordAgeInSeconds", -1),
        most_retries=given.get("MaximumRetryAttempts", -1),
    )
    return Reading(
        name=f"the pipe {pipe.name}",
        source_arn=pipe.source,
        region=region,
        settings=settings,
        filters=pipe.filters,
        batch_size=pipe.batch_size,
        window_seconds=pipe.window_ms // 1000,
        reports_failures=True,
    )


class MachineConsumer:
    """See `Consumer`."""

    def __init__(self, pipe: Pipe, queues: Queues, call: CallService, clock: Clock, config: Config) -> None:
        self._pipe = pipe
        self._queues = queues
        self._call = call
        self._clock = clock
        self._arn = pipe.arn(config)
        self._starter = Starter(pipe, call, config)

    async def invoke(self, batch: Batch) -> Invoked:
        """See `Consumer.invoke`."""
        records = [orjson.loads(text) for text in batch.texts]
        ids = [record.number for record in batch.records]
        try:
            answer = await self._starter.start(records, ids, self._clock.now_ms())
        except ApiError as problem:
            if problem.code in _BUSY:
                raise ApiError("TooManyRequestsException", problem.message) from None
            return Invoked(200, b"", UNHANDLED, None, "", "")
        error = UNHANDLED if has_failed(self._pipe, answer) else None
        return Invoked(200, _report_in(answer.get("output")), error, None, "", "")

    async def discard(self, given: Discarded) -> None:
        """See `Consumer.discard`."""
        target = (self._pipe.stream_parameters.get("DeadLetterConfig") or {}).get("Arn")
        if not target:
            return
        letter: JsonObject = {
            "context": {"partnerResourceArn": self._arn, "condition": given.condition},
            **about_records(given, self._clock.now_ms()),
        }
        if target.split(":")[2] == "sns":
            await self._call("sns", "publish", {"TopicArn": target, "Message": dump_json(letter)}, request_id="")
        else:
            await self._queues.deliver(target, dump_json(letter), None)


def _report_in(output: object) -> bytes:
    """The output of an execution if it reports failures, else nothing: any other output is a success."""
    try:
        found = parse_json(output) if isinstance(output, str) else None
    except JsonTextError:
        return b""
    return dump_json(found).encode() if isinstance(found, dict) and "batchItemFailures" in found else b""
