"""Scenarios: what a simulation is made of, and how the YAML file that says so is read.

Owns the keys of the file, their defaults, and replacing values by `--set`. Types and findings are `reader.py`'s, what
is made of a scenario `building.py`'s. The file is described for users in `docs/simulation.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from statewright.asl.reader import ReadError, read_document
from statewright.asl.text.document import Document
from statewright.cost.prices import PriceTableError, load
from statewright.cost.usage import ITEMS
from statewright.errors import DefinitionError, Diagnostic
from statewright.functions.event_sources.scaling import PROFILES
from statewright.limits import FUNCTION_CONCURRENCY
from statewright.payload import Json, JsonMapping, JsonObject
from statewright.simulation.reader import INVALID_VALUE, At, Reader
from statewright.virtual_clock import VIRTUAL_START_MS

UNTIL_MS: Final = 7 * 86_400_000
"""Virtual time after which a simulation is given up, unless it says otherwise."""
LOAD: Final = "--load"
"""The change that is not at one place: another rate of the first arrival, and how long."""
MOST_JUMPS: Final = 50_000_000
"""Instants at which something was due, likewise."""


@dataclass(frozen=True, slots=True)
class FunctionSpec:
    """A function: a model, or a `handler` that really runs. `usage` is charged with each invocation.

    Without a `timeout` (seconds) it has the longest that its queues' visibility allows.
    """

    name: str
    duration: Json = 0
    per_message_ms: int = 0
    failure_rate: float = 0.0
    error: str = "ModelledFailure"
    answer: Json = None
    python: tuple[Path, str] | None = None
    on_poison: str = ""
    handler: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    timeout: int | None = None
    memory: int = 128
    reserved: int | None = None
    usage: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QueueSpec:
    """A queue. `attributes` are those of the service."""

    name: str
    attributes: Mapping[str, str]
    dead_letter: str = ""
    receives: int = 1


@dataclass(frozen=True, slots=True)
class MachineSpec:
    """A state machine."""

    name: str
    file: Path
    type: str = "STANDARD"
    tags: Mapping[str, str] = field(default_factory=dict)
    timeout: int | None = None


@dataclass(frozen=True, slots=True)
class MappingSpec:
    """A queue, or the stream of a table, that invokes a function."""

    queue: str
    function: str
    table: str = ""
    batch_size: int = 10
    window: int = 0
    profile: str = ""
    maximum: int | None = None
    reports: bool = False


@dataclass(frozen=True, slots=True)
class ArrivalSpec:
    """An arrival: what comes, when and where. Times are milliseconds since the start, `rate` is for a second.

    `count` is None where `for_ms` ends it.
    """

    kind: str
    target: str
    form: str
    at_ms: int = 0
    count: int | None = None
    over_ms: int = 0
    rate: float = 0.0
    for_ms: int | None = None
    replay: Path | None = None
    body: Json = None
    name: str = "run-{n}"
    poison: float = 0.0
    batch: int = 1


@dataclass(frozen=True, slots=True)
class FaultSpec:
    """A fault, from when it lasts and for how long.

    `kind` is `function` (invocations fail), `call` (an operation `service.Operation` is refused with `error`), or
    `concurrency` (the account has so many slots).
    """

    kind: str
    at_ms: int
    for_ms: int
    target: str = ""
    error: str = ""
    share: float = 1.0
    slots: int = 0


@dataclass(frozen=True, slots=True)
class Scenario:
    """A simulation as its file describes it."""

    name: str
    path: Path
    description: str = ""
    seed: int = 0
    start_ms: int = VIRTUAL_START_MS
    until_ms: int = UNTIL_MS
    jumps: int = MOST_JUMPS
    quotas: bool = True
    concurrency: int = FUNCTION_CONCURRENCY
    prices: str | None = None
    project: Path | None = None
    functions: Sequence[FunctionSpec] = ()
    queues: Sequence[QueueSpec] = ()
    machines: Sequence[MachineSpec] = ()
    mappings: Sequence[MappingSpec] = ()
    buckets: Sequence[str] = ()
    tables: Mapping[str, str] = field(default_factory=dict)
    arrivals: Sequence[ArrivalSpec] = ()
    faults: Sequence[FaultSpec] = ()
    usage: Mapping[str, float] = field(default_factory=dict)
    variants: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    place: Callable[[At], tuple[int, int]] = field(default=lambda _at: (1, 1), compare=False)
    """The line and column of a part of the file."""


_FUNCTION: Final = (
    "duration", "perMessage", "failureRate", "error", "answer", "onPoison", "handler", "environment", "timeout",
    "memory", "reserved", "usage",
)  # fmt: skip
_QUEUE: Final = ("visibility", "delay", "retention", "receiveWait", "fifo", "deadLetter", "maxReceiveCount")
_MACHINE: Final = ("file", "type", "tags", "timeout")
_MAPPING: Final = (
    "queue", "table", "function", "batchSize", "window", "profile", "maximumConcurrency", "reportBatchItemFailures",
)  # fmt: skip
_ARRIVAL: Final = (
    "queue", "machine", "function", "table", "burst", "over", "rate", "poisson", "for", "count", "replay", "at", "body",
    "input", "name", "poison", "batch",
)  # fmt: skip
_FAULT: Final = ("at", "for", "function", "call", "concurrency", "error", "share")


def read_scenario(path: Path, changes: Mapping[str, Json] | None = None) -> Scenario:
    """Read a scenario; `changes` are values by their places: `functions.work.duration`, `mappings.0.profile`.

    Raises: DefinitionError with every finding; OSError.
    """
    try:
        document = read_document(path.read_bytes(), name=path.name, placeholders=False)
    except ReadError as problem:
        raise DefinitionError(list(problem.diagnostics)) from None
    value = document.value
    if not isinstance(value, dict):
        raise DefinitionError([Diagnostic(INVALID_VALUE, "a scenario is an object of keys", (), line=1, column=1)])
    for key, changed in (changes or {}).items():
        value = _with_load(value, *changed) if key == LOAD else changed_at(value, key, changed)
    return _Scenario(document, value, path).read()


def _with_load(value: dict[str, Any], rate: str, lasting: str) -> Any:
    """A scenario whose first arrival comes at another rate for so long; a burst becomes a rate."""
    arrivals = value.get("arrivals")
    first = arrivals[0] if isinstance(arrivals, list) and arrivals else arrivals
    if not isinstance(first, dict):
        raise DefinitionError(
            [Diagnostic(INVALID_VALUE, "--load: the scenario has no arrivals whose rate it could be")]
        )
    kept = {
        key: given for key, given in first.items() if key not in ("burst", "over", "rate", "count", "replay", "for")
    }
    form = "poisson" if "poisson" in kept else "rate"
    changed = {**kept, form: rate, "for": lasting}
    return {**value, "arrivals": [changed, *(arrivals[1:] if isinstance(arrivals, list) else ())]}


def changed_at(value: Any, key: str, changed: Json) -> Any:
    """A value with the one at a dotted place replaced; only the spine is copied. Raises: DefinitionError."""
    step, _, rest = key.partition(".")
    if isinstance(value, list):
        if not step.isdigit() or int(step) >= len(value):
            text = f"--set: there is no entry '{step}' of a list of {len(value)}; entries are counted from 0"
            raise DefinitionError([Diagnostic(INVALID_VALUE, text)])
        number = int(step)
        after = changed_at(value[number], rest, changed) if rest else changed
        return [*value[:number], after, *value[number + 1 :]]
    if not isinstance(value, dict | None):
        raise DefinitionError([Diagnostic(INVALID_VALUE, f"--set: '{key}' is within {value!r}, which has no members")])
    before = value or {}
    return {**before, step: changed_at(before.get(step), rest, changed) if rest else changed}


class _Scenario:
    """Reads the parts in the order in which they refer to each other."""

    def __init__(self, document: Document, value: JsonObject, path: Path) -> None:
        self._reader = Reader(document, path.resolve().parent)
        self._value = value
        self._path = path

    def read(self) -> Scenario:
        read = self._reader
        known = (
            "name", "description", "seed", "start", "until", "maximumEvents", "quotas", "concurrency", "prices",
            "project", "functions", "queues", "machines", "mappings", "buckets", "tables", "arrivals", "faults",
            "usage", "variants",
        )  # fmt: skip
        given = read.members((), self._value, known, "a scenario")
        functions = [self._function(*one) for one in read.each(("functions",), given.get("functions"), "functions")]
        queues = [self._queue(*one) for one in read.each(("queues",), given.get("queues"), "queues")]
        machines = [self._machine(*one) for one in read.each(("machines",), given.get("machines"), "machines")]
        tables = {name: read.text(at, key) for at, name, key in read.each(("tables",), given.get("tables"), "tables")}
        project = read.file(("project",), given["project"], folders=True) if "project" in given else None
        self._names = {
            "queue": [one.name for one in queues],
            "function": [one.name for one in functions],
            "machine": [one.name for one in machines],
            "table": list(tables),
        }
        self._has_project = project is not None
        for queue in queues:
            if queue.dead_letter:
                self._named(("queues", queue.name, "deadLetter"), queue.dead_letter, "queue")
        scenario = Scenario(
            name=read.text(("name",), given.get("name"), self._path.name.partition(".")[0]),
            path=self._path,
            description=read.text(("description",), given.get("description")).strip(),
            seed=read.whole(("seed",), given.get("seed"), 0),
            start_ms=self._start(given.get("start")),
            until_ms=read.milliseconds(("until",), given.get("until"), UNTIL_MS),
            jumps=read.whole(("maximumEvents",), given.get("maximumEvents"), MOST_JUMPS, 1),
            quotas=read.truth(("quotas",), given.get("quotas"), True),
            concurrency=read.whole(("concurrency",), given.get("concurrency"), FUNCTION_CONCURRENCY, 1),
            prices=self._prices(given.get("prices")),
            project=project,
            functions=functions,
            queues=queues,
            machines=machines,
            mappings=self._list("mappings", given, self._mapping),
            buckets=self._list("buckets", given, read.text),
            tables=tables,
            arrivals=self._list("arrivals", given, self._arrival),
            faults=self._list("faults", given, self._fault),
            usage=self._usage(("usage",), given.get("usage")),
            variants=self._variants(given.get("variants")),
            place=read.place,
        )
        if read.findings:
            raise DefinitionError(read.findings)
        return scenario

    def _list(self, key: str, given: JsonMapping, read: Callable[[At, Json], Json]) -> list[Json]:
        return [read(at, entry) for at, entry in self._reader.entries((key,), given.get(key), key)]

    def _named(self, at: At, value: Json, what: str) -> str:
        """A name of the scenario; what a project has is known only when it is deployed."""
        if self._has_project:
            return self._reader.text(at, value)
        return self._reader.name(at, value, self._names[what], what)

    def _start(self, value: Json) -> int:
        if value is None:
            return VIRTUAL_START_MS
        try:
            found = datetime.fromisoformat(str(value))
        except ValueError:
            found = None
        if found is None or found.tzinfo is None:
            self._reader.bad(("start",), f"'{value}' is no instant with a zone", "write it like 2026-01-01T00:00:00Z")
            return VIRTUAL_START_MS
        return round(found.timestamp() * 1000)

    def _prices(self, value: Json) -> str | None:
        if value is None:
            return None
        name = self._reader.text(("prices",), value)
        beside = self._reader.folder / name
        chosen = str(beside) if beside.is_file() else name
        try:
            load(chosen)
        except PriceTableError as problem:
            self._reader.bad(("prices",), str(problem))
        return chosen

    def _usage(self, at: At, value: Json) -> dict[str, float]:
        read = self._reader
        given = read.members(at, value, ITEMS, "usage")
        return {item: read.number((*at, item), quantity) for item, quantity in given.items()}

    def _variants(self, value: Json) -> dict[str, dict[str, Json]]:
        found = {}
        for at, name, changes in self._reader.each(("variants",), value, "variants"):
            if changes is not None and not isinstance(changes, dict):
                self._reader.bad(at, "a variant is an object of values by their places: functions.work.duration: 60")
                continue
            found[name] = {str(key): changed for key, changed in (changes or {}).items()}
        return found

    # ------------------------------------------------------------------ parts

    def _function(self, at: At, name: str, value: Json) -> FunctionSpec:
        read = self._reader
        given = read.members(
            at, value if isinstance(value, dict) else {"duration": value}, _FUNCTION, f"function {name}"
        )
        failure_rate = read.share((*at, "failureRate"), given.get("failureRate"))
        error = read.text((*at, "error"), given.get("error"), "ModelledFailure")
        duration = given.get("duration", 0)
        read.model(at, {"duration": duration, "failure_rate": failure_rate, "error": error})
        answer, python = given.get("answer"), None
        if isinstance(answer, dict) and set(answer) == {"python"}:
            python, answer = self._python((*at, "answer", "python"), answer["python"]), None
        variables = read.each((*at, "environment"), given.get("environment"), "environment")
        return FunctionSpec(
            name,
            duration,
            read.milliseconds((*at, "perMessage"), given.get("perMessage"), 0),
            failure_rate,
            error,
            answer,
            python,
            read.choice((*at, "onPoison"), given.get("onPoison"), ("fail", "report", "ignore"), ""),
            read.file((*at, "handler"), given["handler"]) if "handler" in given else None,
            {key: read.text(place, text) for place, key, text in variables},
            self._timeout(at, given.get("timeout")),
            read.whole((*at, "memory"), given.get("memory"), 128, 128, 10_240),
            read.whole((*at, "reserved"), given["reserved"], 0) if given.get("reserved") is not None else None,
            self._usage((*at, "usage"), given.get("usage")),
        )

    def _timeout(self, at: At, value: Json) -> int | None:
        if value is None:
            return None
        return self._reader.whole(
            (*at, "timeout"), self._reader.milliseconds((*at, "timeout"), value, 0) // 1000, 3, 1, 900
        )

    def _python(self, at: At, value: Json) -> tuple[Path, str]:
        text = self._reader.text(at, value)
        file, _, function = text.rpartition(":")
        if not file or not function:
            self._reader.bad(at, f"'{text}' names no function", "write it like models.py:status")
            return Path(text), ""
        return self._reader.file(at, file), function

    def _queue(self, at: At, name: str, value: Json) -> QueueSpec:
        read = self._reader
        given = read.members(at, value, _QUEUE, f"queue {name}")
        attributes = {}
        for key, attribute in (
            ("visibility", "VisibilityTimeout"), ("delay", "DelaySeconds"), ("retention", "MessageRetentionPeriod"),
            ("receiveWait", "ReceiveMessageWaitTimeSeconds"),
        ):  # fmt: skip
            if key in given:
                attributes[attribute] = str(read.milliseconds((*at, key), given[key], 0) // 1000)
        if read.truth((*at, "fifo"), given.get("fifo"), name.endswith(".fifo")):
            attributes["FifoQueue"] = "true"
            attributes["ContentBasedDeduplication"] = "true"
        dead_letter = read.text((*at, "deadLetter"), given.get("deadLetter"))
        if "maxReceiveCount" in given and not dead_letter:
            read.bad((*at, "maxReceiveCount"), "maxReceiveCount says nothing without a deadLetter queue", key=True)
        return QueueSpec(
            name, attributes, dead_letter, read.whole((*at, "maxReceiveCount"), given.get("maxReceiveCount"), 1, 1)
        )

    def _machine(self, at: At, name: str, value: Json) -> MachineSpec:
        read = self._reader
        given = read.members(at, value if isinstance(value, dict) else {"file": value}, _MACHINE, f"machine {name}")
        if "file" not in given:
            read.missing(at, f"machine {name}", "file", "the file of its definition")
        tags = read.each((*at, "tags"), given.get("tags"), "tags")
        return MachineSpec(
            name,
            read.file((*at, "file"), given["file"]) if "file" in given else Path(),
            read.choice((*at, "type"), given.get("type"), ("STANDARD", "EXPRESS"), "STANDARD"),
            {key: read.text(place, text) for place, key, text in tags},
            read.milliseconds((*at, "timeout"), given["timeout"], 0) // 1000 if "timeout" in given else None,
        )

    def _mapping(self, at: At, value: Json) -> MappingSpec:
        read = self._reader
        given = read.members(at, value, _MAPPING, "a mapping")
        if "function" not in given:
            read.missing(at, "a mapping", "function")
        if "queue" in given and "table" in given:
            read.bad(at, "a mapping has one of queue and table: what invokes the function")
        of_table = "table" in given
        if not of_table and "queue" not in given:
            read.missing(at, "a mapping", "queue", "or table, whose stream invokes the function")
        for key in ("profile", "maximumConcurrency"):
            if of_table and key in given:
                read.bad((*at, key), f"{key} is for mappings of queues: a stream has one batch at a time", key=True)
        maximum = given.get("maximumConcurrency")
        return MappingSpec(
            "" if of_table else self._named((*at, "queue"), given.get("queue"), "queue"),
            self._named((*at, "function"), given.get("function"), "function"),
            self._named((*at, "table"), given["table"], "table") if of_table else "",
            read.whole((*at, "batchSize"), given.get("batchSize"), 100 if of_table else 10, 1),
            read.milliseconds((*at, "window"), given.get("window"), 0) // 1000,
            read.choice((*at, "profile"), given.get("profile"), PROFILES, ""),
            read.whole((*at, "maximumConcurrency"), maximum, 2, 2) if maximum is not None else None,
            read.truth((*at, "reportBatchItemFailures"), given.get("reportBatchItemFailures"), False),
        )

    def _arrival(self, at: At, value: Json) -> ArrivalSpec:
        read = self._reader
        given = read.members(at, value, _ARRIVAL, "an arrival")
        kinds = [key for key in ("queue", "machine", "function", "table") if key in given]
        forms = [key for key in ("burst", "rate", "poisson", "replay") if key in given]
        if len(kinds) != 1:
            read.bad(at, "an arrival has one of queue, machine, function and table: where it goes")
        if "table" in given and "poison" in given:
            read.bad((*at, "poison"), "poison is for messages, executions and events, not for items", key=True)
        if "table" in given and not isinstance(given.get("body", {}), dict):
            read.bad((*at, "body"), 'the body of an item has its attributes, as {total: {N: "5"}}')
        if len(forms) != 1:
            read.bad(at, "an arrival has one of burst, rate, poisson and replay: how much comes")
        kind, form = (kinds or ["queue"])[0], (forms or ["burst"])[0]
        if form in ("rate", "poisson") and "for" not in given and "count" not in given:
            read.missing(at, f"an arrival with {form}", "for", "how long it lasts, such as for: 1h; or count: how many")
        count = read.whole((*at, "burst"), given.get("burst"), 0) if form == "burst" else None
        if form != "burst" and "count" in given:
            count = read.whole((*at, "count"), given["count"], 0)
        return ArrivalSpec(
            kind,
            self._named((*at, kind), given.get(kind, ""), kind),
            form,
            read.milliseconds((*at, "at"), given.get("at"), 0),
            count,
            read.milliseconds((*at, "over"), given.get("over"), 0),
            read.rate((*at, form), given[form]) if form in ("rate", "poisson") else 0.0,
            read.milliseconds((*at, "for"), given["for"], 0) if "for" in given else None,
            read.file((*at, "replay"), given["replay"]) if form == "replay" else None,
            given.get("body", given.get("input")),
            read.text((*at, "name"), given.get("name"), "run-{n}"),
            read.share((*at, "poison"), given.get("poison")),
            read.whole((*at, "batch"), given.get("batch"), 1, 1, 10),
        )

    def _fault(self, at: At, value: Json) -> FaultSpec:
        read = self._reader
        given = read.members(at, value, _FAULT, "a fault")
        kinds = [key for key in ("function", "call", "concurrency") if key in given]
        if len(kinds) != 1:
            read.bad(at, "a fault has one of function, call and concurrency: what goes wrong")
        if "for" not in given:
            read.missing(at, "a fault", "for", "how long it lasts, such as for: 5m")
        kind = (kinds or ["function"])[0]
        target = ""
        if kind == "function":
            target = self._named((*at, kind), given.get(kind, ""), kind)
        elif kind == "call":
            target = read.text((*at, kind), given["call"])
            if "." not in target:
                read.bad((*at, kind), f"'{target}' is no operation of a service", "write it like dynamodb.PutItem")
        return FaultSpec(
            kind,
            read.milliseconds((*at, "at"), given.get("at"), 0),
            read.milliseconds((*at, "for"), given.get("for"), 0),
            target,
            read.text((*at, "error"), given.get("error"), "ServiceUnavailable" if kind == "call" else "Outage"),
            read.share((*at, "share"), given.get("share", 1)),
            read.whole((*at, kind), given["concurrency"], 0) if kind == "concurrency" else 0,
        )
