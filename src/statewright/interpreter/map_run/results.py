"""The results of a Map Run: the Map state's result, and the files that a ResultWriter leaves in its bucket.

Source: developer guide, "ResultWriter (Map)". `advance.py` decides when results are assembled or written; the driver
writes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from statewright.asl.program import MapDef
from statewright.asl.timestamps import format_timestamp
from statewright.interpreter.map_run.state import (
    ABORTED,
    FAILED,
    PENDING,
    STATUS_NAMES,
    SUCCEEDED,
    TIMED_OUT,
    MapChild,
    MapRunState,
    child_execution_arn,
    child_machine_arn,
    child_name,
)
from statewright.payload import Json, JsonObject, Payload, dump_json

FILE_BYTES: Final = 5 * 1024**3
"""The largest result file. Source: developer guide, "Exporting to Amazon S3"."""

Transformation = Literal["NONE", "COMPACT", "FLATTEN"]

_FILES: Final[dict[str, frozenset[int]]] = {
    "FAILED": frozenset({FAILED, TIMED_OUT, ABORTED}),
    "PENDING": frozenset({PENDING}),
    "SUCCEEDED": frozenset({SUCCEEDED}),
}
"""Kinds of result files, and the children whose results they hold."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a result file. Pieces of one file follow each other; `kind` is FAILED, PENDING or SUCCEEDED."""

    kind: str
    file: str
    data: bytes


def transformation(definition: MapDef) -> Transformation:
    """The form of results; COMPACT without a ResultWriter."""
    writer = definition.distributed.writer if definition.distributed is not None else None
    return writer.transformation if writer is not None else "COMPACT"


def needs_records(definition: MapDef) -> bool:
    """True if successes are shown with their metadata, input included."""
    return transformation(definition) == "NONE"


# ------------------------------------------------------------------ the state's result


def result_of(state: MapRunState, definition: MapDef) -> Payload:
    """The Map state's result when it is not exported: one value for each child, in item order.

    Children that failed within the tolerance are shown by their records, under every transformation.
    """
    return Payload([value for child in state.children for value in _shown(state, definition, child)])


def exported_result(state: MapRunState) -> Payload:
    """The Map state's result when a ResultWriter has exported the children's."""
    settings = state.settings
    details = {"Bucket": bucket_of(state), "Key": f"{folder_of(state)}/manifest.json"}
    return Payload({"MapRunArn": settings.map_run_arn, "ResultWriterDetails": details})


def bucket_of(state: MapRunState) -> str:
    """The bucket that the ResultWriter names; empty if it names none."""
    return _text_argument(state, "Bucket")


def folder_of(state: MapRunState) -> str:
    """The prefix of all result files: the ResultWriter's own, and the run's UUID."""
    prefix = _text_argument(state, "Prefix").rstrip("/")
    uuid = state.settings.map_run_arn.rsplit(":", 1)[1]
    return f"{prefix}/{uuid}" if prefix else uuid


def _text_argument(state: MapRunState, name: str) -> str:
    arguments = state.settings.writer
    value = arguments.get(name) if isinstance(arguments, dict) else None
    return value if isinstance(value, str) else ""


def _shown(state: MapRunState, definition: MapDef, child: MapChild) -> list[Json]:
    """A child's element in a list of results."""
    form = transformation(definition)
    if child.status != SUCCEEDED or form == "NONE":
        return [record_of(state, child)]
    assert child.output is not None
    value = child.output.value
    if form == "FLATTEN" and isinstance(value, list):
        return value
    return [value]


# ------------------------------------------------------------------ files


def record_of(state: MapRunState, child: MapChild) -> dict[str, Json]:
    """A child execution with its metadata, as result files hold it."""
    arn = state.settings.map_run_arn
    name = child_name(arn, child.index)
    record: JsonObject = {}
    if child.cause is not None:
        record["Cause"] = child.cause
    if child.error is not None:
        record["Error"] = child.error
    record["ExecutionArn"] = child_execution_arn(arn, name)
    if child.input is not None:
        record["Input"] = child.input.text
        record["InputDetails"] = {"Included": True}
    record["Name"] = name
    if child.output is not None:
        record["Output"] = child.output.text
        record["OutputDetails"] = {"Included": True}
    if child.status != PENDING:
        record["RedriveCount"] = child.redrives
        if child.status == SUCCEEDED:
            record["RedriveStatus"] = "NOT_REDRIVABLE"
            record["RedriveStatusReason"] = "Execution is SUCCEEDED and cannot be redriven"
        elif child.redrivable:
            record["RedriveStatus"] = "REDRIVABLE_BY_MAP_RUN"
        else:
            record["RedriveStatus"] = "NOT_REDRIVABLE"
            record["RedriveStatusReason"] = "Execution history event limit exceeded"
        record["StartDate"] = format_timestamp(child.started_ms)
    record["StateMachineArn"] = child_machine_arn(arn)
    record["Status"] = STATUS_NAMES[child.status]
    if child.status != PENDING:
        record["StopDate"] = format_timestamp(child.stopped_ms)
    return record


def result_files(state: MapRunState, definition: MapDef, *, file_bytes: int = FILE_BYTES) -> Iterator[Chunk]:
    """The result files of a run, piece by piece: `FAILED_0.json`, `PENDING_0.json`, `SUCCEEDED_0.json` and so on.

    A kind without children has no file. A file of more than `file_bytes` continues in the next one.
    """
    for kind, statuses in _FILES.items():
        children = (child for child in state.children if child.status in statuses)
        shown = (value for child in children for value in _shown(state, definition, child))
        writer = definition.distributed.writer if definition.distributed is not None else None
        yield from _chunks(kind, shown, file_bytes, lines=writer is not None and writer.output_type == "JSONL")


def _chunks(kind: str, values: Iterator[Json], file_bytes: int, *, lines: bool) -> Iterator[Chunk]:
    number = 0
    size = 0
    file = ""
    for value in values:
        data = dump_json(value).encode()
        if size and size + len(data) + 2 > file_bytes:
            if not lines:
                yield Chunk(kind, file, b"]")
            size = 0
        if size == 0:
            file = f"{kind}_{number}.json"
            number += 1
        before = b"" if lines else (b"," if size else b"[")
        chunk = before + data + (b"\n" if lines else b"")
        size += len(chunk)
        yield Chunk(kind, file, chunk)
    if size and not lines:
        yield Chunk(kind, file, b"]")


def manifest_of(state: MapRunState, sizes: dict[tuple[str, str], int]) -> dict[str, Json]:
    """`manifest.json`. `sizes` are the bytes of each file, by kind and file name, in the order of writing."""
    folder = folder_of(state)
    files: dict[str, list[Json]] = {kind: [] for kind in _FILES}
    for (kind, file), size in sizes.items():
        files[kind].append({"Key": f"{folder}/{file}", "Size": size})
    return {"DestinationBucket": bucket_of(state), "MapRunArn": state.settings.map_run_arn, "ResultFiles": files}
