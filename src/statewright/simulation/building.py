"""From a scenario to a system that stands ready: queues, functions, machines, mappings, a project's resources.

Everything is made by the service's own operations, so what the service refuses is refused here, in its words. Owns
which operation makes what, and the answers of models.
"""

from __future__ import annotations

import importlib.util
import io
import json
import sys
import zipfile
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from statewright import chance
from statewright.config import Config
from statewright.errors import ApiError, DefinitionError, Diagnostic
from statewright.functions.workers.models import Model
from statewright.limits import AWS, OPEN, RateSettings
from statewright.payload import Json, JsonMapping, JsonObject
from statewright.projects.deploy.calls import CallRefused
from statewright.projects.deploy.deployment import Deployment
from statewright.projects.deploy.record import Record
from statewright.projects.found import find_project
from statewright.projects.resources import ProjectError
from statewright.simulation.arrivals import POISON
from statewright.simulation.reader import NO_FILE, At
from statewright.simulation.scenario import FaultSpec, FunctionSpec, MappingSpec, Scenario
from statewright.virtual import VirtualSystem

REFUSED: Final = "SIMULATION_REFUSED"
ROLE: Final = "arn:aws:iam::{}:role/simulation"
RUNTIME: Final = "python{}.{}".format(*sys.version_info)
DEFAULT_VISIBILITY: Final = 30
STREAM: Final = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
LONGEST_TIMEOUT: Final = 900
"""Seconds. Source: SQS API reference, VisibilityTimeout; Lambda quotas, function timeout."""
Answer = Callable[[Json], Awaitable[Json]]


class PoisonMessage(Exception):
    """A message that, by the scenario, cannot be handled."""


class Outage(Exception):
    """The scenario says that a function is out of order."""


@dataclass(frozen=True, slots=True)
class Built:
    """The system as built: mappings in the order of their specifications, and notes on it."""

    mappings: list[str]
    notes: list[str]


def config_of(scenario: Scenario) -> Config:
    """The settings of the scenario's system."""
    return Config(
        limits=AWS if scenario.quotas else OPEN,
        rates=RateSettings(profile="aws" if scenario.quotas else "none"),
    )


def build(system: VirtualSystem, scenario: Scenario) -> Built:
    """Make everything. Raises: DefinitionError for what the service refuses."""
    builder = _Builder(system, scenario)
    system.parts.app.services.functions.invoker.concurrency.account = scenario.concurrency
    for bucket in scenario.buckets:
        builder.ask(("buckets",), "s3", "CreateBucket", Bucket=bucket)
    streamed = {one.table for one in scenario.mappings}
    for table, key in scenario.tables.items():
        more: JsonObject = {"StreamSpecification": STREAM} if table in streamed else {}
        builder.ask(
            ("tables", table), "dynamodb", "CreateTable", TableName=table, BillingMode="PAY_PER_REQUEST", **more,
            KeySchema=[{"AttributeName": key, "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"}],
        )  # fmt: skip
    if scenario.project is not None:
        builder.deploy(scenario.project)
    for queue in sorted(scenario.queues, key=lambda one: bool(one.dead_letter)):
        attributes = dict(queue.attributes)
        if queue.dead_letter:
            target = system.config.arn("sqs", queue.dead_letter)
            policy = {"deadLetterTargetArn": target, "maxReceiveCount": queue.receives}
            attributes["RedrivePolicy"] = json.dumps(policy)
        builder.ask(("queues", queue.name), "sqs", "CreateQueue", QueueName=queue.name, Attributes=attributes)
    for function in scenario.functions:
        builder.function(function)
    for machine in scenario.machines:
        builder.machine(machine.name, machine.file, machine.type, machine.tags, machine.timeout)
    mappings = [builder.mapping(number, spec) for number, spec in enumerate(scenario.mappings)]
    return Built(mappings, builder.notes)


