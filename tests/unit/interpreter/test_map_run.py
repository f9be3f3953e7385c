"""The coordinator of a distributed Map: events in, commands out, counters as DescribeMapRun names them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from statewright.asl.compile import compile_definition
from statewright.asl.program import MapDef
from statewright.errors import DATA_LIMIT, RUNTIME
from statewright.interpreter import events
from statewright.interpreter import map_run_messages as messages
from statewright.interpreter.advance import advance, new_execution
from statewright.interpreter.commands import StartMapRun
from statewright.interpreter.map_run import (
    BACKLOG,
    READER_FAILED,
    SLICE_ITEMS,
    THRESHOLD_EXCEEDED,
    WRITER_FAILED,
    MapRunStep,
    advance_map_run,
)
from statewright.interpreter.map_run_codec import decode_map_run, encode_map_run
from statewright.interpreter.map_run_results import manifest_of, record_of, result_files
from statewright.interpreter.map_run_state import (
    CLOSED,
    MapRunState,
    child_execution_arn,
    child_machine_arn,
    child_name,
    child_seed,
    execution_counts,
    item_counts,
    labelled_machine,
    new_map_run,
)
from statewright.interpreter.state import Identity
from statewright.limits import AWS, OPEN, Limits
from statewright.payload import Payload, parse_json

PREFIX = "arn:aws:states:eu-north-1:123456789012"
PARENT = Identity(f"{PREFIX}:execution:Shop:e1", "e1", f"{PREFIX}:stateMachine:Shop", "Shop", "role")
READER = {"Resource": "arn:aws:states:::s3:getObject", "Parameters": {"Bucket": "data", "Key": "in.json"}}
WRITER = {"Resource": "arn:aws:states:::s3:putObject", "Parameters": {"Bucket": "out", "Prefix": "jobs"}}
TOLERATES_ALL: dict[str, Any] = {"ToleratedFailurePercentage": 100}


class Bench:
    """One Map Run, and the commands that it still waits for an answer to."""

    def __init__(
        self, given: Any = None, *, kind: str = "STANDARD", limits: Limits = AWS, before: Any = None, **fields: Any
    ) -> None:
        processor = {
            "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": kind},
            "StartAt": "P",
            "States": {"P": {"Type": "Pass", "End": True}},
        }
        node = {"Type": "Map", "Label": "Each", "ItemProcessor": processor, "End": True, **fields}
        states = {"M": node} if before is None else {"A": {"Type": "Pass", "Assign": before, "Next": "M"}, "M": node}
        program = compile_definition({"StartAt": next(iter(states)), "States": states})
        parent = new_execution(PARENT, Payload(given if given is not None else []), b"0123456789abcdef")
        step = advance(program, parent, events.ExecutionStarted(), 1000, limits=limits)
        command = step.commands[-1]
        assert isinstance(command, StartMapRun), parent.cause
        self.command = command
        self.definition: MapDef = command.definition
        self.limits = limits
        self.state: MapRunState = new_map_run(command, PARENT.execution_arn)
        self.now_ms = 2000
        self.started: dict[int, messages.StartChild | messages.RedriveChild] = {}
        self.log: list[Any] = []

    def tell(self, event: messages.MapRunEvent) -> list[Any]:
        """Advance, through the codec both ways; returns the commands."""
        if len(self.state.children) < 40:
            self.state = recoded(self.state)
        step = advance_map_run(self.definition, self.state, event, self.now_ms, limits=self.limits)
        self.note(step)
        return list(step.commands)

    def note(self, step: MapRunStep) -> None:
        self.log += step.commands
        for command in step.commands:
            if isinstance(command, (messages.StartChild, messages.RedriveChild)):
                self.started[command.index] = command

    def start(self) -> list[Any]:
        return self.tell(messages.RunStarted())

    def end(self, index: int, status: Any = "SUCCEEDED", output: Any = None, **details: Any) -> list[Any]:
        """One child ends; it gives its index back unless told otherwise."""
        command = self.started.pop(index)
        error, cause = (None, None) if status in ("SUCCEEDED", "ABORTED") else (f"E{index}", "why")
        payload = Payload(index if output is None else output) if status == "SUCCEEDED" else None
        return self.tell(messages.ChildEnded(index, command.attempt, status, payload, error, cause, **details))

    def end_all(self, statuses: dict[int, str] | None = None) -> None:
        """End every child that runs, and those started meanwhile, in the order of their start."""
        while self.started:
            index = next(iter(self.started))
            self.end(index, (statuses or {}).get(index, "SUCCEEDED"))

    @property
    def last(self) -> Any:
        return self.log[-1]

    def counts(self) -> dict[str, int]:
        return {name: count for name, count in execution_counts(self.state).items() if count}

    def item_counts(self) -> dict[str, int]:
        return {name: count for name, count in item_counts(self.state).items() if count}


def recoded(state: MapRunState) -> MapRunState:
    header, children, texts = encode_map_run(state)
    again = decode_map_run(header, children.values(), texts)
    assert encode_map_run(again) == (header, children, texts)
    assert list(again.again) == list(state.again)
    return again


def inputs(commands: list[Any]) -> list[Any]:
    return [command.input.value for command in commands if isinstance(command, messages.StartChild)]


# ------------------------------------------------------------------ items


def test_every_item_becomes_a_child_and_outputs_come_in_item_order():
    bench = Bench(["a", "b", "c"])
    assert inputs(bench.start()) == ["a", "b", "c"]
    for index in (2, 0, 1):
        bench.end(index, output=f"out {index}")
    assert bench.last == messages.SucceedRun(bench.command.task_id, Payload(["out 0", "out 1", "out 2"]))
    assert bench.state.status == "SUCCEEDED"
    assert bench.counts() == {"succeeded": 3, "total": 3, "resultsWritten": 3}
    assert bench.item_counts() == {"succeeded": 3, "total": 3, "resultsWritten": 3}


def test_a_run_without_items_succeeds_at_once():
    bench = Bench([])
    assert bench.start() == [messages.SucceedRun(bench.command.task_id, Payload([]))]
    assert bench.counts() == {}


def test_many_items_are_taken_within_a_budget():
    bench = Bench(list(range(450)))
    commands = bench.start()
    assert 0 < len(inputs(commands)) <= 200
    assert isinstance(commands[-1], messages.ContinueRun)
    assert bench.item_counts()["total"] == 450
    while isinstance(bench.last, messages.ContinueRun):
        bench.tell(messages.RunContinued())
    assert len(bench.started) == 450
    bench.end_all()
    assert bench.last.output.value == list(range(450))


def test_an_object_gives_a_pair_for_each_member():
    bench = Bench({"x": 1, "y": [2]})
    assert inputs(bench.start()) == [{"Key": "x", "Value": 1}, {"Key": "y", "Value": [2]}]


def test_item_selector_sees_the_item_the_input_the_context_and_the_variables():
    bench = Bench(
        {"list": {"x": 1}, "tag": "t"},
        before={"shop": "S"},
        ItemsPath="$.list",
        ItemSelector={
            "i.$": "$$.Map.Item.Index", "k.$": "$$.Map.Item.Key", "v.$": "$$.Map.Item.Value",
            "s.$": "$$.Map.Item.Source", "tag.$": "$.tag", "shop.$": "$shop", "name.$": "$$.Execution.Name",
            "state.$": "$$.State.Name",
        },
    )  # fmt: skip
    assert inputs(bench.start()) == [
        {"i": 0, "k": "x", "v": 1, "s": "STATE_DATA", "tag": "t", "shop": "S", "name": "e1", "state": "M"}
    ]


def test_item_selector_failure_fails_the_run_like_the_state():
    bench = Bench([1], ItemSelector={"no.$": "$.nothing"})
    (command,) = bench.start()
    assert command.error == RUNTIME
    assert command.cause.startswith("An error occurred while executing the state 'M' (entered at the event id #2). ")
    assert bench.state.status == "FAILED"


def test_items_before_a_failed_one_are_stopped():
    bench = Bench([{"a": 1}] * 150 + [{}], ItemSelector={"a.$": "$$.Map.Item.Value.a"})
    commands = bench.start()
    assert len(inputs(commands)) == 100
    assert commands[-1] == messages.ContinueRun()
    assert bench.tell(messages.RunContinued()) == [messages.StopChildren()]
    assert bench.counts() == {"running": 100, "pending": 50, "total": 150}
    bench.end_all(dict.fromkeys(range(100), "ABORTED"))
    assert bench.last.error == RUNTIME
    assert bench.counts() == {"aborted": 100, "pending": 50, "total": 150}


def test_inputs_over_the_limit_fail_the_run():
    bench = Bench([0], limits=replace(AWS, payload_bytes=40), ItemSelector={"text": "x" * 60})
    (command,) = bench.start()
    assert (command.error, command.cause) == (
        DATA_LIMIT,
        "The state/task 'M' provided parameters with a size exceeding the maximum number of bytes service limit.",
    )


# ------------------------------------------------------------------ batches


@pytest.mark.parametrize(
    ("batcher", "sizes"),
    [
        ({"MaxItemsPerBatch": 4}, [4, 4, 2]),
        ({"MaxItemsPerBatch": 10}, [10]),
        ({"MaxItemsPerBatch": 1}, [1] * 10),
        # {"Items":[]} has 12 bytes, each item 3, each comma 1.
        ({"MaxInputBytesPerBatch": 12 + 3 * 3 + 2}, [3, 3, 3, 1]),
        ({"MaxInputBytesPerBatch": 12 + 3 * 3 + 1}, [2] * 5),
        ({"MaxInputBytesPerBatch": 1}, [1] * 10),
        ({"MaxItemsPerBatch": 2, "MaxInputBytesPerBatch": 1000}, [2] * 5),
        ({"MaxItemsPerBatch": 9, "MaxInputBytesPerBatch": 23}, [3, 3, 3, 1]),
    ],
)
def test_batches_are_cut_by_count_and_by_size(batcher: Any, sizes: list[int]):
    bench = Bench(list(range(100, 110)), ItemBatcher=batcher)
    commands = bench.start()
    assert [len(given["Items"]) for given in inputs(commands)] == sizes
    assert [item for given in inputs(commands) for item in given["Items"]] == list(range(100, 110))
    assert [command.item_count for command in commands] == sizes
    assert bench.item_counts() == {"running": 10, "total": 10}
    assert bench.counts() == {"running": len(sizes), "total": len(sizes)}


def test_batches_hold_no_more_than_a_payload():
    bench = Bench(["x" * 18] * 5, ItemBatcher={"MaxItemsPerBatch": 100}, limits=replace(AWS, payload_bytes=110))
    assert [len(given["Items"]) for given in inputs(bench.start())] == [4, 1]


def test_a_batch_input_that_leaves_no_room_fails():
    batcher = {"MaxItemsPerBatch": 2, "BatchInput": {"text": "x" * 80}}
    bench = Bench([1], ItemBatcher=batcher, limits=replace(AWS, payload_bytes=100))
    (command,) = bench.start()
    assert command.error == DATA_LIMIT


def test_batch_input_stands_beside_the_items():
    bench = Bench({"list": [1, 2, 3], "day": "Mo"}, ItemsPath="$.list",
                  ItemBatcher={"MaxItemsPerBatch": 2, "BatchInput": {"d.$": "$.day"}})  # fmt: skip
    assert inputs(bench.start()) == [
        {"BatchInput": {"d": "Mo"}, "Items": [1, 2]},
        {"BatchInput": {"d": "Mo"}, "Items": [3]},
    ]


def test_all_items_of_a_failed_batch_count():
    bench = Bench(list(range(10)), ItemBatcher={"MaxItemsPerBatch": 4}, ToleratedFailureCount=4)
    bench.start()
    assert bench.end(0, "FAILED") == []
    assert bench.item_counts() == {"failed": 4, "running": 6, "total": 10}
    bench.end(2, "TIMED_OUT")
    assert isinstance(bench.last, messages.StopChildren)
    assert bench.item_counts() == {"failed": 4, "timedOut": 2, "running": 4, "total": 10}


# ------------------------------------------------------------------ concurrency


def test_no_more_children_run_than_allowed():
    bench = Bench(list(range(5)), MaxConcurrency=2)
    assert inputs(bench.start()) == [0, 1]
    assert bench.counts() == {"running": 2, "pending": 3, "total": 5}
    assert inputs(bench.end(1)) == [2]
    assert inputs(bench.end(0)) == [3]


def test_concurrency_can_be_changed_while_the_run_goes_on():
    bench = Bench(list(range(9)), MaxConcurrency=1)
    bench.start()
    assert inputs(bench.tell(messages.RunUpdated(max_concurrency=4))) == [1, 2, 3]
    assert bench.tell(messages.RunUpdated(max_concurrency=2)) == []
    assert bench.counts()["running"] == 4
    assert [inputs(bench.end(index)) for index in range(3)] == [[], [], [4]]
    assert inputs(bench.tell(messages.RunUpdated(max_concurrency=0))) == [5, 6, 7, 8]
    assert bench.state.max_concurrency == 10_000


def test_the_most_children_that_may_run_hold_for_updates_too():
    bench = Bench([1])
    bench.tell(messages.RunUpdated(max_concurrency=99_999))
    assert bench.state.max_concurrency == 10_000
    free = Bench([1], limits=OPEN)
    assert free.state.max_concurrency == 0
    free.tell(messages.RunUpdated(max_concurrency=99_999))
    assert free.state.max_concurrency == 99_999


# ------------------------------------------------------------------ tolerance


@pytest.mark.parametrize(
    ("fields", "failed", "fails"),
    [
        ({}, 1, True),
        ({"ToleratedFailureCount": 0}, 1, True),
        ({"ToleratedFailureCount": 2}, 2, False),
        ({"ToleratedFailureCount": 2}, 3, True),
        ({"ToleratedFailurePercentage": 30}, 3, False),
        ({"ToleratedFailurePercentage": 30}, 4, True),
        ({"ToleratedFailurePercentage": 29.5}, 3, True),
        ({"ToleratedFailurePercentage": 100}, 10, False),
        ({"ToleratedFailureCount": 1, "ToleratedFailurePercentage": 90}, 2, True),
        ({"ToleratedFailureCount": 9, "ToleratedFailurePercentage": 10}, 2, True),
    ],
)
@pytest.mark.parametrize("how", ["FAILED", "TIMED_OUT"])
def test_tolerance(fields: Any, failed: int, fails: bool, how: str):
    bench = Bench(list(range(10)), **fields)
    bench.start()
    for index in range(failed):
        assert bench.state.status == "RUNNING"
        bench.end(index, how)
    if fails:
        assert bench.log[-1] == messages.StopChildren()
        bench.end_all(dict.fromkeys(range(10), "ABORTED"))
        cause = "The specified tolerated failure threshold was exceeded"
        assert bench.last == messages.FailRun(bench.command.task_id, THRESHOLD_EXCEEDED, cause)
        assert bench.counts()["aborted"] == 10 - failed
    else:
        bench.end_all()
        assert isinstance(bench.last, messages.SucceedRun)
        assert len(bench.last.output.value) == 10


def test_aborted_children_do_not_count_as_failed():
    bench = Bench([0, 1])
    bench.start()
    bench.end(0, "ABORTED")
    bench.end(1)
    assert isinstance(bench.last, messages.SucceedRun)
    assert [shown if shown == 1 else shown["Status"] for shown in bench.last.output.value] == ["ABORTED", 1]


def test_pending_children_stay_pending_when_the_run_fails():
    bench = Bench(list(range(5)), MaxConcurrency=2)
    bench.start()
    assert bench.end(0, "FAILED") == [messages.StopChildren()]
    # A child may end well although it was to be stopped.
    bench.end(1)
    assert bench.state.phase == CLOSED
    assert bench.counts() == {"failed": 1, "succeeded": 1, "pending": 3, "total": 5}


def test_a_lowered_tolerance_is_judged_at_once():
    bench = Bench(list(range(10)), **TOLERATES_ALL)
    bench.start()
    bench.end(0, "FAILED")
    assert bench.tell(messages.RunUpdated(tolerated_percentage=10)) == []
    assert bench.tell(messages.RunUpdated(tolerated_count=0)) == [messages.StopChildren()]
    assert bench.tell(messages.RunUpdated(max_concurrency=1)) == []


# ------------------------------------------------------------------ readers


def reading(**fields: Any) -> Bench:
    bench = Bench({}, ItemReader=fields.pop("reader", READER), **fields)
    assert bench.start() == [messages.ReadItems(0, SLICE_ITEMS)]
    return bench


def test_items_are_read_in_slices():
    bench = reading()
    commands = bench.tell(messages.ItemsRead(0, ["a", "b"], last=False))
    assert inputs(commands) == ["a", "b"]
    assert commands[-1] == messages.ReadItems(2, SLICE_ITEMS)
    bench.end_all()
    assert bench.state.status == "RUNNING"
    assert inputs(bench.tell(messages.ItemsRead(2, ["c"], last=True))) == ["c"]
    bench.end_all()
    assert bench.last.output.value == [0, 1, 2]


def test_a_slice_that_comes_twice_or_late_changes_nothing():
    bench = reading()
    bench.tell(messages.ItemsRead(0, ["a"], last=False))
    assert bench.tell(messages.ItemsRead(0, ["a"], last=False)) == []
    assert bench.tell(messages.ItemsRead(1, [], last=True)) == []
    assert bench.tell(messages.ItemsRead(1, ["late"], last=True)) == []
    assert bench.tell(messages.ReadFailed("late")) == []
    assert bench.counts() == {"running": 1, "total": 1}


@pytest.mark.parametrize(("most", "total"), [(3, 10), (4, 10), (5, 10), (20, 10)])
def test_max_items(most: int, total: int):
    bench = reading(reader={**READER, "ReaderConfig": {"InputType": "JSON", "MaxItems": most}})
    bench.tell(messages.ItemsRead(0, list(range(4)), last=False, total=total))
    if most > 4:
        assert bench.item_counts()["total"] == min(most, total)
        bench.tell(messages.ItemsRead(4, list(range(4, total)), last=True))
    bench.end_all()
    assert bench.last.output.value == list(range(min(most, total)))


def test_negative_max_items():
    reader = {**READER, "ReaderConfig": {"InputType": "JSON", "MaxItemsPath": "$.most"}}
    bench = Bench({"most": -1}, ItemReader=reader)
    assert bench.start() == [messages.FailRun(bench.command.task_id, READER_FAILED, "field MaxItems must be positive")]


def test_reading_pauses_while_many_children_wait():
    bench = reading(MaxConcurrency=1)
    read = 0
    while bench.state.reading and read < 2 * BACKLOG:
        bench.tell(messages.ItemsRead(read, [0] * SLICE_ITEMS, last=False))
        read += SLICE_ITEMS
    assert read == BACKLOG + SLICE_ITEMS
    asked = []
    for index in range(SLICE_ITEMS):
        asked += [command for command in bench.end(index) if isinstance(command, messages.ReadItems)]
    assert asked == [messages.ReadItems(read, SLICE_ITEMS)]


def test_a_percentage_reads_on_until_the_total_is_known():
    bench = reading(MaxConcurrency=1, ToleratedFailurePercentage=50)
    for first in range(0, 3 * BACKLOG, SLICE_ITEMS):
        bench.tell(messages.ItemsRead(first, [0] * SLICE_ITEMS, last=False))
        assert bench.last == messages.ReadItems(first + SLICE_ITEMS, SLICE_ITEMS)
    known = messages.ItemsRead(3 * BACKLOG, [0] * SLICE_ITEMS, last=False, total=5 * BACKLOG)
    assert bench.tell(known) == []


def test_a_percentage_is_not_judged_before_the_total_is_known():
    bench = reading(ToleratedFailurePercentage=50)
    bench.tell(messages.ItemsRead(0, [1, 2], last=False))
    bench.end(0, "FAILED")
    bench.end(1, "FAILED")
    assert bench.state.status == "RUNNING"
    bench.tell(messages.ItemsRead(2, [3], last=True))
    assert bench.last.error == THRESHOLD_EXCEEDED


@pytest.mark.parametrize(
    ("reader", "source", "seen"),
    [
        (READER, None, "S3://data/in.json"),
        (READER, "S3://data/other.json", "S3://data/other.json"),
        (
            {"Resource": "arn:aws:states:::s3:listObjectsV2", "Parameters": {"Bucket": "data", "Prefix": "p"}},
            None,
            "S3://data",
        ),
    ],
)
def test_map_item_source(reader: Any, source: str | None, seen: str):
    bench = reading(reader=reader, ItemSelector={"s.$": "$$.Map.Item.Source", "i.$": "$$.Map.Item.Index"})
    commands = bench.tell(messages.ItemsRead(0, [7], last=True, source=source))
    assert inputs(commands) == [{"s": seen, "i": 0}]


def test_reader_failure():
    bench = reading()
    bench.tell(messages.ReadFailed("no such key"))
    assert bench.last == messages.FailRun(bench.command.task_id, READER_FAILED, "no such key")
    assert bench.state.stopped_ms == 2000


def test_reader_failure_stops_what_runs():
    bench = reading()
    bench.tell(messages.ItemsRead(0, [1], last=False))
    assert bench.tell(messages.ReadFailed("broken")) == [messages.StopChildren()]
    bench.end(0, "ABORTED")
    assert bench.last.error == READER_FAILED


# ------------------------------------------------------------------ results


@pytest.mark.parametrize(
    ("form", "shown"),
    [("COMPACT", [[1, 2], 3, []]), ("FLATTEN", [1, 2, 3])],
)
def test_transformations_without_export(form: str, shown: Any):
    bench = Bench([0, 1, 2], ResultWriter={"WriterConfig": {"Transformation": form, "OutputType": "JSON"}})
    bench.start()
    for index, output in enumerate(([1, 2], 3, [])):
        bench.end(index, output=output)
    assert bench.last.output.value == shown


def test_records():
    bench = Bench([{"n": 1}, 2], **TOLERATES_ALL,
                  ResultWriter={"WriterConfig": {"Transformation": "NONE", "OutputType": "JSON"}})  # fmt: skip
    bench.start()
    bench.now_ms = 3500
    bench.end(0, output={"ok": True})
    bench.end(1, "FAILED")
    arn = bench.command.map_run_arn
    names = [child_name(arn, 0), child_name(arn, 1)]
    assert bench.last.output.value == [
        {
            "ExecutionArn": f"{PREFIX}:execution:Shop/Each:{names[0]}",
            "Input": '{"n":1}',
            "InputDetails": {"Included": True},
            "Name": names[0],
            "Output": '{"ok":true}',
            "OutputDetails": {"Included": True},
            "RedriveCount": 0,
            "RedriveStatus": "NOT_REDRIVABLE",
            "RedriveStatusReason": "Execution is SUCCEEDED and cannot be redriven",
            "StartDate": "1970-01-01T00:00:02Z",
            "StateMachineArn": f"{PREFIX}:stateMachine:Shop/Each",
            "Status": "SUCCEEDED",
            "StopDate": "1970-01-01T00:00:03.500Z",
        },
        {
            "Cause": "why",
            "Error": "E1",
            "ExecutionArn": f"{PREFIX}:execution:Shop/Each:{names[1]}",
            "Input": "2",
            "InputDetails": {"Included": True},
            "Name": names[1],
            "RedriveCount": 0,
            "RedriveStatus": "REDRIVABLE_BY_MAP_RUN",
            "StartDate": "1970-01-01T00:00:02Z",
            "StateMachineArn": f"{PREFIX}:stateMachine:Shop/Each",
            "Status": "FAILED",
            "StopDate": "1970-01-01T00:00:03.500Z",
        },
    ]


def test_a_failed_child_is_shown_by_its_record_even_when_compact():
    bench = Bench([0, 1], **TOLERATES_ALL)
    bench.start()
    bench.end(0, "TIMED_OUT", redrivable=False)
    bench.end(1)
    failed, good = bench.last.output.value
    assert (failed["Status"], failed["Error"], good) == ("TIMED_OUT", "E0", 1)
    assert (failed["RedriveStatus"], failed["RedriveStatusReason"]) == (
        "NOT_REDRIVABLE",
        "Execution history event limit exceeded",
    )


def test_a_result_over_the_limit():
    bench = Bench([0, 1], limits=replace(AWS, payload_bytes=100))
    bench.start()
    bench.end(0, output="x" * 60)
    bench.end(1, output="y" * 60)
    assert bench.last == messages.FailRun(
        bench.command.task_id,
        DATA_LIMIT,
        "The state/task 'M' returned a result with a size exceeding the maximum number of bytes service limit.",
    )
    assert bench.state.results_written == (0, 0)


def test_inputs_of_finished_children_are_dropped_unless_records_are_shown():
    bench = Bench([{"a": 1}, {"b": 2}], ToleratedFailureCount=1)
    bench.start()
    bench.end(0)
    assert bench.state.children[0].input is None
    records = Bench([{"a": 1}, {"b": 2}], ResultWriter=WRITER)
    records.start()
    records.end(0)
    assert records.state.children[0].input == Payload({"a": 1})


# ------------------------------------------------------------------ the result writer


def written(bench: Bench, **options: Any) -> dict[str, str]:
    files: dict[str, str] = {}
    for chunk in result_files(bench.state, bench.definition, **options):
        files[chunk.file] = files.get(chunk.file, "") + chunk.data.decode()
    return files


def test_results_are_written_before_the_run_ends():
    bench = Bench([0, 1, 2], ResultWriter=WRITER, ToleratedFailureCount=1)
    bench.start()
    bench.end(0)
    bench.end(1, "FAILED")
    bench.end(2)
    uuid = bench.command.map_run_arn.rsplit(":", 1)[1]
    assert bench.last == messages.WriteResults("out", f"jobs/{uuid}", {"Bucket": "out", "Prefix": "jobs"})
    assert bench.state.status == "RUNNING"
    files = written(bench)
    assert list(files) == ["FAILED_0.json", "SUCCEEDED_0.json"]
    assert [record["Output"] for record in parse_json(files["SUCCEEDED_0.json"])] == ["0", "2"]
    assert [record["Error"] for record in parse_json(files["FAILED_0.json"])] == ["E1"]
    assert manifest_of(bench.state, {("SUCCEEDED", "SUCCEEDED_0.json"): 7}) == {
        "DestinationBucket": "out",
        "MapRunArn": bench.command.map_run_arn,
        "ResultFiles": {
            "FAILED": [],
            "PENDING": [],
            "SUCCEEDED": [{"Key": f"jobs/{uuid}/SUCCEEDED_0.json", "Size": 7}],
        },
    }
    bench.tell(messages.ResultsWritten())
    assert bench.last.output.value == {
        "MapRunArn": bench.command.map_run_arn,
        "ResultWriterDetails": {"Bucket": "out", "Key": f"jobs/{uuid}/manifest.json"},
    }
    assert bench.counts() == {"succeeded": 2, "failed": 1, "total": 3, "resultsWritten": 3}
    assert bench.tell(messages.ResultsWritten()) == []


@pytest.mark.parametrize(
    ("form", "kind", "text"),
    [
        ("COMPACT", "JSON", "[[1,2],3]"),
        ("FLATTEN", "JSON", "[1,2,3]"),
        ("COMPACT", "JSONL", "[1,2]\n3\n"),
        ("FLATTEN", "JSONL", "1\n2\n3\n"),
    ],
)
def test_written_transformations(form: str, kind: str, text: str):
    bench = Bench([0, 1], ResultWriter={**WRITER, "WriterConfig": {"Transformation": form, "OutputType": kind}})
    bench.start()
    bench.end(0, output=[1, 2])
    bench.end(1, output=3)
    assert written(bench) == {"SUCCEEDED_0.json": text}


def test_large_files_go_on_in_the_next():
    config = {"Transformation": "COMPACT", "OutputType": "JSON"}
    bench = Bench(list(range(6)), ResultWriter={**WRITER, "WriterConfig": config})
    bench.start()
    for index in range(6):
        bench.end(index, output="x" * 10)
    files = written(bench, file_bytes=30)
    assert list(files) == ["SUCCEEDED_0.json", "SUCCEEDED_1.json", "SUCCEEDED_2.json"]
    assert all(len(text) <= 30 for text in files.values())
    assert [value for text in files.values() for value in parse_json(text)] == ["x" * 10] * 6


def test_a_failed_run_writes_what_failed_and_what_never_started():
    bench = Bench([0, 1, 2], ResultWriter=WRITER, MaxConcurrency=1)
    bench.start()
    bench.end(0, "FAILED")
    assert bench.log[-1].folder.startswith("jobs/")
    files = written(bench)
    assert list(files) == ["FAILED_0.json", "PENDING_0.json"]
    (first, _second) = parse_json(files["PENDING_0.json"])
    assert (first["Status"], first["Input"], "StartDate" in first) == ("PENDING", "1", False)
    bench.tell(messages.WriteFailed("no bucket"))
    assert bench.last.error == THRESHOLD_EXCEEDED


def test_writer_failure():
    bench = Bench([0], ResultWriter=WRITER)
    bench.start()
    bench.end(0)
    bench.tell(messages.WriteFailed("no bucket"))
    assert bench.last == messages.FailRun(bench.command.task_id, WRITER_FAILED, "no bucket")
    assert bench.tell(messages.WriteFailed("twice")) == []


def test_a_writer_without_prefix():
    bench = Bench([], ResultWriter={**WRITER, "Parameters": {"Bucket": "out"}})
    (command,) = bench.start()
    assert command.folder == bench.command.map_run_arn.rsplit(":", 1)[1]
    assert written(bench) == {}


# ------------------------------------------------------------------ stops


def test_a_stop_aborts_what_runs_and_tells_nobody():
    bench = Bench([0, 1, 2], MaxConcurrency=2)
    bench.start()
    bench.end(0)
    assert bench.tell(messages.RunStopped()) == [messages.StopChildren()]
    bench.end_all({1: "ABORTED", 2: "ABORTED"})
    assert bench.last == messages.StopChildren()
    assert bench.state.status == "ABORTED"
    assert bench.counts() == {"succeeded": 1, "aborted": 2, "total": 3}
    assert bench.tell(messages.RunStopped()) == []


def test_a_stop_while_items_are_read():
    bench = reading()
    assert bench.tell(messages.RunStopped()) == []
    assert bench.state.status == "ABORTED"
    assert bench.tell(messages.ItemsRead(0, [1], last=True)) == []


def test_a_stop_while_results_are_written():
    bench = Bench([0], ResultWriter=WRITER)
    bench.start()
    bench.end(0)
    assert bench.tell(messages.RunStopped()) == []
    assert bench.tell(messages.ResultsWritten()) == []
    assert (bench.state.status, bench.state.output) == ("ABORTED", None)


# ------------------------------------------------------------------ repeats


def test_events_that_come_twice_or_from_nowhere_change_nothing():
    bench = Bench([0, 1])
    bench.start()
    assert bench.start() == []
    ended = messages.ChildEnded(0, 0, "SUCCEEDED", Payload(0))
    bench.tell(ended)
    assert bench.tell(ended) == []
    assert bench.tell(replace(ended, index=7)) == []
    assert bench.tell(replace(ended, index=1, attempt=3)) == []
    assert bench.tell(messages.ResultsWritten()) == []
    assert bench.counts() == {"succeeded": 1, "running": 1, "total": 2}


# ------------------------------------------------------------------ redrive


def failed_run(kind: str = "STANDARD", **fields: Any) -> Bench:
    """Items 0-4 of six: one succeeded, one failed, one timed out, one aborted, two never started."""
    bench = Bench(list(range(6)), kind=kind, MaxConcurrency=4, ToleratedFailureCount=1, **fields)
    bench.start()
    bench.tell(messages.RunUpdated(max_concurrency=1))
    for index, status in enumerate(("SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED")):
        bench.end(index, status)
    assert bench.counts() == {"succeeded": 1, "failed": 1, "timedOut": 1, "aborted": 1, "pending": 2, "total": 6}
    return bench


def test_a_redrive_runs_unsuccessful_children_first_and_then_pending_ones():
    bench = failed_run()
    bench.now_ms = 9000
    (command,) = bench.tell(messages.RunRedriven(77, 1))
    assert command == messages.RedriveChild(1, 1, child_name(bench.command.map_run_arn, 1))
    assert bench.counts() == {"succeeded": 1, "running": 1, "pendingRedrive": 2, "pending": 2, "total": 6}
    assert (bench.state.status, bench.state.stopped_ms, bench.state.redriven_ms) == ("RUNNING", None, 9000)
    (command,) = bench.end(1)
    assert isinstance(command, messages.RedriveChild)
    bench.end(2)
    (command,) = bench.end(3)
    assert command == messages.StartChild(4, 1, child_name(bench.command.map_run_arn, 4), Payload(4), 1)
    bench.end_all()
    assert bench.last == messages.SucceedRun(77, Payload([0, 1, 2, 3, 4, 5]))


def test_express_children_start_afresh():
    bench = failed_run("EXPRESS")
    bench.now_ms = 9000
    (command,) = bench.tell(messages.RunRedriven(77, 1))
    assert command == messages.StartChild(1, 1, child_name(bench.command.map_run_arn, 1), Payload(1), 1)
    assert bench.state.children[1].started_ms == 9000


def test_children_that_cannot_be_redriven_count_as_failed():
    bench = Bench(list(range(4)), ToleratedFailureCount=1)
    bench.start()
    bench.end(0, "FAILED")
    bench.now_ms += 10 * 24 * 3600 * 1000
    bench.end(1, "FAILED", redrivable=False)
    bench.end_all({2: "ABORTED", 3: "ABORTED"})
    bench.now_ms += 10 * 24 * 3600 * 1000
    bench.tell(messages.RunRedriven(5, 1))
    # One is too old, one has too long a history: two failures exceed the tolerance.
    assert bench.last.error == THRESHOLD_EXCEEDED
    assert bench.counts() == {"failed": 2, "aborted": 2, "failuresNotRedrivable": 2, "total": 4}
    bench.tell(messages.RunRedriven(6, 2))
    assert bench.last.task_id == 6


def test_a_late_answer_of_an_earlier_attempt_is_ignored():
    bench = failed_run()
    bench.tell(messages.RunRedriven(77, 1))
    assert bench.tell(messages.ChildEnded(1, 0, "SUCCEEDED", Payload("old"))) == []
    assert bench.state.children[1].output is None


def test_a_redrive_that_fails_again_leaves_the_rest_for_the_next():
    bench = failed_run()
    bench.tell(messages.RunRedriven(77, 1))
    bench.end(1, "FAILED")
    bench.end(2, "FAILED")
    assert bench.counts() == {"succeeded": 1, "failed": 2, "aborted": 1, "pending": 2, "total": 6}
    bench.tell(messages.RunRedriven(78, 2))
    assert bench.counts() == {"succeeded": 1, "running": 1, "pendingRedrive": 2, "pending": 2, "total": 6}
    assert bench.tell(messages.RunRedriven(78, 2)) == []
    bench.end_all()
    assert bench.last.output.value == [0, 1, 2, 3, 4, 5]
    assert bench.state.redrive_count == 2


def test_a_redrive_waits_until_the_run_is_closed():
    bench = Bench([0, 1])
    bench.start()
    bench.tell(messages.RunStopped())
    assert bench.tell(messages.RunRedriven(9, 1)) == []
    bench.end(0, "ABORTED")
    commands = bench.end(1, "ABORTED")
    assert [type(command) for command in commands] == [messages.RedriveChild] * 2
    bench.end_all()
    assert bench.last == messages.SucceedRun(9, Payload([0, 1]))


def test_a_redrive_of_a_run_that_nobody_heard_succeed():
    bench = Bench([0])
    bench.start()
    bench.end(0)
    assert bench.tell(messages.RunRedriven(9, 1)) == [messages.SucceedRun(9, Payload([0]))]


def test_a_redrive_reads_on_where_the_reading_stopped():
    bench = reading()
    bench.tell(messages.ReadFailed("no such key"))
    assert bench.tell(messages.RunRedriven(9, 1)) == [messages.ReadItems(0, SLICE_ITEMS)]
    bench.tell(messages.ItemsRead(0, [1], last=False))
    bench.tell(messages.ReadFailed("lost"))
    bench.end(0, "ABORTED")
    commands = bench.tell(messages.RunRedriven(10, 2))
    assert commands[-1] == messages.ReadItems(1, SLICE_ITEMS)
    bench.tell(messages.ItemsRead(1, [2], last=True))
    bench.end_all()
    assert bench.last == messages.SucceedRun(10, Payload([0, 1]))


def test_a_redrive_after_the_writer_failed_writes_again():
    bench = Bench([0], ResultWriter=WRITER)
    bench.start()
    bench.end(0)
    bench.tell(messages.WriteFailed("no bucket"))
    (command,) = bench.tell(messages.RunRedriven(9, 1))
    assert isinstance(command, messages.WriteResults)


def test_too_many_redrives():
    bench = failed_run()
    bench.tell(messages.RunRedriven(77, 1001))
    assert (bench.last.task_id, bench.last.error) == (77, RUNTIME)
    assert bench.state.status == "FAILED"


def test_redriven_records_count_their_redrives():
    bench = failed_run()
    bench.tell(messages.RunRedriven(77, 1))
    bench.end(1, "FAILED")
    bench.tell(messages.RunStopped())
    bench.end_all({2: "ABORTED"})
    counts = [record_of(bench.state, child).get("RedriveCount") for child in bench.state.children]
    assert counts == [0, 1, 1, 0, None, None]


# ------------------------------------------------------------------ names, bytes


def test_names():
    arn = f"{PREFIX}:mapRun:Shop/Each:11111111-2222-3333-4444-555555555555"
    assert labelled_machine(arn) == "Shop/Each"
    assert child_machine_arn(arn) == f"{PREFIX}:stateMachine:Shop/Each"
    assert child_execution_arn(arn, "n") == f"{PREFIX}:execution:Shop/Each:n"
    names = {child_name(arn, index) for index in range(300)}
    assert len(names) == 300
    assert all(len(name) == 36 and name[14] == "3" and name[19] in "89ab" for name in names)
    assert child_name(arn, 5) == child_name(arn, 5) != child_name(arn.replace("5", "6"), 5)


def test_seeds_of_children_differ():
    bench = Bench([0])
    assert len({child_seed(bench.state, index) for index in range(100)}) == 100


def test_the_header_does_not_grow_with_the_children():
    bench = reading(MaxConcurrency=1, **TOLERATES_ALL)
    sizes = []
    for first in range(0, 1000, SLICE_ITEMS):
        bench.tell(messages.ItemsRead(first, [{"n": n} for n in range(SLICE_ITEMS)], last=False))
        sizes.append(len(encode_map_run(bench.state, [])[0]))
    assert max(sizes) - min(sizes) < 20


def test_only_changed_rows_are_named():
    bench = Bench([0, 1, 2, 3], MaxConcurrency=2, ToleratedFailureCount=1)
    bench.start()
    ended = messages.ChildEnded(0, 0, "SUCCEEDED", Payload(0))
    step = advance_map_run(bench.definition, bench.state, ended, 5)
    assert (step.changed, step.cleared) == ({0, 2}, False)
    for index in (1, 2):
        advance_map_run(bench.definition, bench.state, replace(ended, index=index), 5)
    step = advance_map_run(bench.definition, bench.state, replace(ended, index=3), 5)
    assert (step.changed, step.cleared, bench.state.children) == (set(), True, [])


def test_large_values_are_stored_once_and_apart():
    big = {"text": "x" * 5000}
    bench = Bench([big] * 10, MaxConcurrency=1)
    bench.start()
    header, children, texts = encode_map_run(bench.state)
    assert len(texts) == 2  # the list, and the item that ten children share
    assert len(header) < 2000
    assert all(len(body) < 200 for body in children.values())
