"""The billable usage of a whole system, counted where it occurs; and faults of its API.

Stands around every call of the system: what comes from handlers, models, tasks, arrivals and schedules alike.
Invocations come from the functions' own meter, transitions by the engine's counts, the requests of mappings by their
pollers.
Owns which operation is charged as what. Prices are `cost/`'s.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from math import ceil
from typing import Final

from statewright import chance
from statewright.api.operations import Call, Run
from statewright.cost.usage import EVENT_CHUNK_BYTES, Usage, chunks
from statewright.errors import ApiError
from statewright.metrics.series import Counter as CountSeries
from statewright.metrics.series import MetricId
from statewright.payload import Json, JsonObject
from statewright.simulation.scenario import FaultSpec, Scenario
from statewright.virtual import VirtualSystem

NAMESPACE: Final = "Simulation"
ATTEMPTS: Final = "InvocationAttemptCount"
LISTS: Final = "ListExecutions"

_S3_PUTS: Final = ("Put", "Copy", "Create", "Complete", "Upload", "List", "Restore")
_TABLE_READS: Final = frozenset({"GetItem", "Query", "Scan", "BatchGetItem", "TransactGetItems"})
_TABLE_WRITES: Final = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})
_STATEMENTS: Final = {"BatchExecuteStatement": "Statements", "ExecuteTransaction": "TransactStatements"}
"""The members with the statements of operations that execute several, which all read or all write."""


class UsageMeter:
    """Counts calls and what they cost, and refuses what faults refuse. Quotas are the system's own.

    It is around the calls of the system that is assembled with it; calls count from `start` to `stop`.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.is_free = False
        self.calls: Counter[str] = Counter()
        """By `service.Operation`."""
        self.refused: Counter[tuple[str, str]] = Counter()
        """By `service.Operation` and error code."""
        self.called = Usage()
        """The billable usage of calls."""
        self.billed_ms: dict[str, int] = {}
        """Milliseconds of invocations by function, each rounded up."""
        self.invocations: Counter[str] = Counter()
        self.memory: dict[str, tuple[int, bool]] = {}
        """Memory in MiB, and whether it is arm64, by function."""
        self._running: VirtualSystem | None = None
        self._scenario = scenario
        self._counts = False
        self._fixed = {one.name: one.usage for one in scenario.functions if one.usage}
        self._began_ms = 0
        self._draws = chance.draws_of(scenario.seed)
        self._lists: CountSeries | None = None
        self._faults = [fault for fault in scenario.faults if fault.kind == "call"]

    def start(self, system: VirtualSystem) -> None:
        """Count from now on, in the system that was assembled with this."""
        self._running = system
        self.memory = self._functions()
        services = system.parts.app.services
        self._lists = services.metrics.counter(NAMESPACE, LISTS, {})
        meter = services.functions.invoker.meter
        assert meter is not None, "functions of a whole system are measured"
        meter.subscribe(self._ended)
        self._began_ms = system.now_ms
        self._counts = True

    def stop(self) -> None:
        """Count no more: what follows is asked for the report."""
        self._counts = False
        self.is_free = True

    @property
    def _system(self) -> VirtualSystem:
        assert self._running is not None, "start() comes first"
        return self._running

    # ------------------------------------------------------------------ calls

    async def __call__(self, call: Call, request: Json, run: Run, /) -> Json:
        """Answer a call. See `Around`."""
        if not self._counts:
            return await run(request)
        name = f"{call.service}.{call.operation}"
        self.calls[name] += 1
        if call.service == "states" and call.operation == LISTS and self._lists is not None:
            self._lists.add()
        try:
            self._refuse(name)
            if call.service == "dynamodb":
                return await self._table(call.operation, request, run)
            answer = await run(request)
        except ApiError as error:
            self.refused[name, error.code] += 1
            raise
        counted = _COUNTED.get(call.service)
        if counted is not None:
            counted(self.called, call.operation, request)
        return answer

    def _refuse(self, name: str) -> None:
        for fault in self._faults:
            if fault.target == name and self._holds(fault) and self._draws.random() < fault.share:
                raise ApiError(fault.error, "The scenario says that this call fails.", status=503)

    def _holds(self, fault: FaultSpec) -> bool:
        since_ms = self._system.now_ms - self._began_ms
        return fault.at_ms <= since_ms < fault.at_ms + fault.for_ms

    async def _table(self, operation: str, request: Json, run: Run) -> Json:
        """An operation of tables, which say themselves how much capacity they took."""
        reads = operation in _TABLE_READS
        if not isinstance(request, dict):
            return await run(request)
        if "Statement" in request or operation in _STATEMENTS:
            first = request if "Statement" in request else (request.get(_STATEMENTS[operation]) or [{}])[0]
            reads = str(first.get("Statement", "")).lstrip().upper().startswith("SELECT")
        elif not reads and operation not in _TABLE_WRITES:
            return await run(request)
        asked = request.get("ReturnConsumedCapacity", "NONE") != "NONE"
        answer = await run(request if asked else {**request, "ReturnConsumedCapacity": "TOTAL"})
        if isinstance(answer, dict) and "ConsumedCapacity" in answer:
            found = answer["ConsumedCapacity"] or []
            units = sum(one.get("CapacityUnits", 0) for one in (found if isinstance(found, list) else [found]))
            self.called.add("dynamodb.read_units" if reads else "dynamodb.write_units", units)
            if not asked:
                answer = {key: value for key, value in answer.items() if key != "ConsumedCapacity"}
        return answer

    def _ended(self, name: str, duration_ms: float) -> None:
        if not self._counts:
            return
        self.invocations[name] += 1
        self.billed_ms[name] = self.billed_ms.get(name, 0) + ceil(duration_ms)

    # ------------------------------------------------------------------ all of it

    def usage(self) -> Usage:
        """The usage of the system so far."""
        total = Usage()
        metrics = self._system.parts.app.services.metrics
        scheduled = 0.0
        for series in metrics.all():
            if series.id.name == ATTEMPTS and series.id.namespace == "AWS/Scheduler":
                scheduled += series.all_total
        express = self._express(total)
        transitions = metrics.find(MetricId.of("AWS/States", "ConsumedCapacity", {"ServiceMetric": "StateTransition"}))
        standard = int(transitions.all_total if transitions is not None else 0) - express
        if standard > 0:
            total.add("states.transitions", standard)
        if self._scenario.mappings or self._scenario.project:
            total.assume("polls of mappings that find nothing are not counted")
        for name, billed_ms in self.billed_ms.items():
            memory, arm = self.memory.get(name, (128, False))
            total.add("lambda.requests", self.invocations[name])
            total.add("lambda.gb_seconds_arm" if arm else "lambda.gb_seconds", billed_ms / 1000 * memory / 1024)
            for item, quantity in self._fixed.get(name, {}).items():
                total.add(item, quantity * self.invocations[name])
        total.merge(self.called)
        sources = self._system.parts.app.services.event_sources
        for mapping in sources.all():
            item = "sqs.fifo_requests" if mapping.source_arn.endswith(".fifo") else "sqs.requests"
            requests = sources.counts(mapping.uuid).requests
            if requests:
                total.add(item, requests)
        if scheduled:
            total.add("scheduler.invocations", scheduled)
        for item, quantity in self._scenario.usage.items():
            total.add(item, quantity)
        return total

    def _express(self, total: Usage) -> int:
        """Count EXPRESS executions; returns their transitions, which cost nothing by themselves."""
        meter = self._system.parts.engine.meter
        found = meter.express_transitions if meter is not None else 0
        metrics = self._system.parts.app.services.metrics
        for series in metrics.all():
            if series.id.name == "ExpressExecutionBilledDuration" and len(series.id.dimensions) == 1:
                total.add("states.express_requests", series.all_samples)
                total.add("states.express_gb_seconds", series.all_total / 1000 * 64 / 1024)
                total.assume("an Express execution is assumed to need 64 MB of memory")
        return found

    def _functions(self) -> dict[str, tuple[int, bool]]:
        """Memory in MiB, and whether it is arm64, by function."""
        found: dict[str, tuple[int, bool]] = {}
        more: JsonObject = {}
        while True:
            page = self._system.call("lambda", "ListFunctions", more)
            for one in page["Functions"]:
                found[one["FunctionName"]] = (one["MemorySize"], "arm64" in one.get("Architectures", ()))
            if not page.get("NextMarker"):
                return found
            more = {"Marker": page["NextMarker"]}


