"""The outcomes of a simulation as one JSON document: outcomes with their reasons, levels, the bill, curves.

Owns the document that the terminal, the HTML page and comparisons are all made from. It holds nothing of real time, so
the same scenario and seed give the same bytes.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from statewright.cost.bill import bill
from statewright.cost.hints import hints
from statewright.errors import ApiError
from statewright.functions.event_sources.scaling import PROFILES
from statewright.payload import JsonObject
from statewright.simulation.curves import Curves
from statewright.simulation.played import Parts
from statewright.simulation.scenario import Scenario
from statewright.virtual import VirtualSystem

MOST_LOOKED_AT: Final = 200
"""Failed executions whose errors are read, by machine."""
MANY_MESSAGES: Final = 1_000
LEAST_SAVED_USD: Final = 0.01
"""Advice that would save less is left out."""
MANY_CALLS: Final = 1_000
FITTED: Final = (
    "lambda-2022: what becomes of a throttled batch is assumed, and fitted to one published figure (103 dead letters); "
    "it is not validated by another"
)
Document = JsonObject


def gather(system: VirtualSystem, scenario: Scenario, parts: Parts) -> Document:
    """The document of a simulation that is over; instants are seconds since its start."""
    played = parts.played
    curves = Curves(system, scenario, played.began_ms, played.ended_ms)
    queues = [_queue(system, scenario, curves, name) for name in _queue_names(system)]
    functions = [_function(scenario, curves, name, memory) for name, (memory, _) in parts.meter.memory.items()]
    mappings = [_mapping(system, mapping) for mapping in system.parts.app.services.event_sources.all()]
    machines = [_machine(system, arn) for arn in _machine_arns(system)]
    made = bill(parts.meter.usage(), parts.table)
    document: Document = {
        "name": scenario.name,
        "description": scenario.description,
        "seed": scenario.seed,
        "quotas": "on" if scenario.quotas else "off",
        "virtualSeconds": (played.ended_ms - played.began_ms) / 1000,
        "ended": played.reason,
        "arrivals": _arrivals(scenario, parts),
        "outcomes": [],
        "queues": queues,
        "functions": [one for one in functions if one["invocations"] or one["throttles"]],
        "mappings": mappings,
        "executions": machines,
        "calls": {
            "made": dict(sorted(parts.meter.calls.items())),
            "refused": [
                {"call": call, "code": code, "count": count}
                for (call, code), count in sorted(parts.meter.refused.items())
            ],
        },
        "cost": {**made.document(), "hints": []},
        "notes": [*_notes(scenario, mappings), *parts.built.notes],
        "period": curves.period,
        "charts": curves.charts(played.costs),
    }
    document["outcomes"] = [row for row in _outcomes(document) if row["count"]]
    document["cost"]["hints"] = [
        *_wait_hints(system, machines),
        *_turn_hints(document["calls"]["made"]),
        *_batch_hints(parts, mappings),
    ]
    return document


def _arrivals(scenario: Scenario, parts: Parts) -> list[Document]:
    found = []
    for number, spec in enumerate(scenario.arrivals):
        found.append({"to": f"{spec.kind} {spec.target}", "form": spec.form, "sent": parts.sender.sent.sent[number]})
        if spec.poison:
            found[-1]["poisoned"] = parts.sender.poisoned[number]
    return found


def _notes(scenario: Scenario, mappings: list[Document]) -> list[str]:
    used = sorted({one["profile"] for one in mappings if "profile" in one and not one["maximumConcurrency"]})
    notes = []
    for name in used:
        profile = PROFILES.get(name)
        assumed = getattr(profile, "assumed", "")
        if name == "lambda-2022":
            notes.append(FITTED)
        elif assumed:
            notes.append(f"{name}: {assumed}")
    if any(one.handler is None for one in scenario.functions):
        models = ", ".join(one.name for one in scenario.functions if one.handler is None)
        notes.append(f"models stand in for the handlers of {models}")
    return notes


# ---------------------------------------------------------------------- parts of the system


def _queue_names(system: VirtualSystem) -> list[str]:
    urls = system.call("sqs", "ListQueues", {"MaxResults": 1000}).get("QueueUrls") or []
    return sorted(url.rsplit("/", 1)[1] for url in urls)


def _queue(system: VirtualSystem, scenario: Scenario, curves: Curves, name: str) -> Document:
    queue = system.parts.app.services.queues
    counts = system.run(queue.counts(queue.find(system.config.arn("sqs", name))))
    of = {"QueueName": name}
    return {
        "name": name,
        "sent": int(curves.total("AWS/SQS", "NumberOfMessagesSent", **of)),
        "received": int(curves.total("AWS/SQS", "NumberOfMessagesReceived", **of)),
        "deleted": int(curves.total("AWS/SQS", "NumberOfMessagesDeleted", **of)),
        "left": counts.visible + counts.in_flight + counts.delayed,
        "mostVisible": int(curves.peak("AWS/SQS", "ApproximateNumberOfMessagesVisible", **of)),
        "emptyAtSeconds": curves.last_above("AWS/SQS", "ApproximateNumberOfMessagesVisible", **of),
        "deadLettersOf": sorted(one.name for one in scenario.queues if one.dead_letter == name),
    }


def _function(scenario: Scenario, curves: Curves, name: str, memory: int) -> Document:
    of = {"FunctionName": name}
    reserved = next((one.reserved for one in scenario.functions if one.name == name and one.reserved is not None), None)
    limit = reserved if reserved is not None else scenario.concurrency
    durations = {
        wanted: curves.statistic("AWS/Lambda", "Duration", wanted, **of)
        for wanted in ("Average", "p50", "p95", "Maximum")
    }
    return {
        "name": name,
        "memory": memory,
        "limit": limit,
        "invocations": int(curves.total("AWS/Lambda", "Invocations", **of)),
        "errors": int(curves.total("AWS/Lambda", "Errors", **of)),
        "throttles": int(curves.total("AWS/Lambda", "Throttles", **of)),
        "asyncDropped": int(curves.total("AWS/Lambda", "AsyncEventsDropped", **of)),
        "mostAtOnce": int(curves.peak("AWS/Lambda", "ConcurrentExecutions", **of)),
        "limitReachedAtSeconds": curves.reached(limit, "AWS/Lambda", "ConcurrentExecutions", **of),
        "durationMs": {wanted: round(found, 2) for wanted, found in durations.items() if found is not None},
    }


def _source(mapping: Any, profile: str) -> Document:
    """The source of a mapping: a queue, with the profile by which it scales, or the stream of a table."""
    name = mapping.source_arn.split(":", 5)[5]
    if mapping.stream is not None:
        return {"table": name.split("/")[1]}
    return {"queue": name, "profile": mapping.profile or profile}


def _mapping(system: VirtualSystem, mapping: Any) -> Document:
    sources = system.parts.app.services.event_sources
    counts = sources.counts(mapping.uuid)
    return {
        **_source(mapping, sources.profile),
        "function": mapping.function_arn.split(":")[6],
        "batchSize": mapping.batch_size,
        "maximumConcurrency": mapping.maximum,
        "reportBatchItemFailures": mapping.reports_failures,
        "invocations": counts.invocations,
        "throttles": counts.throttles,
        "done": counts.done,
        "failed": counts.failed,
        "pulledNeverRun": counts.never_run,
        "filtered": counts.filtered,
    }


def _machine_arns(system: VirtualSystem) -> list[str]:
    return sorted(one["stateMachineArn"] for one in _listed(system, "ListStateMachines", "stateMachines", {}))


def _listed(system: VirtualSystem, operation: str, member: str, asked: JsonObject) -> Iterator[JsonObject]:
    while True:
        page = system.call("states", operation, asked)
        yield from page[member]
        if not page.get("nextToken"):
            return
        asked = {**asked, "nextToken": page["nextToken"]}


def _machine(system: VirtualSystem, arn: str) -> Document:
    recorder = system.parts.app.services.metrics
    by_status: Counter[str] = Counter()
    for series in recorder.all():
        if series.id.namespace == "AWS/States" and series.id.dimensions == (("StateMachineArn", arn),):
            if series.id.name.startswith("Executions"):
                by_status[series.id.name.removeprefix("Executions")] += int(series.all_total)
            elif series.id.name == "ExecutionTime" and series.all_samples:
                by_status["ms"] = round(series.all_total / series.all_samples)
    ended = sum(by_status[name] for name in ("Succeeded", "Failed", "TimedOut", "Aborted"))
    return {
        "machine": arn.rsplit(":", 1)[1],
        "started": by_status["Started"],
        "succeeded": by_status["Succeeded"],
        "failed": by_status["Failed"],
        "timedOut": by_status["TimedOut"],
        "aborted": by_status["Aborted"],
        "running": by_status["Started"] - ended,
        "averageSeconds": by_status["ms"] / 1000,
        "errors": _errors(system, arn) if by_status["Failed"] else {},
    }


def _errors(system: VirtualSystem, arn: str) -> Mapping[str, int]:
    """Error names of failed executions; of as many as are looked at."""
    found: Counter[str] = Counter()
    with contextlib.suppress(ApiError):
        asked = {"stateMachineArn": arn, "statusFilter": "FAILED", "maxResults": MOST_LOOKED_AT}
        for one in system.call("states", "ListExecutions", asked)["executions"]:
            shown = system.call("states", "DescribeExecution", {"executionArn": one["executionArn"]})
            found[shown.get("error") or "without an error"] += 1
    return dict(sorted(found.items()))


# ---------------------------------------------------------------------- outcomes


_DROPPED: Final = "throttled and dropped deliveries"


def _outcomes(document: Document) -> Iterator[Document]:
    """Rows of the table of outcomes: what, how many, and why; also those of which there are none."""
    for mapping in document["mappings"]:
        of_table = "table" in mapping
        what = f"records of {mapping['table']}" if of_table else f"messages of {mapping['queue']}"
        yield _row(what, "done", mapping["done"], f"treated by {mapping['function']}", "ok")
        yield _row(what, "failed deliveries", mapping["failed"], "the function failed, or said so", "fail")
        if of_table:
            why, dropped = "older than the mapping allows before their first invocation", "discarded"
        else:
            why, dropped = "throttled: pulled from the queue, and released without an invocation", _DROPPED
        yield _row(what, dropped, mapping["pulledNeverRun"], why, "caught")
        yield _row(what, "filtered", mapping["filtered"], "no filter meant them", "idle")
    for queue in document["queues"]:
        what = f"messages of {queue['name']}"
        if queue["deadLettersOf"]:
            yield _row(what, "dead", queue["left"], _why_dead(document, queue["deadLettersOf"]), "fail")
            continue
        yield _row(what, "left", queue["left"], f"the simulation ended before ({document['ended']})", "wait")
        lost = queue["sent"] - queue["deleted"] - queue["left"] - _dead_of(document, queue["name"])
        yield _row(what, "expired", max(lost, 0), "older than the queue keeps messages", "fail")
    for machine in document["executions"]:
        yield from _ends(machine)
    for function in document["functions"]:
        why = "Event invocations that failed after all repeats"
        yield _row(f"events for {function['name']}", "dropped", function["asyncDropped"], why, "fail")
    for refused in document["calls"]["refused"]:
        yield _row(f"calls {refused['call']}", "refused", refused["count"], refused["code"], "caught")


def _ends(machine: Document) -> Iterator[Document]:
    what = f"executions of {machine['machine']}"
    reasons = ", ".join(f"{name} {count:,}" for name, count in machine["errors"].items())
    for key, words, tone, why in (
        ("succeeded", "succeeded", "ok", ""),
        ("failed", "failed", "fail", reasons),
        ("timedOut", "timed out", "fail", "TimeoutSeconds of the machine"),
        ("aborted", "stopped", "idle", ""),
        ("running", "running", "run", "when the simulation ended"),
    ):
        yield _row(what, words, machine[key], why, tone)


def _row(what: str, outcome: str, count: int, reason: str, tone: str) -> Document:
    return {"what": what, "outcome": outcome, "count": count, "reason": reason, "tone": tone}


def _dead_of(document: Document, queue: str) -> int:
    return sum(one["left"] for one in document["queues"] if queue in one["deadLettersOf"])


def _why_dead(document: Document, queues: list[str]) -> str:
    of = [one for one in document["mappings"] if one.get("queue") in queues]
    failed, never_run = sum(one["failed"] for one in of), sum(one["pulledNeverRun"] for one in of)
    if failed and never_run:
        return "received as often as allowed: failed, or throttled and never run"
    if never_run:
        return "received as often as allowed, and never run: throttled each time"
    return "received as often as allowed, and failed each time" if failed else ""


# ---------------------------------------------------------------------- hints


def _wait_hints(system: VirtualSystem, machines: list[Document]) -> list[str]:
    """The cost of a machine's loops, by the execution that began last: it has waited longest where they queue up."""
    found = []
    for machine in machines:
        arn = system.config.arn("states", f"stateMachine:{machine['machine']}")
        with contextlib.suppress(ApiError):
            runs = system.call("states", "ListExecutions", {"stateMachineArn": arn, "maxResults": 1})["executions"]
            for run in runs:
                path, waits = _path(system, run["executionArn"])
                found += [f"{machine['machine']}, execution {run['name']}: {text}" for text in hints(path, waits)]
    return found


