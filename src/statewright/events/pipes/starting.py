"""Starting the target of a pipe with a batch: the name of the execution, its input, and whether it failed.

Shared by pipes from queues and from streams.
"""

from __future__ import annotations

from collections.abc import Sequence

from statewright import chance
from statewright.config import Config
from statewright.errors import ApiError
from statewright.events.pipes.inputs import input_of
from statewright.events.pipes.records import REQUEST_RESPONSE, Pipe
from statewright.events.targets import CallService
from statewright.instants import iso_seconds
from statewright.payload import JsonMapping


class Starter:
    """Starts executions of a pipe's target."""

    def __init__(self, pipe: Pipe, call: CallService, config: Config) -> None:
        self._pipe = pipe
        self._call = call
        self._arn = pipe.arn(config)

    async def start(self, records: Sequence[JsonMapping], ids: Sequence[str], now_ms: int) -> JsonMapping:
        """Start an execution with a batch, once: its name follows from the ids of the records.

        Returns the answer of StartSyncExecution for REQUEST_RESPONSE, else that of StartExecution. Raises: ApiError.
        """
        pipe = self._pipe
        predefined = {
            "aws.pipes.pipe-arn": self._arn, "aws.pipes.pipe-name": pipe.name, "aws.pipes.source-arn": pipe.source,
            "aws.pipes.target-arn": pipe.target, "aws.pipes.event.ingestion-time": iso_seconds(now_ms),
        }  # fmt: skip
        name = chance.uuid_of_name("/".join([self._arn, *ids]))
        request = {
            "StateMachineArn": pipe.target, "Name": name, "Input": input_of(records, pipe.template, predefined),
        }  # fmt: skip
        action = "startSyncExecution" if pipe.invocation == REQUEST_RESPONSE else "startExecution"
        try:
            answer: JsonMapping = await self._call("sfn", action, request, request_id=name)
        except ApiError as problem:
            if problem.code != "ExecutionAlreadyExists":
                raise
            return {}
        return answer


def has_failed(pipe: Pipe, answer: JsonMapping) -> bool:
    """True if the pipe waited for an execution, and it failed."""
    return pipe.invocation == REQUEST_RESPONSE and answer.get("status", "SUCCEEDED") != "SUCCEEDED"
