"""The scenarios that are shipped, with the numbers that documents give; the long ones are made smaller."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from statewright.payload import Json
from statewright.simulation.run import simulate
from statewright.simulation.scenario import read_scenario

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "simulations"


def run(name: str, variant: str = "", **changes: Json) -> dict[str, Any]:
    path = EXAMPLES / f"{name}.yaml"
    chosen = read_scenario(path).variants[variant] if variant else {}
    return simulate(read_scenario(path, {**chosen, **{key.replace("__", "."): one for key, one in changes.items()}}))


def usd(document: dict[str, Any], service: str) -> float:
    lines = document["cost"]["lines"]
    return float(sum(one["usd"] for one in lines if one["service"] == service and not one.get("monthly")))


def dead(document: dict[str, Any]) -> int:
    return int(sum(one["left"] for one in document["queues"] if one["deadLettersOf"]))


@pytest.mark.slow
def test_the_published_burst():
    document = run("burst")
    [work] = document["functions"]
    assert (work["mostAtOnce"], work["limitReachedAtSeconds"]) == (1000, 995)
    assert dead(document) == document["mappings"][0]["pulledNeverRun"] == 105
    assert work["errors"] == 0
    last_start = next(one for one in document["queues"] if one["name"] == "jobs")["emptyAtSeconds"]
    assert 36 * 60 < last_start < 40 * 60


@pytest.mark.slow
def test_a_tenth_of_the_files_costs_a_tenth():
    tenth: dict[str, Json] = {
        "dynamodb.write_units": 10_000, "s3.put_requests": 10,
    }  # fmt: skip
    document = run(
        "files", arrivals__1__burst=10_000, functions__enqueue__usage=tenth,
        functions__summarise__usage={"s3.get_requests": 10_000}, usage={"s3.put_requests": 10_000, "s3.gb_months": 10},
    )  # fmt: skip
    assert document["executions"][0]["succeeded"] == 1
    assert usd(document, "Lambda") == pytest.approx(0.315, abs=0.002)
    assert usd(document, "S3") == pytest.approx(0.108, abs=0.001)
    assert usd(document, "SQS") == pytest.approx(0.012, abs=0.0001)
    assert document["cost"]["usdPerMonth"] == pytest.approx(0.23)


def test_a_limit_of_the_machine_needs_no_turns():
    asking = run("semaphore", arrivals__0__count=12)
    limited = run("semaphore", "a limit of the machine", arrivals__0__count=12)
    assert [one["executions"][0]["succeeded"] for one in (asking, limited)] == [12, 12]
    transitions = [
        line["quantity"]
        for one in (asking, limited)
        for line in one["cost"]["lines"]
        if line["item"] == "states.transitions"
    ]
    assert transitions[1] == 12
    assert transitions[0] > 3 * 5 * 12 * 11 / 2
    assert limited["virtualSeconds"] < asking["virtualSeconds"]


@pytest.mark.slow
def test_poison_alone_dies_where_failures_are_reported():
    document = run("poison", arrivals__0__burst=4_000)
    assert dead(document) == document["arrivals"][0]["poisoned"] > 20
    assert dead(run("poison", "without", arrivals__0__burst=4_000)) > 3 * dead(document)


@pytest.mark.slow
def test_a_poll_every_second_gets_the_hint():
    document = run("poller")
    assert usd(document, "Step Functions") == pytest.approx(0.10, abs=0.002)
    assert "4,050 transitions in all: one Wait of 15 min first" in document["cost"]["hints"][0]
