"""Calls of services at endpoints, made on threads: tasks, the jobs that they wait for, and buckets.

Requests and results are converted in `service_calls.py`; the kinds of jobs are in `jobs.py`. All of this loads
botocore, which is slow: `tasks.py` imports this module on the thread of the first call.
"""

from __future__ import annotations

from collections.abc import Callable

from botocore.exceptions import BotoCoreError, ClientError

from statewright.asl.resources import parse_resource
from statewright.config import Config
from statewright.engine.dispatch import Failed, ScheduledCall, Succeeded, TaskResult
from statewright.errors import ApiError
from statewright.integrations import jobs
from statewright.integrations.api_values import ApiObject
from statewright.integrations.endpoints.clients import Clients, NoEndpoint
from statewright.integrations.endpoints.volatile import VolatileServices
from statewright.integrations.service_calls import Prepared, Refusal, finished, prepare, refused
from statewright.integrations.service_names import api_of
from statewright.payload import Json


class ServiceCalls:
    """See `tasks.Calls`."""

    def __init__(self, config: Config, volatile: VolatileServices | None) -> None:
        self._clients = Clients(config, volatile)

    def call(self, task: ScheduledCall) -> TaskResult:
        """See `Calls.call`."""
        if task.resource.pattern == "sync":
            problem = jobs.refusal_of(task)
            if problem is not None:
                return problem
        prepared = prepare(task)
        if not isinstance(prepared, Prepared):
            return prepared
        try:
            answer = self._clients.send(prepared.api, prepared.request)
        except Refusal as refusal:
            return refused(task, refusal)
        return finished(task, prepared, answer)

    def poll(self, task: ScheduledCall, submitted: Json) -> Succeeded | Failed | None:
        """See `Calls.poll`."""
        return jobs.poll(self._clients.send, task, submitted)

    def stop(self, task: ScheduledCall, submitted: Json) -> None:
        """See `Calls.stop`."""
        jobs.stop(self._clients.send, task, submitted)


def bucket_calls(config: Config) -> Callable[[str, ApiObject], ApiObject]:
    """Make a function that calls operations of S3 at the configured endpoint; it blocks, and raises ApiError."""
    clients = Clients(config)

    def call(operation: str, request: ApiObject) -> ApiObject:
        api = api_of(parse_resource(f"arn:aws:states:::aws-sdk:s3:{operation[:1].lower()}{operation[1:]}"))
        try:
            answer: ApiObject = clients.client(api)._make_api_call(operation, request)
        except NoEndpoint as nowhere:
            raise ApiError("NotConfigured", str(nowhere)) from None
        except ClientError as refusal:
            error = refusal.response.get("Error", {})
            raise ApiError(str(error.get("Code", "Unknown")), str(error.get("Message", ""))) from None
        except BotoCoreError as problem:
            raise ApiError("SdkClientException", f"Unable to execute HTTP request: {problem}") from None
        return answer

    return call
