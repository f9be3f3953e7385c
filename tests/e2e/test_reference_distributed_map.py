"""Distributed Maps on a real server: items from buckets, functions that treat them, results in a bucket."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.conftest import Server
from tests.e2e.systems import System, ended, history, system, zipped

DOUBLE = """
def handler(event, context):
    value = event["value"]
    if value == "broken":
        raise ValueError("no number: " + event["name"])
    return {"name": event["name"], "double": 2 * int(value)}
"""
ROWS = [("a", 1), ("b", 2), ("c", 3), ("d", 4), ("e", 5)]


@pytest.fixture(scope="module")
def made(server: Server) -> System:
    made = system(server)
    made.function("double", DOUBLE)
    made.bucket("data")
    return made


def put(made: System, key: str, text: str) -> str:
    made.client("s3").put_object(Bucket=made.named("data"), Key=key, Body=text)
    return key


def a_map(made: System, reader: dict[str, Any], *, call: bool = True, **fields: Any) -> str:
    """A machine with one distributed Map; its children call the function, or hand their item on."""
    task = {
        "Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "OutputPath": "$.Payload", "End": True,
        "Parameters": {"FunctionName": made.named("double"), "Payload.$": "$"},
    }  # fmt: skip
    state = {
        "Type": "Map", "ItemReader": reader, "End": True, **fields,
        "ItemProcessor": {
            "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}, "StartAt": "Treat",
            "States": {"Treat": task if call else {"Type": "Pass", "End": True}},
        },
    }  # fmt: skip
    return system(made.server).machine({"StartAt": "Each", "States": {"Each": state}})


def file(made: System, key: str, **config: Any) -> dict[str, Any]:
    return {
        "Resource": "arn:aws:states:::s3:getObject",
        "ReaderConfig": config,
        "Parameters": {"Bucket": made.named("data"), "Key": key},
    }


def listing(made: System, prefix: str) -> dict[str, Any]:
    return {
        "Resource": "arn:aws:states:::s3:listObjectsV2",
        "Parameters": {"Bucket": made.named("data"), "Prefix": prefix},
    }


def output(made: System, execution: str) -> Any:
    shown = ended(made.client("stepfunctions"), execution)
    assert shown["status"] == "SUCCEEDED", shown
    return json.loads(shown["output"])


def map_run(made: System, execution: str) -> dict[str, Any]:
    sfn = made.client("stepfunctions")
    runs = sfn.list_map_runs(executionArn=execution)["mapRuns"]
    assert len(runs) == 1
    shown: dict[str, Any] = sfn.describe_map_run(mapRunArn=runs[0]["mapRunArn"])
    return shown


def counts(run: dict[str, Any]) -> dict[str, int]:
    return {name: run["itemCounts"][name] for name in ("total", "succeeded", "failed")}


# ---------------------------------------------------------------------- readers


def csv_text() -> str:
    return "name,value\n" + "".join(f"{name},{value}\n" for name, value in ROWS)


def jsonl_text() -> str:
    return "".join(json.dumps({"name": name, "value": value}) + "\n" for name, value in ROWS)


def json_text() -> str:
    return json.dumps([{"name": name, "value": value} for name, value in ROWS])


@pytest.mark.parametrize(
    ("key", "text", "config"),
    [
        ("rows.csv", csv_text(), {"InputType": "CSV", "CSVHeaderLocation": "FIRST_ROW"}),
        ("rows.jsonl", jsonl_text(), {"InputType": "JSONL"}),
        ("rows.json", json_text(), {"InputType": "JSON"}),
    ],
    ids=["CSV", "JSONL", "JSON"],
)
def test_rows_of_a_file_go_through_a_function(made, key, text, config):
    machine = a_map(made, file(made, put(made, key, text), **config))
    execution = made.start(machine, {})
    assert output(made, execution) == [{"name": name, "double": 2 * value} for name, value in ROWS]
    assert counts(map_run(made, execution)) == {"total": 5, "succeeded": 5, "failed": 0}


def test_listed_objects_are_items(made):
    for name, value in ROWS:
        put(made, f"listed/{name}.txt", str(value) * 3)
    execution = made.start(a_map(made, listing(made, "listed/"), call=False), {})
    found = output(made, execution)
    assert [(item["Key"], item["Size"]) for item in found] == [(f"listed/{name}.txt", 3) for name, _ in ROWS]
    assert {"Etag", "LastModified", "StorageClass"} <= set(found[0])


def test_an_object_that_is_not_there(made):
    sfn = made.client("stepfunctions")
    shown = ended(sfn, made.start(a_map(made, file(made, "nowhere.json", InputType="JSON")), {}))
    assert (shown["status"], shown["error"]) == ("FAILED", "States.ItemReaderFailed")


# ---------------------------------------------------------------------- results


def test_results_are_written_with_a_manifest(made):
    text = csv_text() + "f,broken\n"
    writer = {
        "Resource": "arn:aws:states:::s3:putObject",
        "Parameters": {"Bucket": made.named("data"), "Prefix": "results"},
    }
    reader = file(made, put(made, "mixed.csv", text), InputType="CSV", CSVHeaderLocation="FIRST_ROW")
    execution = made.start(a_map(made, reader, ResultWriter=writer, ToleratedFailureCount=1), {})
    told = output(made, execution)
    details = told["ResultWriterDetails"]
    assert details["Bucket"] == made.named("data")
    assert details["Key"].startswith("results/")
    assert details["Key"].endswith("/manifest.json")

    def content(key: str) -> Any:
        return json.loads(made.client("s3").get_object(Bucket=made.named("data"), Key=key)["Body"].read())

    manifest = content(details["Key"])
    assert manifest["MapRunArn"] == told["MapRunArn"]
    written = {status: [row for one in files for row in content(one["Key"])]
               for status, files in manifest["ResultFiles"].items()}  # fmt: skip
    assert {status: len(rows) for status, rows in written.items()} == {"SUCCEEDED": 5, "FAILED": 1, "PENDING": 0}
    doubles = {json.loads(row["Output"])["name"]: json.loads(row["Output"])["double"] for row in written["SUCCEEDED"]}
    assert doubles == {name: 2 * value for name, value in ROWS}
    assert written["FAILED"][0]["Error"] == "ValueError"
    assert json.loads(written["FAILED"][0]["Cause"])["errorMessage"] == "no number: f"


# ---------------------------------------------------------------------- failures


def test_more_failures_than_are_tolerated(made):
    text = csv_text() + "f,broken\ng,broken\n"
    reader = file(made, put(made, "bad.csv", text), InputType="CSV", CSVHeaderLocation="FIRST_ROW")
    execution = made.start(a_map(made, reader, ToleratedFailureCount=1), {})
    shown = ended(made.client("stepfunctions"), execution)
    assert (shown["status"], shown["error"]) == ("FAILED", "States.ExceedToleratedFailureThreshold")
    run = map_run(made, execution)
    assert (run["status"], run["toleratedFailureCount"]) == ("FAILED", 1)
    assert counts(run)["failed"] >= 2


def test_only_what_failed_is_done_again_by_a_redrive(made):
    sfn, functions = made.client("stepfunctions"), made.client("lambda")
    other = system(made.server)
    other.function("double", DOUBLE)
    text = csv_text() + "f,broken\n"
    reader = file(made, put(made, "again.csv", text), InputType="CSV", CSVHeaderLocation="FIRST_ROW")
    machine = a_map(other, reader, MaxConcurrency=1)
    execution = made.start(machine, {})
    assert ended(sfn, execution)["status"] == "FAILED"
    assert counts(map_run(made, execution)) == {"total": 6, "succeeded": 5, "failed": 1}
    mended = zipped(double=DOUBLE.replace("raise ValueError", "value = len").replace('"no number: " + ', ""))
    functions.update_function_code(FunctionName=other.named("double"), ZipFile=mended)
    sfn.redrive_execution(executionArn=execution)
    assert output(made, execution) == [
        *({"name": name, "double": 2 * value} for name, value in ROWS),
        {"name": "f", "double": 2},
    ]
    run = map_run(made, execution)
    assert (run["redriveCount"], counts(run)) == (1, {"total": 6, "succeeded": 6, "failed": 0})
    types = [event["type"] for event in history(sfn, execution)]
    assert types.count("ExecutionRedriven") == types.count("MapRunRedriven") == 1


# ---------------------------------------------------------------------- the wall of an inline Map

WALL_ITEMS = 5_000


def wall(made: System, mode: str) -> dict[str, Any]:
    """A Map of five thousand calls of a function; an inline one hands on the number of its results alone."""
    task = {
        "Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "OutputPath": "$.Payload.double", "End": True,
        "Parameters": {"FunctionName": made.named("double"), "Payload": {"name": "n", "value.$": "$"}},
    }  # fmt: skip
    kind = {"ExecutionType": "EXPRESS"} if mode == "DISTRIBUTED" else {}
    processor = {"StartAt": "Treat", "States": {"Treat": task}, "ProcessorConfig": {"Mode": mode, **kind}}
    state = {
        "Type": "Map", "ItemsPath": "$.numbers", "MaxConcurrency": 40, "ItemProcessor": processor, "End": True,
        "ResultSelector": {"count.$": "States.ArrayLength($)"},
    }  # fmt: skip
    return {"StartAt": "Each", "States": {"Each": state}}


def run_wall(made: System, mode: str) -> tuple[dict[str, Any], str]:
    machine = system(made.server).machine(wall(made, mode))
    execution = made.start(machine, {"numbers": list(range(WALL_ITEMS))})
    return ended(made.client("stepfunctions"), execution), execution


@pytest.mark.slow
def test_an_inline_map_ends_at_the_limit_of_its_history(made):
    shown, execution = run_wall(made, "INLINE")
    assert (shown["status"], shown["error"]) == ("FAILED", "States.Runtime"), shown
    assert "25000" in shown["cause"]
    [last] = made.client("stepfunctions").get_execution_history(
        executionArn=execution, reverseOrder=True, maxResults=1
    )["events"]
    assert (last["id"], last["type"]) == (25_000, "ExecutionFailed")


@pytest.mark.slow
def test_a_distributed_map_does_not(made):
    shown, _ = run_wall(made, "DISTRIBUTED")
    assert (shown["status"], json.loads(shown["output"])) == ("SUCCEEDED", {"count": WALL_ITEMS})


@pytest.mark.slow
def test_nor_an_inline_map_without_that_limit(tmp_path):
    running = Server(tmp_path / "data", "--limits", "open")
    try:
        other = system(running)
        other.function("double", DOUBLE)
        shown, _ = run_wall(other, "INLINE")
        assert (shown["status"], json.loads(shown["output"])) == ("SUCCEEDED", {"count": WALL_ITEMS})
    finally:
        assert running.stop() == 0, running.log.read_text()
