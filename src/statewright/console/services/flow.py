"""The flow map: what starts what on this server, from schedules to machines, functions and queues, with live depths.

Owns which resource leads to which: by schedules, rules, event source mappings, subscriptions, dead-letter queues, and
the tasks of state machines that name a resource in their definition. A name that a task computes when it runs is not
known here. The drawing is `graph`'s, so the page computes no geometry.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from statewright.api.operations import App
from statewright.background import in_thread
from statewright.console.asked import Asked
from statewright.console.context import Console
from statewright.console.services.expression_words import in_words
from statewright.console.services.lists import filtered
from statewright.events.archives.records import MANAGED
from statewright.events.expressions import ExpressionError, parse
from statewright.events.schedule_records import DEFAULT_GROUP
from statewright.graph.display import RoundedRect, Text, display_list
from statewright.graph.layout import layout
from statewright.graph.model import Edge, Graph, Node, Scope
from statewright.payload import Json, JsonObject, JsonTextError, parse_json
from statewright.queues.queue import Queue

MOST_NODES: Final = 150
MOST_MACHINES: Final = 200
MOST_SCHEDULES: Final = 5_000
MOST_ALIKE: Final = 4
"""Schedules or rules that lead to the same and are shown one by one."""
_PAGE: Final = 500
_KINDS: Final = {
    ("states", "stateMachine"): "machine", ("lambda", "function"): "function", ("scheduler", "schedule"): "schedule",
    ("events", "rule"): "rule", ("events", "event-bus"): "bus", ("dynamodb", "table"): "table", ("sqs", ""): "queue",
    ("sns", ""): "topic",
}  # fmt: skip


_LAST: Final = {"rule": 1, "schedule": 2}
"""Kinds of which there may be many, in the order in which they are left out."""


@dataclass(slots=True)
class Map:
    """Resources by ARN with a line about each, and the pairs of which the first leads to the second."""

    details: dict[str, str] = field(default_factory=dict)
    pairs: dict[tuple[str, str], str] = field(default_factory=dict)
    """The kind of each pair: `next`, or `catch` for dead letters."""

    def lead(self, source: str, target: str, kind: str = "next") -> None:
        """Note that one resource leads to another."""
        if kind_of(source) and kind_of(target):
            self.pairs.setdefault((_bare(source), _bare(target)), kind)


def kind_of(arn: str) -> str:
    """The kind of a resource that the map shows; empty for others."""
    parts = arn.split(":", 5)
    if len(parts) < 6 or parts[0] != "arn":
        return ""
    name = parts[5].replace(":", "/").partition("/")[0] if parts[2] not in ("sqs", "sns") else ""
    return _KINDS.get((parts[2], name), "")


def name_of(arn: str) -> str:
    """The name at the end of an ARN."""
    name = arn.split(":", 5)[-1].replace(":", "/").partition("/")[2] or arn.rpartition(":")[2]
    return name.removeprefix(f"{DEFAULT_GROUP}/") if kind_of(arn) == "schedule" else name


def _bare(arn: str) -> str:
    """An ARN without a qualifier, version, index or stream."""
    if kind_of(arn) == "table":
        return "/".join(arn.split("/")[:2])
    return ":".join(arn.split(":")[:7]) if kind_of(arn) in ("machine", "function") else arn


async def flow(console: Console, asked: Asked) -> JsonObject:
    """The map: `{drawing, nodes, pairs, more, alone}`. A node has `{id, arn, kind, name, figure, tone}`, with its id in
    the drawing; a pair `{source, target, kind}`. With `q`, resources whose name has it and all that they lead to or
    come from; `more` says how many do not fit, `alone` how many lead nowhere and are left out.
    """
    app = console.app_of(asked)
    found = Map()
    await _schedules(app, found)
    _rules(app, found)
    machines = await _machines(app, found)
    _consumers(app, found)
    queues = _queues(app, found)
    ends = {end for pair in found.pairs for end in pair}
    linked = [arn for arn in found.details if arn in ends]
    linked += [end for pair in found.pairs for end in pair if end not in found.details]
    chosen = _connected(list(dict.fromkeys(linked)), found, filtered(asked.given))
    chosen, folded = _folded(chosen, found)
    kept = _kept(chosen, filtered(asked.given))
    ids = {arn: f"n{place}" for place, arn in enumerate(kept)}
    scope = _scope(found, ids, folded)
    drawing = await in_thread(app.clock, lambda: _drawn(scope))
    figures = {arn: (f"{await _running(app, id_)} running", "run") for arn, id_ in machines.items() if arn in ids}
    for arn, queue in queues.items():
        if arn in ids:
            counts = await app.services.queues.counts(queue)
            figures[arn] = _messages(counts.visible + counts.in_flight + counts.delayed), "wait"
    return {
        "drawing": drawing, "more": len(chosen) - len(kept),
        "alone": sum(arn not in ends for arn in found.details),
        "nodes": [_node(arn, ids[arn], found, figures) | ({"arn": "", "name": folded[arn]} if arn in folded else {})
                  for arn in kept],
        "pairs": [{"source": ids[one], "target": ids[other], "kind": kind}
                  for (one, other), kind in found.pairs.items() if one in ids and other in ids],
    }  # fmt: skip


def _node(arn: str, id_: str, found: Map, figures: Mapping[str, tuple[str, str]]) -> JsonObject:
    figure, tone = figures.get(arn, ("", ""))
    busy = bool(figure) and not figure.startswith("0 ")
    return {
        "id": id_, "arn": arn, "kind": kind_of(arn), "name": name_of(arn), "detail": found.details.get(arn, ""),
        "figure": figure, "tone": tone if busy else "",
    }  # fmt: skip


def _connected(linked: list[str], found: Map, text: str) -> list[str]:
    """The resources to show: all, or those whose name has a text with what they are connected to."""
    if not text:
        return linked
    reached = {arn for arn in linked if text in name_of(arn).lower()}
    for forward in (True, False):
        steps: dict[str, list[str]] = {}
        for source, target in found.pairs:
            steps.setdefault(*((source, []) if forward else (target, []))).append(target if forward else source)
        left = [arn for arn in linked if text in name_of(arn).lower()]
        while left:
            for other in steps.get(left.pop(), ()):
                if other not in reached:
                    reached.add(other)
                    left.append(other)
    return [arn for arn in linked if arn in reached]


def _folded(chosen: list[str], found: Map) -> tuple[list[str], dict[str, str]]:
    """The resources with schedules and rules that lead to the same as one, and the names of these: "12 schedules"."""
    targets: dict[str, set[str]] = {}
    for source, target in found.pairs:
        targets.setdefault(source, set()).add(target)
    entered = {target for _, target in found.pairs}
    alike: dict[tuple[str, frozenset[str]], list[str]] = {}
    for arn in chosen:
        if kind_of(arn) in _LAST and arn not in entered:
            alike.setdefault((kind_of(arn), frozenset(targets.get(arn, ()))), []).append(arn)
    names: dict[str, str] = {}
    gone: set[str] = set()
    for (kind, _), arns in alike.items():
        if len(arns) > MOST_ALIKE:
            names[arns[0]] = f"{len(arns)} {kind}s"
            gone |= set(arns[1:])
    return [arn for arn in chosen if arn not in gone], names


def _kept(chosen: list[str], text: str) -> list[str]:
    """The resources that fit, in their order: those whose name has the text first, schedules and rules last."""

    def place(arn: str) -> tuple[bool, int]:
        return bool(text) and text not in name_of(arn).lower(), _LAST.get(kind_of(arn), 0)

    fitting = set(sorted(chosen, key=place)[:MOST_NODES])
    return [arn for arn in chosen if arn in fitting]


def _scope(found: Map, ids: Mapping[str, str], folded: Mapping[str, str]) -> Scope:
    nodes = tuple(Node(ids[arn], folded.get(arn) or name_of(arn), "Task", (), kind_of(arn)) for arn in ids)
    edges = tuple(
        Edge(ids[source], ids[target], "catch" if kind == "catch" else "next")
        for (source, target), kind in found.pairs.items()
        if source in ids and target in ids and source != target
    )
    return Scope(nodes, edges, None)


@lru_cache(maxsize=4)
def _drawn(scope: Scope) -> JsonObject:
    """The places of nodes, by id, and the lines of edges: `{width, height, states, edges}`, in CSS pixels."""
    shapes = display_list(layout(Graph(scope)))
    return {
        "width": shapes.width, "height": shapes.height,
        "states": [
            {"id": one.node.id, "outline": _rect(one.outline), "names": [_text(line) for line in one.names],
             "second": _text(one.second), "tile": _rect(one.tile)}
            for one in shapes.states
        ],
        "edges": [{"source": one.source, "target": one.target, "kind": one.kind, "line": one.line, "arrow": one.arrow}
                  for one in shapes.edges],
    }  # fmt: skip


def _rect(shape: RoundedRect | str) -> Json:
    if isinstance(shape, str):
        return None
    rect = shape.rect
    return [round(number, 1) for number in (rect.x, rect.y, rect.width, rect.height, shape.radius)]


def _text(line: Text) -> Json:
    return [line.words, round(line.x, 1), round(line.y, 1)]


# ------------------------------------------------------------------ what leads where


async def _schedules(app: App, found: Map) -> None:
    after: str | None = None
    for _ in range(MOST_SCHEDULES // _PAGE):
        schedules, after = await app.services.scheduler.list_schedules(None, "", None, after, _PAGE)
        for one in schedules:
            arn = one.arn(app.config)
            found.details[arn] = _words(one.expression)
            found.lead(arn, one.target["Arn"])
        # Reads of the catalogue do not let the loop go on by themselves.
        await asyncio.sleep(0)
        if after is None:
            break


def _words(expression: str) -> str:
    try:
        return in_words(parse(expression))
    except ExpressionError:
        return expression


def _rules(app: App, found: Map) -> None:
    for bus in app.services.buses.all():
        for rule in app.services.buses.rules.of(bus.name):
            if rule.name.startswith(MANAGED) or not rule.enabled:
                continue
            arn = rule.arn(app.config)
            found.details[arn] = _words(rule.expression) if rule.expression else f"on bus {bus.name}"
            if rule.pattern is not None:
                found.lead(app.config.arn("events", f"event-bus/{bus.name}"), arn)
            for target in rule.targets.values():
                found.lead(arn, target["Arn"])


async def _machines(app: App, found: Map) -> dict[str, int]:
    """Notes what the tasks of machines name; returns the machines' numbers by ARN."""
    listed, _ = await app.engine.machines.list_machines(None, MOST_MACHINES)
    for machine in listed:
        found.details[machine.arn] = machine.type.lower()
        view = await app.engine.machines.describe(machine.arn)
        await asyncio.sleep(0)
        for service, name in named_in(view.definition):
            target = name if name.startswith("arn:") else app.config.arn(service, name)
            found.lead(machine.arn, target)
    return {machine.arn: machine.id for machine in listed}


