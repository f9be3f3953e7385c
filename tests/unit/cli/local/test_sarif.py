"""`validate -o sarif`: a log that keeps to what SARIF 2.1.0 requires."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from statewright import __version__
from tests.unit.cli.conftest import Run

LOOP = {
    "StartAt": "A é",
    "States": {
        "A é": {"Type": "Pass", "Next": "B"},
        "B": {"Type": "Wait", "Seconds": 1, "Next": "A é"},
        "C": {"Type": "Pass", "End": True},
    },
}


def checked(log: Any) -> Any:
    """The run of a log, after what section 3 of the standard requires of each object that occurs."""
    assert (log["version"], len(log["runs"])) == ("2.1.0", 1)
    [run] = log["runs"]
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("Statewright", __version__)
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(ids) == len(set(ids))
    assert all(set(rule) <= {"id", "shortDescription"} for rule in driver["rules"])
    assert all(isinstance(one["executionSuccessful"], bool) for one in run["invocations"])
    for result in run["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("none", "note", "warning", "error")
        assert result["message"]["text"]
        for location in result["locations"]:
            place = location["physicalLocation"]
            assert min(place["region"].values()) >= 1
            uri = place["artifactLocation"]["uri"]
            assert uri.isascii()
            assert " " not in uri
    return run


def test_findings_with_their_rules_and_places(statewright: Run, folder: Path):
    (folder / "a loop.asl.json").write_text(json.dumps(LOOP, indent=1))
    result = statewright("validate", "a loop.asl.json", "order.asl.json", "-o", "sarif")
    run = checked(result.json)
    assert result.code == 1
    found = {one["ruleId"]: one for one in run["results"]}
    assert set(found) == {"LOOP_NEVER_ENDS", "MISSING_TRANSITION_TARGET"}
    never, missing = found["LOOP_NEVER_ENDS"], found["MISSING_TRANSITION_TARGET"]
    assert (never["level"], missing["level"]) == ("warning", "error")
    assert missing["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "a%20loop.asl.json"},
                "region": {"startLine": 13, "startColumn": 8},
            },
            "logicalLocations": [{"fullyQualifiedName": "/States/C"}],
        }
    ]
    [described] = [one for one in run["tool"]["driver"]["rules"] if one["id"] == "LOOP_NEVER_ENDS"]
    assert described["shortDescription"]["text"]


def test_a_log_without_findings_and_one_of_the_standard_input(statewright: Run, folder: Path):
    run = checked(statewright("validate", str(folder / "order.asl.json"), "-o", "sarif").json)
    assert (run["results"], run["invocations"]) == ([], [{"executionSuccessful": True}])
    run = checked(statewright("validate", "-", "-o", "sarif", stdin="{").json)
    assert run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "stdin"}


def test_what_cannot_be_read_is_told_by_the_run(statewright: Run):
    result = statewright("validate", "nowhere.json", "order.asl.json", "-o", "sarif")
    [invocation] = checked(result.json)["invocations"]
    assert (result.code, invocation["executionSuccessful"]) == (3, False)
    assert "nowhere.json" in invocation["toolExecutionNotifications"][0]["message"]["text"]
