from __future__ import annotations

import pytest

from statewright.cli.inspection import map_run
from tests.unit.cli.conftest import Run
from tests.unit.cli.stub_server import PREFIX, stub

ARN = f"{PREFIX}:mapRun:order/M:1"
COUNTS = {"total": 1200, "succeeded": 1190, "failed": 10}
SHOWN = {
    "mapRunArn": ARN, "executionArn": f"{PREFIX}:execution:order:one", "status": "FAILED", "startDate": 0,
    "stopDate": 2_000, "maxConcurrency": 0, "toleratedFailureCount": 5, "toleratedFailurePercentage": 0.5,
    "itemCounts": COUNTS, "executionCounts": COUNTS, "redriveCount": 1,
}  # fmt: skip


def test_one_is_shown(statewright: Run, monkeypatch: pytest.MonkeyPatch):
    stub(monkeypatch, map_run, describe_map_run=SHOWN)
    out = statewright("map-run", "show", ARN).out
    assert ["failed", "10", "10"] in [line.split() for line in out.splitlines()]
    assert "tolerates    5 items or 0.5 %" in out
    assert "pending" not in out, "what is zero is left out"
    assert statewright("map-run", "show", ARN, "-o", "jsonl").json["stopDate"] == "1970-01-01T00:00:02Z"


def test_those_of_an_execution(statewright: Run, monkeypatch: pytest.MonkeyPatch):
    stub(monkeypatch, map_run, describe_map_run=SHOWN, list_map_runs={"mapRuns": [{"mapRunArn": ARN}] * 2})
    assert len(statewright("map-run", "show", "order:one", "-o", "json").json["mapRuns"]) == 2
    stub(monkeypatch, map_run, list_map_runs={"mapRuns": []})
    assert statewright("map-run", "show", "order:one").code == 3


def test_its_execution_is_redriven(statewright: Run, monkeypatch: pytest.MonkeyPatch):
    calls = stub(monkeypatch, map_run, describe_map_run=SHOWN, redrive_execution={"redriveDate": 0})
    assert statewright("map-run", "redrive", ARN).out == "redriven order:one\n"
    assert calls[-1] == ("redrive_execution", {"executionArn": f"{PREFIX}:execution:order:one"})
