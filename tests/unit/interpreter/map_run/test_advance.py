"""The coordinator of a distributed Map: items, batches, limits, tolerance, stops."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from statewright.errors import DATA_LIMIT, RUNTIME
from statewright.interpreter.map_run import messages
from statewright.interpreter.map_run.advance import BACKLOG, READER_FAILED, SLICE_ITEMS, THRESHOLD_EXCEEDED
from statewright.interpreter.phases import CLOSED
from statewright.limits import AWS, OPEN
from statewright.payload import Payload
from tests.unit.interpreter.map_run.bench import READER, TOLERATES_ALL, WRITER, Bench, inputs, reading

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


def test_item_selector_in_jsonata():
    bench = Bench(
        {"list": ["a", "b"], "tag": "t"},
        QueryLanguage="JSONata",
        Items="{% $states.input.list %}",
        ItemSelector="{% $states.context.Map.Item.Value & $states.input.tag & $states.context.Map.Item.Index %}",
    )
    assert inputs(bench.start()) == ["at0", "bt1"]


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


def test_chance_goes_on_from_slice_to_slice():
    bench = Bench({}, ItemReader=READER, ItemSelector={"id.$": "States.UUID()"})
    bench.start()
    seen = inputs(bench.tell(messages.ItemsRead(0, [1, 2], last=False)))
    seen += inputs(bench.tell(messages.ItemsRead(2, [3, 4], last=True)))
    assert len({given["id"] for given in seen}) == 4


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