@lru_cache(maxsize=2 * MOST_MACHINES)
def named_in(definition: str) -> tuple[tuple[str, str], ...]:
    """The resources that the tasks of a definition name, as service and resource, or as service and ARN."""
    try:
        return tuple(dict.fromkeys(_named(parse_json(definition))))
    except JsonTextError:
        return ()


_MEMBERS: Final = {
    "FunctionName": ("lambda", "function:"), "QueueUrl": ("sqs", ""), "TopicArn": ("sns", ""),
    "StateMachineArn": ("states", "stateMachine:"), "TableName": ("dynamodb", "table/"),
}  # fmt: skip


def _named(value: Json) -> Iterator[tuple[str, str]]:
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, list):
            left.extend(reversed(one))
        if not isinstance(one, dict):
            continue
        resource = one.get("Resource")
        if one.get("Type") == "Task" and isinstance(resource, str):
            if kind_of(resource):
                yield resource.split(":")[2], resource
            elif resource.split(":")[-1].startswith("putEvents"):
                yield "events", "event-bus/default"
            yield from _parameters(one.get("Arguments") or one.get("Parameters"))
        left.extend(reversed(list(one.values())))


def _parameters(given: Json) -> Iterator[tuple[str, str]]:
    for member, (service, before) in _MEMBERS.items():
        name = given.get(member) if isinstance(given, dict) else None
        if not isinstance(name, str) or not name or name.startswith("{%"):
            continue
        if name.startswith("arn:"):
            yield service, name
        else:
            yield service, before + (name.rpartition("/")[2] if member == "QueueUrl" else name.partition(":")[0])


def _consumers(app: App, found: Map) -> None:
    for mapping in app.services.event_sources.all():
        if mapping.enabled:
            found.lead(mapping.source_arn, mapping.function_arn)
    for one in app.services.topics.list_subscriptions(None, None, _PAGE)[0]:
        found.lead(one.hub.arn, one.entry.endpoint)
        if one.dead_letters is not None:
            found.lead(one.hub.arn, one.dead_letters, "catch")


def _queues(app: App, found: Map) -> dict[str, Queue]:
    listed, _ = app.services.queues.list_queues("", None, _PAGE)
    queues = {app.config.arn("sqs", queue.name): queue for queue in listed}
    for arn, queue in queues.items():
        found.details[arn] = "queue"
        if queue.settings.redrive is not None:
            found.lead(arn, queue.settings.redrive.target_arn, "catch")
    return queues


def _messages(count: int) -> str:
    return "1 message" if count == 1 else f"{count} messages"


async def _running(app: App, machine: int) -> int:
    return (await app.engine.store.executions.count_by_status(machine)).get("RUNNING", 0)


READS: Final = {"flow": flow}
