"""Map Runs under random events, with repeats and late answers: the counters and the rows always agree.

Every state goes through the codec between two events.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from statewright.asl.compile import compile_definition
from statewright.asl.program import MapDef
from statewright.interpreter.commands import StartMapRun
from statewright.interpreter.map_run import messages
from statewright.interpreter.map_run.advance import advance_map_run
from statewright.interpreter.map_run.codec import decode_map_run, encode_map_run
from statewright.interpreter.map_run.results import result_files
from statewright.interpreter.map_run.state import (
    COUNT_NAMES,
    PENDING,
    PENDING_REDRIVE,
    RUNNING,
    MapRunState,
    exceeds_tolerance,
    execution_counts,
    item_counts,
    new_map_run,
)
from statewright.interpreter.phases import CLOSED, MAP_RUN_PHASES, OPEN
from statewright.payload import Payload, parse_json
from tests.conformance.watch import watched_phases
from tests.thoroughness import examples

ARN = "arn:aws:states:eu-north-1:123456789012:mapRun:Shop/Each:11111111-2222-3333-4444-555555555555"
STATUSES = ("SUCCEEDED", "SUCCEEDED", "SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED")


def definition_of(kind: str, *, reads: bool, batches: int | None, writes: bool) -> MapDef:
    processor = {
        "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": kind},
        "StartAt": "P",
        "States": {"P": {"Type": "Pass", "End": True}},
    }
    node: dict[str, Any] = {"Type": "Map", "ItemProcessor": processor, "End": True}
    if reads:
        node["ItemReader"] = {"Resource": "arn:aws:states:::s3:getObject", "Parameters": {"Bucket": "b", "Key": "k"}}
    if batches is not None:
        node["ItemBatcher"] = {"MaxItemsPerBatch": batches}
    if writes:
        node["ResultWriter"] = {"Resource": "arn:aws:states:::s3:putObject", "Parameters": {"Bucket": "b"}}
    body = compile_definition({"StartAt": "M", "States": {"M": node}}).state("M").body
    assert isinstance(body, MapDef)
    return body


class World:
    """What the driver of a run knows, and the rules that the run must keep."""

    def __init__(self, definition: MapDef, state: MapRunState, items: list[int], budget: int) -> None:
        self.definition = definition
        self.state = state
        self.items = items
        self.budget = budget
        self.now_ms = 1000
        self.redrives = 0
        self.running: dict[int, int] = {}
        self.ended: dict[int, messages.ChildEnded] = {}
        self.asked: messages.ReadItems | None = None
        self.writing = False
        self.unfinished = False
        self.starts: Counter[tuple[int, int]] = Counter()
        self.reports: list[Any] = []

    def tell(self, event: messages.MapRunEvent) -> None:
        header, children, texts = encode_map_run(self.state)
        state = self.state = decode_map_run(header, children.values(), texts)
        assert encode_map_run(state) == (header, children, texts)
        self.now_ms += 7
        before = dict(children.items())
        with watched_phases(MapRunState, MAP_RUN_PHASES, set()):
            step = advance_map_run(self.definition, state, event, self.now_ms, budget=self.budget)
        for command in step.commands:
            self.obey(command)
        self.check(step.changed, before, cleared=step.cleared)

    def obey(self, command: Any) -> None:
        if isinstance(command, (messages.StartChild, messages.RedriveChild)):
            assert command.index not in self.running
            self.starts[command.index, command.attempt] += 1
            self.running[command.index] = command.attempt
        elif isinstance(command, messages.ReadItems):
            self.asked = command
        elif isinstance(command, messages.WriteResults):
            assert not self.running
            self.writing = True
        elif isinstance(command, messages.ContinueRun):
            self.unfinished = True
        elif isinstance(command, (messages.SucceedRun, messages.FailRun)):
            assert not self.running
            self.reports.append(command)

    def check(self, changed: set[int], before: dict[int, bytes], *, cleared: bool) -> None:
        state = self.state
        assert max(self.starts.values(), default=0) <= 1
        assert state.running == len(self.running)
        assert cleared <= (state.status == "SUCCEEDED")
        if state.status == "SUCCEEDED":
            # The rows are gone; the counters stay.
            assert state.children == []
            return
        counted = Counter(PENDING_REDRIVE if state.waits_again(c) and state.phase == OPEN else c.status
                          for c in state.children)  # fmt: skip
        assert [counted[number] for number in range(len(COUNT_NAMES))] == state.executions
        assert {c.index for c in state.children if c.status == RUNNING} == set(self.running)
        assert all(c.status == PENDING for c in state.children[state.next_pending :])
        assert sum(state.items) + len(state.batch) == state.items_read
        assert item_counts(state)["total"] == sum(item_counts(state)[name] for name in COUNT_NAMES)
        assert execution_counts(state)["total"] == len(state.children)
        _, after, _ = encode_map_run(state)
        assert {index for index, body in after.items() if before.get(index) != body} <= changed

    def end_child(self, index: int, status: Any) -> None:
        attempt = self.running.pop(index)
        output = Payload([index, attempt]) if status == "SUCCEEDED" else None
        error = None if status == "SUCCEEDED" else "Bad"
        event = self.ended[index] = messages.ChildEnded(index, attempt, status, output, error, None)
        self.tell(event)

    def give_items(self, size: int, *, total: bool) -> None:
        asked = self.asked
        assert asked is not None
        self.asked = None
        chunk = self.items[asked.first : asked.first + min(size, asked.count)]
        last = asked.first + len(chunk) >= len(self.items)
        self.tell(messages.ItemsRead(asked.first, chunk, last, total=len(self.items) if total else None))

    def settle(self, status: str = "SUCCEEDED") -> None:
        """Let everything that is under way come to its end."""
        for _ in range(10_000):
            if self.unfinished:
                self.unfinished = False
                self.tell(messages.RunContinued())
            elif self.running:
                stopped = self.state.phase != OPEN
                self.end_child(next(iter(self.running)), "ABORTED" if stopped else status)
            elif self.asked is not None and self.state.phase == OPEN:
                self.give_items(100, total=False)
            elif self.writing:
                self.writing = False
                self.tell(messages.ResultsWritten())
            else:
                return
        raise AssertionError("the run does not come to an end")


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["end", "end", "end", "items", "go on", "again", "late", "update", "stop", "redrive", "write"]),
        st.integers(0, 50),
        st.sampled_from(STATUSES),
    ),
    max_size=60,
)


@settings(max_examples=examples(200))
@given(
    kind=st.sampled_from(["STANDARD", "EXPRESS"]),
    count=st.integers(0, 12),
    reads=st.booleans(),
    batches=st.none() | st.integers(1, 4),
    writes=st.booleans(),
    concurrency=st.integers(0, 4),
    tolerated=st.none() | st.integers(0, 5),
    percentage=st.none() | st.sampled_from([0, 12.5, 50, 100]),
    budget=st.integers(1, 20),
    actions=ACTIONS,
)
def test_a_run_keeps_its_rules_and_comes_to_an_end(
    kind: str,
    count: int,
    reads: bool,
    batches: int | None,
    writes: bool,
    concurrency: int,
    tolerated: int | None,
    percentage: float | None,
    budget: int,
    actions: list[tuple[str, int, str]],
) -> None:
    definition = definition_of(kind, reads=reads, batches=batches, writes=writes)
    items = list(range(count))
    command = StartMapRun(
        1, "M", 1, ARN, definition, Payload({}), None if reads else Payload(items), b"s" * 16,
        reader={"Bucket": "b", "Key": "k"}, max_concurrency=concurrency, tolerated_count=tolerated,
        tolerated_percentage=percentage, batch_items=batches, writer={"Bucket": "b"} if writes else None,
    )  # fmt: skip
    world = World(definition, new_map_run(command, "parent"), items, budget)
    world.tell(messages.RunStarted())
    for action, number, status in actions:
        perform(world, action, number, status)
        if concurrency and world.state.max_concurrency == concurrency:
            assert len(world.running) <= concurrency
        if world.state.phase == OPEN:
            assert not exceeds_tolerance(world.state)
    world.settle()
    assert world.state.phase == CLOSED
    if world.state.status == "SUCCEEDED":
        check_success(world, writes=writes)
    else:
        check_redrive(world)


def perform(world: World, action: str, number: int, status: str) -> None:
    running = sorted(world.running)
    if action == "end" and running:
        world.end_child(running[number % len(running)], status)
    elif action == "items" and world.asked is not None:
        world.give_items(number, total=number % 2 == 0)
    elif action == "go on":
        world.unfinished = False
        world.tell(messages.RunContinued())
    elif action == "again" and world.ended:
        world.tell(world.ended[sorted(world.ended)[number % len(world.ended)]])
    elif action == "late":
        world.tell(messages.ItemsRead(number, [1], last=False))
        world.asked = None if world.state.reading is False else world.asked
    elif action == "update" and number % 3 == 0:
        world.tell(messages.RunUpdated(tolerated_count=number))
    elif action == "stop" and number % 5 == 0:
        world.tell(messages.RunStopped())
    elif action == "redrive" and world.state.status in ("FAILED", "ABORTED"):
        world.redrives += 1
        world.tell(messages.RunRedriven(100 + world.redrives, world.redrives))
    elif action == "write" and world.writing:
        world.writing = False
        world.tell(messages.WriteFailed("no") if number % 2 else messages.ResultsWritten())


def check_success(world: World, *, writes: bool) -> None:
    state = world.state
    assert isinstance(world.reports[-1], messages.SucceedRun)
    assert item_counts(state)["total"] == state.items_read
    if not writes:
        outputs = world.reports[-1].output.value
        assert len(outputs) == execution_counts(state)["total"]
        for index, value in enumerate(outputs):
            shown = value[0] if isinstance(value, list) else index
            assert shown == index
            assert isinstance(value, list) or value["Status"] in ("FAILED", "TIMED_OUT", "ABORTED")


def check_redrive(world: World) -> None:
    """Whatever went wrong, a redrive in which everything goes well ends well, unless too much was lost for good."""
    world.redrives += 1
    world.tell(messages.RunRedriven(999, world.redrives))
    written = list(result_files(world.state, world.definition))
    assert all(parse_json(text) for text in joined(written).values())
    world.settle()
    assert world.state.status == "SUCCEEDED"
    assert world.reports[-1].task_id == 999


def joined(chunks: list[Any]) -> dict[str, str]:
    files: dict[str, str] = {}
    for chunk in chunks:
        files[chunk.file] = files.get(chunk.file, "") + chunk.data.decode()
    return files


@settings(max_examples=examples(100))
@given(
    items=st.lists(st.text(max_size=12) | st.integers() | st.lists(st.integers(), max_size=3), max_size=40),
    most=st.none() | st.integers(1, 7),
    most_bytes=st.none() | st.integers(1, 120),
    slices=st.lists(st.integers(0, 9), max_size=60),
)
def test_batches_keep_order_and_limits_however_the_items_arrive(
    items: list[Any], most: int | None, most_bytes: int | None, slices: list[int]
) -> None:
    definition = definition_of("EXPRESS", reads=True, batches=most or 1, writes=False)
    command = StartMapRun(1, "M", 1, ARN, definition, Payload({}), None, b"s" * 16, batch_items=most,
                          batch_bytes=most_bytes, reader={})  # fmt: skip
    state = new_map_run(command, "parent")
    commands = list(advance_map_run(definition, state, messages.RunStarted(), 1).commands)
    at = 0
    for size in [*slices, *[10] * 5]:
        chunk = items[at : at + size]
        last = at + size >= len(items)
        commands += advance_map_run(definition, state, messages.ItemsRead(at, chunk, last), 1).commands
        at += len(chunk)
    given = [command.input for command in commands if isinstance(command, messages.StartChild)]
    if most is None and most_bytes is None:
        assert [payload.value for payload in given] == items
        return
    assert [item for payload in given for item in payload.value["Items"]] == items
    sizes = [len(payload.value["Items"]) for payload in given]
    assert all(0 < size <= (most or size) for size in sizes)
    for payload, size in zip(given, sizes, strict=True):
        assert size == 1 or most_bytes is None or payload.size_bytes <= most_bytes
    if most is not None and most_bytes is None:
        assert sizes[:-1] == [most] * (len(sizes) - 1)
