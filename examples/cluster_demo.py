"""Three nodes on one PostgreSQL, one of them killed, one frozen, and a fourth added: `make demo-cluster`.

Runs six workflows undisturbed: the five of `make demo-standby`, and a distributed Map. Then runs many of them on three
nodes: twenty Maps with 10,000 items in all, each item an execution that calls a Python function. Meanwhile kills the
node that has the home with -9, freezes another one for longer than its lease, adds a fourth, and compares: every
execution must end as the undisturbed one did, every item must have succeeded, and every message must be in the queue
once. Nothing depends on how fast the machine is.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compared import Act, Approver, End, running, say, show_differences, show_expected
from on_postgres import (
    ACTS,
    LOOK_SECONDS,
    Clients,
    Outcome,
    Starter,
    arn_of,
    calls,
    ends_of,
    ends_once,
    messages,
    on_a_database,
    prepare,
    running_server,
    show_effects,
)
from serving import PATIENCE_SECONDS
from tests.crash.clusters import Cluster
from tests.crash.pairs import Node
from tests.postgres_server import Server
from watching import Asking, Watching, longest_gap

ITEMS = 10_000
MAPS = 20
"""The executions among which the items are divided: a Map Run is in one cell, and so at one node."""
EACH = 18
"""How often each of the other workflows is started: a third before each event."""
CELLS = 32
CALL_SECONDS = "0.05"
"""How long the function takes for an item, beside what it computes."""
SAY_SECONDS = 2.0
PAGE = 1_000


@dataclass
class Found(Outcome):
    """The outcome of the disturbed run, and how it went."""

    items: Counter[str]
    """How many items ended with each status."""
    work: dict[str, int]
    """The steps of each node."""
    stalls: tuple[float, float]
    """The longest time without a finished item, and without an answered call."""
    answers: int
    events: list[str]
    """What happened to nodes, and how long it took."""


@dataclass
class Maps:
    """The Map Runs of the demonstration, as the cluster's answers show them."""

    executions: list[str]
    _runs: dict[str, str] = field(default_factory=dict)
    _finished: dict[str, int] = field(default_factory=dict)
    _turn: int = 0

    @property
    def finished(self) -> int:
        """How many items have ended."""
        return sum(self._finished.values())

    def ask(self, call: Callable[..., Any]) -> None:
        """Ask for the counts of one Map Run, the next one each time."""
        self._turn += 1
        execution = self.executions[self._turn % len(self.executions)]
        if execution not in self._runs:
            found = call("AWSStepFunctions.ListMapRuns", executionArn=execution)
            if found is not None and found["mapRuns"]:
                self._runs[execution] = found["mapRuns"][0]["mapRunArn"]
            return
        found = call("AWSStepFunctions.DescribeMapRun", mapRunArn=self._runs[execution])
        if found is not None:
            counts = found["itemCounts"]
            ended = counts["total"] - counts["pending"] - counts["running"]
            self._finished[execution] = max(ended, self._finished.get(execution, 0))


class Progress:
    """Says again and again how far the work is, for the time of a `with`; and waits."""

    def __init__(self, maps: Maps, watching: Watching, total: int, problems: Callable[[], list[BaseException]]) -> None:
        self._maps = maps
        self._watching = watching
        self._total = total
        self._problems = problems
        self._moved = time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Progress:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def until(self, condition: Callable[[], Any]) -> Any:
        """The first true answer; a false one once no item has ended for `PATIENCE_SECONDS`. Raises what went wrong."""
        since = time.monotonic()
        while not (found := condition()):
            for problem in self._problems():
                raise problem
            if time.monotonic() - max(since, self._moved) > PATIENCE_SECONDS:
                say(f"  nothing moved for {PATIENCE_SECONDS} s")
                break
            time.sleep(LOOK_SECONDS)
        return found

    def _run(self) -> None:
        began = said = time.monotonic()
        before = self._maps.finished
        while not self._over.wait(SAY_SECONDS) and before < self._total:
            now, finished = time.monotonic(), self._maps.finished
            pace = (finished - before) / (now - said)
            if finished > before:
                self._moved = now
            said, before = now, finished
            work = " · ".join(f"{one.name} {one.steps:,}{one.state}" for one in self._watching.nodes.values())
            say(f"  {now - began:4.0f} s  items {finished:,} of {self._total:,} · {pace:.0f}/s · steps: {work}")


