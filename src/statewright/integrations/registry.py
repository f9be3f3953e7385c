"""Executes tasks: the `Integrations` of the engine.

The service of a Resource selects the handler: Step Functions itself, HTTP Tasks, Statewright's other services, and
everything else at a configured endpoint. A service that is neither Statewright's own nor configured fails the task with
a text that says how to configure it. Handlers are loaded with their first task.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from statewright.clock import Clock
from statewright.config import Config
from statewright.engine.dispatch import Failed, Later, ScheduledCall, TaskResult
from statewright.engine.executions.views import StatusChange
from statewright.errors import ApiError, OwnershipLost, Unavailable, shortage
from statewright.integrations.blocking import BlockingCalls
from statewright.integrations.endpoints.tasks import AwsServices
from statewright.integrations.endpoints.volatile import VolatileServices
from statewright.integrations.function_calls import InvokeFunction
from statewright.integrations.http import HttpTasks, traced
from statewright.integrations.map_data.buckets import Buckets, EndpointBuckets, OwnBuckets
from statewright.integrations.map_data.items_and_results import BucketData
from statewright.integrations.own_services import InvokeOwn, OwnServices
from statewright.integrations.own_tasks import OwnTasks, tried
from statewright.integrations.patterns import NOT_CONFIGURED, Settles, no_endpoint_text, not_here_yet
from statewright.integrations.posts import Posts
from statewright.integrations.states_execution import LONGEST_PAUSE_MS, EngineOfStates, Invoke, StatesExecution
from statewright.integrations.stored_connections import StoredConnections
from statewright.payload import JsonMapping, JsonObject
from statewright.stores.protocol import CatalogueStore

log = logging.getLogger("statewright.integrations")

_OURS: Final = frozenset({"states", "aws-sdk:sfn"})
_NOT_HERE_YET: Final = frozenset({"statewright", "bedrockagentcore"})
_EXTRA: Final = "statewright"
"""The service name of tasks that only Statewright has."""
_FAULT: Final = "Statewright.InternalError"


class EngineSide(EngineOfStates, Settles, Protocol):
    """The engine, as tasks need it: answers by token, EXPRESS children, and the results of Statewright's own tasks."""


@dataclass(frozen=True, slots=True)
class OwnCalls:
    """Runs operations of Statewright's own services inside this process.

    `states` runs those of Step Functions; `services` has the other services by the names of resource ARNs. `function`
    runs one of Statewright's own functions without a request.
    """

    states: Invoke
    services: Mapping[str, InvokeOwn] = field(default_factory=dict)
    function: InvokeFunction | None = None