class _Builder:
    def __init__(self, system: VirtualSystem, scenario: Scenario) -> None:
        self._system = system
        self._scenario = scenario
        self._role = ROLE.format(system.config.account)
        self._began_ms = system.now_ms
        self.notes: list[str] = []

    def ask(self, at: At, service: str, operation: str, **request: Any) -> Any:
        """Call an operation. Raises: DefinitionError with the service's words."""
        try:
            return self._system.call(service, operation, request)
        except ApiError as refusal:
            line, column = self._scenario.place(at)
            text = f"{refusal.code}: {refusal.message}"
            raise DefinitionError([Diagnostic(REFUSED, text, at, line=line, column=column)]) from None

    def deploy(self, folder: Path) -> None:
        """Deploy a project. Raises: DefinitionError."""
        config = self._system.config

        def call(service: str, operation: str, request: JsonMapping) -> JsonObject:
            try:
                answer = self._system.call(service, operation, request)
            except ApiError as refusal:
                raise CallRefused(refusal.code, refusal.message) from None
            return answer if isinstance(answer, dict) else {}

        try:
            project = find_project(folder, config)
        except ProjectError as problem:
            raise DefinitionError([Diagnostic(NO_FILE, f"project: {problem}")]) from None
        report = Deployment(call, config.account, config.region, Record(project.name)).run(project)
        failed = [one for one in report.results if one.outcome in ("failed", "skipped")]
        if failed:
            raise _refused(*(f"project: {one.type} {one.name}: {one.message}" for one in failed))
        self.notes += [
            f"project: {one.type} {one.name} cannot be created: {one.message}"
            for one in report.results
            if one.outcome == "noted"
        ]

    def function(self, spec: FunctionSpec) -> None:
        """Make a function, or put a model in the place of one that the project has made."""
        timeout = spec.timeout if spec.timeout is not None else self._longest(spec.name)
        if spec.handler is not None:
            code = io.BytesIO()
            with zipfile.ZipFile(code, "w") as archive:
                archive.writestr(zipfile.ZipInfo("app.py", (1980, 1, 1, 0, 0, 0)), spec.handler.read_text("utf-8"))
            self.ask(
                ("functions", spec.name), "lambda", "CreateFunction", FunctionName=spec.name, Runtime=RUNTIME,
                Role=self._role, Handler="app.handler", Timeout=timeout, MemorySize=spec.memory,
                Code={"ZipFile": code.getvalue()}, Environment={"Variables": dict(spec.environment)},
            )  # fmt: skip
        else:
            self._system.model(spec.name, self._model(spec), timeout=timeout, memory=spec.memory)
        if spec.reserved is not None:
            self.ask(
                ("functions", spec.name), "lambda", "PutFunctionConcurrency", FunctionName=spec.name,
                ReservedConcurrentExecutions=spec.reserved,
            )  # fmt: skip

    def _longest(self, function: str) -> int:
        queues = {one.queue for one in self._scenario.mappings if one.function == function}
        visible = [
            int(queue.attributes.get("VisibilityTimeout", DEFAULT_VISIBILITY))
            for queue in self._scenario.queues if queue.name in queues
        ]  # fmt: skip
        return max(1, min([LONGEST_TIMEOUT, *visible]))

    def machine(self, name: str, file: Path, kind: str, tags: Mapping[str, str], timeout: int | None) -> None:
        """Make a state machine."""
        text = file.read_text("utf-8")
        if file.suffix in (".yaml", ".yml") or timeout is not None:
            from statewright.asl.reader import read_document

            value: Json = read_document(text, name=file.name).value
            text = json.dumps({**value, "TimeoutSeconds": timeout} if timeout is not None else value)
        self.ask(
            ("machines", name), "stepfunctions", "CreateStateMachine", name=name, definition=text,
            roleArn=self._role, type=kind, tags=[{"key": key, "value": value} for key, value in tags.items()],
        )  # fmt: skip

    def mapping(self, number: int, spec: MappingSpec) -> str:
        """Let a queue or a stream invoke a function; returns the mapping's id."""
        config = self._system.config
        more: JsonObject = {}
        if spec.profile:
            more["Tags"] = {"statewright:scalingProfile": spec.profile}
        if spec.maximum is not None:
            more["ScalingConfig"] = {"MaximumConcurrency": spec.maximum}
        if spec.reports:
            more["FunctionResponseTypes"] = ["ReportBatchItemFailures"]
        source = config.arn("sqs", spec.queue)
        if spec.table:
            shown = self.ask(("mappings", number), "dynamodb", "DescribeTable", TableName=spec.table)["Table"]
            source, more["StartingPosition"] = shown.get("LatestStreamArn", shown["TableArn"]), "TRIM_HORIZON"
        made = self.ask(
            ("mappings", number), "lambda", "CreateEventSourceMapping",
            EventSourceArn=source, FunctionName=spec.function,
            BatchSize=spec.batch_size, MaximumBatchingWindowInSeconds=spec.window, **more,
        )  # fmt: skip
        return str(made["UUID"])

    # ------------------------------------------------------------------ models

    def _model(self, spec: FunctionSpec) -> Model:
        given: JsonObject = {
            "duration": spec.duration, "failure_rate": spec.failure_rate, "error": spec.error, "answer": spec.answer,
        }  # fmt: skip
        plain = Model.read(given)
        answer = self._answer(spec)
        duration: Json = plain.duration
        if spec.per_message_ms:
            if not isinstance(spec.duration, int | float | str):
                raise _refused(f"function {spec.name}: perMessage goes with a constant duration")
            from statewright.instants import parse_duration_ms

            base, each = parse_duration_ms(spec.duration) / 1000, spec.per_message_ms / 1000

            def by_messages(event: Json) -> float:
                return base + each * len(event.get("Records", ()) if isinstance(event, dict) else ())

            duration = by_messages
        return Model(duration, plain.failure_rate, plain.error, spec.answer if answer is None else answer)

    def _answer(self, spec: FunctionSpec) -> Answer | None:
        """The function behind an invocation's answer, where that is more than a value."""
        outages = [one for one in self._scenario.faults if one.kind == "function" and one.target == spec.name]
        poisoned = any(one.poison for one in self._scenario.arrivals) and spec.on_poison != "ignore"
        own = _loaded(spec.python, spec.name) if spec.python is not None else None
        if not (outages or poisoned or own is not None):
            return None
        reports = spec.on_poison == "report" or (
            not spec.on_poison and any(one.reports for one in self._scenario.mappings if one.function == spec.name)
        )
        draws = chance.draws_of(f"{self._scenario.seed} faults {spec.name}")

        async def answer(event: Json) -> Json:
            self._strike(outages, draws)
            failed = _poison(event) if poisoned else []
            if failed and not reports:
                raise PoisonMessage(f"{len(failed)} of the messages cannot be treated")
            if own is not None:
                return await _own_answer(own, event, self._system.ask)
            return {"batchItemFailures": [{"itemIdentifier": one} for one in failed]} if failed else spec.answer

        return answer

    def _strike(self, outages: list[FaultSpec], draws: chance.Draws) -> None:
        since_ms = self._system.now_ms - self._began_ms
        for fault in outages:
            if fault.at_ms <= since_ms < fault.at_ms + fault.for_ms and draws.random() < fault.share:
                raise Outage("The scenario says that this function is out of order.")


