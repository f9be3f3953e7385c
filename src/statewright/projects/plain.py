"""A plain folder as a project: its definitions, its functions, and what the tables of `statewright.toml` add to them.

Owns what the tables mean as resources. Names are physical names here: `[queues.orders]` is the queue `orders`. Which
settings there are is `settings/project.py`'s.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from statewright.asl.loading import DEFINITION_ENDINGS
from statewright.config import FILE_NAME, Config
from statewright.engine.machines.limits import MOST_AT_ONCE, MOST_PER_SECOND
from statewright.files.settings_lines import line_of
from statewright.payload import Json, JsonMapping
from statewright.projects.evaluation import references
from statewright.projects.finding import own_files, projects_within
from statewright.projects.folder import find_machines
from statewright.projects.functions import find_functions, function_files
from statewright.projects.resources import Finding, Place, Project, Resource

FUNCTION_SECONDS: Final = 60
"""How long a function of a folder may run, unless its table says otherwise."""
SAME_NAME: Final = "is left out: {} has the same name"
_REFERENCE: Final = re.compile(r"\$\{(queues|tables|topics|buckets|functions|machines)\.([^{}]+?)(\.arn)?\}")
_ARN_BY_REF: Final = frozenset({"topics", "machines"})
"""Kinds whose `Ref` is their ARN."""


def folder_files(root: Path) -> list[Path]:
    """Every file of a plain folder that makes up its project."""
    settings = root / FILE_NAME
    return [
        *own_files(root, DEFINITION_ENDINGS), *function_files(root), *([settings] if settings.is_file() else ()),
    ]  # fmt: skip


def read_folder(root: Path, config: Config, *, express: frozenset[str] = frozenset()) -> Project:
    """The project of a folder whose settings are in `config`; the machines named by `express` are EXPRESS ones."""
    return _Folder(root, config, express).project()


def with_tables(project: Project, config: Config) -> Project:
    """A project of another kind with what the tables of its `statewright.toml` add; mistakes are findings."""
    added = _Folder(project.root, config, frozenset())
    added.add_tables(frozenset({"queues", "buckets", "tables", "topics", "schedules"}))
    made = added.project()
    return replace(
        project,
        resources={**made.resources, **project.resources},
        order=(*made.order, *project.order),
        findings=(*project.findings, *made.findings),
    )


class _Folder:
    """Collects resources, and what is wrong with them."""

    def __init__(self, root: Path, config: Config, express: frozenset[str]) -> None:
        self._root = root
        self._config = config
        self._express = express
        self._settings = root / FILE_NAME
        self._text = self._settings.read_text("utf-8") if config.tables and self._settings.is_file() else ""
        self._resources: dict[str, Resource] = {}
        self._findings: list[Finding] = []
        self._only_tables = False

    def project(self) -> Project:
        """Everything, in order."""
        if not self._only_tables:
            self._functions()
            self._machines()
            self._apart()
            self.add_tables(frozenset(_MAKERS))
        order = self._order()
        # A folder's name may be bytes that are no text, which no service takes.
        folder = self._root.resolve().name.encode(errors="replace").decode()
        name = self._config.project.name or folder or "project"
        return Project(
            name, self._root, "folder", tuple(folder_files(self._root)), self._resources, order,
            findings=tuple(self._findings), parameters=self._config.project.parameters,
        )  # fmt: skip

    def add_tables(self, sections: frozenset[str]) -> None:
        """Add what the tables of some kinds ask for."""
        self._only_tables = True
        for section, make in _MAKERS.items():
            if section in sections:
                for name, table in self._config.tables.get(section, {}).items():
                    make(self, name, table)

    # ------------------------------------------------------------------ files

    def _functions(self) -> None:
        found = find_functions(self._root, self._config.project.exclude)
        for name, source in found.functions.items():
            properties = self._function_properties(name)
            self._put(f"functions.{name}", "AWS::Lambda::Function", properties, Place(source.path), code=source.path)
        self._clashes(found.clashes)
        for name in self._config.tables.get("functions", {}).keys() - found.functions.keys():
            self._refuse(("functions", name), f"there is no functions/{name}.py with a handler")

    def _machines(self) -> None:
        found = find_machines(self._root, self._config.project.exclude)
        for name, path in found.machines.items():
            properties = self._machine_properties(name)
            self._put(f"machines.{name}", "AWS::StepFunctions::StateMachine", properties, Place(path), definition=path)
        self._clashes(found.clashes)
        for name in self._config.tables.get("machines", {}).keys() - found.machines.keys():
            self._refuse(("machines", name), f"there is no {name}.asl.json, {name}.asl.yaml or {name}.asl.yml")

    def _apart(self) -> None:
        """Report projects inside the folder: what their files name has its values there."""
        for folder, file in projects_within(self._root):
            shown = folder.relative_to(self._root)
            text = f"{shown} is a project of its own and is left out: statewright deploy {self._root / shown}"
            self._findings.append(Finding("INFO", text, Place(file)))

    def _clashes(self, clashes: Mapping[Path, Path]) -> None:
        for path, first in clashes.items():
            text = SAME_NAME.format(first.relative_to(self._root))
            self._findings.append(Finding("WARNING", text, Place(path)))

    def _function_properties(self, name: str) -> dict[str, Json]:
        table = self._config.tables.get("functions", {}).get(name, {})
        given = _renamed(
            table, timeout="Timeout", memory="MemorySize", runtime="Runtime", concurrency="ReservedConcurrentExecutions"
        )
        if "environment" in table:
            given["Environment"] = {"Variables": self._filled(table["environment"])}
        return {"FunctionName": name, **given}

    def _machine_properties(self, name: str) -> dict[str, Json]:
        table = self._config.tables.get("machines", {}).get(name, {})
        kind = "EXPRESS" if name in self._express else table.get("type", "STANDARD")
        given: dict[str, Json] = {"StateMachineName": name, "StateMachineType": kind}
        if "substitutions" in table:
            given["DefinitionSubstitutions"] = self._filled(table["substitutions"])
        tags = {**table.get("tags", {}), **_limit_tags(table)}
        if tags:
            given["Tags"] = [{"Key": key, "Value": value} for key, value in tags.items()]
        if table.get("logging") == "OFF":
            given["LoggingConfiguration"] = {"Level": "OFF"}
        elif "logging" in table or "log_group" in table:
            group = table.get("log_group", f"/aws/vendedlogs/states/{name}")
            arn = self._config.arn("logs", f"log-group:{group}:*")
            given["LoggingConfiguration"] = {
                "Level": table.get("logging", "ALL"),
                "IncludeExecutionData": table.get("log_data", True),
                "Destinations": [{"CloudWatchLogsLogGroup": {"LogGroupArn": arn}}],
            }
        return given

    def _filled(self, values: Mapping[str, str]) -> dict[str, Json]:
        """Texts in which `${queues.orders}` stands for what `Ref` gives for it, `${queues.orders.arn}` for its ARN."""
        return {key: self._filled_text(value) for key, value in values.items()}

    def _filled_text(self, value: str) -> Json:
        parts: list[Json] = []
        start = 0
        for found in _REFERENCE.finditer(value):
            target = f"{found[1]}.{found[2]}"
            is_arn = bool(found[3]) and found[1] not in _ARN_BY_REF
            parts += [
                value[start : found.start()], {"Fn::GetAtt": [target, "Arn"]} if is_arn else {"Ref": target},
            ]  # fmt: skip
            start = found.end()
        return {"Fn::Join": ["", [*parts, value[start:]]]} if parts else value

    # ------------------------------------------------------------------ tables

    def queue(self, name: str, table: JsonMapping) -> None:
        """`[queues.NAME]`."""
        is_fifo = table.get("fifo", name.endswith(".fifo"))
        given = _renamed(
            table, visibility_timeout="VisibilityTimeout", delay="DelaySeconds", retention="MessageRetentionPeriod",
            receive_wait="ReceiveMessageWaitTimeSeconds", deduplication="ContentBasedDeduplication",
        )  # fmt: skip
        given["QueueName"] = name if name.endswith(".fifo") or not is_fifo else f"{name}.fifo"
        if is_fifo:
            given["FifoQueue"] = True
        if "VisibilityTimeout" not in given and (seconds := self._invoked_for(name)):
            # A mapping needs as much at least. Source: Lambda developer guide, "Using Lambda with Amazon SQS".
            given["VisibilityTimeout"] = 6 * seconds
        redrive = table.get("redrive")
        if redrive:
            target = self._target(("queues", name, "redrive"), redrive["queue"], "queues")
            given["RedrivePolicy"] = {"deadLetterTargetArn": target, "maxReceiveCount": redrive.get("receives", 3)}
        self._put(f"queues.{name}", "AWS::SQS::Queue", given, self._place("queues", name))

    def _invoked_for(self, queue: str) -> int:
        """How long the functions that a queue is mapped to may run, in seconds; 0 if there are none."""
        return max(
            (
                table.get("timeout", FUNCTION_SECONDS)
                for table in self._config.tables.get("functions", {}).values()
                if table.get("mapping", {}).get("queue", "").removeprefix("queues.") == queue
            ),
            default=0,
        )

    def bucket(self, name: str, _table: JsonMapping) -> None:
        """`[buckets.NAME]`."""
        self._put(f"buckets.{name}", "AWS::S3::Bucket", {"BucketName": name}, self._place("buckets", name))

    def table(self, name: str, table: JsonMapping) -> None:
        """`[tables.NAME]`: keys are written `id`, or `id:N` for one that is a number, `id:B` for bytes."""
        types: dict[str, str] = {}
        given: dict[str, Json] = {"TableName": name, "BillingMode": "PAY_PER_REQUEST"}
        given["KeySchema"] = self._keys(("tables", name), table, types)
        indexes = [
            {
                "IndexName": index,
                "KeySchema": self._keys(("tables", name, "indexes", index), one, types),
                "Projection": {
                    "ProjectionType": "INCLUDE" if "include" in one else one.get("projection", "ALL").upper(),
                    **({"NonKeyAttributes": one["include"]} if "include" in one else {}),
                },
            }
            for index, one in table.get("indexes", {}).items()
        ]
        if indexes:
            given["GlobalSecondaryIndexes"] = indexes
        given["AttributeDefinitions"] = [{"AttributeName": key, "AttributeType": kind} for key, kind in types.items()]
        if "ttl" in table:
            given["TimeToLiveSpecification"] = {"AttributeName": table["ttl"], "Enabled": True}
        self._put(f"tables.{name}", "AWS::DynamoDB::Table", given, self._place("tables", name))

    def _keys(self, keys: tuple[str, ...], table: JsonMapping, types: dict[str, str]) -> list[Json]:
        schema: list[Json] = []
        for member, role in (("hash", "HASH"), ("range", "RANGE")):
            if member not in table:
                continue
            name, _, kind = table[member].partition(":")
            kind = kind or types.get(name, "S")
            if kind not in ("S", "N", "B") or types.setdefault(name, kind) != kind:
                self._refuse((*keys, member), f"{name} must be of one type, S, N or B, everywhere")
            schema.append({"AttributeName": name, "KeyType": role})
        return schema

    def topic(self, name: str, table: JsonMapping) -> None:
        """`[topics.NAME]`, and its subscriptions."""
        is_fifo = table.get("fifo", name.endswith(".fifo"))
        given: dict[str, Json] = {"TopicName": name if name.endswith(".fifo") or not is_fifo else f"{name}.fifo"}
        if is_fifo:
            given["FifoTopic"] = True
        given.update(_renamed(table, deduplication="ContentBasedDeduplication"))
        self._put(f"topics.{name}", "AWS::SNS::Topic", given, self._place("topics", name))
        for one in table.get("subscriptions", ()):
            to = one["to"]
            target = self._target(("topics", name, "subscriptions"), to, "queues", "functions")
            protocol = "lambda" if to.startswith("functions.") or ":function:" in to else "sqs"
            subscribed: dict[str, Json] = {
                "TopicArn": {"Ref": f"topics.{name}"}, "Protocol": protocol, "Endpoint": target,
                **_renamed(one, filter="FilterPolicy", raw="RawMessageDelivery"),
            }  # fmt: skip
            self._put(
                f"topics.{name}.{to}", "AWS::SNS::Subscription", subscribed,
                self._place("topics", name, "subscriptions"),
            )  # fmt: skip

    def function(self, name: str, table: JsonMapping) -> None:
        """Resources of `[functions.NAME]` besides the function: its queue, and its Event invocations."""
        if f"functions.{name}" not in self._resources:
            return
        function = {"Ref": f"functions.{name}"}
        mapping = table.get("mapping")
        if mapping:
            given = _renamed(mapping, batch_size="BatchSize", window="MaximumBatchingWindowInSeconds")
            given["EventSourceArn"] = self._target(("functions", name, "mapping"), mapping["queue"], "queues")
            given["FunctionName"] = function
            if "concurrency" in mapping:
                given["ScalingConfig"] = {"MaximumConcurrency": mapping["concurrency"]}
            if mapping.get("report_failures"):
                given["FunctionResponseTypes"] = ["ReportBatchItemFailures"]
            if "filter" in mapping:
                patterns = mapping["filter"] if isinstance(mapping["filter"], list) else [mapping["filter"]]
                given["FilterCriteria"] = {"Filters": [{"Pattern": {"Fn::ToJsonString": one}} for one in patterns]}
            place = self._place("functions", name, "mapping")
            self._put(f"functions.{name}.mapping", "AWS::Lambda::EventSourceMapping", given, place)
        destinations: dict[str, Json] = {
            member: {"Destination": self._target(("functions", name, key), table[key])}
            for key, member in (("on_success", "OnSuccess"), ("on_failure", "OnFailure"))
            if key in table
        }
        if destinations or "retries" in table:
            given = {"FunctionName": function, "Qualifier": "$LATEST"}
            given.update(_renamed(table, retries="MaximumRetryAttempts"))
            if destinations:
                given["DestinationConfig"] = destinations
            place = self._place("functions", name)
            self._put(f"functions.{name}.events", "AWS::Lambda::EventInvokeConfig", given, place)

    def schedule(self, name: str, table: JsonMapping) -> None:
        """`[schedules.NAME]`."""
        given = _renamed(table, expression="ScheduleExpression", timezone="ScheduleExpressionTimezone")
        window = table.get("window_minutes", 0)
        given["Name"] = name
        given["FlexibleTimeWindow"] = (
            {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": window} if window else {"Mode": "OFF"}
        )
        given["State"] = "ENABLED" if table.get("enabled", True) else "DISABLED"
        target: dict[str, Json] = {"Arn": self._target(("schedules", name, "target"), table["target"])}
        if "input" in table:
            text = table["input"]
            target["Input"] = text if isinstance(text, str) else {"Fn::ToJsonString": text}
        if "retries" in table:
            target["RetryPolicy"] = {"MaximumRetryAttempts": table["retries"]}
        if "dead_letters" in table:
            arn = self._target(("schedules", name, "dead_letters"), table["dead_letters"], "queues")
            target["DeadLetterConfig"] = {"Arn": arn}
        given["Target"] = target
        self._put(f"schedules.{name}", "AWS::Scheduler::Schedule", given, self._place("schedules", name))

    def nothing(self, _name: str, _table: JsonMapping) -> None:
        """`[machines.NAME]` has said all there is with its file."""

    # ------------------------------------------------------------------ parts

    def _target(self, keys: tuple[str, ...], text: str, *sections: str) -> Json:
        """The ARN of the target of a setting, `queues.orders`; the kind may be left out if only one is possible."""
        if text.startswith("arn:"):
            return text
        section, dot, name = text.partition(".")
        if not dot or section not in _MAKERS:
            if len(sections) != 1:
                self._refuse(keys, f'must be an ARN, or name its kind, such as "machines.{text}"')
                return text
            section, name = sections[0], text
        return {"Ref": f"{section}.{name}"} if section in _ARN_BY_REF else {"Fn::GetAtt": [f"{section}.{name}", "Arn"]}

    def _put(
        self, key: str, kind: str, properties: dict[str, Json], place: Place, *, code: Path | None = None,
        definition: Path | None = None,
    ) -> None:  # fmt: skip
        self._resources[key] = Resource(key, kind, properties, (), place, code, definition)

    def _place(self, *keys: str) -> Place:
        return Place(self._settings, line_of(self._text, keys) or 0)

    def _refuse(self, keys: tuple[str, ...], reason: str) -> None:
        self._findings.append(Finding("ERROR", f"{'.'.join(keys)}: {reason}", self._place(*keys)))

    def _order(self) -> tuple[str, ...]:
        """Every resource after what it refers to; those that cannot be made are left out, and reported."""
        order: dict[str, bool] = {}
        path: list[str] = []

        def visit(key: str) -> bool:
            if key in order:
                return order[key]
            resource = self._resources[key]
            if key in path:
                cycle = " -> ".join([*path[path.index(key) :], key])
                self._findings.append(Finding("ERROR", f"{key} depends on itself: {cycle}", resource.place))
                return False
            path.append(key)
            needed = references(resource.properties)
            missing = [one for one in needed if one not in self._resources]
            for one in missing:
                self._findings.append(Finding("ERROR", f"{key}: there is no {one}", resource.place))
            sound = not missing and all(visit(one) for one in needed)
            path.pop()
            order[key] = sound
            self._resources[key] = replace(resource, depends_on=tuple(one for one in needed if one not in missing))
            return sound

        for key in list(self._resources):
            visit(key)
        return tuple(key for key, sound in order.items() if sound)


def _renamed(table: JsonMapping, **names: str) -> dict[str, Json]:
    return {names[key]: value for key, value in table.items() if key in names}


_MAKERS: Final = {
    "queues": _Folder.queue,
    "buckets": _Folder.bucket,
    "tables": _Folder.table,
    "topics": _Folder.topic,
    "functions": _Folder.function,
    "machines": _Folder.nothing,
    "schedules": _Folder.schedule,
}


def _limit_tags(table: JsonMapping) -> dict[str, str]:
    """The tags that limit a machine's executions."""
    names = {"max_concurrent_executions": MOST_AT_ONCE, "max_starts_per_second": MOST_PER_SECOND}
    return {tag: f"{table[name]}" for name, tag in names.items() if name in table}
