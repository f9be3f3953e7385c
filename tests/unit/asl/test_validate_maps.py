"""Map states: their modes, readers, batches, writers and labels."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.asl.definitions import SCHEMA, distributed, found, inline, jsonata, machine, messages, passing


@pytest.mark.parametrize(
    ("state", "message", "place"),
    [
        ({"Type": "Map", "End": True}, "One of the following fields is required: [ItemProcessor, Iterator]", ""),
        (inline(ItemProcessor=5), "Value must be an object", "/ItemProcessor"),
        (inline(Iterator={}), "There should only be one of the following fields: [ItemProcessor, Iterator]", ""),
        (
            inline(Parameters={}, ItemSelector={}),
            "There should only be one of the following fields: [Parameters, ItemSelector]",
            "",
        ),
        (inline(MaxConcurrency=-1), "Minimum value is 0", "/MaxConcurrency"),
        (inline(MaxConcurrencyPath="$$.Execution.Input.n"), "Value is not a Reference Path", "/MaxConcurrencyPath"),
        (inline(ItemsPath="$.a[*]"), "Value is not a Reference Path", "/ItemsPath"),
        (distributed(ToleratedFailurePercentage=-1), "Minimum value is 0.0", "/ToleratedFailurePercentage"),
        (distributed(ToleratedFailurePercentage=101), "Maximum value is 100.0", "/ToleratedFailurePercentage"),
        (distributed(ToleratedFailureCount=-1), "Minimum value is 0", "/ToleratedFailureCount"),
        (jsonata(inline(Items={"a": 1})), "Value must be an array", "/Items"),
        (jsonata(inline(Items=5)), "Value must be an array", "/Items"),
        (jsonata(inline(Items="$states.input")), "Value must be an array", "/Items"),
        (
            {"Type": "Map", "ItemProcessor": {"ProcessorConfig": {"Mode": "DISTRIBUTED"}}, "End": True},
            "These fields are required: [ExecutionType]",
            "/ItemProcessor/ProcessorConfig",
        ),
        (
            {"Type": "Map", "ItemProcessor": {"ProcessorConfig": {"Mode": "BATCH"}}, "End": True},
            "Value must be one of: [INLINE, DISTRIBUTED]",
            "/ItemProcessor/ProcessorConfig/Mode",
        ),
        (distributed(ItemReader=[]), "Value must be an object", "/ItemReader"),
        (distributed(ItemReader={}), "These fields are required: [Resource]", "/ItemReader"),
        (
            distributed(ItemReader={"Resource": "r", "ReaderConfig": {"MaxItems": 1, "MaxItemsPath": "$.n"}}),
            "There should only be one of the following fields: [MaxItems, MaxItemsPath]",
            "/ItemReader/ReaderConfig",
        ),
        (
            distributed(ItemReader={"Resource": "r", "ReaderConfig": {"MaxItems": 100_000_001}}),
            "Maximum value is 100000000",
            "/ItemReader/ReaderConfig/MaxItems",
        ),
        (
            distributed(ItemReader={"Resource": "r", "ReaderConfig": {"InputType": "XML"}}),
            "Value must be one of: [CSV, JSON, JSONL, PARQUET, MANIFEST]",
            "/ItemReader/ReaderConfig/InputType",
        ),
        (
            distributed(ItemReader={"Resource": "r", "ReaderConfig": {"CSVHeaders": "a,b"}}),
            "Value must be an array of strings",
            "/ItemReader/ReaderConfig/CSVHeaders",
        ),
        (
            distributed(ItemReader={"Resource": "r", "ReaderConfig": {"CSVHeaderLocation": "GIVEN"}}),
            "These fields are required: [CSVHeaders]",
            "/ItemReader/ReaderConfig",
        ),
        (
            distributed(ItemReader={"Resource": "r", "ReaderConfig": {"Transformation": "LOAD_AND_FLATTEN"}}),
            "These fields are required: [InputType]",
            "/ItemReader/ReaderConfig",
        ),
        (
            distributed(ItemReader={"Resource": "r", "ReaderConfig": {"ItemsPointer": "a/b"}}),
            "Value must be a JSON pointer",
            "/ItemReader/ReaderConfig/ItemsPointer",
        ),
        (
            distributed(ItemBatcher={}),
            "One of the following fields is required: [MaxItemsPerBatch, MaxItemsPerBatchPath, "
            "MaxInputBytesPerBatch, MaxInputBytesPerBatchPath]",
            "/ItemBatcher",
        ),
        (
            distributed(ResultWriter={}),
            "One of the following fields is required: [Resource, WriterConfig]",
            "/ResultWriter",
        ),
    ],
)
def test_maps(state, message, place):
    assert (message, "/States/S" + place) in messages(state)


def test_store_resources():
    reader = {"Resource": "arn:aws:states:::s3:putObject"}
    writer = {"Resource": "arn:aws:states:::s3:getObject"}
    places = [place for _message, place in messages(distributed(ItemReader=reader, ResultWriter=writer))]
    assert places == ["/States/S/ItemReader/Resource", "/States/S/ResultWriter/Resource"]


def test_a_distributed_map_needs_a_standard_machine():
    expected = "Express state machine does not support DISTRIBUTED mode of Map"
    assert (SCHEMA, expected, "/States/S/ItemProcessor/ProcessorConfig/Mode") in found(
        machine(distributed()), machine_type="EXPRESS"
    )


@pytest.mark.parametrize("character", list('?*<>{}[]:;,\\|^~$#%&`" \t\n\x00\x1f\x7f\x9c'))
def test_labels_refuse_what_breaks_an_arn(character):
    (finding,) = found(machine(distributed(Label=f"a{character}b")))
    assert (finding[0], finding[2]) == ("INVALID_LABEL_NAME", "/States/S/Label")


def test_labels_have_a_length_and_are_unique():
    assert [code for code, _, _ in found(machine(distributed(Label="")))] == ["INVALID_LABEL_NAME"]
    assert [code for code, _, _ in found(machine(distributed(Label="x" * 41)))] == ["INVALID_LABEL_NAME"]
    assert found(machine(distributed(Label="x" * 40))) == []
    assert messages(distributed(Label=5)) == [("Value must be a string", "/States/S/Label")]
    other = distributed(Label="same")
    other["ItemProcessor"]["StartAt"] = "J"
    other["ItemProcessor"]["States"] = {"J": passing()}
    value: dict[str, Any] = {"StartAt": "S", "States": {"S": {**distributed(Label="same"), "Next": "T"}, "T": other}}
    del value["States"]["S"]["End"]
    assert found(value) == [("DUPLICATE_LABEL_NAME", "Duplicate Label name: same", "/States/T/Label")]
