"""What comes of a Map Run: results, files, redrives, names, bytes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from statewright.errors import DATA_LIMIT, RUNTIME
from statewright.interpreter.map_run import messages
from statewright.interpreter.map_run.advance import SLICE_ITEMS, THRESHOLD_EXCEEDED, WRITER_FAILED, advance_map_run
from statewright.interpreter.map_run.codec import encode_map_run
from statewright.interpreter.map_run.results import manifest_of, record_of, result_files
from statewright.interpreter.map_run.state import (
    child_execution_arn,
    child_machine_arn,
    child_name,
    child_seed,
    labelled_machine,
)
from statewright.limits import AWS
from statewright.payload import Payload, parse_json
from tests.unit.interpreter.map_run.bench import PREFIX, TOLERATES_ALL, WRITER, Bench, reading

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
    bench.tell(messages.ResultsWritten())
    assert bench.counts() == {"failed": 1, "pending": 2, "total": 3, "resultsWritten": 1}
    assert bench.last.error == THRESHOLD_EXCEEDED


def test_a_failed_run_keeps_its_error_when_the_writer_fails_too():
    bench = Bench([0], ResultWriter=WRITER)
    bench.start()
    bench.end(0, "FAILED")
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
    assert (bench.state.children[1].error, bench.state.children[1].cause) == (None, None)
    assert bench.state.children[2].error == "E2"
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


def test_written_counts_are_those_of_the_last_attempt():
    bench = Bench([0, 1], ResultWriter=WRITER)
    bench.start()
    bench.end(0)
    bench.end(1, "FAILED")
    bench.tell(messages.ResultsWritten())
    assert bench.state.status == "FAILED"
    assert bench.counts() == {"succeeded": 1, "failed": 1, "total": 2, "resultsWritten": 2}
    bench.tell(messages.RunRedriven(9, 1))
    assert bench.counts() == {"succeeded": 1, "running": 1, "total": 2}


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