def _poison(event: Json) -> list[str]:
    """The ids of an event's messages that cannot be treated."""
    records = event.get("Records", ()) if isinstance(event, dict) else ()
    return [one["messageId"] for one in records if f'"{POISON}":true' in one["body"]]


def _loaded(python: tuple[Path, str], name: str) -> Callable[..., Awaitable[Json]]:
    """A function of a user's file, which answers in place of a handler. Raises: DefinitionError."""
    path, wanted = python
    spec = importlib.util.spec_from_file_location(f"statewright_simulated_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise _refused(f"function {name}: {path.name} is no Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as problem:
        raise _refused(f"function {name}: {path.name} cannot be imported: {problem!r}") from None
    found = getattr(module, wanted, None)
    if not callable(found):
        raise _refused(f"function {name}: {path.name} has no function '{wanted}'")
    made: Callable[..., Awaitable[Json]] = found
    return made


async def _own_answer(own: Callable[..., Awaitable[Json]], event: Any, call: Callable[..., Any]) -> Json:
    """The answer of a user's function; an uncaught error of a service fails the invocation by its code."""
    try:
        return await own(event, call)
    except ApiError as refusal:
        raise type(refusal.code, (Exception,), {})(refusal.message) from None


def _refused(*texts: str) -> DefinitionError:
    return DefinitionError([Diagnostic(REFUSED, text) for text in texts])