def _queue(usage: Usage, operation: str, request: Json) -> None:
    item = "sqs.fifo_requests" if str(request.get("QueueUrl", "")).endswith(".fifo") else "sqs.requests"
    if operation == "SendMessageBatch":
        bodies = [entry.get("MessageBody", "") for entry in request.get("Entries") or ()]
        usage.add(item, chunks(sum(map(len, bodies))))
        return
    usage.add(item, chunks(len(request.get("MessageBody") or "")))


def _topic(usage: Usage, operation: str, request: Json) -> None:
    entries = request.get("PublishBatchRequestEntries") if operation == "PublishBatch" else [request]
    if operation in ("Publish", "PublishBatch"):
        for entry in entries or ():
            usage.add("sns.publishes", chunks(len(str(entry.get("Message", ""))), EVENT_CHUNK_BYTES))


def _events(usage: Usage, operation: str, request: Json) -> None:
    if operation == "PutEvents":
        for entry in request.get("Entries") or ():
            usage.add("events.events", chunks(len(str(entry)), EVENT_CHUNK_BYTES))


def _bucket(usage: Usage, operation: str, _request: Json) -> None:
    if not operation.startswith(("Delete", "Abort")):
        usage.add("s3.put_requests" if operation.startswith(_S3_PUTS) else "s3.get_requests")


_COUNTED: Final[Mapping[str, Callable[[Usage, str, Json], None]]] = {
    "sqs": _queue,
    "sns": _topic,
    "events": _events,
    "s3": _bucket,
}