def _path(system: VirtualSystem, execution: str) -> tuple[list[str], dict[str, float]]:
    """The states that an execution entered, and the mean seconds of its stays by Wait state."""
    path: list[str] = []
    stays: dict[str, list[int]] = {}
    entered: dict[str, int] = {}
    for event in _listed(system, "GetExecutionHistory", "events", {"executionArn": execution, "maxResults": 1000}):
        if event["type"].endswith("StateEntered"):
            name = event["stateEnteredEventDetails"]["name"]
            path.append(name)
            entered[name] = event["timestamp"]
        elif event["type"] == "WaitStateExited":
            name = event["stateExitedEventDetails"]["name"]
            stays.setdefault(name, []).append(event["timestamp"] - entered.get(name, event["timestamp"]))
    return path, {name: sum(times) / len(times) / 1000 for name, times in stays.items()}


def _turn_hints(calls: Mapping[str, int]) -> list[str]:
    asked = calls.get("states.ListExecutions", 0)
    if asked < MANY_CALLS:
        return []
    return [
        f"ListExecutions was called {asked:,} times: where executions ask whose turn it is, a tag of the machine, "
        "statewright:maxConcurrentExecutions, lets them in one after the other, without a call or a transition"
    ]


def _batch_hints(parts: Parts, mappings: list[Document]) -> list[str]:
    price = parts.table.prices.get("sqs.requests")
    found = []
    for mapping in mappings:
        messages = mapping["done"] + mapping["failed"]
        if "queue" not in mapping or mapping["batchSize"] != 1 or messages < MANY_MESSAGES or price is None:
            continue
        saved = price.of(2 * messages * 0.9)
        if saved < LEAST_SAVED_USD:
            continue
        found.append(
            f"{mapping['queue']}: batches of 10 need a tenth of the {2 * messages:,} receives and deletes, "
            f"{saved:.2f} USD less; with ReportBatchItemFailures one bad message does not repeat the others"
        )
    return found