@contextmanager
def clustered(database: Server, acts: tuple[Act, ...]) -> Iterator[tuple[Cluster, dict[str, str]]]:
    """Three nodes on a new database, and the machines' ARNs."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        cluster = Cluster(Path(folder), database.new_database(), CELLS)
        try:
            first, *_ = cluster.begin("a", "b", "c")
            yield cluster, prepare(running_server(first, attempts=5), acts, LOOK_SECONDS=CALL_SECONDS)
        except BaseException:
            # Ctrl+C ends the database, too, which nodes would wait for; and one of them may be frozen.
            for node in living(cluster):
                node.kill()
            raise
        finally:
            end_all(cluster)


def living(cluster: Cluster) -> list[Node]:
    """The nodes whose processes live."""
    return [node for node in cluster.nodes.values() if node.process.poll() is None]


def end_all(cluster: Cluster) -> None:
    """End the nodes that live, in good order, all at the same time."""
    nodes = living(cluster)
    for node in nodes:
        node.process.terminate()
    for node in nodes:
        node.ended()


def undisturbed(database: Server, approver: Approver, acts: tuple[Act, ...]) -> dict[str, End]:
    """One execution of each act on three nodes that nothing happens to."""
    clients = Clients()
    with clustered(database, acts) as (cluster, machines):
        client = approver.client = clients.of(cluster.nodes["b"], "stepfunctions")
        try:
            return ends_once(client, machines, acts)
        finally:
            approver.client = None


def disturbed(database: Server, approver: Approver, prices: Act) -> Found:
    """Many executions on three nodes, of which one is killed, one is frozen, and to which one is added."""
    acts, clients = (prices, *ACTS), Clients()
    with clustered(database, acts) as (cluster, machines), Watching() as watching:
        for name, node in cluster.nodes.items():
            watching.add(name, node)
        starter = Starter(lambda: [clients.of(node, "stepfunctions") for node in watching.living()], machines)
        total = MAPS * len(prices.given["items"])
        maps = Maps([arn_of(machines, prices, str(number)) for number in range(MAPS)])
        starter.begin(range(MAPS), (prices,)).join()
        starter.wait(MAPS)
        say(f"  {MAPS} Maps with {total:,} items started and acknowledged")
        with (
            Asking(watching, maps.ask) as asking,
            Progress(maps, watching, total, lambda: starter.problems + asking.problems) as progress,
        ):
            events = []
            for number, event in enumerate((kill, freeze, add)):
                numbers = range(EACH)[number::3]
                wanted = len(starter.acknowledged) + len(numbers) * len(ACTS)
                thread = starter.begin(numbers, ACTS)
                due = total * (number + 1) // 5
                progress.until(lambda due=due: maps.finished >= due)
                events.append(event(cluster, watching, progress))
                say(f"  {events[-1]}")
                progress.until(lambda wanted=wanted: len(starter.acknowledged) >= wanted)
                thread.join(PATIENCE_SECONDS)
            last = cluster.nodes["d"]
            client = approver.client = clients.of(last, "stepfunctions", attempts=5)
            say(f"  {running(client, machines)} executions still at work; now they are let alone")
            try:
                progress.until(lambda: maps.finished >= total)
                ends = ends_of(client, starter, acts)
            finally:
                approver.client = None
        statuses, instants = items_of(client, maps.executions)
        watching.look()
        return Found(
            ends, messages(clients.of(last, "sqs", attempts=5)), calls(clients.of(last, "dynamodb", attempts=5)),
            statuses, {one.name: one.steps for one in watching.nodes.values()},
            (longest_gap(instants), longest_gap(asking.answered)), len(asking.answered) - 2, events,
        )  # fmt: skip


# ---------------------------------------------------------------------- what happens to nodes


def kill(cluster: Cluster, watching: Watching, progress: Progress) -> str:
    """Kill the node that has the home, and wait until others have all that it had."""
    name = chosen(cluster, watching, progress, is_home=True)
    say(f"  kill -9 of {name}, which has the home and {cells_of(cluster, watching, name)} cells")
    began = time.monotonic()
    cluster.nodes[name].kill()
    progress.until(lambda: is_whole_without(cluster, watching, name))
    return f"{name} killed: the others had its home and its cells {time.monotonic() - began:.1f} s later"


def freeze(cluster: Cluster, watching: Watching, progress: Progress) -> str:
    """Freeze a node that does not have the home until others have all that it had; then let it go on."""
    name = chosen(cluster, watching, progress, is_home=False)
    say(f"  kill -STOP of {name}, which has {cells_of(cluster, watching, name)} cells")
    began = time.monotonic()
    cluster.nodes[name].freeze()
    try:
        progress.until(lambda: is_whole_without(cluster, watching, name))
    finally:
        cluster.nodes[name].thaw()
    took = time.monotonic() - began
    say(f"  kill -CONT of {name} after {took:.1f} s: the others have its cells")
    progress.until(lambda: cells_of(cluster, watching, name))
    back = time.monotonic() - began - took
    return f"{name} frozen: the others had its cells {took:.1f} s later; thawed, it had cells again after {back:.1f} s"


def add(cluster: Cluster, watching: Watching, progress: Progress) -> str:
    """Add a node, and wait until it has cells."""
    say("  adding d")
    began = time.monotonic()
    node = cluster.add("d")
    progress.until(lambda: node.process.poll() is not None or node.state == "ready")
    # It says why it has ended, if it has.
    node.wait("ready")
    ready = time.monotonic() - began
    watching.add("d", node)
    progress.until(lambda: cells_of(cluster, watching, "d"))
    return f"d added: ready after {ready:.1f} s, and had cells {time.monotonic() - began - ready:.1f} s later"


def chosen(cluster: Cluster, watching: Watching, progress: Progress, *, is_home: bool) -> str:
    """The name of the node with the home, or of the first one without it. Raises: RuntimeError if no node answers."""
    seen = progress.until(lambda: [one["name"] for one in shown(cluster, watching) if one["isHome"] is is_home])
    if not seen:
        raise RuntimeError("no node of the cluster answers")
    return str(seen[0])


def shown(cluster: Cluster, watching: Watching, besides: str = "") -> list[dict[str, Any]]:
    """The nodes, as one that answers sees them, not the one `besides`; none if none does."""
    for node in watching.living():
        if node is not cluster.nodes.get(besides):
            return cluster.shown(node)
    return []


def cells_of(cluster: Cluster, watching: Watching, name: str) -> int:
    """How many cells a node has."""
    return next((int(one["cells"]) for one in shown(cluster, watching, name) if one["name"] == name), 0)


def is_whole_without(cluster: Cluster, watching: Watching, name: str) -> bool:
    """True if the other nodes have all cells and the home."""
    seen = shown(cluster, watching, name)
    return (
        all(one["name"] != name for one in seen)
        and sum(one["cells"] for one in seen) == CELLS - 1
        and any(one["isHome"] for one in seen)
    )


# ---------------------------------------------------------------------- what has come out


def items_of(client: Any, executions: list[str]) -> tuple[Counter[str], list[float]]:
    """How many items ended with each status, and when each ended."""
    statuses: Counter[str] = Counter()
    instants: list[float] = []
    for execution in executions:
        for run in client.list_map_runs(executionArn=execution)["mapRuns"]:
            pages = client.get_paginator("list_executions").paginate(
                mapRunArn=run["mapRunArn"], PaginationConfig={"PageSize": PAGE}
            )
            for child in (child for page in pages for child in page["executions"]):
                statuses[child["status"]] += 1
                if "stopDate" in child:
                    instants.append(child["stopDate"].timestamp())
    return statuses, instants


def show(found: Found, expected: dict[str, End], items: int, seconds: float) -> int:
    """The table; returns the exit code."""
    say("")
    differing = show_differences(found.ends, expected)
    total = sum(map(len, found.ends.values()))
    wanted = MAPS + EACH * len(ACTS)
    good_items = found.items["SUCCEEDED"]
    others = "".join(f", {many:,} {status}" for status, many in found.items.items() if status != "SUCCEEDED")
    same = total - differing
    say(f"  {'executions':<16} {total} acknowledged of {wanted}, {same} with the outcome of the undisturbed run")
    say(f"  {'items':<16} {good_items:,} of {items:,} succeeded{others}")
    missing, twice = show_effects(found)
    for event in found.events:
        say(f"  {'node':<16} {event}")
    all_steps = max(sum(found.work.values()), 1)
    work = " · ".join(f"{name} {steps:,} ({100 * steps / all_steps:.0f} %)" for name, steps in found.work.items())
    say(f"  {'steps':<16} {work}")
    of_items, of_calls = found.stalls
    say(
        f"  {'longest stall':<16} {of_items:.1f} s without a finished item, {of_calls:.1f} s without an answered call "
        f"({found.answers:,} answers)"
    )
    lost = wanted - total + differing + abs(items - good_items) + missing
    good = not lost and not twice
    mark = "✓" if good else "✗"
    say(
        f"{mark} 1 node killed, 1 frozen, 1 added: {total} executions, {items:,} items, {lost:,} lost, "
        f"{twice} messages twice ({seconds:.0f} s)"
    )
    return 0 if good else 1


def run(database: Server, approver: Approver, items: int) -> int:
    """Run both, compare; returns the exit code."""
    began = time.monotonic()
    each = max(1, items // MAPS)
    prices = Act("lists", "price-list", {"items": [f"item-{number}" for number in range(each)]})
    acts = (prices, *ACTS)
    say(f"Each of {len(acts)} workflows once on three nodes and one PostgreSQL, undisturbed")
    expected = undisturbed(database, approver, acts)
    show_expected(expected)
    say(f"{MAPS} Maps of {each:,} items, and {EACH} of each other workflow, on nodes that are killed, frozen and added")
    found = disturbed(database, approver, prices)
    return show(found, expected, MAPS * each, time.monotonic() - began)


def main(arguments: list[str] | None = None) -> int:
    """Run the demonstration; returns the exit code."""
    parser = argparse.ArgumentParser(prog="make demo-cluster OPTIONS=...", description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=ITEMS, help=f"how many items the Maps have in all ({ITEMS:,})")
    items = parser.parse_args(arguments).items
    if threading.current_thread() is threading.main_thread():
        # As Ctrl+C: the nodes are ended, and their folders deleted.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    return on_a_database(lambda database, approver: run(database, approver, items))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
