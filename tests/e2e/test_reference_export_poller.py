"""A table export started and watched through the API of tables: each answer of the API is the next question."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.conftest import Server
from tests.e2e.systems import EXAMPLES, System, ended, entered, history, system

ITEMS = 40
MEMBERS = {
    "ExportArn", "ExportStatus", "StartTime", "EndTime", "ExportManifest", "TableArn", "TableId", "ExportTime",
    "S3Bucket", "S3SseAlgorithm", "ExportFormat", "BilledSizeBytes", "ItemCount", "ExportType", "ClientToken",
}  # fmt: skip
"""What an export that is over says of itself."""


@pytest.fixture(scope="module")
def made(server: Server) -> System:
    made = system(server, "export-poller")
    tables = made.client("dynamodb")
    name = made.table("orders", "id")
    recovery = {"PointInTimeRecoveryEnabled": True}
    tables.update_continuous_backups(TableName=name, PointInTimeRecoverySpecification=recovery)
    for number in range(ITEMS):
        tables.put_item(TableName=name, Item={"id": {"S": str(number)}})
    made.bucket("exports")
    definition = json.loads((EXAMPLES / "export-poller" / "export-poller.asl.json").read_text())
    definition["StartAt"] = "Export Table"
    definition["States"]["Export Table"] = {
        "Type": "Task", "Resource": "arn:aws:states:::aws-sdk:dynamodb:exportTableToPointInTime",
        "Parameters": {"TableArn.$": "$.table", "S3Bucket.$": "$.bucket"}, "Next": "Describe Export",
    }  # fmt: skip
    made.machine(definition, seconds=1)
    return made


def watched(made: System, bucket: str) -> tuple[dict[str, Any], list[str]]:
    """Export the table into a bucket; returns the execution's output and its states."""
    arn = made.client("dynamodb").describe_table(TableName=made.named("orders"))["Table"]["TableArn"]
    machine = f"arn:aws:states:us-east-1:000000000000:stateMachine:{made.named('machine')}"
    sfn = made.client("stepfunctions")
    execution = made.start(machine, {"table": arn, "bucket": bucket})
    shown = ended(sfn, execution)
    assert shown["status"] == "SUCCEEDED", shown
    states = entered(history(sfn, execution))
    turns = states.count("Describe Export")
    look = ["Describe Export", "Export Finished?"]
    assert states == ["Export Table", *[*look, "Wait Ten Seconds"] * (turns - 1), *look, states[-1]]
    output: dict[str, Any] = json.loads(shown["output"])
    return output, states


def test_who_exports_asks_first_who_he_is(made):
    """The published client names its account, by alias where there is one, before it starts."""
    identity = made.client("sts").get_caller_identity()
    assert (identity["Account"], identity["Arn"]) == ("000000000000", "arn:aws:iam::000000000000:root")
    aliases = made.client("iam").list_account_aliases()
    assert (aliases["AccountAliases"], aliases["IsTruncated"]) == ([], False)


def test_an_export_is_watched_until_it_is_complete(made):
    output, states = watched(made, made.named("exports"))
    assert states[-1] == "Export Completed"
    export = output["ExportDescription"]
    assert set(export) == MEMBERS
    assert (export["ExportStatus"], export["ItemCount"]) == ("COMPLETED", ITEMS)
    # The output is the whole answer of the API, which says the same to anybody else.
    asked = made.client("dynamodb").describe_export(ExportArn=export["ExportArn"])["ExportDescription"]
    assert set(asked) == MEMBERS
    assert asked["ExportManifest"] in made.keys(made.named("exports"))


def test_an_export_that_fails_ends_in_success_as_published(made):
    output, states = watched(made, made.named("no-such-bucket"))
    assert states[-1] == "Export Failed"
    export = output["ExportDescription"]
    assert (export["ExportStatus"], export["FailureCode"]) == ("FAILED", "S3NoSuchBucket")
    findings = made.client("stepfunctions").validate_state_machine_definition(
        definition=(EXAMPLES / "export-poller" / "export-poller.asl.json").read_text()
    )
    assert findings["result"] == "OK"