class Registry:
    """Executes tasks. Made before the engine, which needs it; `connect` gives it the engine."""

    def __init__(
        self,
        config: Config,
        clock: Clock,
        calls: OwnCalls,
        data_folder: Path | None = None,
        catalogue: CatalogueStore | None = None,
        volatile: VolatileServices | None = None,
        longest_pause_ms: int = LONGEST_PAUSE_MS,
    ) -> None:
        """`volatile` are those of another registry, which ends them; `longest_pause_ms` as in `StatesExecution`."""
        self._config = config
        self._connections = StoredConnections(config, catalogue)
        self.volatile = volatile or VolatileServices(config, data_folder)
        """Services that are neither Statewright's own nor at an endpoint."""
        self._ends_volatile = volatile is None
        self.blocking = self._blocking = BlockingCalls(clock)
        self._clock = clock
        self.posts = Posts(clock, config.http.allow)
        """Posts to HTTP endpoints."""
        self._engine: EngineSide | None = None
        self._states = StatesExecution(clock, calls.states, self._answerer, longest_pause_ms)
        self._extra: OwnTasks | None = None
        self._http: HttpTasks | None = None
        self._services: AwsServices | None = None
        # A configured endpoint of a service takes precedence over Statewright's own service.
        own = {name: run for name, run in calls.services.items() if name not in config.endpoints}
        short = calls.function if "lambda" in own else None
        self._own = OwnServices(clock, self._blocking, own, self._answerer, short)
        self._buckets: Buckets | None = OwnBuckets(own["s3"]) if "s3" in own else None
        self.data = BucketData(self._found_buckets, self._blocking)
        """The items and results of distributed Maps."""

    def connect(self, engine: EngineSide) -> None:
        """Give the engine, which is made with these integrations; before its first task."""
        self._engine = engine

    async def call(self, task: ScheduledCall) -> TaskResult | Later:
        """Make a task's call.

        Raises: Unavailable, OwnershipLost, of Statewright's own store; Unavailable also if the machine lacks something.
        """
        try:
            return await self._call(task)
        except (Unavailable, OwnershipLost):
            raise
        except Exception as problem:
            lacking = shortage(problem)
            if lacking is not None:
                raise lacking from problem
            log.exception("a task of %s failed because of a bug in Statewright", task.execution_arn)
            return Failed(_FAULT, f"{task.resource.arn} failed because of a bug in Statewright: {problem!r}")

    async def cancel(self, task: ScheduledCall) -> None:
        """Stop what a task waits for, best effort. Raises nothing."""
        try:
            if task.resource.resource_type in _OURS:
                await self._states.cancel(task)
            elif task.resource.resource_type == _EXTRA:
                await self._extra_tasks().cancel(task)
            elif self._own.serves(task):
                await self._own.cancel(task)
            elif self._services is not None:
                await self._services.cancel(task)
        except Exception:
            log.exception("stopping what a task of %s waits for failed", task.execution_arn)

    async def trace(self, task: ScheduledCall, *, reveal_secrets: bool) -> tuple[TaskResult, JsonObject]:
        """Make a task's call, and show `request` and `response` if it was an HTTP Task. Raises: as `call`."""
        service = task.resource.resource_type
        if service == _EXTRA:
            return tried(task), {}
        if service != "http":
            result = await self.call(task)
            assert not isinstance(result, Later), "only Statewright's own tasks are answered later"
            return result, {}
        try:
            answer, exchange = await self._http_tasks().exchange(task)
        except Exception as problem:
            log.exception("an HTTP Task of %s failed because of a bug in Statewright", task.execution_arn)
            return Failed(_FAULT, f"http:invoke failed because of a bug in Statewright: {problem!r}"), {}
        return answer, traced(exchange, reveal_secrets=reveal_secrets) if exchange is not None else {}

    async def send_to_destination(self, arn: str, payload: str, given: JsonMapping) -> None:
        """Send an event to an API destination. Raises: as `HttpTasks.deliver`."""
        await self._http_tasks().deliver(arn, payload, given)

    def status_changed(self, change: StatusChange) -> None:
        """Look at an execution that has ended, for the task that waits for it."""
        if change.stopped_ms is not None:
            self._states.execution_ended(change.execution_arn)

    def express_ended(self, execution_arn: str) -> None:
        """Look at an EXPRESS execution that has ended, for the task that waits for it."""
        self._states.execution_ended(execution_arn)

    def job_ended(self, name: str) -> None:
        """Look at a job of Statewright's own that has ended, by its ARN or id, for the task that waits for it."""
        self._own.hint(name)

    async def close(self) -> None:
        """Stop everything; jobs continue, and are followed again after the next start."""
        if self._extra is not None:
            await self._extra.close()
        await self._states.close()
        await self._own.close()
        if self._services is not None:
            await self._services.close()
        if self._ends_volatile:
            self.volatile.close()
        self.posts.close()
        self._blocking.close()

    # -------------------------------------------------------------- handlers

    async def _call(self, task: ScheduledCall) -> TaskResult | Later:
        service = task.resource.resource_type
        if service in _OURS:
            return await self._states.call(task)
        if service == "http":
            return await self._http_tasks().call(task)
        if service == "apigateway":
            return await self._http_tasks().call_gateway(task)
        if service == _EXTRA and self._engine is not None:
            return await self._extra_tasks().call(task)
        if service in _NOT_HERE_YET:
            return not_here_yet(task)
        if self._own.serves(task):
            return await self._own.call(task)
        name = service.removeprefix("aws-sdk:")
        if not self._config.endpoints and not self.volatile.available():
            return Failed(NOT_CONFIGURED, no_endpoint_text(name))
        return await self._aws_services().call(task)

    def _found_buckets(self) -> Buckets:
        if self._buckets is None:
            if not {"s3", "default"} & set(self._config.endpoints):
                raise ApiError(NOT_CONFIGURED, no_endpoint_text("s3"))
            self._buckets = EndpointBuckets(self._config, self._blocking)
        return self._buckets

    def _extra_tasks(self) -> OwnTasks:
        if self._extra is None:
            assert self._engine is not None, "connect() comes before the first task"
            self._extra = OwnTasks(self._clock, self._engine, self.call)
        return self._extra

    def _http_tasks(self) -> HttpTasks:
        if self._http is None:
            self._http = HttpTasks(self._config, self._blocking, self._clock.now_ms, self._connections)
        return self._http

    def _aws_services(self) -> AwsServices:
        if self._services is None:
            self._services = AwsServices(self._config, self._clock, self._blocking, self._answerer, self.volatile)
        return self._services

    def _answerer(self) -> EngineSide:
        assert self._engine is not None, "connect() comes before the first task"
        return self._engine
