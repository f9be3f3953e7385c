from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import Run

SCENARIO = """
queues: {jobs: {visibility: 60s}}
functions: {work: {duration: 10s, timeout: 30}}
mappings: [{queue: jobs, function: work, batchSize: 1}]
arrivals: [{queue: jobs, burst: 20}]
variants:
  slow: {functions.work.duration: 20s}
  fast: {functions.work.duration: 1s}
"""


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    path = tmp_path / "load.yaml"
    path.write_text(SCENARIO)
    return str(path)


def test_a_summary_and_a_page(statewright: Run, scenario: str, tmp_path: Path):
    page = tmp_path / "load.html"
    result = statewright("simulate", scenario, "--html", str(page))
    assert result.code == 0
    assert "✓ done" in result.out
    assert "Lambda" in result.out
    assert "s of CPU" in result.err
    assert "CPU" not in result.out
    assert page.read_text().startswith("<!doctype html>")


def test_the_summary_is_printed_when_the_page_cannot_be_written(statewright: Run, scenario: str):
    result = statewright("simulate", scenario, "--html", "/dev/full")
    assert result.code == 1
    assert "Lambda" in result.out
    assert "Error: /dev/full cannot be written: No space left on device" in result.err


def test_json_is_the_same_for_the_same_seed(statewright: Run, scenario: str):
    first, again = (statewright("simulate", scenario, "-o", "json", "-q", "--seed", "3") for _ in range(2))
    assert first.out == again.out
    document: dict[str, Any] = json.loads(first.out)
    assert document["seed"] == 3
    assert document["mappings"][0]["done"] == 20
    assert first.err == ""


def test_outcomes_that_did_not_occur_are_left_out(statewright: Run, tmp_path: Path):
    scenario = tmp_path / "dead.yaml"
    scenario.write_text(
        SCENARIO.replace(
            "queues: {jobs: {visibility: 60s}}",
            """queues:
  jobs: {visibility: 60s, maxReceiveCount: 2, deadLetter: dead}
  dead: {}""",
        )
    )
    document = json.loads(statewright("simulate", str(scenario), "-o", "json", "-q").out)
    counts = {row["outcome"]: row["count"] for row in document["outcomes"]}
    assert (counts["done"], "dead" in counts, 0 in counts.values()) == (20, False, False)
    nothing = statewright("simulate", str(scenario), "-q", "--set", "arrivals.0.burst=0")
    assert (nothing.code, nothing.out.splitlines()[1]) == (0, "nothing was treated, and nothing is left")


def test_values_can_be_set(statewright: Run, scenario: str):
    result = statewright(
        "simulate", scenario, "-o", "json", "--set", "arrivals.0.burst=5", "--prices", "us-east-1-2022-04"
    )
    document = json.loads(result.out)
    assert document["mappings"][0]["done"] == 5
    assert document["cost"]["prices"]["table"] == "us-east-1-2022-04"


def test_a_load_is_given_in_few_words(statewright: Run, scenario: str):
    document = json.loads(statewright("simulate", scenario, "-o", "json", "--load", "2/s", "--for", "10s").out)
    assert document["arrivals"] == [{"to": "queue jobs", "form": "rate", "sent": 20}]


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--variants"], ["slow", "fast"]),
        (["--grid", "functions.work.duration=1s,2s", "--grid", "arrivals.0.burst=2,3"],
         ["duration 1s, burst 2", "duration 1s, burst 3", "duration 2s, burst 2", "duration 2s, burst 3"]),
    ],
)  # fmt: skip
def test_comparisons(statewright: Run, scenario: str, tmp_path: Path, options: list[str], names: list[str]):
    page = tmp_path / "all.html"
    result = statewright("simulate", scenario, *options, "--html", str(page))
    assert result.code == 0
    assert result.out.startswith("RUN ")
    assert all(name in result.out and name in page.read_text() for name in names)
    runs = json.loads(statewright("simulate", scenario, *options, "-o", "json").out)["runs"]
    assert [run["variant"]["name"] for run in runs] == names


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--set", "functions.work.durationn=3"], 1, "did you mean duration?"),
        (["--set", "nothing"], 2, "write it as KEY=VALUE"),
        (["--grid", "a"], 2, "write it as KEY=a,b,c"),
        (["--grid", "seed=1,2", "--variants"], 2, "mutually exclusive"),
        (["--for", "3h"], 2, "give both"),
        (["--load", "-3/s"], 1, "is not a rate"),
        (["--prices", "mars"], 1, "there is no price table 'mars'"),
        (["--set", "mappings.0.batchSize=11"], 1, "load.yaml:4:12 ERROR SIMULATION_REFUSED"),
        (["--set", "until=3s"], 5, ""),
        (["--html", "/nowhere/page.html"], 3, "There is no folder for"),
    ],
)
def test_what_cannot_be_run(statewright: Run, scenario: str, options: list[str], code: int, said: str):
    result = statewright("simulate", scenario, *options)
    assert result.code == code
    assert said in result.err


def test_a_file_that_is_not_there(statewright: Run, scenario: str):
    result = statewright("simulate", scenario.replace("load.yaml", "lode.yaml"))
    assert result.code == 3
    assert "did you mean load.yaml?" in result.err
